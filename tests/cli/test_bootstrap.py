"""manage.py's own part, before there is an environment. The whole of it runs in .ci/run, on a bare clone."""

from __future__ import annotations

import importlib.util
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
