"""Uploads become sessions: once each, the longer one of a growing file, all or nothing."""

from __future__ import annotations

import gzip
import io
import shutil
import zipfile
from pathlib import Path

import pytest

from contextviz.services import digest, ingest
from contextviz.services.digest import reading
from contextviz.store.models import ArtifactRecord, MessageRecord, SessionRecord, TextRecord, TextUseRecord
from contextviz.store.queries import calls, jobs, messages, sessions, snapshots
from tests.services.building import NOW, artifact_files, claude_lines, upload

pytestmark = pytest.mark.django_db


def only_session() -> int:
    return SessionRecord.objects.get().pk


def test_an_upload_becomes_a_session_with_its_numbers(data_dir: Path) -> None:
    job = upload(("a.jsonl", claude_lines(3)))

    assert job.state == "done", job.outcome
    assert job.outcome == "Read 1 file: 1 session (1 new)."
    row = sessions.get_session(job.result["sessions"][0])
    assert (row.format, row.call_count, row.message_count) == ("claude-code", 3, 6)
    assert (row.spend_input_tokens, row.spend_output_tokens, row.last_prompt_tokens) == (33, 21, 117)
    assert row.title == "alpha question 0"
    window = snapshots.window_of_call(row.id, 2)
    assert window is not None
    assert [one.category for one in window.items] == ["user", "assistant", "user", "assistant", "user"]
    assert window.snapshot.estimated_tokens == sum(window.snapshot.sums.values()) > 0


def test_the_same_file_twice_changes_nothing(data_dir: Path) -> None:
    upload(("a.jsonl", claude_lines(3)))
    rows = list(MessageRecord.objects.order_by("pk").values_list("pk", flat=True))

    job = upload(("copy of a.jsonl", claude_lines(3)))

    assert (job.state, job.result["unchanged"]) == ("done", 1)
    assert job.outcome == "Nothing new: 1 file with the same content was read before."
    assert rows == list(MessageRecord.objects.order_by("pk").values_list("pk", flat=True))
    assert sessions.get_session(only_session()).revision == 1
    assert len(artifact_files(data_dir)) == 1


def test_a_grown_file_updates_its_session_in_place(data_dir: Path) -> None:
    upload(("a.jsonl", claude_lines(3)))
    before = only_session()

    job = upload(("a.jsonl", claude_lines(9)))

    assert job.outcome == "Read 1 file: 1 session (1 updated)."
    row = sessions.get_session(only_session())
    assert (row.id, row.revision, row.call_count) == (before, 2, 9)
    assert len(artifact_files(data_dir)) == 1, "the shorter version's bytes are gone"


@pytest.mark.parametrize("name", ["a.jsonl", "a (1).jsonl"])
def test_an_older_copy_of_a_growing_file_never_shortens_its_session(data_dir: Path, name: str) -> None:
    upload(("a.jsonl", claude_lines(9)))

    job = upload((name, claude_lines(3)))

    assert (job.state, job.outcome) == ("done", "Read 1 file: 1 session (1 unchanged).")
    assert sessions.get_session(only_session()).call_count == 9
    assert len(artifact_files(data_dir)) == 1


def test_two_versions_of_a_growing_file_in_one_upload_are_one_session(data_dir: Path) -> None:
    for order in ((4, 9), (9, 4)):
        upload(*(("a.jsonl", claude_lines(turns)) for turns in order))
        assert sessions.get_session(only_session()).call_count == 9
        assert calls.calls(only_session())[-1].index == 8


def test_a_half_written_last_line_is_read_when_it_is_whole(data_dir: Path) -> None:
    whole = claude_lines(4)
    upload(("a.jsonl", whole[:-200]))
    assert sessions.get_session(only_session()).is_growing
    first = sessions.get_session(only_session()).call_count

    upload(("a.jsonl", whole))

    row = sessions.get_session(only_session())
    assert (first, row.call_count, row.is_growing) == (3, 4, False)


def test_an_upload_replaces_no_other_because_it_is_called_alike(data_dir: Path) -> None:
    upload(("a.jsonl", claude_lines(9)))
    before = only_session()

    upload(("a.jsonl", claude_lines(2, word="beta")))

    assert only_session() == before
    assert len(messages.messages(before).messages) == 18
    assert len(artifact_files(data_dir)) == 2, "both are kept"


