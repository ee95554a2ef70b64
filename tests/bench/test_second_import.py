"""What the bench calls an import of the same file, unchanged and grown, is that."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import orjson
import pytest

from bench import scratch
from bench.generate import Size, generate
from bench.measure import _copied


def test_a_grown_file_is_cut_at_a_line_and_its_end_comes_later(tmp_path: Path) -> None:
    (file,) = generate(tmp_path / "made", "plain", Size(calls=60)).files

    (copy,), (tail,) = _copied([file], tmp_path / "copy", 0.1)

    assert copy.read_bytes() + tail == file.read_bytes()
    assert copy.read_bytes().endswith(b"\n") and 0 < len(tail) <= file.stat().st_size // 10


def test_an_unchanged_file_is_copied_whole(tmp_path: Path) -> None:
    (file,) = generate(tmp_path / "made", "plain", Size(calls=10)).files

    (copy,), tails = _copied([file], tmp_path / "copy", 0)

    assert copy.read_bytes() == file.read_bytes()
    assert tails == [b""]


@pytest.mark.slow  # a process that imports twice, and waits until the file's time is old enough to be trusted
@pytest.mark.parametrize("measure", ["again", "grown"])
def test_after_the_second_import_the_session_is_whole_and_one(tmp_path: Path, measure: str) -> None:
    made = generate(tmp_path, "plain", Size(calls=120))
    command = [sys.executable, "-m", "bench.measure", measure, str(made.files[0])]

    done = subprocess.run(command, capture_output=True, check=True, cwd=scratch.ROOT, timeout=120)

    numbers = orjson.loads(done.stdout.splitlines()[-1])
    assert (numbers["sessions"], numbers["calls"]) == (1, made.calls)


def test_on_postgresql_the_named_database_is_never_written_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, str]] = []
    monkeypatch.setenv("CONTEXTVIZ_DATABASE_URL", "postgres://someone@db.example:5432/theirs?sslmode=require")
    monkeypatch.setattr(scratch, "_on_server", lambda url, statement, unless="": asked.append((url, statement)))

    scratch._open_database(tmp_path, is_kept=True)
    first = scratch.os.environ["CONTEXTVIZ_DATABASE_URL"]
    scratch._open_database(tmp_path / "a process that was started by it", is_kept=True)

    name = first.removeprefix("postgres://someone@db.example:5432/").removesuffix("?sslmode=require")
    assert name.startswith("contextviz_bench_")
    assert scratch.os.environ["CONTEXTVIZ_DATABASE_URL"] == first
    assert asked == [("postgres://someone@db.example:5432/theirs?sslmode=require", f'CREATE DATABASE "{name}"')]
