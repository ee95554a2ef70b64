"""A session that grows is said to run on every page, also where its lines have no times."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path

import pytest
from django.db import connection
from django.template import Context, Template
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from contextviz.services import digest, ingest
from contextviz.store.models import SessionRecord
from contextviz.store.queries import sessions
from contextviz.store.queries.live import growing
from contextviz.web.pages.live.cards import cards
from contextviz.web.shell import IDLE, NEWS, states_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]


def bring(path: Path, messages: int) -> None:
    """A file of messages without times that grew to so many."""
    lines = [{"role": ("user", "assistant")[at % 2], "content": f"message {at}"} for at in range(messages)]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    digest.digest(ingest.import_paths([path], now=timezone.now()))


def live_states() -> list[str]:
    now = timezone.now()
    return [card.state for card in cards(growing(now - NEWS)[0], {}, sort="recent", now=now)]


def test_a_session_without_times_runs_while_it_grows_on_every_page(client: Client, tmp_path: Path) -> None:
    path = tmp_path / "talk.jsonl"
    bring(path, 3)
    (row,) = sessions.recent_sessions()
    assert (row.started_at, row.ended_at) == (None, None)
    assert (live_states(), states_of([row], row.updated_at)) == ([], {row.id: "idle"}), "it was only found"

    bring(path, 5)

    (row,) = sessions.recent_sessions()
    assert live_states() == ["running"]
    assert states_of([row], row.updated_at) == {row.id: "running"}
    assert states_of([row], row.updated_at + IDLE + timedelta(seconds=1)) == {row.id: "idle"}
    page = client.get(f"/sessions/{row.id}/").content.decode()
    assert 'id="session-name" data-state="running"' in page and "· growing</li>" in page
    mark = Template('{% load contextviz %}{% state "running" %}').render(Context())
    assert client.get("/").content.decode().count(mark) == 2, "the side bar's row and the Library's"


def test_states_cost_one_query_however_many_and_none_where_nothing_changed(tmp_path: Path) -> None:
    for number in range(3):
        bring(tmp_path / f"{number}.jsonl", 3 + 2 * number)
    rows = sessions.recent_sessions()

    counts = []
    for now in (timezone.now(), timezone.now() + 2 * IDLE):
        with CaptureQueriesContext(connection) as seen:
            states_of(rows, now)
        counts.append(len(seen))

    assert (len(rows), counts) == (SessionRecord.objects.count(), [1, 0])