def test_sessions_of_one_upload_are_read_together(data_dir: Path) -> None:
    other = "0b1c2d3e-0000-4000-8000-000000000002"
    job = upload(("a.jsonl", claude_lines(2)), ("b.jsonl", claude_lines(3, session=other)), ("notes.txt", "no JSON"))

    assert job.outcome == "Read 3 files: 2 sessions (2 new). 1 file was not a transcript."
    assert sorted(row.call_count for row in sessions.library().items) == [2, 3]
    assert len(artifact_files(data_dir)) == 2, "what is no transcript is not kept"


def test_a_sub_agent_stays_with_its_session_when_the_root_grows_alone(data_dir: Path, shared: Path) -> None:
    root = next((shared / "samples" / "claude-main").rglob("*.jsonl"))
    files = sorted((shared / "samples" / "claude-main").rglob("*.jsonl"))
    names = [str(path.relative_to(shared / "samples")) for path in files]
    whole = [path.read_bytes() for path in files]
    assert len(files) > 1, root
    upload(*zip(names, whole, strict=True))
    expected = sessions.get_session(only_session())
    main = max(range(len(files)), key=lambda number: len(whole[number]))
    upload(*zip(names, whole, strict=True))

    grown = whole[main] + claude_lines(1, session=expected.source_id).encode()
    upload((names[main], grown))

    row = sessions.get_session(only_session())
    assert row.subagent_count == expected.subagent_count > 0
    assert row.call_count == expected.call_count + 1


def test_an_archive_is_kept_as_it_came_and_its_sessions_are_read(data_dir: Path) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("home/a.jsonl", claude_lines(3))
        archive.writestr("../out.jsonl", b"x")
    job = upload(("home.zip", packed.getvalue()))

    assert job.state == "done", job.outcome
    assert sessions.get_session(only_session()).call_count == 3
    assert [one["code"] for one in job.result["problems"]] == ["unsafe_archive_member"]
    assert len(artifact_files(data_dir)) == 1
    again = upload(("home.zip", packed.getvalue()))
    assert again.outcome == "Nothing new: 1 file with the same content was read before."

    longer = upload(("a.jsonl.gz", gzip.compress(claude_lines(5).encode())))
    assert longer.state == "done", longer.outcome
    assert sessions.get_session(only_session()).call_count == 5


