"""The summarisers by id: those that need no language model. One on an endpoint is a service's, and off by default."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import dataclass

from contextviz.engines.material import Material
from contextviz.engines.summaries import Summariser
from contextviz.engines.summarising.notes import Notes
from contextviz.engines.summarising.recorded import RecordedSummaries
from contextviz.engines.summarising.stubs import STUBS

DEFAULT = "notes"


class NoSuchSummariser(ValueError):
    """No summariser has that id; the text is a sentence."""


@dataclass(frozen=True, slots=True)
class SummariserSpec:
    """A summariser that can be chosen. `make` gives a fresh one for one run over a material; `is_stub` says that it
    only cuts text, for comparison and tests."""

    id: str
    label: str
    help: str
    make: Callable[[Material], Summariser]
    is_stub: bool = False


def _stub(made: Summariser) -> SummariserSpec:
    words = made.id.removeprefix("stub-").replace("-", " ")
    return SummariserSpec(
        made.id, f"Stub: {words}", "Cuts or pads the text by a fixed rule; says nothing about summaries.",
        lambda material: made, is_stub=True,
    )  # fmt: skip


_ALL: tuple[SummariserSpec, ...] = (
    SummariserSpec(
        DEFAULT, "Hand-off notes",
        "Notes drawn from the text by rule: task, approaches, identifiers, files, what is open.",
        lambda material: Notes(),
    ),
    SummariserSpec(
        "recorded", "As recorded", "The session's own summary whose boundary is nearest; notes where it has none.",
        lambda material: RecordedSummaries(material.summaries),
    ),
    *map(_stub, STUBS.values()),
)  # fmt: skip


def summarisers() -> list[SummariserSpec]:
    """Every summariser, the default first."""
    return list(_ALL)


def summariser(name: str = DEFAULT, material: Material | None = None) -> Summariser:
    """A fresh summariser by its id, for one run over `material`; raises NoSuchSummariser."""
    found = {one.id: one for one in _ALL}
    if name not in found:
        near = difflib.get_close_matches(name, found, n=1)
        hint = f"Did you mean {near[0]}? " if near else ""
        raise NoSuchSummariser(f"There is no summariser {name[:60]!r}. {hint}There are: {', '.join(found)}.")
    return found[name].make(material if material is not None else Material())
