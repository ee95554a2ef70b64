"""The list of engines in docs/engines is the registry's own."""

from __future__ import annotations

import re
from pathlib import Path

from contextviz.engines.engine import EngineSpec
from contextviz.engines.registry import OWN
from contextviz.engines.summarising.registry import summarisers

ROW = re.compile(r"^\| \[`([^`]+)`\]\(([a-z-]+)\.md\) \| (.*?) \| (.*?) \|$", re.MULTILINE)


def qualities(spec: EngineSpec) -> str:
    """Its parts by quality, as the table has them: `exact` cut, window · `simulated` summary."""
    found: dict[str, list[str]] = {"exact": [], "derived": [], "simulated": []}
    for part, quality in spec.qualities.items():
        found[quality].append(part)
    return " · ".join(f"`{quality}` {', '.join(parts)}" for quality, parts in found.items() if parts)


def test_every_engine_is_listed_as_it_says_of_itself(repository: Path) -> None:
    page = (repository / "docs" / "engines" / "README.md").read_text(encoding="utf-8")
    listed = [(key, quality, sentence) for key, _, quality, sentence in ROW.findall(page)]

    assert listed == [(engine.spec.key, qualities(engine.spec), engine.spec.summary) for engine in OWN]


def test_every_engine_has_a_page_that_names_it_and_all_its_settings(repository: Path) -> None:
    folder = repository / "docs" / "engines"
    pages = {key: page for key, page, _, _ in ROW.findall((folder / "README.md").read_text(encoding="utf-8"))}
    missing = []
    for engine in OWN:
        text = (folder / f"{pages[engine.spec.key]}.md").read_text(encoding="utf-8")
        named = [engine.spec.version, *(setting.key for setting in engine.spec.settings)]
        missing += [(engine.spec.key, name) for name in named if name not in text]

    assert missing == []


def test_every_summariser_has_its_line(repository: Path) -> None:
    text = (repository / "docs" / "engines" / "summarisers.md").read_text(encoding="utf-8")

    assert [one.id for one in summarisers() if not one.is_stub and f"`{one.id}`" not in text] == []
