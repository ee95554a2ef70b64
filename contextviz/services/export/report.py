"""What a look through a session found, and what a person decided about it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from contextviz.analysis.disclosure import Finding, Split

Action = Literal["mask", "keep"]
MOST_PLACES = 2000


@dataclass(frozen=True, slots=True)
class Decision:
    """What is done with one place, and why."""

    action: Action
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Decisions:
    """Decisions by place; `mask_all` masks every place that was not decided."""

    by_place: Mapping[str, Decision] = field(default_factory=dict)
    mask_all: bool = False

    def of(self, place: str) -> Decision | None:
        """The decision for a place, None where there is none yet."""
        return self.by_place.get(place) or (Decision("mask") if self.mask_all else None)


@dataclass(slots=True)
class Place:
    """One value that looks like a secret. Its `id` names the text by its hash, so it is the same wherever that text
    stands, and the same after the session has grown."""

    id: str
    kind: str
    certainty: Literal["found", "suspected"]
    # Why it is not certain, "" where it is
    reason: str
    # Where it stands first, in words, and in how many places
    where: str
    # What stands around it, every secret dotted out
    context: str
    # The value itself, its beginning where it is long; for the person who decides
    value: str
    count: int = 1


@dataclass(slots=True)
class Report:
    """Everything found in one revision of a session."""

    session_id: int
    revision: int
    places: dict[str, Place] = field(default_factory=dict)
    # Secrets over several texts, by place
    splits: dict[str, Split] = field(default_factory=dict)
    # Texts in which nothing was found, by their keys: they need not be looked through again
    clean: set[str] = field(default_factory=set)
    # Suspected places beyond MOST_PLACES, which are counted only
    unlisted: int = 0
    # Certain ones beyond it
    uncounted: int = 0

    def open(self, decisions: Decisions) -> list[Place]:
        """The places that keep the session from being exported."""
        return [one for one in self.places.values() if one.certainty == "suspected" and not decisions.of(one.id)]

    def is_open(self, decisions: Decisions) -> bool:
        """Whether anything keeps the session from being exported."""
        return bool(self.open(decisions)) or (self.unlisted > 0 and not decisions.mask_all)

    def masked(self, decisions: Decisions) -> list[Place]:
        """The places that a copy has masked."""
        return [one for one in self.places.values() if (decisions.of(one.id) or Decision("mask")).action == "mask"]

    def kept(self, decisions: Decisions) -> list[tuple[Place, str]]:
        """The places that a copy keeps as they are, with the reason."""
        kept = []
        for one in self.places.values():
            decision = decisions.of(one.id)
            if decision is not None and decision.action == "keep":
                kept.append((one, decision.reason))
        return kept

    def unknown(self, decisions: Decisions) -> list[str]:
        """Places that were decided and do not exist here: a typing mistake, or the text changed."""
        return [place for place in decisions.by_place if place not in self.places]


class ExportRefused(Exception):
    """Nothing is exported; the text is a sentence for a person, `places` are what has to be decided."""

    def __init__(self, sentence: str, places: Sequence[Place] = ()) -> None:
        super().__init__(sentence)
        self.places = tuple(places)


def parts_in(splits: Mapping[str, Split], decisions: Decisions) -> dict[str, list[Finding]]:
    """The pieces of split secrets that are to be masked, by the key of their text."""
    found: dict[str, list[Finding]] = {}
    for place, split in splits.items():
        decision = decisions.of(place)
        if decision is None or decision.action != "mask":
            continue
        for part in split.parts:
            found.setdefault(part.key, []).append(Finding(part.start, part.end, split.kind, "found"))
    return found
