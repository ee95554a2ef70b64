"""A log of requests, or an export, that comes before its session: it is kept, and joined when the session comes."""

from __future__ import annotations

import io
import zipfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from contextviz.services import delete, digest, ingest
from contextviz.services.digest import halves, reading
from contextviz.services.keeping import retention
from contextviz.store.models import (
    ArtifactRecord,
    SessionArtifactRecord,
    SessionRecord,
    WaitingLogRecord,
)
from contextviz.store.queries import jobs, snapshots
from contextviz.store.viewing import viewer_of_id, viewing
from tests.accounts.cast import person
from tests.services.building import NOW, artifact_files, chunked, upload
from tests.services.test_request_logs import TRACE, lines, only, session_file, trace_file, verdicts
from tests.sources.openclaw.exporting import FOLDER, exported
from tests.sources.openclaw.exporting import lines as export_lines
from tests.sources.openclaw.test_cache_trace import conversation
from tests.sources.openclaw.tracing import event

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]
CHECKED = ["confirmed", "confirmed", None]


def runtime_file() -> tuple[str, str]:
    """A trajectory of the runtime: what one run began with."""
    return "s-1.trajectory.jsonl", lines([event("context.compiled", 0.2, messages=[], prompt="first question")])


def export_file() -> tuple[str, str]:
    return f"{FOLDER}/events.jsonl", export_lines(exported(conversation()))


def linked() -> set[str]:
    return {link.name for link in SessionArtifactRecord.objects.all()}


def test_a_log_that_comes_first_is_kept_and_says_what_it_waits_for() -> None:
    job = upload(trace_file())

    assert job.state == "done" and SessionRecord.objects.count() == 0
    assert job.outcome == (
        "Nothing to show yet: this is a log of the requests of s-1, and no transcript of that is here. "
        "It is kept for 30 days and checks the windows as soon as the transcript comes."
    )
    assert list(WaitingLogRecord.objects.values_list("source_id", "name")) == [("s-1", TRACE)]


@pytest.mark.parametrize("log", [trace_file, runtime_file])
def test_it_joins_its_session_when_that_comes(log: Any, data_dir: Path) -> None:
    name, body = log()
    upload((name, body))
    upload(session_file())
    before = (verdicts(), SessionRecord.objects.get().call_count, SessionRecord.objects.get().spend_total_tokens)

    assert before[0][0] == "confirmed" and linked() == {"s-1.jsonl", name}
    assert WaitingLogRecord.objects.count() == 0 and len(artifact_files(data_dir)) == 2
    revision = SessionRecord.objects.get().revision
    upload((name, body))
    upload(session_file())
    assert SessionRecord.objects.get().revision == revision, "both again change nothing"


def test_the_order_changes_no_number() -> None:
    upload(trace_file())
    upload(session_file())
    first = SessionRecord.objects.values("call_count", "spend_total_tokens", "problem_count", "message_count").get()
    assert verdicts() == CHECKED
    delete.delete_session(delete.open_delete(only(), now=datetime.now(UTC)))
    upload(session_file(), trace_file())

    assert verdicts() == CHECKED
    again = SessionRecord.objects.values("call_count", "spend_total_tokens", "problem_count", "message_count").get()
    assert again == first


def test_a_longer_version_of_a_waiting_log_takes_its_place(data_dir: Path) -> None:
    name, body = trace_file()
    upload((name, "".join(body.splitlines(keepends=True)[:2])))
    upload((name, body))

    assert WaitingLogRecord.objects.count() == 1 and len(artifact_files(data_dir)) == 1
    upload(session_file())
    assert verdicts() == CHECKED and len(artifact_files(data_dir)) == 2


def session_of(name: str) -> tuple[str, str]:
    made = conversation()
    made.header = {**(made.header or {}), "id": name}
    return f"{name}.jsonl", lines(made.lines())


def bring_in(path: Path, *sessions: str) -> None:
    """Import the log at `path` as it is once it speaks of these sessions alone."""
    path.write_text("".join(trace_file(session=one)[1] for one in sessions))
    job_id = ingest.import_paths([path], now=datetime.now(UTC))
    assert digest.digest(job_id)


@pytest.mark.parametrize(
    ("first", "then"), [(["s-1"], ["s-2"]), (["s-2", "s-1"], ["s-2"]), (["s-1"], ["s-2", "s-1"])]
)  # fmt: skip
def test_what_took_the_place_of_a_waiting_log_takes_nothing_from_it(
    tmp_path: Path, first: list[str], then: list[str]
) -> None:
    log = tmp_path / "cache-trace.jsonl"
    bring_in(log, *first)
    bring_in(log, *then)
    assert set(WaitingLogRecord.objects.values_list("source_id", flat=True)) == {"s-1", "s-2"}

    upload(session_of("s-2"))
    upload(session_of("s-1"))

    assert WaitingLogRecord.objects.count() == 0
    for one in SessionRecord.objects.all():
        checks = [row.check for row in snapshots.snapshots(one.pk)]
        assert [check and check.verdict for check in checks] == CHECKED and one.call_count == 3, one.source_id


