"""The example of an engine from outside, as somebody would install it, and packages that are broken."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contextviz.engines.registry import GROUP
from tests.cli.replaying import TURNS, write_session
from tests.engines.drawing import drawn
from tests.engines.test_invariants import holds

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "docs" / "example-engine"
COMMAND = "import sys; from contextviz.cli.main import main; sys.exit(main(sys.argv[1:]))"


def installed(site: Path, name: str, points: dict[str, str], module: str | None = None) -> None:
    """What an installation leaves: the folder that tells of a package's entry points, and its module."""
    info = site / f"{name}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n", encoding="utf-8")
    lines = [f"[{GROUP}]", *(f"{key} = {value}" for key, value in points.items())]
    (info / "entry_points.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    if module is not None:
        (site / f"{name}.py").write_text(module, encoding="utf-8")


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A folder of installed packages with the example in it, its entry points as its pyproject.toml says."""
    project = tomllib.loads((EXAMPLE / "pyproject.toml").read_text(encoding="utf-8"))
    points = project["project"]["entry-points"][GROUP]
    for name in project["tool"]["setuptools"]["py-modules"]:
        module = (EXAMPLE / f"{name}.py").read_text(encoding="utf-8")
        installed(tmp_path / "site", name, points, module)
    return tmp_path / "site"


def replayed(site: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join((str(site), str(ROOT)))
    return subprocess.run(
        [sys.executable, "-c", COMMAND, "replay", str(write_session(site.parent / "made-up.jsonl")), *arguments],
        capture_output=True, text=True, check=False, env={"PATH": "/usr/bin:/bin", "PYTHONPATH": path},
    )  # fmt: skip


def run_of(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["runs"][0]  # type: ignore[no-any-return]


def test_an_engine_from_outside_runs_by_its_name(site: Path) -> None:
    done = replayed(site, "--engine", "first-and-last", "--set", "newest=3", "--json")
    run = run_of(done)

    assert done.stderr == ""
    assert (run["engine"], run["version"], run["settings"]) == ("first-and-last", "1", {"newest": 3})
    last = run["calls"][-1]
    assert (last["messages"], last["items"]) == (4 * TURNS - 1, 4)
    dropped = [seq for boundary in run["boundaries"] for seq in boundary["dropped"]]
    assert dropped == list(range(1, 4 * TURNS - 4))


BROKEN = {
    "unfinished": ("raise RuntimeError('not finished')\n", "its import fails with RuntimeError: not finished"),
    "leaves": ("import sys\nsys.exit(3)\n", "its import fails with SystemExit: 3"),
    "aimless": ("class Engine:\n    spec = 'none'\n", "it is no class with an EngineSpec as its `spec`"),
    "elsewhere": (None, "its import fails with ModuleNotFoundError: No module named 'elsewhere'"),
    "twice": (
        "from contextviz.engines.baselines import KeepAll\n\nclass Engine(KeepAll):\n    pass\n",
        "another engine is keep-all@1 already",
    ),
}


def test_a_package_that_is_broken_is_left_out_with_a_sentence_and_nothing_else_is(site: Path) -> None:
    for name, (module, _) in BROKEN.items():
        installed(site, name, {name: f"{name}:Engine"}, module)
    done = replayed(site, "--engine", "first-and-last", "--engine", "keep-tail", "--json")
    wanted = replayed(site, "--engine", "unfinished")

    assert run_of(done)["engine"] == "first-and-last"
    assert "Traceback" not in done.stderr and len(done.stderr.splitlines()) == len(BROKEN)
    assert (wanted.returncode, wanted.stdout) == (2, "")
    for name, (_, said) in BROKEN.items():
        sentence = f"The engine '{name}' of another package ({name}:Engine) is left out: {said}."
        assert sentence in done.stderr
        assert sentence in wanted.stderr.splitlines()[-1]


@pytest.fixture
def example(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.syspath_prepend(str(EXAMPLE))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    yield import_module("first_and_last").FirstAndLast
    for name in ("first_and_last", "test_first_and_last"):
        sys.modules.pop(name, None)


def test_the_example_holds_what_every_engine_has_to(example: Any) -> None:
    @settings(max_examples=40, deadline=None, derandomize=True)
    @given(st.data())
    def whatever_comes(data: st.DataObject) -> None:
        holds(example, data.draw(drawn(example)))

    whatever_comes()


def test_its_own_tests_run_where_they_are() -> None:
    """As somebody has them beside pytest alone: no plugin that knows settings of the folders above."""
    found = dict(os.environ, PYTEST_DISABLE_PLUGIN_AUTOLOAD="1", PYTHONDONTWRITEBYTECODE="1", PYTHONPATH=str(ROOT))
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--strict-config"],
        cwd=EXAMPLE, capture_output=True, text=True, check=False, env=found,
    )  # fmt: skip

    assert (done.returncode, "2 passed" in done.stdout) == (0, True), done.stdout + done.stderr


def test_the_tests_of_the_example_pass(example: Any) -> None:
    tests = import_module("test_first_and_last")
    named = [name for name in vars(tests) if name.startswith("test_")]

    assert len(named) == 2
    for name in named:
        getattr(tests, name)()
