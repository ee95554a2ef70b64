"""Messages to a broker: sent at once, and never waited for longer than a second."""

from __future__ import annotations

import threading
import time
from functools import partial

import pytest

from contextviz.services.outages import telling
from contextviz.services.outages.telling import Teller
from tests.stack import wait_until


def test_a_message_is_sent_before_the_sender_goes_on() -> None:
    sent: list[str] = []

    assert Teller().tell(lambda: sent.append("a"), job="a")
    assert sent == ["a"]


def test_a_broker_that_hangs_holds_up_one_sender_and_gets_all_messages_later() -> None:
    teller, answers, sent = Teller(), threading.Event(), list[str]()
    began = time.monotonic()

    assert not teller.tell(answers.wait, job="a")
    assert not any(teller.tell(partial(sent.append, name), job=name) for name in "bcd")
    assert time.monotonic() - began < 2 * telling.WAIT_SECONDS
    assert sent == []

    answers.set()
    wait_until(lambda: sent == ["b", "c", "d"], what="what waited")
    wait_until(lambda: teller.tell(lambda: sent.append("e"), job="e"), what="a broker that answers")


def test_of_messages_that_hang_only_so_many_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(telling, "MOST_WAITING", 2)
    teller, answers, sent = Teller(), threading.Event(), list[str]()
    teller.tell(answers.wait, job="a")

    for name in "bcd":
        teller.tell(partial(sent.append, name), job=name)
    answers.set()

    wait_until(lambda: sent == ["b", "c"], what="those that were kept")


def test_a_message_that_cannot_be_sent_is_a_line_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    def refuse() -> None:
        raise ConnectionRefusedError("nobody there")

    teller = Teller()
    teller.tell(refuse, job="the-job")

    assert "job=the-job: ConnectionRefusedError: nobody there" in caplog.text
    assert teller.tell(lambda: None, job="another")
