"""Backup and upgrade, tested by doing them: real commands on folders of their own. Seconds each, processes start."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.services.building import claude_lines
from tests.stack import ROOT, Stack, stack_in, wait_until

pytestmark = pytest.mark.slow
OTHER = "0b1c2d3e-0000-4000-8000-000000000002"
sqlite_alone = pytest.mark.skipif(
    bool(os.environ.get("CONTEXTVIZ_DATABASE_URL")), reason="an embedded installation is what this is about"
)


def numbers(stack: Stack) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(stack.python("from tests.operations.numbers import show; show()"))
    return found


@pytest.mark.worker
def test_a_backup_of_a_live_installation_gives_the_same_numbers_elsewhere(made_stack: Stack, tmp_path: Path) -> None:
    stack = made_stack
    stack.run("demo")
    up = stack.start("up", "--port", "0")
    wait_until(lambda: "token=" in stack.output(up), what="the server")
    (tmp_path / "more.jsonl").write_text(claude_lines(40, session=OTHER))
    before = numbers(stack)
    file = tmp_path / "kept.tar"

    done = stack.run("backup", str(file))

    assert numbers(stack) == before, "the running one is not touched"
    assert oct(file.stat().st_mode & 0o777) == "0o600"
    assert "session" in done.stdout
    stack.run("import", str(tmp_path / "more.jsonl"))  # it goes on living
    with stack_in(tmp_path / "elsewhere") as other:
        restored = other.run("restore", str(file))
        assert numbers(other) == before
        assert restored.stdout.startswith(f"Restored {len(before['sessions'])} sessions")
        again = other.run("restore", str(file), status=1)
        assert "already" in again.stderr
        other.run("import", str(tmp_path / "more.jsonl"))  # and the restored one does, too
        assert len(numbers(other)["sessions"]) == len(before["sessions"]) + 1
        assert not [path.name for path in other.data_dir.iterdir() if path.name.startswith((".restore", ".backup"))]


def refuse(change: Callable[[list[tuple[tarfile.TarInfo, bytes]]], Any], source: Path, target: Path) -> None:
    with tarfile.open(source) as tar:
        members = [(one, tar.extractfile(one).read()) for one in tar]  # type: ignore[union-attr]  # all are files
    change(members)
    with tarfile.open(target, "w") as tar:
        for member, data in members:
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))


def climb(members: list[tuple[tarfile.TarInfo, bytes]]) -> None:
    members.append((tarfile.TarInfo("../../evil"), b"x"))


def damage(members: list[tuple[tarfile.TarInfo, bytes]]) -> None:
    member, data = members[-1]
    members[-1] = (member, data[:-1] + b"?")


def damage_the_database(members: list[tuple[tarfile.TarInfo, bytes]]) -> None:
    place = next(at for at, (member, _) in enumerate(members) if member.name == "contextviz.sqlite3")
    member, data = members[place]
    # A name of a table's: the structure stays sound, so only the hash tells.
    members[place] = (member, data.replace(b"try record", b"tri record", 1))


def damage_the_manifest(members: list[tuple[tarfile.TarInfo, bytes]]) -> None:
    member, data = members[0]
    members[0] = (member, data.replace(b'"created_at": "20', b'"created_at": "30', 1))


def cut(members: list[tuple[tarfile.TarInfo, bytes]]) -> None:
    del members[-1]


def forget_the_manifest(members: list[tuple[tarfile.TarInfo, bytes]]) -> None:
    del members[0]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (climb, "does not belong"), (damage, "is damaged"), (cut, "not complete"), (forget_the_manifest, "no backup"),
        (damage_the_database, "database in the backup is damaged"), (damage_the_manifest, "says of itself is damaged"),
    ],
)  # fmt: skip
@sqlite_alone
def test_what_is_no_whole_backup_is_refused_and_leaves_nothing(
    change: Any, sentence: str, tmp_path_factory: pytest.TempPathFactory, small_backup: Path, tmp_path: Path
) -> None:
    wrong = tmp_path / "wrong.tar"
    refuse(change, small_backup, wrong)
    with stack_in(tmp_path / "empty") as empty:
        refused = empty.run("restore", str(wrong), status=1)

        assert sentence in refused.stderr
        assert "Traceback" not in refused.stderr
        assert not (empty.data_dir / "contextviz.sqlite3").exists()
        assert not (empty.data_dir / "artifacts").exists()


def of_the_first_format(members: list[tuple[tarfile.TarInfo, bytes]]) -> None:
    """As the release before wrote it: without what everything else is held against."""
    member, data = members[0]
    manifest = json.loads(data) | {"format": 1}
    del manifest["members"], manifest["sha256"]
    members[0] = (member, json.dumps(manifest).encode())


def zero_a_page(members: list[tuple[tarfile.TarInfo, bytes]]) -> None:
    of_the_first_format(members)
    place = next(at for at, (member, _) in enumerate(members) if member.name == "contextviz.sqlite3")
    member, data = members[place]
    members[place] = (member, data[:8192] + bytes(16384) + data[24576:])


@sqlite_alone
def test_a_backup_without_its_end_is_refused(small_backup: Path, tmp_path: Path) -> None:
    whole = small_backup.read_bytes()
    with tarfile.open(small_backup) as tar:
        tar.getmembers()
        end = tar.offset  # behind the last member
    with stack_in(tmp_path / "empty") as empty:
        for place, data in enumerate((whole[:-1024], whole[:end], whole[:end] + b"x" * (len(whole) - end))):
            wrong = tmp_path / f"cut{place}.tar"
            wrong.write_bytes(data)
            refused = empty.run("restore", str(wrong), status=1)
            assert "not complete" in refused.stderr
            assert not (empty.data_dir / "contextviz.sqlite3").exists()


@sqlite_alone
def test_a_backup_of_the_release_before_is_looked_through_and_taken(small_backup: Path, tmp_path: Path) -> None:
    before, wrong = tmp_path / "before.tar", tmp_path / "wrong.tar"
    refuse(of_the_first_format, small_backup, before)
    refuse(zero_a_page, small_backup, wrong)
    with stack_in(tmp_path / "empty") as empty:
        refused = empty.run("restore", str(wrong), status=1)
        assert "The database in the backup is damaged" in refused.stderr
        assert not (empty.data_dir / "contextviz.sqlite3").exists()

        taken = empty.run("restore", str(before))

        assert "kept no hash of the database" in taken.stderr
        assert len(numbers(empty)["sessions"]) == 1


@pytest.fixture(scope="module")
def small_backup(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("small")
    (folder / "one.jsonl").write_text(claude_lines(1))
    with stack_in(folder / "data") as stack:
        stack.run("import", str(folder / "one.jsonl"))
        stack.run("backup", str(folder / "kept.tar"))
        twice = stack.run("backup", str(folder / "kept.tar"), status=1)
        assert "is there already" in twice.stderr
    return folder / "kept.tar"


def spoil_the_dump(members: list[tuple[tarfile.TarInfo, bytes]]) -> None:
    place = next(at for at, (member, _) in enumerate(members) if member.name == "database.dump")
    member, data = members[place]
    members[place] = (member, data[: len(data) // 2])


@pytest.mark.skipif(not os.environ.get("CONTEXTVIZ_DATABASE_URL"), reason="is about PostgreSQL's own dump")
def test_half_a_dump_of_postgresql_is_refused_and_the_next_restore_finds_nothing_left(
    small_backup: Path, tmp_path: Path
) -> None:
    wrong = tmp_path / "wrong.tar"
    refuse(spoil_the_dump, small_backup, wrong)
    with stack_in(tmp_path / "empty") as empty:
        refused = empty.run("restore", str(wrong), status=1)

        assert "The database in the backup is damaged" in refused.stderr
        assert "Traceback" not in refused.stderr
        assert not list((empty.data_dir / "artifacts").glob("??/*"))
        empty.run("restore", str(small_backup))
        assert len(numbers(empty)["sessions"]) == 1


def first_release(folder: Path) -> Path:
    """The code of the first commit, without touching the checkout."""
    root = subprocess.run(
        ["git", "rev-list", "--max-parents=0", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if root.returncode or (ROOT / ".git" / "shallow").exists():
        pytest.skip("the history is not here (an archive or a shallow clone), so neither is the first release's code")
    commit = root.stdout.split()[-1]
    archive = subprocess.run(["git", "archive", "--format=tar", commit], cwd=ROOT, capture_output=True, check=True)
    code = folder / "first"
    with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as tar:
        tar.extractall(code, filter="data")
    return code


@sqlite_alone
def test_the_first_releases_database_is_upgraded_in_place(tmp_path: Path) -> None:
    code = first_release(tmp_path)
    with stack_in(tmp_path / "data") as stack:
        environment = {**stack.environment, "PYTHONPATH": str(code)}
        for command in (["demo"], ["sign-in"]):
            done = subprocess.run(
                [sys.executable, str(code / "manage.py"), *command], env=environment, capture_output=True, text=True,
                timeout=120, check=False, cwd=code,
            )  # fmt: skip
            assert done.returncode == 0, done.stdout + done.stderr
        tables = [f"{name}Record" for name in ("Session", "Message", "Call", "Compaction", "Snapshot", "Text", "Job")]
        count = (
            "import json; from contextviz.store import models\n"
            f"print(json.dumps([getattr(models, name).objects.count() for name in {tables}]"
            " + list(models.SessionRecord.objects.order_by('id').values_list('title', 'call_count', 'message_count'))))"
        )
        before = subprocess.run(
            [sys.executable, "-c", f"import django; django.setup()\n{count}"], env=environment, capture_output=True,
            text=True, timeout=60, check=True, cwd=code,
        ).stdout  # fmt: skip

        stack.run("migrate", "--verbosity", "0")

        assert json.loads(stack.python(count)) == json.loads(before)
        assert "session" in stack.run("import", str(_file(tmp_path))).stdout
        shown = stack.python(
            "from django.test import Client; from contextviz.services.access import local_owner\n"
            "client = Client(headers={'host': '127.0.0.1'}); client.force_login(local_owner())\n"
            "from contextviz.store.queries import sessions\n"
            "for row in sessions.recent_sessions():\n"
            "    for part in ('', 'compactions/', 'graph/', 'budget/'):\n"
            "        print(client.get(f'/sessions/{row.id}/{part}').status_code)"
        )
        assert set(shown.split()) == {"200"}


def _file(folder: Path) -> Path:
    path = folder / "new.jsonl"
    path.write_text(claude_lines(2, session=OTHER))
    return path
