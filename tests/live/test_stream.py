"""The stream of a session's revisions, over a real server."""

from __future__ import annotations

import contextlib
import http.client
import socket
import threading
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.conf import settings
from django.test import Client

from contextviz.live import shutdown
from contextviz.services import digest, ingest
from contextviz.store.queries import sessions
from tests.services.building import NOW, claude_lines, upload

pytestmark = pytest.mark.django_db(transaction=True)


class Listener:
    """Reads a stream line by line in a thread."""

    def __init__(self, live_url: str, path: str, owner: Any, **headers: str) -> None:
        client = Client()
        client.force_login(owner)
        cookie = client.cookies[settings.SESSION_COOKIE_NAME]
        self._connection = http.client.HTTPConnection(urlsplit(live_url).netloc, timeout=10)
        self._connection.request("GET", path, headers={"Cookie": f"{cookie.key}={cookie.value}", **headers})
        self._socket = self._connection.sock
        self.answer = self._connection.getresponse()
        self.lines: list[str] = []
        self.has_ended = threading.Event()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        try:
            while line := self.answer.readline():
                self.lines.append(line.decode().rstrip("\n"))
        except (OSError, ValueError, http.client.HTTPException):
            pass
        self.has_ended.set()

    def wait_for(self, line: str, seconds: float = 5.0) -> None:
        deadline = time.monotonic() + seconds
        while line not in self.lines:
            assert time.monotonic() < deadline, f"{line!r} did not come: {self.lines}"
            time.sleep(0.01)

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)  # closing alone would wait for the reading thread
        self.has_ended.wait(5)
        self._connection.close()


def uploaded(turns: int) -> int:
    return int(upload(("0b1c2d3e-0000-4000-8000-000000000001.jsonl", claude_lines(turns))).result["sessions"][0])


def test_a_change_is_told_with_its_revision_as_id(live_url: str, owner: Any, data_dir: Path) -> None:
    session_id = uploaded(2)
    seen = sessions.revision(session_id)
    listener = Listener(live_url, f"/live/sessions/{session_id}/?after={seen}", owner)
    listener.wait_for("retry: 2000")
    time.sleep(0.3)
    assert "event: revision" not in listener.lines

    uploaded(4)
    listener.wait_for(f"id: {sessions.revision(session_id)}", seconds=2)

    assert listener.answer.headers["Content-Type"] == "text/event-stream"
    assert listener.answer.headers["Content-Encoding"] == "identity"
    listener.close()


def test_who_comes_back_is_told_what_was_missed(live_url: str, owner: Any, data_dir: Path) -> None:
    session_id = uploaded(2)
    seen = sessions.revision(session_id)
    uploaded(3)

    listener = Listener(live_url, f"/live/sessions/{session_id}/", owner, **{"Last-Event-ID": str(seen)})

    listener.wait_for(f"id: {sessions.revision(session_id)}")
    listener.close()


def test_a_stream_of_a_session_that_is_not_there_is_a_404(live_url: str, owner: Any) -> None:
    listener = Listener(live_url, "/live/sessions/99/", owner)

    assert listener.answer.status == 404
    listener.close()


def test_streams_end_when_the_server_is_told_to_stop(live_url: str, owner: Any, data_dir: Path) -> None:
    session_id = uploaded(2)
    listeners = [Listener(live_url, f"/live/sessions/{session_id}/", owner) for _ in range(3)]
    for listener in listeners:
        listener.wait_for("event: revision")

    shutdown.run_all()

    for listener in listeners:
        assert listener.has_ended.wait(2)
        listener.close()


def test_two_streams_are_told_of_their_own_sessions_only(live_url: str, owner: Any, data_dir: Path) -> None:
    first = uploaded(2)
    other_lines = claude_lines(2, session="0b1c2d3e-0000-4000-8000-000000000002", word="beta")
    second = int(upload(("other.jsonl", other_lines)).result["sessions"][0])
    seen = sessions.revision(second)
    one = Listener(live_url, f"/live/sessions/{first}/?after={sessions.revision(first)}", owner)
    other = Listener(live_url, f"/live/sessions/{second}/?after={seen}", owner)
    for listener in (one, other):
        listener.wait_for("retry: 2000")
    time.sleep(0.3)

    batch = ingest.open_batch(now=NOW)
    longer = claude_lines(3, session="0b1c2d3e-0000-4000-8000-000000000002", word="beta")
    ingest.receive(iter([longer.encode()]), "other.jsonl", batch_id=batch, now=NOW)
    job = ingest.finish_batch(batch, now=NOW)
    assert job is not None and digest.digest(job)

    other.wait_for(f"id: {sessions.revision(second)}")
    assert "event: revision" not in one.lines
    one.close()
    other.close()


def test_so_many_streams_and_no_more(live_url: str, owner: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("contextviz.live.hub.MOST_STREAMS", 3)
    upload(("one.jsonl", claude_lines(2)))
    path = f"/live/sessions/{sessions.recent_sessions(1)[0].id}/"
    open_ones = [Listener(live_url, path, owner) for _ in range(3)]
    for one in open_ones:
        one.wait_for("event: revision")

    refused = Listener(live_url, path, owner)
    open_ones.pop().close()
    deadline = time.monotonic() + 5
    while (later := Listener(live_url, path, owner)).answer.status == 503 and time.monotonic() < deadline:
        later.close()

    assert (refused.answer.status, refused.answer.headers["Retry-After"]) == (503, "30")
    assert later.answer.status == 200
    for one in (refused, later, *open_ones):
        one.close()
