"""A followed file that was cut short, emptied or given to another session: what was read stays, and says so."""

from __future__ import annotations

import json
import sqlite3
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from contextviz.services import delete, digest, ingest
from contextviz.services.digest.lost import EMPTIED, REPLACED, SHORTER
from contextviz.store.models import SessionArtifactRecord, SessionRecord, UploadBatchRecord
from contextviz.store.queries import calls, jobs
from contextviz.store.values import JobRow
from tests.accounts.cast import person
from tests.services.building import claude_lines, upload
from tests.sources.account_exports.talks import branched, simple
from tests.watch.following import old, settled, until, watching

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("data_dir")]
NAME = "talk.jsonl"
SECOND = "0b1c2d3e-0000-4000-8000-000000000002"


def bring(*paths: Path) -> JobRow:
    job = ingest.import_paths(list(paths), now=datetime.now(UTC))
    digest.digest(job)
    return jobs.get_job(job)


def told(session: str = "0b1c2d3e-0000-4000-8000-000000000001") -> list[str]:
    found = calls.problems(SessionRecord.objects.get(source_id=session).pk)
    return [one.code for one in found if one.code.startswith("file_")]


def text() -> str:
    found = calls.problems(SessionRecord.objects.get().pk)
    return next(one.message for one in found if one.code.startswith("file_"))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / NAME
    file.write_text(claude_lines(5))
    bring(old(file))
    return file


def test_a_file_cut_to_its_beginning_keeps_its_messages_and_says_so(path: Path) -> None:
    path.write_text(claude_lines(2))
    bring(path)
    session = SessionRecord.objects.get()

    assert (session.call_count, session.problem_count, session.error_count) == (5, 1, 0)
    assert text() == (
        f"talk.jsonl has become shorter: {len(claude_lines(2)):,} of the {len(claude_lines(5)):,} bytes that this "
        "session was read from are left. The messages that were read before are kept. To have only what is in it now, "
        "delete this session and import the file again."
    )
    revision = session.revision
    bring(path)
    assert SessionRecord.objects.get().revision == revision, "the same again is told once"


def test_what_to_do_then_helps(path: Path) -> None:
    path.write_text(claude_lines(2))
    bring(path)
    delete.delete_session(delete.open_delete(SessionRecord.objects.get().pk, now=datetime.now(UTC)))
    bring(path)

    assert SessionRecord.objects.get().call_count == 2 and told() == []


@pytest.mark.parametrize("then", [claude_lines(5), claude_lines(6), claude_lines(3, word="omega")])
def test_a_file_that_is_whole_again_or_written_anew_is_told_of_no_longer(path: Path, then: str) -> None:
    path.write_text(claude_lines(2))
    bring(path)
    assert told() == [SHORTER]
    path.write_text(then)
    bring(path)
    session = SessionRecord.objects.get()

    assert told() == [] and session.problem_count == 0
    assert session.call_count == then.count('"assistant", "uuid"')


def test_a_file_that_holds_another_session_now_is_told_to_the_one_that_was_in_it(path: Path) -> None:
    path.unlink()
    path.write_text(claude_lines(2, session=SECOND))
    bring(path)

    assert told() == [REPLACED] and told(SECOND) == []
    found = calls.problems(SessionRecord.objects.get(source_id__endswith="1").pk)
    assert found[0].message.startswith("talk.jsonl holds something else now: nothing of this session. The messages")
    calls_kept = SessionRecord.objects.order_by("source_id").values_list("call_count", flat=True)
    assert list(calls_kept) == [5, 2]


@pytest.mark.parametrize("now_there", [[simple("talk-1"), simple("c1")], [simple("c1")]], ids=["less", "nothing"])
def test_an_export_with_less_of_a_conversation_is_not_said_to_have_none_of_it(tmp_path: Path, now_there: Any) -> None:
    file = tmp_path / "conversations.json"
    file.write_text(json.dumps([branched(), simple("c1")]))
    bring(old(file))
    file.write_text(json.dumps(now_there))
    bring(file)

    assert told("talk-1") == [REPLACED] and told("c1") == []
    kept = SessionRecord.objects.get(source_id="talk-1")
    assert kept.message_count == 11
    said = "conversations.json holds something else now: of this session nothing, or not as much or as new as was read"
    assert calls.problems(kept.pk)[-1].message.startswith(said)


