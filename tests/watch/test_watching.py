"""The watcher: what comes, grows, turns or goes below a folder is read once, and nothing is missed."""

from __future__ import annotations

import os
import shutil
import sqlite3
import time
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from contextviz.services import digest, ingest
from contextviz.services.digest.remembering import RESIDENT
from contextviz.services.follow import Follower
from contextviz.services.watching import NothingToWatch, forget_done, looking, notices, opening, roots_of, watcher
from contextviz.services.watching.telling import watched_roots
from contextviz.store.models import JobRecord, SessionRecord, UploadBatchRecord
from contextviz.store.queries.transcripts import load_transcript
from tests.services.building import claude_lines
from tests.sources.claude_code.help import Writer
from tests.sources.openclaw.build import script
from tests.watch.following import calls, do, now, settled, told, until, watching

pytestmark = pytest.mark.django_db(transaction=True)
FIRST, SECOND = "0b1c2d3e-0000-4000-8000-000000000001", "0b1c2d3e-0000-4000-8000-000000000002"


@pytest.fixture(autouse=True)
def _quick(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    RESIDENT.clear()
    monkeypatch.setattr(notices, "WAIT_MILLISECONDS", 100)
    monkeypatch.setattr(notices, "DEBOUNCE_MILLISECONDS", 50)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home" / "projects" / "w"
    folder.mkdir(parents=True)
    return tmp_path / "home"


def session(home: Path, turns: int, name: str = FIRST) -> Path:
    path = home / "projects" / "w" / f"{name}.jsonl"
    path.write_text(claude_lines(turns, session=name))
    return path


def grow(path: Path, turns: int, name: str = FIRST) -> None:
    whole = claude_lines(turns, session=name)
    with path.open("a") as stream:
        stream.write(whole[path.stat().st_size :])


def test_what_was_there_before_is_read_at_the_start_once(home: Path) -> None:
    session(home, 2)
    session(home, 3, SECOND)

    with watching(home) as watcher:
        assert settled(watcher) == 1
    assert calls() == [2, 3]


def test_a_grown_file_is_read_once_for_its_change(home: Path) -> None:
    path = session(home, 2)
    with watching(home) as watcher:
        settled(watcher)
        grow(path, 4)
        assert until(watcher, lambda: calls() == [4]) == 1
        assert settled(watcher) == 0


def test_a_session_in_a_folder_that_comes_later_is_found(home: Path) -> None:
    with watching(home / "later") as watcher:
        assert settled(watcher) == 0
        (home / "later" / "deep" / "er").mkdir(parents=True)
        (home / "later" / "deep" / "er" / "a.jsonl").write_text(claude_lines(3))
        until(watcher, lambda: calls() == [3])
        (home / "later" / "new").mkdir()
        (home / "later" / "new" / "b.jsonl").write_text(claude_lines(2, session=SECOND))
        until(watcher, lambda: calls() == [3, 2])


def test_a_folder_that_was_made_anew_is_followed_again(home: Path) -> None:
    session(home, 1)
    with watching(home) as watcher:
        settled(watcher)
        shutil.rmtree(home)
        settled(watcher)
        (home / "projects" / "w").mkdir(parents=True)
        path = session(home, 2)
        until(watcher, lambda: calls() == [2])
        grow(path, 3)
        until(watcher, lambda: calls() == [3])


def test_what_changed_while_nobody_watched_is_read_at_the_next_start_and_no_more(home: Path) -> None:
    path = session(home, 2)
    session(home, 2, SECOND)
    with watching(home) as watcher:
        settled(watcher)
    grow(path, 5)

    with watching(home) as watcher:
        settled(watcher)
    assert calls() == [5, 2]
    names = [len(job.params["paths"]) for job in JobRecord.objects.order_by("created_at")]
    assert names == [2, 1], "the second start reads the changed file alone"


def test_a_start_where_nothing_changed_opens_no_job(home: Path) -> None:
    session(home, 2)
    with watching(home) as watcher:
        settled(watcher)
    with watching(home) as watcher:
        assert settled(watcher) == 0


def test_a_file_that_grows_while_its_job_waits_is_read_again_after_it(home: Path) -> None:
    path = session(home, 1)
    waiting: list[UUID] = []
    with watching(home, enqueue=waiting.append) as watcher:
        until(watcher, lambda: waiting)
        grow(path, 2)
        settled(watcher)
        grow(path, 4)
        settled(watcher)
        assert len(waiting) == 1, "never two jobs at once for the same files"
        do(waiting[0])
        # What the file held when the job was done was read with it; the bytes that came are looked at all the same.
        settled(watcher)
        for job_id in waiting[1:]:
            do(job_id)
        assert settled(watcher) == 0
    assert calls() == [4]


def test_a_job_that_somebody_else_opened_for_the_folder_is_waited_for(home: Path) -> None:
    path = session(home, 1)
    other = ingest.import_paths([path], now=now())
    with watching(home) as watcher:
        assert settled(watcher) == 0
        do(other)
        assert settled(watcher) == 0, "the other job read it already"
        grow(path, 3)
        until(watcher, lambda: calls() == [3])


def test_two_watchers_of_one_folder_open_one_job(home: Path) -> None:
    session(home, 1)
    waiting: list[UUID] = []
    with watching(home, enqueue=waiting.append) as one, watching(home, enqueue=waiting.append) as other:
        settled(one)
        settled(other)
        assert len(waiting) == 1
        do(waiting[0])
        assert (settled(one), settled(other)) == (0, 0)


def test_a_file_that_was_rotated_leaves_both_sessions(home: Path) -> None:
    path = home / "talk.jsonl"
    path.write_text(claude_lines(3))
    with watching(home) as watcher:
        settled(watcher)
        path.rename(path.with_name(path.name + ".1"))
        path.write_text(claude_lines(2, session=SECOND))
        until(watcher, lambda: calls() == [3, 2])
        settled(watcher)
    assert calls() == [3, 2]


def test_a_truncated_file_that_is_written_anew_is_read(home: Path) -> None:
    path = home / "talk.jsonl"
    path.write_text(claude_lines(4))
    with watching(home) as watcher:
        settled(watcher)
        with path.open("r+") as stream:
            stream.truncate(0)
            stream.write(claude_lines(2, session=SECOND))
        until(watcher, lambda: calls() == [4, 2])


def test_a_file_rewritten_with_the_same_size_and_time_is_read(home: Path) -> None:
    path = session(home, 2)
    with watching(home) as watcher:
        settled(watcher)
        before = path.stat()
        path.write_text(claude_lines(2).replace("alpha answer 1", "gamma answer 1"))
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
        assert path.stat().st_size == before.st_size
        until(watcher, lambda: JobRecord.objects.count() == 2)
        settled(watcher)
    jobs = JobRecord.objects.order_by("created_at")
    assert [job.outcome.startswith("Read 1 file") for job in jobs] == [True, True], [job.outcome for job in jobs]


def test_a_deleted_file_leaves_its_session_and_no_job(home: Path) -> None:
    path = session(home, 2)
    with watching(home) as watcher:
        settled(watcher)
        path.unlink()
        assert settled(watcher) == 0
        session(home, 3)
        until(watcher, lambda: calls() == [3])


def test_a_store_is_read_for_what_is_in_its_log_alone(home: Path) -> None:
    path = home / "lcm.db"
    store = sqlite3.connect(path, isolation_level=None)
    store.execute("PRAGMA journal_mode=WAL")
    store.execute("PRAGMA wal_autocheckpoint=0")
    store.execute("CREATE TABLE conversations (conversation_id INTEGER PRIMARY KEY, session_id TEXT, created_at TEXT)")
    watched = looking.Root(home)
    watched.scan()
    assert list(watched.dirty) == [str(path)]
    reading = looking.Reading([str(path)], {str(path): looking.mark_of(str(path)) or ()})
    watched.began(reading)
    watched.scan()
    assert watched.dirty == {}

    store.execute("INSERT INTO conversations VALUES (1, 's', '2026-01-01')")
    watched.hear([f"{path}-wal"])
    store.close()

    assert list(watched.dirty) == [str(path)]


def test_looking_again_and_again_finds_the_same(home: Path) -> None:
    path = session(home, 1)
    with watching(home, is_polling=True) as watcher:
        settled(watcher)
        grow(path, 2)
        until(watcher, lambda: calls() == [2])


def test_where_the_system_cannot_tell_it_is_said_once_and_looked(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, said, real = session(home, 1), [], notices.watch

    def limited(*paths: str, **chosen: object) -> object:
        if not chosen["force_polling"]:
            raise OSError(28, "OS file watch limit reached")
        return real(*paths, **chosen)  # type: ignore[arg-type]

    monkeypatch.setattr(notices, "watch", limited)
    with watching(home, said=said) as watcher:
        settled(watcher)
        grow(path, 2)
        until(watcher, lambda: calls() == [2])
    assert len(said) == 1
    assert "fs.inotify.max_user_watches" in said[0]


def test_notices_that_got_lost_are_made_up_for_by_a_look(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = session(home, 1)
    monkeypatch.setattr(watcher, "SCAN_SECONDS", 0.5)
    with watching(home) as following:
        settled(following)
        monkeypatch.setattr(notices.Notices, "wait", lambda self: time.sleep(0.05) or set())
        grow(path, 2)
        until(following, lambda: calls() == [2])


def test_more_files_than_can_be_followed_are_said(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(looking, "MOST_FILES", 1)
    monkeypatch.setattr(watcher, "MOST_FILES", 1)
    session(home, 1)
    session(home, 2, SECOND)
    said: list[str] = []
    with watching(home, said=said) as following:
        settled(following)
    assert calls() == [1]
    assert said == [
        f"{home} holds more than 1 files that may be transcripts; the first of them are followed. Name the folders "
        "inside that matter."
    ]


def test_what_no_reader_knows_opens_no_job(home: Path) -> None:
    (home / "notes.json").write_text('{"a": 1}')
    (home / "server.log").write_text("started\n")
    (home / "auth.json").write_text('{"token": "x"}')
    with watching(home) as watcher:
        assert settled(watcher) == 0
        (home / "notes.json").write_text('{"a": 2}')
        assert settled(watcher) == 0
    assert JobRecord.objects.count() == 0


def test_a_file_that_begins_with_nothing_becomes_a_session_later(home: Path) -> None:
    path = home / "projects" / "w" / f"{FIRST}.jsonl"
    path.write_text("")
    with watching(home) as watcher:
        settled(watcher)
        path.write_text('{"type":"summary","summary":"a","leafUuid":"b"}\n')
        settled(watcher)
        assert set(JobRecord.objects.values_list("state", flat=True)) <= {"done"}
        with path.open("a") as stream:
            stream.write(claude_lines(2))
        until(watcher, lambda: calls() == [2])


def test_a_configuration_that_changes_is_told_to_the_sessions_beside_it(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(looking, "ASIDE_SECONDS", 0.2)
    one = script("s-1")
    one.user("u1")
    one.answer("a1", prompt=500)
    one.save(home / "agents" / "main" / "sessions" / "s-1.jsonl")
    file = home / "openclaw.json"
    file.write_text('{"agents": {"defaults": {"contextTokens": 100000}}}')
    with watching(home) as watcher:
        settled(watcher)
        assert settings_of_the_only_session() == {"agents.defaults.contextTokens": 100_000}
        file.write_text('{"agents": {"defaults": {"contextTokens": 80000}}}')
        until(watcher, lambda: settings_of_the_only_session() == {"agents.defaults.contextTokens": 80_000})
        assert settled(watcher) == 0


def settings_of_the_only_session() -> dict[str, object]:
    found = load_transcript(SessionRecord.objects.get().pk).session.configuration
    return {} if found is None else dict(found.settings)


def test_what_retention_removed_does_not_come_back(home: Path, settings: Any) -> None:
    settings.RETENTION_DAYS = 30
    path = session(home, 2)
    mark = looking.mark_of(str(path))
    assert mark is not None
    root = looking.Root(home)
    root.scan()
    assert root.next_reading(now() + timedelta(days=31)) is None
    root = looking.Root(home)
    root.scan()
    assert root.next_reading(now() + timedelta(days=29)) is not None


def test_links_and_our_own_folder_are_not_followed(home: Path, tmp_path: Path, data_dir: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "a.jsonl").write_text(claude_lines(1))
    (home / "link").symlink_to(tmp_path / "outside")
    (home / "one.jsonl").symlink_to(tmp_path / "outside" / "a.jsonl")
    (data_dir / "kept.jsonl").write_text(claude_lines(1, session=SECOND))
    with watching(home) as watcher:
        assert settled(watcher) == 0
    with watching(data_dir.parent) as watcher:
        settled(watcher)
        (data_dir / "more.jsonl").write_text(claude_lines(1, session=SECOND))
        settled(watcher)
    assert [row.source_id for row in SessionRecord.objects.all()] == [FIRST]


def test_a_sub_agent_comes_to_its_session(home: Path) -> None:
    path = session(home, 2)
    with watching(home) as watcher:
        settled(watcher)
        agent = Writer(path.with_suffix("") / "subagents" / "agent-a1.jsonl", FIRST, isSidechain=True, agentId="a1")
        agent.user("x1", "a task", parent=None)
        agent.answer("y1", "a report", "m-y1")
        agent.save()
        until(watcher, lambda: SessionRecord.objects.filter(subagent_count=1).exists())
        settled(watcher)
    assert SessionRecord.objects.count() == 1


def test_a_job_whose_message_was_never_sent_is_told_again(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "UNHEARD", timedelta(0))
    session(home, 1)
    with watching(home, enqueue=lambda _: None) as killed:
        until(killed, lambda: JobRecord.objects.count() == 1)
    with watching(home) as watcher:
        until(watcher, lambda: calls() == [1])


def test_a_job_that_failed_is_tried_again(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watcher, "RETRY_SECONDS", 0.3)
    session(home, 1)
    tries: list[UUID] = []

    def fails_once(job_id: UUID) -> None:
        tries.append(job_id)
        if len(tries) == 1:
            JobRecord.objects.filter(pk=job_id).update(state="failed", outcome="no space")
        else:
            do(job_id)

    with watching(home, enqueue=fails_once) as following:
        until(following, lambda: calls() == [1])
        assert settled(following) == 0
    assert len(tries) == 2


def test_workers_leave_watched_files_to_the_watcher_while_it_lives(home: Path) -> None:
    path = session(home, 1)
    do(ingest.import_paths([path], now=now()))
    follower, found = Follower(), []
    with watching(home) as watcher:
        settled(watcher)
        grow(path, 2)
        assert watched_roots() == [home]
        assert follower.follow_once(now(), found.append) == 0
    assert watched_roots() == []
    assert follower.follow_once(now(), found.append) == 1
    digest.digest(found[0])
    assert calls() == [2]


def test_jobs_of_followed_files_are_forgotten_and_those_that_people_asked_for_kept(home: Path) -> None:
    path = session(home, 1)
    do(ingest.import_paths([path], now=now()))
    grow(path, 2)
    with watching(home) as watcher:
        until(watcher, lambda: calls() == [2])

    assert forget_done(now=now()) == 0
    assert forget_done(now=now() + timedelta(minutes=11)) == 1

    assert JobRecord.objects.count() == UploadBatchRecord.objects.count() == 1
    assert calls() == [2]


def test_the_feed_tells_each_message_once_and_in_order(home: Path) -> None:
    path = session(home, 1)
    with watching(home) as watcher:
        settled(watcher)
        for turns in range(2, 6):
            grow(path, turns)
            until(watcher, lambda turns=turns: calls() == [turns])
    found = told("message")
    assert len(found) == len(set(found)) == 8, "those of the first reading are from long ago, and one row says so"
    assert len(told("session")) == 1


def test_what_lies_below_another_is_followed_once(home: Path) -> None:
    assert roots_of([str(home), f"{home}/projects", "homes"], home=home)[0] == home
    assert home / ".claude" not in roots_of([str(home), "homes"], home=home)
    assert home / ".claude" in roots_of(["homes"], home=home)
    with pytest.raises(NothingToWatch, match="Nothing was named"):
        roots_of([])
