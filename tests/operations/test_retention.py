"""What is removed by age and size: the oldest, in batches, never what is kept."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from contextviz.services.delete import delete_session
from contextviz.services.keeping import retention
from contextviz.services.keeping.workers import beat, living_workers
from contextviz.store.models import AuditRecord, SessionRecord, WorkerRecord
from tests.services.building import NOW, claude_lines, upload

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]


@pytest.fixture
def four() -> list[int]:
    """Sessions that ended 40, 30, 20 and 10 days ago, of about the same size."""
    made = []
    for number in range(4):
        session = f"0b1c2d3e-0000-4000-8000-00000000000{number}"
        job = upload((f"{number}.jsonl", claude_lines(3, session=session, word=f"word{number}")))
        [found] = job.result["sessions"]
        made.append(found)
    # At the end: sessions that began at the same moment are read together, lest one repeats the other.
    for number, found in enumerate(made):
        SessionRecord.objects.filter(pk=found).update(sorted_at=NOW - timedelta(days=40 - 10 * number))
    return made


def due() -> list[int]:
    return [one.id for one in retention.plan(now=NOW).due]


def test_without_a_limit_nothing_goes(four: list[int]) -> None:
    assert due() == []
    assert retention.remove_due(now=NOW) == []


def test_what_ended_too_long_ago_goes_oldest_first(four: list[int], settings: Any) -> None:
    settings.RETENTION_DAYS = 25

    assert due() == four[:2]
    assert all(one.is_old for one in retention.plan(now=NOW).due)


def test_above_the_size_the_oldest_go_until_it_is_kept(four: list[int], settings: Any) -> None:
    total = retention.plan(now=NOW).total_bytes
    settings.RETENTION_BYTES = total * 5 // 8

    found = retention.plan(now=NOW)

    assert [one.id for one in found.due] == four[:2]
    assert total - found.freed_bytes <= settings.RETENTION_BYTES


def test_what_is_kept_or_grows_is_passed_by(four: list[int], settings: Any) -> None:
    settings.RETENTION_DAYS = 1
    SessionRecord.objects.filter(pk=four[0]).update(is_kept=True)
    SessionRecord.objects.filter(pk=four[1]).update(status="growing")

    assert due() == four[2:]


def test_it_goes_in_batches_by_jobs_and_is_written_down(
    four: list[int], settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.RETENTION_DAYS = 15
    monkeypatch.setattr(retention, "BATCH_SESSIONS", 2)

    first = retention.remove_due(now=NOW)
    again = retention.remove_due(now=NOW)
    for job in first:
        delete_session(job)
    last = retention.remove_due(now=NOW)

    assert (len(first), len(again), len(last)) == (2, 0, 1)
    assert set(SessionRecord.objects.exclude(status="deleting").values_list("pk", flat=True)) == {four[3]}
    rows = AuditRecord.objects.filter(kind="session_deleted").values_list("name", "target")
    assert len(rows) == 3
    assert all(name == "" and "by retention" in target for name, target in rows)


def test_the_page_shows_what_would_go_and_a_session_can_be_kept(client: Client, four: list[int], settings: Any) -> None:
    settings.RETENTION_DAYS = 10_000
    page = client.get("/settings/retention/").content.decode()
    assert "10,000 days" in page
    assert "Nothing would go." in page
    settings.RETENTION_DAYS = 1

    assert "4 sessions" in client.get("/settings/retention/").content.decode()
    assert "keep it, however old" in client.get(f"/sessions/{four[0]}/").content.decode()
    assert client.post(f"/sessions/{four[0]}/keep/", {"keep": "yes"}).status_code == 303
    assert client.post(f"/sessions/{four[0]}/keep/", {"keep": "maybe"}).status_code == 422
    assert due() == four[1:]


def test_a_worker_is_known_while_it_says_so() -> None:
    now = timezone.now()
    assert living_workers(now=now) == 0

    beat(now=now)
    beat(now=now)

    assert living_workers(now=now) == 1
    assert living_workers(now=now + timedelta(minutes=2)) == 0, "it fell silent"
    WorkerRecord.objects.update(name="elsewhere|1:1")
    assert living_workers(now=now) == 0, "another machine's is not this one's"
    beat(now=now + timedelta(days=2))
    assert WorkerRecord.objects.count() == 1, "old rows go"
