"""What stands beside a session (settings, an index) and comes after it: it counts as if both had come at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson
import pytest

from contextviz.services import delete, digest
from contextviz.services.ingest import import_paths
from contextviz.store.models import SessionDetailRecord, SessionRecord
from contextviz.store.queries import jobs
from contextviz.store.rows.session import unpack_detail
from contextviz.store.values import JobRow
from tests.sources.droid import building as droid
from tests.sources.kiro import building as kiro
from tests.sources.openclaw.build import script

Made = Callable[[Path], list[Path]]
pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]


def kiro_files(folder: Path) -> list[Path]:
    kiro.made().save(folder)
    return [folder / "sessions" / "cli" / "k-1.json"]


def droid_files(folder: Path) -> list[Path]:
    talk = droid.Rows("d-1")
    talk.user("u1", "hello")
    talk.answer("a1", "hi")
    log = talk.save(folder, total=droid.tokens(100, 9), last=droid.tokens(70, 5, 30))
    return [log.with_name("d-1.settings.json")]


def openclaw_files(folder: Path) -> list[Path]:
    talk = script("s-1")
    talk.user("u1")
    talk.answer("a1", prompt=70)
    place = folder / "agents" / "main" / "sessions"
    place.mkdir(parents=True)
    index = place / "sessions.json"
    told = {"sessionId": "s-1", "sessionFile": "s-1.jsonl", "contextTokens": 32_000}
    index.write_bytes(orjson.dumps({"agent:main:s-1": told}))
    talk.save(place / "s-1.jsonl")
    return [index]


def bring_in(*paths: Path) -> JobRow:
    job_id = import_paths(paths, now=datetime.now(UTC))
    digest.digest(job_id)
    return jobs.get_job(job_id)


def told() -> list[Any]:
    """What is known of each session, numbers and hints alike."""
    numbers = ("source_id", "title", "model", "window", "message_count", "call_count", "spend_total_tokens")
    found = []
    for row in SessionRecord.objects.order_by("source_id"):
        detail = unpack_detail(SessionDetailRecord.objects.get(session=row).body, with_lists=False)
        found.append(([getattr(row, name, None) for name in numbers], detail["hints"], detail.get("unlogged_usage")))
    return found


def forget(rows: Iterable[SessionRecord]) -> None:
    for row in rows:
        delete.delete_session(delete.open_delete(row.pk, now=datetime.now(UTC)))


@pytest.mark.parametrize("make", [kiro_files, droid_files, openclaw_files])
def test_what_stands_beside_a_session_counts_when_it_comes_later(make: Made, tmp_path: Path) -> None:
    folder = tmp_path / "home"
    beside = make(folder)
    bring_in(folder)
    at_once = told()
    forget(SessionRecord.objects.all())
    kept = [(one, one.read_bytes()) for one in beside]
    for one in beside:
        one.unlink()

    bring_in(folder)
    assert told() != at_once, "it tells something"
    for one, data in kept:
        one.write_bytes(data)
    bring_in(folder)

    assert told() == at_once
    revision = SessionRecord.objects.get().revision
    assert "Nothing new" in bring_in(folder).outcome and SessionRecord.objects.get().revision == revision


def test_a_log_that_became_part_of_a_session_is_not_read_again(tmp_path: Path) -> None:
    [index] = openclaw_files(tmp_path)
    log = index.with_name("s-1.jsonl")
    bring_in(log)
    bring_in(index.parent)

    assert bring_in(log).outcome.startswith("Nothing new")
    assert bring_in(index.parent).outcome.startswith("Nothing new")
