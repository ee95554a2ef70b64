"""Which files of a batch are read, and which sessions they are of."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from contextviz.services import digest, ingest
from contextviz.services.digest import job
from contextviz.services.digest.audience import Audience
from contextviz.services.digest.batch import BatchFile
from contextviz.services.digest.selecting import Links
from contextviz.store.models import SessionArtifactRecord, SessionRecord
from tests.services.building import claude_lines

pytestmark = pytest.mark.django_db


def follow(path: Path) -> None:
    digest.digest(ingest.import_paths([path], now=datetime.now(UTC), is_followed=True))


def talks(turns: int, day: int) -> str:
    """A session that began on a day of its own: by the same time it would be a copy of another."""
    lines = claude_lines(turns, session=f"0b1c2d3e-0000-4000-8000-{day:012d}")
    return lines.replace("2026-02-01", f"2026-02-{day:02d}")


def test_a_followed_job_asks_once_which_sessions_its_files_are_of(
    data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "projects"
    folder.mkdir()
    asked: list[str] = []
    for name in ("selected", "apart"):
        monkeypatch.setattr(job, name, _noting_queries(getattr(job, name), asked))
    for turns in (3, 4):
        for day in (1, 2):
            (folder / f"{day}.jsonl").write_text(talks(turns, day))
        asked.clear()
        follow(folder)

    assert SessionRecord.objects.get(source_id__endswith="2").call_count == 4
    links = [sql for sql in asked if 'FROM "store_sessionartifactrecord"' in sql]
    assert len(links) == 2, "what the files' sessions are, and what else those are read from"


def _noting_queries(function: Callable[..., Any], asked: list[str]) -> Callable[..., Any]:
    def noting(*values: Any) -> Any:
        with CaptureQueriesContext(connection) as seen:
            found = function(*values)
        asked.extend(one["sql"] for one in seen.captured_queries)
        return found

    return noting


def test_what_moved_counts_for_itself_and_not_for_what_lies_at_its_old_path(data_dir: Path, tmp_path: Path) -> None:
    path = tmp_path / "current.jsonl"
    path.write_text(talks(3, 1))
    follow(path)
    (link,) = SessionArtifactRecord.objects.all()

    def one(number: int, at: str) -> BatchFile:
        return BatchFile(number, f"{number}", 10, at.rpartition("/")[2], at, Path(at), False)

    moved, later = one(link.artifact_id, str(tmp_path / "old.jsonl")), one(link.artifact_id + 1, str(path))
    links = Links(Audience())

    assert links.of([later]) == {later.artifact_id: {link.session_id}}, "an earlier version of it"
    assert links.of([moved, later]) == {moved.artifact_id: {link.session_id}, later.artifact_id: set()}
    assert links.at([moved, later]) == {str(path): {link.session_id}}
    assert links.settled([moved, later]) == {moved.artifact_id: {link.session_id}}
    SessionRecord.objects.update(read_by="0.0.1")
    assert Links(Audience()).settled([moved, later]) == {}, "another version read it"
