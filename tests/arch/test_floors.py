from __future__ import annotations

import logging
import tomllib
from pathlib import Path

import pytest
from importlinter import cli as importlinter_cli

READER_LIKE = {"registry", "source", "lines", "files", "values", "sqlite", "attach", "plain"}


@pytest.mark.slow  # reads the imports of the whole package
def test_imports_go_one_way(
    repository: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(repository)

    status = importlinter_cli.lint_imports(no_cache=True)
    # It configures logging for its own process and switches every other logger off; tests after this one listen.
    for logger in logging.Logger.manager.loggerDict.values():
        if isinstance(logger, logging.Logger):
            logger.disabled = False
    assert status == 0, capsys.readouterr().out


def test_every_reader_is_in_the_independence_contract(repository: Path) -> None:
    configuration = tomllib.loads((repository / "pyproject.toml").read_text())
    contracts = configuration["tool"]["importlinter"]["contracts"]
    listed = next(contract["modules"] for contract in contracts if contract["type"] == "independence")
    registry = (repository / "contextviz" / "sources" / "registry.py").read_text()
    registered = {
        f"contextviz.sources.{path.stem}"
        for path in (repository / "contextviz" / "sources").iterdir()
        if path.stem in {module.rpartition(".")[2] for module in listed} | set(_imported_readers(registry))
    }

    assert registered - set(listed) == set()


def _imported_readers(registry: str) -> list[str]:
    names = []
    for line in registry.splitlines():
        if line.startswith(("from contextviz.sources.", "import contextviz.sources.")):
            name = line.split()[1].removeprefix("contextviz.sources.").split(".")[0]
            if name not in READER_LIKE:
                names.append(name)
    return names
