"""A deleted session leaves nothing of its own, and nothing of another's is touched."""

from __future__ import annotations

from pathlib import Path

import pytest
import zstandard

from contextviz.services import delete, digest, ingest
from contextviz.services.jobs import JobLost
from contextviz.store.models import (
    ArtifactRecord,
    SessionRecord,
    TextPackRecord,
    TextRecord,
    TextUseRecord,
)
from contextviz.store.queries import jobs, messages, sessions
from contextviz.store.texts import TextReader
from contextviz.store.values import JobRow, NotFound
from contextviz.store.writes import TABLES
from tests.services.building import NOW, artifact_files, claude_lines, upload

pytestmark = pytest.mark.django_db
OTHER = "0b1c2d3e-0000-4000-8000-000000000002"


def delete_one(session_id: int) -> JobRow:
    job_id = delete.open_delete(session_id, now=NOW)
    delete.delete_session(job_id)
    return jobs.get_job(job_id)


def test_a_deleted_session_leaves_no_row_no_text_and_no_file(data_dir: Path) -> None:
    (session_id,) = upload(("a.jsonl", claude_lines(20))).result["sessions"]

    job = delete_one(session_id)

    assert job.state == "done", job.outcome
    assert job.outcome.startswith("Deleted “alpha question 0”")
    leftovers = [SessionRecord, TextRecord, TextPackRecord, TextUseRecord, ArtifactRecord]
    assert {model: model.objects.count() for model in leftovers} == dict.fromkeys(leftovers, 0)  # type: ignore[attr-defined]
    assert not any(table.model._default_manager.exists() for table in TABLES)
    assert artifact_files(data_dir) == []


def test_texts_that_another_session_shares_stay_and_secrets_leave_the_bytes(data_dir: Path) -> None:
    first, second = claude_lines(5, word="shared"), claude_lines(5, word="shared", session=OTHER)
    secret = claude_lines(5, word="sk-secret", session="0b1c2d3e-0000-4000-8000-000000000003")
    job = upload(("a.jsonl", first), ("b.jsonl", second), ("c.jsonl", secret))
    by_title = {sessions.get_session(one).title: one for one in job.result["sessions"]}

    delete_one(by_title["sk-secret question 0"])
    (kept, gone) = [one for one in job.result["sessions"] if one != by_title["sk-secret question 0"]]
    delete_one(gone)

    page = messages.messages(kept).messages
    refs = [block.text for message in page for block in message.blocks]
    assert len(TextReader().get_many(refs)) == len({ref.digest for ref in refs}) == 10
    raw = b"".join(zstandard.ZstdDecompressor().decompress(bytes(pack.data)) for pack in TextPackRecord.objects.all())
    assert b"shared answer 4" in raw
    assert b"sk-secret" not in raw


def test_a_session_under_deletion_is_shown_nowhere(data_dir: Path) -> None:
    (session_id,) = upload(("a.jsonl", claude_lines(2))).result["sessions"]

    delete.open_delete(session_id, now=NOW)

    assert sessions.library().total == 0
    with pytest.raises(NotFound):
        sessions.get_session(session_id)
    with pytest.raises(NotFound):
        delete.open_delete(session_id, now=NOW)


def test_a_deletion_that_was_stopped_goes_on(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (session_id,) = upload(("a.jsonl", claude_lines(20))).result["sessions"]
    job_id = delete.open_delete(session_id, now=NOW)
    with monkeypatch.context() as patched:
        patched.setattr(delete, "_remove_texts", _die)
        delete.delete_session(job_id)
    assert jobs.get_job(job_id).state == "running", "as a killed worker leaves it"

    delete.delete_session(job_id)

    assert jobs.get_job(job_id).state == "done"
    assert TextRecord.objects.count() == SessionRecord.objects.count() == 0


def _die(*_: object) -> int:
    raise JobLost


def test_the_same_file_may_come_again_after_its_deletion(data_dir: Path) -> None:
    (session_id,) = upload(("a.jsonl", claude_lines(2))).result["sessions"]
    delete_one(session_id)

    job = upload(("a.jsonl", claude_lines(2)))

    assert job.outcome == "Read 1 file: 1 session (1 new)."


def test_an_imported_file_itself_is_never_deleted(data_dir: Path, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(claude_lines(2))
    job_id = ingest.import_paths([path], now=NOW)
    digest.digest(job_id)

    delete_one(jobs.get_job(job_id).result["sessions"][0])

    assert path.read_text() == claude_lines(2)
