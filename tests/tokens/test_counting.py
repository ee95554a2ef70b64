"""Counting in a second process: the same numbers, and no text uncounted when the process goes away."""

from __future__ import annotations

import io
import logging
from array import array
from collections.abc import Iterator

import pytest

from contextviz.tokens import counting
from contextviz.tokens.counting_process import serve
from contextviz.tokens.estimate import estimate

TEXTS = ("hello world", "", "今天我们检查会话窗口", "<|endoftext|> is plain text here", "x" * 100_000)


@pytest.fixture
def fresh() -> Iterator[None]:
    """No counting process before and after."""
    counting.close()
    yield
    counting.close()


def encoded(texts: tuple[str, ...]) -> list[bytes]:
    return [text.encode() for text in texts]


@pytest.mark.slow  # a process starts and loads the tokenizer
def test_counts_are_the_estimators_in_order_and_what_waits_is_counted_before_the_end(fresh: None) -> None:
    tickets = [counting.count_later(encoded(texts)) for texts in (TEXTS, TEXTS[::-1]) for _ in range(10)]

    counting.close()

    wanted = [estimate(text) for text in TEXTS]
    assert [list(ticket.counts()) for ticket in tickets] == [wanted] * 10 + [wanted[::-1]] * 10


@pytest.mark.slow  # a process starts and loads the tokenizer
def test_when_the_process_dies_the_texts_are_counted_all_the_same(
    fresh: None, caplog: pytest.LogCaptureFixture
) -> None:
    counting.count_later([b"first"]).counts()
    process = counting._counters[0]._process
    assert process is not None
    process.kill()
    process.wait()

    with caplog.at_level(logging.WARNING, "contextviz.tokens"):
        counts = list(counting.count_later(encoded(TEXTS)).counts())

    assert counts == [estimate(text) for text in TEXTS]
    assert "counted in this process" in caplog.text


@pytest.mark.slow  # two processes start and load the tokenizer
def test_an_idle_process_goes_away_and_comes_back_with_the_next_text(
    fresh: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counting, "IDLE_SECONDS", 0.02)
    ticket = counting.count_later([b"hello world"])
    thread = counting._counters[0]._thread
    assert thread is not None
    thread.join(10)
    assert not thread.is_alive()
    assert counting._counters[0]._process is None

    assert [list(one.counts()) for one in (ticket, counting.count_later([b"hello world"]))] == [[2], [2]]


def test_a_text_of_any_length_is_counted() -> None:
    assert estimate(" word and other" * 140_000) == 140_000 * estimate(" word and other")
    assert estimate("x" * 1_000_001) >= estimate("x" * 900_000) > 0, "no blank to cut at"
    assert estimate("a line\n" * 300_000) == 300_000 * estimate("a line\n")
    assert estimate("\U00013000" * 120_000) > 200_000, "more tokens than the tokenizer gives at once"


def test_a_text_that_nobody_can_count_holds_no_reader_and_no_later_text(
    fresh: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counting._Counter, "_ask", lambda _self, texts: [1 // len(text) for text in texts])

    refused, later = counting.count_later([b""]), counting.count_later([b"x"])

    with pytest.raises(RuntimeError, match="could not be counted"):
        refused.counts()
    assert list(later.counts()) == [1]


def test_the_process_answers_batches_until_its_input_ends() -> None:
    source, target = io.BytesIO(), io.BytesIO()
    counting.send(source, array("I", [5, 0]), b"hello")
    counting.send(source, array("I"))
    source.seek(0)

    serve(source, target)

    target.seek(0)
    assert list(counting.receive_numbers(target)) == [1, 0]
    assert list(counting.receive_numbers(target)) == []
