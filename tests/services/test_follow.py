"""Files that still grow are read again."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID

import pytest

from contextviz.services import digest, ingest
from contextviz.services.follow import Follower
from contextviz.store.queries import jobs, sessions
from tests.services.building import claude_lines

pytestmark = pytest.mark.django_db(transaction=True)
LATER = timedelta(seconds=5)


@pytest.fixture
def source(data_dir: Path, tmp_path: Path) -> Path:
    path = tmp_path / "home" / "0b1c2d3e-0000-4000-8000-000000000001.jsonl"
    path.parent.mkdir()
    path.write_text(claude_lines(2))
    os.utime(path, (1_000_000_000, 1_000_000_000))
    digest.digest(ingest.import_paths([path], now=now()))
    return path


def now() -> datetime:
    return datetime.now(UTC)


def looked(follower: Follower, at: datetime | None = None) -> list[UUID]:
    found: list[UUID] = []
    follower.follow_once(at or now(), found.append)
    return found


def test_an_unchanged_file_costs_a_look_and_no_job(source: Path) -> None:
    assert looked(Follower()) == []


def test_a_grown_file_is_read_again_once(source: Path) -> None:
    follower = Follower()
    source.write_text(claude_lines(4))

    (job,) = looked(follower)
    assert looked(follower) == []
    digest.digest(job)

    assert jobs.get_job(job).state == "done"
    assert looked(follower) == []
    assert [row.call_count for row in sessions.recent_sessions()] == [4]


def test_a_file_that_grows_while_its_job_waits_is_read_after_it(source: Path) -> None:
    follower = Follower()
    source.write_text(claude_lines(3))
    (first,) = looked(follower)
    source.write_text(claude_lines(5))

    assert looked(follower) == []
    digest.digest(first)
    for job in looked(follower):
        digest.digest(job)

    assert [row.call_count for row in sessions.recent_sessions()] == [5]


def test_a_touched_file_is_read_once_and_then_left(source: Path) -> None:
    follower = Follower()
    os.utime(source, (now().timestamp() + 60, now().timestamp() + 60))

    for job in looked(follower):
        digest.digest(job)

    assert looked(follower) == []


def test_a_file_that_is_gone_is_no_matter(source: Path) -> None:
    source.unlink()

    assert looked(Follower()) == []


def test_old_sessions_are_left_alone(source: Path) -> None:
    source.write_text(claude_lines(3))

    assert looked(Follower(), now() + timedelta(days=2)) == []