def test_a_log_of_more_sessions_than_one_query_asks_for_is_kept_for_each(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(halves, "MOST_LOOKED_AT", 2)
    upload(session_of("s-4"))
    upload((TRACE, "".join(trace_file(session=f"s-{number}")[1] for number in range(6))))

    assert verdicts() == CHECKED, "it was there before"
    assert list(WaitingLogRecord.objects.order_by("pk").values_list("source_id", flat=True)) == [
        "s-0", "s-1", "s-2", "s-3", "s-5",
    ]  # fmt: skip


def test_a_log_of_more_sessions_than_it_is_kept_for_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(halves, "MOST_WAITING", 2)
    job = upload((TRACE, "".join(trace_file(session=f"s-{number}")[1] for number in range(5))))

    assert WaitingLogRecord.objects.count() == 2
    assert [line.text for line in jobs.job_log(job.id)] == [
        f"{TRACE} speaks of 3 more sessions than a log is kept for; send it again once they are here"
    ]


@pytest.mark.parametrize(("most", "waiting"), [(200, 0), (3, 1)])
def test_all_logs_of_a_session_join_it_when_it_comes(
    monkeypatch: pytest.MonkeyPatch, most: int, waiting: int
) -> None:  # fmt: skip
    monkeypatch.setattr(halves, "MOST_LOGS", most)
    monkeypatch.setattr(reading, "MOST_LOGS", most)
    monkeypatch.setattr(halves, "MOST_VERSIONS", 2)
    name, body = trace_file()
    for number in range(4):
        upload((f"{number}/{name}", body.replace("run-1", f"run-{number}")))
    job = upload(session_file())

    assert WaitingLogRecord.objects.count() == waiting
    assert SessionRecord.objects.get().artifacts.count() == 5 - waiting
    assert len(jobs.job_log(job.id)) == waiting


def test_a_log_of_two_sessions_waits_for_the_one_that_is_not_here() -> None:
    upload(session_file())
    name, body = trace_file()
    other = trace_file(session="s-2")[1]
    upload((name, body + other))

    assert verdicts() == CHECKED
    assert list(WaitingLogRecord.objects.values_list("source_id", flat=True)) == ["s-2"]
    made = conversation()
    made.header = {**(made.header or {}), "id": "s-2"}
    upload(("s-2.jsonl", lines(made.lines())))
    second = SessionRecord.objects.get(source_id="s-2")
    assert set(second.artifacts.values_list("name", flat=True)) == {"s-2.jsonl", TRACE}
    assert WaitingLogRecord.objects.count() == 0


def test_a_log_in_an_archive_waits_as_well() -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr(*trace_file())
    upload(("logs.zip", packed.getvalue()))
    upload(session_file())

    assert verdicts() == CHECKED and linked() == {"s-1.jsonl", "logs.zip"}


def test_deleting_the_session_takes_its_log_along(data_dir: Path) -> None:
    upload(trace_file())
    upload(session_file())
    delete.delete_session(delete.open_delete(only(), now=datetime.now(UTC)))

    assert artifact_files(data_dir) == [] and ArtifactRecord.objects.count() == 0
    upload(session_file())
    assert verdicts() == [None, None, None], "nothing of the deleted log comes back"


@pytest.mark.parametrize(("days", "after", "is_kept"), [(0, 29, True), (0, 31, False), (7, 8, False), (90, 31, False)])
def test_a_log_waits_no_longer_than_it_may(settings: Any, data_dir: Path, days: int, after: int, is_kept: bool) -> None:
    settings.RETENTION_DAYS = days
    upload(trace_file())
    retention.forget_waiting_logs(now=datetime.now(UTC) + timedelta(days=after))

    assert bool(artifact_files(data_dir)) == is_kept and WaitingLogRecord.objects.exists() == is_kept


def test_where_there_is_too_much_waiting_logs_go_first(settings: Any, data_dir: Path) -> None:
    settings.RETENTION_BYTES = 10
    upload(trace_file())
    retention.forget_waiting_logs(now=datetime.now(UTC))

    assert artifact_files(data_dir) == []


def test_a_log_joins_no_session_that_its_sender_does_not_see() -> None:
    ann, bob = person("ann", "editor"), person("bob", "editor")
    with viewing(viewer_of_id(bob.pk)):
        upload(trace_file())
    with viewing(viewer_of_id(ann.pk)):
        batch = ingest.open_batch(now=NOW, is_private=True)
        name, body = session_file()
        ingest.receive(chunked(body.encode()), name, batch_id=batch, now=NOW)
        job_id = ingest.finish_batch(batch, now=NOW)
        assert job_id is not None and digest.digest(job_id)
    assert verdicts() == [None, None, None] and WaitingLogRecord.objects.count() == 1

    with viewing(viewer_of_id(ann.pk)):
        upload(trace_file())
    assert verdicts() == CHECKED


@pytest.mark.parametrize("is_first", [True, False])
def test_an_export_and_its_transcript_are_one_session_in_whichever_order_they_come(is_first: bool) -> None:
    files = [export_file(), session_file()]
    for file in files if is_first else reversed(files):
        assert upload(file).state == "done"
    session = SessionRecord.objects.get()

    assert (session.call_count, session.message_count) == (3, 6) and linked() == {"s-1.jsonl", export_file()[0]}
    assert WaitingLogRecord.objects.count() == 0


def test_an_export_alone_is_a_session_on_its_page(client: Any) -> None:
    job = upload(export_file())
    session = SessionRecord.objects.get()

    assert job.outcome == "Read 1 file: 1 session (1 new)."
    assert (session.call_count, session.agent, session.source_id) == (3, "main", "s-1")
    html = client.get(f"/sessions/{session.pk}/").content.decode()
    assert "An exported trajectory, read as its session since the transcript is not among these files" in html