def test_a_failed_save_leaves_the_session_as_it_was(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    upload(("a.jsonl", claude_lines(3)))
    monkeypatch.setattr("contextviz.store.writes.session.pack_detail", _fail)

    job = upload(("a.jsonl", claude_lines(9)))

    assert job.state == "failed"
    assert job.may_retry
    assert str(job.id) in job.outcome
    row = sessions.get_session(only_session())
    assert (row.call_count, row.revision, MessageRecord.objects.count()) == (3, 1, 6)


def _fail(*_: object) -> bytes:
    raise RuntimeError("the disk is on fire")


def test_texts_removed_while_a_file_is_read_are_read_again(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = reading.derive
    removed: list[int] = []

    def remove_once(*arguments: object, **options: object) -> object:
        if not removed:
            removed.append(TextRecord.objects.filter(uses__isnull=True).delete()[0])
        return real(*arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(reading, "derive", remove_once)
    monkeypatch.setattr(reading, "TextReader", lambda *_: _NoTitle())

    job = upload(("a.jsonl", claude_lines(3)))

    assert removed[0] > 0
    assert job.state == "done", job.outcome
    assert TextUseRecord.objects.count() == TextRecord.objects.count()


class _NoTitle:
    estimator = "o200k_base"

    def get(self, ref: object) -> str:
        return "a title"


def test_a_folder_is_imported_with_its_databases_read_in_place(data_dir: Path, shared: Path, tmp_path: Path) -> None:
    folder = tmp_path / "openclaw"
    shutil.copytree(shared / "samples" / "oc-lossless1", folder)
    (folder / "auth-profiles.json").write_text('{"token": "sk-secret"}')

    job_id = ingest.import_paths([folder], now=NOW)
    digest.digest(job_id)

    job = jobs.get_job(job_id)
    assert job.state == "done", job.outcome
    row = sessions.get_session(job.result["sessions"][0])
    assert row.node_count > 0
    databases = list(ArtifactRecord.objects.exclude(path=""))
    assert databases
    assert not any(path.read_bytes().startswith(b"SQLite") for path in artifact_files(data_dir))
    assert not any(b"sk-secret" in path.read_bytes() for path in artifact_files(data_dir))


def test_an_import_follows_its_file(data_dir: Path, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(claude_lines(2))
    digest.digest(ingest.import_paths([path], now=NOW.replace(year=2100)))
    row = sessions.get_session(only_session())
    path.write_text(claude_lines(5))

    job_id = ingest.refresh(row.id, now=NOW)

    assert job_id is not None
    digest.digest(job_id)
    assert sessions.get_session(row.id).call_count == 5


@pytest.mark.parametrize("path", ["/nowhere/at/all.jsonl", "/dev/null"])
def test_a_path_that_cannot_be_imported_is_refused_at_once(data_dir: Path, path: str) -> None:
    with pytest.raises(ingest.NothingThere, match=path):
        ingest.import_paths([path], now=NOW)
    assert jobs.jobs().total == 0


def test_agent_homes_are_found_by_names_alone(tmp_path: Path) -> None:
    project = tmp_path / ".claude" / "projects" / "-w"
    project.mkdir(parents=True)
    (project / "a.jsonl").write_text("")
    (tmp_path / ".codex" / "sessions" / "2026" / "02").mkdir(parents=True)
    (tmp_path / ".codex" / "sessions" / "2026" / "02" / "rollout-1.jsonl").write_text("")
    (tmp_path / ".codex" / "auth.json").write_text("{}")
    (tmp_path / ".pi").symlink_to(tmp_path / ".claude")
    (tmp_path / ".openclaw").mkdir()

    found = ingest.discover_homes(tmp_path)

    assert [(home.agent, home.files) for home in found] == [("Claude Code", 1), ("Codex", 1)]


def halves(shared: Path) -> tuple[list[tuple[str, bytes]], list[tuple[str, bytes]]]:
    """The host's files and the store of one session, as two uploads."""
    found = [path for path in sorted((shared / "samples" / "oc-lossless1").rglob("*")) if path.is_file()]
    store = [path for path in found if path.name == "lcm.db"]
    host = [path for path in found if path.suffix in (".sqlite", ".jsonl", ".db") and path not in store]
    return [(path.name, path.read_bytes()) for path in host], [(path.name, path.read_bytes()) for path in store]


@pytest.mark.parametrize("store_first", [True, False])
def test_a_store_and_its_host_find_each_other_in_whichever_order_they_come(
    data_dir: Path, shared: Path, store_first: bool
) -> None:
    host, store = halves(shared)
    upload(*host, *store)
    together = sessions.get_session(SessionRecord.objects.get().pk)
    SessionRecord.objects.all().delete()
    TextUseRecord.objects.all().delete()

    for files in (store, host) if store_first else (host, store):
        job = upload(*files)
        assert job.state == "done", job.outcome

    row = sessions.get_session(SessionRecord.objects.get().pk)
    assert (row.node_count, row.compaction_count) == (together.node_count, together.compaction_count)
    assert row.node_count > 0
    assert len(sessions.sources(row.id)) == 2
    assert upload(*store).result["sessions"] == [row.id]
    assert SessionRecord.objects.count() == 1


def test_two_digests_of_one_session_at_once_keep_the_longer(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = reading.derive
    overtaken: list[bool] = []

    def overtake(*arguments: object, **options: object) -> object:
        if not overtaken:
            overtaken.append(True)
            upload(("a.jsonl", claude_lines(9)))  # another worker's digest ends while this one computes
        return real(*arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(reading, "derive", overtake)

    job = upload(("a.jsonl", claude_lines(3)))

    assert job.state == "done", job.outcome
    assert sessions.get_session(only_session()).call_count == 9
    assert len(artifact_files(data_dir)) == 1
