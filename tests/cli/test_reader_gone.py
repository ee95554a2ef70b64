"""Commands whose reader (head, less) stops: they end without a word, and a verdict that was not reached is none."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from contextviz.cli import main as door
from contextviz.cli.main import CUT_OFF, main
from tests.cli.replaying import write_session
from tests.services.building import claude_lines
from tests.stack import ROOT, Stack, stack_in

LONG = claude_lines(120, word="alpha " * 100)
ENGINE = ("--engine", "keep-all@1")
PRINTING = {
    "export json": ("export", "1", "--json"),
    "export md": ("export", "1", "--md"),
    "export html": ("export", "1", "--html"),
    "inspect": ("inspect", "FILE"),
    "inspect json": ("inspect", "FILE", "--json"),
    "inspect snapshots": ("inspect", "FILE", "--snapshots"),
    "replay": ("replay", "FILE", *ENGINE),
    "replay json": ("replay", "FILE", *ENGINE, "--json"),
    "score": ("score", "FILE", *ENGINE, "--fail-over", "mean_window=1"),
    "doctor": ("doctor",),
}


@pytest.fixture(scope="module")
def held(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """A stack that holds one long session, as number 1."""
    with stack_in(tmp_path_factory.mktemp("gone") / "stack", migrated=True) as stack:
        (stack.data_dir / "long.jsonl").write_text(LONG)
        stack.run("import", str(stack.data_dir / "long.jsonl"))
        yield stack


def started(stack: Stack, words: tuple[str, ...]) -> list[str]:
    named = (str(stack.data_dir / "long.jsonl") if word == "FILE" else word for word in words)
    return [sys.executable, str(ROOT / "manage.py"), *named]


def statuses(command: str) -> set[int]:
    """What a command may end with: a verdict is its own, where all was printed before the reader went, or none."""
    return {"score": {1, CUT_OFF}, "doctor": {0, 1, CUT_OFF}}.get(command, {0})


@pytest.mark.slow  # starts processes
@pytest.mark.parametrize("command", PRINTING)
def test_ten_characters_are_enough_for_the_reader(held: Stack, command: str) -> None:
    with subprocess.Popen(started(held, PRINTING[command]), env=held.environment, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True) as writer:  # fmt: skip
        head = subprocess.run(["head", "-c", "10"], stdin=writer.stdout, capture_output=True, check=True)
        assert writer.stdout is not None and writer.stderr is not None
        writer.stdout.close()
        said = writer.stderr.read()

    assert len(head.stdout) == 10
    assert "Traceback" not in said and "Broken" not in said and "ignored" not in said
    assert writer.returncode in statuses(command)


@pytest.mark.slow  # starts processes
@pytest.mark.parametrize("command", ["export md", "score"])
def test_nobody_reads_at_all(held: Stack, command: str) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        started(held, PRINTING[command]), env=held.environment, stdout=writing, stderr=subprocess.PIPE, text=True,
        check=False,
    )  # fmt: skip
    os.close(writing)

    assert "Traceback" not in done.stderr and "Broken" not in done.stderr and "ignored" not in done.stderr
    assert done.returncode in statuses(command)


@pytest.mark.parametrize(("command", "status"), [("inspect", 0), ("score", CUT_OFF)])
def test_a_verdict_that_was_not_reached_is_none(command: str, status: int, monkeypatch: pytest.MonkeyPatch) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w", buffering=1) as nobody:
        monkeypatch.setattr(sys, "stdout", nobody)
        monkeypatch.setattr(door, "run_command", lambda given: nobody.write("a line\n") and 0)

        assert main([command]) == status


def test_a_pipe_that_breaks_elsewhere_is_an_error_as_ever(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def fail(given: list[str]) -> int:
        raise BrokenPipeError("a socket's")

    monkeypatch.setattr(door, "run_command", fail)

    with pytest.raises(BrokenPipeError, match="socket"):
        main(["inspect", str(write_session(tmp_path / "s.jsonl"))])