def test_a_file_that_was_moved_aside_is_followed_there(path: Path) -> None:
    aside = path.with_name("old-talk.jsonl")
    path.rename(aside)
    path.write_text(claude_lines(2, session=SECOND))
    bring(path)
    assert told() == [REPLACED]
    bring(aside)

    assert told() == []
    link = SessionArtifactRecord.objects.get(session__source_id__endswith="1")
    assert link.source_path == str(aside)


def test_a_file_with_nothing_in_it_is_told_of_and_fails_only_where_a_person_asked(path: Path) -> None:
    path.write_text("")
    job = bring(path)

    assert job.state == "failed" and not job.can_retry
    assert "talk.jsonl: nothing that can be read is in it any more; what was read of it before is kept" in job.outcome
    assert told() == [EMPTIED] and SessionRecord.objects.get().call_count == 5


def test_what_is_told_stays_when_the_session_is_read_again(path: Path) -> None:
    path.write_text(claude_lines(2))
    bring(path)
    SessionRecord.objects.update(read_by="older")  # an older version of ours read it
    UploadBatchRecord.objects.update(fingerprint="")
    bring(path)

    session = SessionRecord.objects.get()
    assert session.read_by != "older" and told() == [SHORTER] and session.call_count == 5


def test_a_session_that_left_its_store_is_told(tmp_path: Path) -> None:
    store = tmp_path / "opencode.db"
    connection = sqlite3.connect(store)
    connection.executescript(
        "CREATE TABLE session (id TEXT, directory TEXT, title TEXT, time_created INTEGER, time_updated INTEGER);"
        "CREATE TABLE message (id TEXT, session_id TEXT, time_created INTEGER, data TEXT);"
        "CREATE TABLE part (id TEXT, message_id TEXT, session_id TEXT, data TEXT);"
    )
    for name in ("ses_one", "ses_two"):
        connection.execute("INSERT INTO session VALUES (?, '/w', ?, 1770000000000, 1770000001000)", (name, name))
        connection.execute(
            "INSERT INTO message VALUES (?, ?, 1770000000500, ?)",
            (f"msg_{name}", name, '{"role": "user", "time": {"created": 1770000000500}}'),
        )
        part = '{"type": "text", "text": "hello"}'
        connection.execute("INSERT INTO part VALUES (?, ?, ?, ?)", (f"prt_{name}", f"msg_{name}", name, part))
    connection.commit()
    bring(store)
    assert told("ses_one") == told("ses_two") == []
    connection.execute("DELETE FROM session WHERE id = 'ses_one'")
    connection.execute("DELETE FROM message WHERE session_id = 'ses_one'")
    connection.commit()
    connection.close()
    bring(store)

    assert (told("ses_one"), told("ses_two")) == ([REPLACED], [])


def test_a_private_session_is_not_told_of_what_another_reading_found(path: Path) -> None:
    SessionRecord.objects.update(is_private=True, owner=person("ann", "editor"))
    path.write_text(claude_lines(2))
    bring(path)

    assert not told()


def test_uploads_follow_no_file(data_dir: Path) -> None:
    upload((NAME, claude_lines(5)))
    upload((NAME, claude_lines(2)))

    assert told() == [] and SessionRecord.objects.get().call_count == 5


def test_a_folder_of_many_files_is_looked_up_at_once(tmp_path: Path) -> None:
    for one in range(20):
        name = f"0000{one:04d}-0000-4000-8000-000000000001"
        (tmp_path / f"{name}.jsonl").write_text(claude_lines(1, session=name))
    bring(tmp_path)
    with CaptureQueriesContext(connection) as seen:
        bring(tmp_path)

    assert sum("problemrecord" in one["sql"] for one in seen.captured_queries) == 1


def test_a_watched_file_that_is_emptied_is_told_of_and_read_when_it_grows_again(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    file = home / NAME
    file.write_text(claude_lines(4))
    with watching(home) as watcher:
        settled(watcher)
        with file.open("r+") as stream:
            stream.truncate(0)
        until(watcher, lambda: told() == [EMPTIED])
        settled(watcher)
        file.write_text(claude_lines(2))
        until(watcher, lambda: told() == [SHORTER])
        file.write_text(claude_lines(6))
        until(watcher, lambda: SessionRecord.objects.get().call_count == 6)
        settled(watcher)
    assert told() == []
