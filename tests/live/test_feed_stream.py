"""The feed as a stream, over a real server: resumed exactly, resynced once, seen with one's own eyes."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from contextviz.store.models import LiveEventRecord
from contextviz.store.queries.live import live_bounds
from tests.live.test_feed import save
from tests.live.test_stream import Listener

pytestmark = pytest.mark.django_db(transaction=True)


def rows_of(listener: Listener) -> list[int]:
    """The numbers of the rows that a stream has told."""
    data = [line.removeprefix("data: ") for line in listener.lines if line.startswith("data: ")]
    return [row["id"] for part in data for row in json.loads(part)]


def test_what_is_new_comes_and_who_comes_back_is_given_what_was_missed(live_url: str, owner: Any) -> None:
    save(3)
    first = Listener(live_url, "/live/stream", owner)
    first.wait_for("event: ready")
    save(4)
    last = live_bounds()[1]
    first.wait_for(f"id: {last}")
    assert len(rows_of(first)) == 3
    first.close()

    save(6)
    again = Listener(live_url, "/live/stream", owner, **{"Last-Event-ID": str(last)})
    again.wait_for(f"id: {live_bounds()[1]}")
    told = rows_of(again)
    assert told == list(range(last + 1, live_bounds()[1] + 1))
    again.close()


def test_who_missed_what_is_gone_is_told_so_once(live_url: str, owner: Any) -> None:
    save(3)
    seen = live_bounds()[1]
    save(5)
    LiveEventRecord.objects.filter(pk__lte=seen + 3).delete()
    listener = Listener(live_url, f"/live/stream?after={seen}", owner)
    listener.wait_for("event: resync")
    save(6)
    listener.wait_for(f"id: {live_bounds()[1]}")
    assert listener.lines.count("event: resync") == 1
    assert len(rows_of(listener)) == 3
    listener.close()


def test_a_burst_comes_in_few_messages_and_whole(live_url: str, owner: Any) -> None:
    save(2)
    listener = Listener(live_url, "/live/stream?kind=message", owner)
    listener.wait_for("event: ready")
    for turns in range(3, 43):
        save(turns)
    deadline = time.monotonic() + 15
    while len(rows_of(listener)) < 80 and time.monotonic() < deadline:
        time.sleep(0.05)
    told = rows_of(listener)
    assert (len(told), told == sorted(set(told))) == (80, True)
    assert listener.lines.count("event: news") < 40
    listener.close()
