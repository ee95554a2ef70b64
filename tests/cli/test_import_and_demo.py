"""`import` and `demo` on the terminal: no server, no worker needed."""

from __future__ import annotations

import os
from io import StringIO
from pathlib import Path
from uuid import UUID

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command

from contextviz.cli import importing
from contextviz.commands import command_here
from contextviz.services.digest import digest
from contextviz.services.jobs import open_job
from contextviz.store.models import JobRecord
from contextviz.store.queries import sessions
from tests.services.building import NOW, claude_lines

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]


def run(*arguments: str) -> str:
    out = StringIO()
    call_command(*arguments, stdout=out, stderr=out)
    return out.getvalue()


def test_a_folder_is_imported_and_each_session_told_with_its_address(tmp_path: Path) -> None:
    (tmp_path / "one.jsonl").write_text(claude_lines(3))
    (tmp_path / "notes.txt").write_text("not a transcript")

    told = run("import", str(tmp_path))

    row = sessions.recent_sessions(1)[0]
    assert "alpha question 0 (Claude Code): 6 messages, 3 calls" in told
    assert f"/sessions/{row.id}/" in told
    assert "Read 1 file: 1 session (1 new)." in told
    assert command_here("up") in told


def test_every_file_and_every_problem_is_told(tmp_path: Path) -> None:
    (tmp_path / "one.jsonl").write_text(claude_lines(2) + '{"type": broken\n' + claude_lines(3)[len(claude_lines(2)) :])
    (tmp_path / "notes.txt").write_text("not a transcript")

    told = run("import", str(tmp_path))

    assert "one.jsonl: Claude Code, session" in told
    assert "passed by, since they are no transcripts: notes.txt" in told
    assert "(line 5)" in told


def test_many_files_of_a_folder_that_came_to_the_same_have_a_line(tmp_path: Path) -> None:
    for number in range(1, 6):
        name = f"0b1c2d3e-0000-4000-8000-{number:012d}"
        (tmp_path / f"{name}.jsonl").write_text(claude_lines(1, session=name))

    lines = [line for line in run("import", str(tmp_path)).splitlines() if "Claude Code, session" in line]

    assert len(lines) == 1
    assert "  5 files, 0b1c2d3e-0000-4000-8000-000000000001.jsonl to " in lines[0]


def test_who_has_signed_in_is_not_told_how(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "one.jsonl").write_text(claude_lines(3))
    monkeypatch.setattr(importing, "is_up", lambda: True)
    told = f"new). Not signed in yet? {command_here('sign-in')} prints an address.\n"
    assert run("import", str(tmp_path)).endswith(told)

    User.objects.create(username="somebody", last_login=NOW)
    assert "sign-in" not in run("import", str(tmp_path))


KEY = "sk-ant-api03-" + "Qm7xR2" * 12


@pytest.mark.parametrize("before", [0, 380])
def test_what_looks_like_a_secret_is_masked_wherever_import_prints_it(tmp_path: Path, before: int) -> None:
    question = "x" * before + f" use {KEY} please"
    odd = f'{{"type": "{KEY}", "uuid": "u-9", "sessionId": "s", "timestamp": "2026-02-01T09:00:00Z"}}\n'
    (tmp_path / f"{KEY}.jsonl").write_text(claude_lines(2).replace("alpha question 0", question) + odd)
    (tmp_path / f"notes-{KEY}.txt").write_text("not a transcript")

    told = run("import", str(tmp_path))

    assert "(Claude Code): 4 messages" in told and KEY[:24] not in told
    assert before or "use [api key masked]" in told


def test_what_a_failed_import_quotes_is_masked(tmp_path: Path) -> None:
    (tmp_path / f"{KEY}.txt").write_text("not a transcript")

    with pytest.raises(CommandError) as failed:
        run("import", str(tmp_path / f"{KEY}.txt"))

    assert KEY[:24] not in str(failed.value) and "masked]" in str(failed.value)


@pytest.mark.parametrize("is_pipe", [False, True])
def test_a_path_that_cannot_be_imported_is_masked(tmp_path: Path, is_pipe: bool) -> None:
    path = tmp_path / f"{KEY}.jsonl"
    if is_pipe:
        os.mkfifo(path)

    with pytest.raises(CommandError) as failed:
        run("import", str(path))

    assert KEY[:24] not in str(failed.value) and "masked]" in str(failed.value)


def test_a_job_that_a_worker_took_first_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "one.jsonl").write_text(claude_lines(1))

    def taken(job_id: UUID) -> bool:
        assert digest(job_id)  # by a worker, in life
        return False

    monkeypatch.setattr("contextviz.cli.importing.digest", taken)

    assert "1 session (1 new)" in run("import", str(tmp_path))


def test_the_same_again_is_skipped(tmp_path: Path) -> None:
    (tmp_path / "one.jsonl").write_text(claude_lines(3))
    run("import", str(tmp_path))

    assert "Nothing new" in run("import", str(tmp_path))
    assert sessions.session_count() == 1


@pytest.mark.parametrize(
    ("name", "sentence"), [("missing", "There is no file or folder at"), ("notes.txt", "none is a transcript")]
)
def test_nothing_to_read_is_exit_status_2_with_a_sentence(tmp_path: Path, name: str, sentence: str) -> None:
    (tmp_path / "notes.txt").write_text("not a transcript")

    with pytest.raises(CommandError, match=sentence) as failed:
        run("import", str(tmp_path / name))

    assert failed.value.returncode == 2


def test_an_empty_folder_is_told(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="Looked at 0 files"):
        run("import", str(tmp_path))


def test_the_demo_is_loaded_once_and_prints_where_to_look() -> None:
    first, second = run("demo"), run("demo")

    count = sessions.session_count()
    assert count >= 4
    assert first.count("http://127.0.0.1:") == count == second.count("http://127.0.0.1:")
    assert "Nothing new" in second


def test_a_demo_that_was_half_written_is_not_used(data_dir: Path) -> None:
    (data_dir / ".demo-half").mkdir()

    run("demo")

    assert sessions.session_count() >= 4
    assert len(list(data_dir.glob("demo-*"))) == 1


def test_an_import_does_not_touch_other_jobs(tmp_path: Path) -> None:
    waiting = open_job("digest", now=NOW, params={"batch": "00000000-0000-4000-8000-000000000000"})
    (tmp_path / "one.jsonl").write_text(claude_lines(1))

    run("import", str(tmp_path))

    assert JobRecord.objects.get(pk=waiting).state == "queued"
