"""manage.py's own part, before there is an environment. The whole of it runs in .ci/run, on a bare clone."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest


@pytest.fixture
def manage(repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """manage.py as a module, with the locks and the environment in a temporary folder."""
    spec = importlib.util.spec_from_file_location("manage_under_test", repository / "manage.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for name in ("requirements.lock", "requirements-dev.lock"):
        (tmp_path / name).write_text(name)
    places = {
        "VENV": tmp_path / ".venv",
        "STAMP": tmp_path / ".venv" / ".stamp",
        "LOCK": tmp_path / ".venv.lock",
        "PYTHON": tmp_path / ".venv" / "bin" / "python",
        "RUNTIME_LOCK": tmp_path / "requirements.lock",
        "DEV_LOCK": tmp_path / "requirements-dev.lock",
    }
    for name, path in places.items():
        monkeypatch.setattr(module, name, str(path))
    monkeypatch.setattr(module, "working_uv", lambda: "/usr/bin/uv")
    return module


@pytest.fixture
def commands(manage: ModuleType, monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The commands that would have been run; making the environment leaves a python in it."""
    run: list[list[str]] = []

    def record(command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        run.append(command)
        Path(manage.PYTHON).parent.mkdir(parents=True, exist_ok=True)
        Path(manage.PYTHON).touch()
        return subprocess.CompletedProcess(command, 0)

    monkeypatch.setattr(manage.subprocess, "run", record)
    return run


def test_the_test_tools_satisfy_the_runtime_too(manage: ModuleType, commands: list[list[str]]) -> None:
    manage.install(manage.DEV_LOCK)

    assert manage.digest(manage.RUNTIME_LOCK) in manage.stamped()
    assert manage.digest(manage.DEV_LOCK) in manage.stamped()


def test_the_runtime_does_not_satisfy_the_tests(manage: ModuleType, commands: list[list[str]]) -> None:
    manage.install(manage.RUNTIME_LOCK)

    assert manage.digest(manage.DEV_LOCK) not in manage.stamped()


def test_a_changed_lock_installs_into_the_same_environment(manage: ModuleType, commands: list[list[str]]) -> None:
    manage.install(manage.RUNTIME_LOCK)
    Path(manage.RUNTIME_LOCK).write_text("changed")
    assert manage.digest(manage.RUNTIME_LOCK) not in manage.stamped()
    commands.clear()

    manage.install(manage.RUNTIME_LOCK)

    assert [command[1] for command in commands] == ["pip"], "no new environment, one install"


def test_packages_are_checked_against_their_hashes(manage: ModuleType, commands: list[list[str]]) -> None:
    manage.install(manage.RUNTIME_LOCK)

    assert "--require-hashes" in commands[-1]


def test_a_failed_install_leaves_no_stamp(manage: ModuleType, commands: list[list[str]], monkeypatch: Any) -> None:
    manage.install(manage.RUNTIME_LOCK)
    monkeypatch.setattr(manage.subprocess, "run", lambda command, **_: subprocess.CompletedProcess(command, 1))

    with pytest.raises(SystemExit, match="installing the packages failed"):
        manage.install(manage.RUNTIME_LOCK)
    assert manage.stamped() == []


def test_a_python_without_venv_says_what_to_install(manage: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(manage.importlib.util, "find_spec", lambda name: None)

    with pytest.raises(SystemExit, match="apt install python3-venv"):
        manage.make_environment(None)


@pytest.mark.parametrize(
    ("printed", "said"),
    [
        ("Error: ensurepip is not available.", "apt install python3-venv"),
        ("OSError: [Errno 26] Text file busy: '.venv/bin/python'", "its files are in use; end what runs from it"),
        ("OSError: [Errno 28] No space left on device", "the disk is full"),
        ("something else", "the last lines above say why"),
    ],
)
def test_why_no_environment_could_be_made(manage: ModuleType, monkeypatch: Any, printed: str, said: str) -> None:
    monkeypatch.setattr(manage.subprocess, "run", lambda command, **_: subprocess.CompletedProcess(command, 1, printed))

    with pytest.raises(SystemExit) as ended:
        manage.make_environment("uv")
    assert said in str(ended.value) and ("apt install" in str(ended.value)) == ("ensurepip" in printed)


@pytest.mark.parametrize(
    ("printed", "said"),
    [
        ("WARNING: Retrying after connection broken by 'NewConnectionError'", "check the network"),
        ("THESE PACKAGES DO NOT MATCH THE HASHES", "not the one that the lock file names"),
        ("Traceback (most recent call last):\nFileNotFoundError: pip/_vendor", "the last lines above say why"),
    ],
)
def test_why_nothing_was_installed(
    manage: ModuleType, commands: list[list[str]], monkeypatch: Any, printed: str, said: str
) -> None:
    manage.install(manage.RUNTIME_LOCK)
    monkeypatch.setattr(manage.subprocess, "run", lambda command, **_: subprocess.CompletedProcess(command, 1, printed))

    with pytest.raises(SystemExit) as ended:
        manage.install(manage.RUNTIME_LOCK)
    assert said in str(ended.value) and ("network" in str(ended.value)) == ("network" in said)


def test_an_environment_made_anew_says_what_is_gone(
    manage: ModuleType, commands: list[list[str]], capsys: pytest.CaptureFixture[str]
) -> None:
    manage.make_environment("uv")
    assert "gone" not in capsys.readouterr().err, "there was none"

    manage.make_environment("uv")

    assert "packages installed into it by hand are gone" in capsys.readouterr().err


def test_where_there_are_no_locks_it_goes_on_without(
    manage: ModuleType, commands: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(manage, "HAS_LOCKS", False)
    manage.set_up(manage.RUNTIME_LOCK)

    assert manage.digest(manage.RUNTIME_LOCK) in manage.stamped()
    assert not Path(manage.LOCK).exists()


# Stands in for uv: says that it installs, and goes on when it may.
SLOW_UV = """#!/bin/sh
test "$1" = --version && exit 0
echo begun >> installs
i=0; while ! test -e go && test $i -lt 300; do sleep 0.1; i=$((i + 1)); done
touch .venv/installed
"""


@pytest.mark.slow  # a real virtual environment and two processes
def test_two_commands_at_once_make_one_environment(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copy(repository / "manage.py", tmp_path)
    for name in ("requirements.lock", "requirements-dev.lock"):
        (tmp_path / name).write_text(name)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "uv").write_text(SLOW_UV)
    (tmp_path / "bin" / "uv").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    monkeypatch.delenv("CONTEXTVIZ_NO_BOOTSTRAP", raising=False)

    def started() -> subprocess.Popen[str]:
        command = [sys.executable, "manage.py", "setup"]
        return subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True)

    with started() as first, started() as second:
        try:
            assert first.stderr is not None and second.stderr is not None
            said = sorted((first.stderr.readline(), second.stderr.readline()))  # one sets up, the other waits
        finally:
            (tmp_path / "go").touch()
        rest = first.stderr.read() + second.stderr.read()
        ended = (first.wait(60), second.wait(60))

    assert said[0].startswith("Setting up .venv")
    assert said[1] == "contextviz: another command is setting up .venv; waiting …\n"
    assert (rest, ended) == ("", (0, 0))
    assert (tmp_path / "installs").read_text() == "begun\n", "the second found it done"
    assert (tmp_path / ".venv" / "installed").exists(), "and took nothing away"


def test_an_old_python_is_named(manage: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(manage, "OLDEST", (sys.version_info[0], sys.version_info[1] + 1))

    with pytest.raises(SystemExit, match="or newer is needed, this is"):
        manage.bootstrap()


def test_the_lock_files_name_no_registry(repository: Path) -> None:
    for name in ("requirements.lock", "requirements-dev.lock"):
        assert "://" not in (repository / name).read_text(), name


def test_the_test_lock_holds_the_runtime_lock(repository: Path) -> None:
    runtime, dev = (
        {line.split(" ")[0] for line in (repository / name).read_text().splitlines() if "==" in line}
        for name in ("requirements.lock", "requirements-dev.lock")
    )
    assert runtime <= dev
