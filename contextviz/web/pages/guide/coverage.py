"""The coverage page: source by feature, made from what readers declare and from what the sessions here have."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from django.urls import reverse

from contextviz.charts import words
from contextviz.sources.features import FEATURES, Cached, Declaration, from_bits
from contextviz.sources.naming import format_name
from contextviz.sources.registry import READERS
from contextviz.store.queries import sessions
from contextviz.web.pages.guide.docs import doc_titles

State = Literal["observed", "supported", "inferred", "unsupported"]
STATES: dict[State, str] = {
    "observed": "written in the source, and seen in so many sessions here",
    "supported": "read where the source writes it; no session here has it",
    "inferred": "worked out by a rule, in so many sessions here",
    "unsupported": "the source does not have it, or it is not read",
}
SHOWN_VERSIONS = 6
GROUPS: dict[str, tuple[str, ...]] = {
    "Agents": (
        "openclaw", "openclaw-sqlite", "pi", "claude-code", "codex", "openvole", "gemini-cli", "opencode", "openhands",
        "copilot-cli", "droid", "kiro", "cursor",
    ),
    "Stores, logs and maps": (
        "lossless-claw", "flowctx", "cortext", "engine-log", "events", "conversation-map",
    ),
    "Exports, traces and bodies": (),  # all others
}  # fmt: skip
_CACHED: dict[Cached, str] = {
    "inside": "inside the input", "beside": "beside the input", "either": "either way", "unwritten": "not written",
}  # fmt: skip
_DOCUMENTS = {
    "openclaw-sqlite": "openclaw",
    "engine-log": "context-engines",
    "events": "context-events",
} | dict.fromkeys(
    ("openai-chat", "anthropic-messages", "openai-responses", "chat-array", "sharegpt", "gemini-api"), "chat"
)


@dataclass(frozen=True, slots=True)
class Cell:
    """One feature of one format. `sessions` are those here that have it."""

    state: State
    sessions: int
    # For readers, and as a title: "observed in 3 sessions"
    text: str


@dataclass(frozen=True, slots=True)
class Line:
    """One feature over the formats of a table."""

    label: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class Column:
    """One format: how many sessions here, of which versions, and its document ("" without one)."""

    name: str
    url: str
    sessions: int
    versions: str
    cached: str


@dataclass(frozen=True, slots=True)
class Matrix:
    """One table: some formats over all features."""

    title: str
    columns: tuple[Column, ...]
    lines: tuple[Line, ...]


@dataclass(frozen=True, slots=True)
class CoveragePage:
    """Everything the page shows."""

    matrices: tuple[Matrix, ...]
    # What the four states mean
    legend: tuple[tuple[str, str], ...]
    sessions: int
    # How many of them were read before features were kept, and so count nowhere
    older: int


@dataclass(slots=True)
class _Seen:
    """What the sessions of one format here have."""

    sessions: int = 0
    versions: set[str] = field(default_factory=set)
    features: Counter[str] = field(default_factory=Counter)


def coverage_page() -> CoveragePage:
    """The page for whoever looks: sessions that are hidden from them count nowhere. One query."""
    seen: dict[str, _Seen] = defaultdict(_Seen)
    older = 0
    for name, version, bits, count in sessions.by_features():
        one = seen[name]
        one.sessions += count
        one.versions |= {version} - {""}
        older += count if bits is None else 0
        one.features.update(dict.fromkeys(from_bits(bits or 0), count))
    declared = {name: one for reader in READERS for name, one in reader.declares.items()}
    placed = {name for names in GROUPS.values() for name in names}
    matrices = [
        _matrix(title, [name for name in names or declared.keys() - placed if name in declared], declared, seen)
        for title, names in GROUPS.items()
    ]
    return CoveragePage(tuple(matrices), tuple(STATES.items()), sum(one.sessions for one in seen.values()), older)


def _matrix(title: str, names: Sequence[str], declared: dict[str, Declaration], seen: dict[str, _Seen]) -> Matrix:
    documents = dict(doc_titles())
    ordered = names if title != "Exports, traces and bodies" else sorted(names)
    columns = tuple(_column(name, declared[name], seen[name], documents) for name in ordered)
    lines = tuple(
        Line(label, tuple(_cell(key, declared[name], seen[name]) for name in ordered))
        for key, label in FEATURES.items()
    )
    return Matrix(title, columns, lines)


def _column(name: str, declaration: Declaration, seen: _Seen, documents: dict[str, str]) -> Column:
    document = f"formats/{_DOCUMENTS.get(name, name)}"
    versions = sorted(seen.versions)
    more = f" and {len(versions) - SHOWN_VERSIONS} more" if len(versions) > SHOWN_VERSIONS else ""
    return Column(
        format_name(name),
        reverse("docs_page", args=[document]) if document in documents else "",
        seen.sessions,
        ", ".join(version[:20] for version in versions[:SHOWN_VERSIONS]) + more,
        _CACHED[declaration.cached],
    )


def _cell(key: str, declaration: Declaration, seen: _Seen) -> Cell:
    support, count = declaration.features.get(key), seen.features[key]
    if support is None and not count:
        return Cell("unsupported", 0, "unsupported")
    if support == "inferred":
        return Cell(
            "inferred", count, f"inferred in {words.counted(count, 'session')}" if count else "inferred, none seen"
        )
    if not count:
        return Cell("supported", 0, "supported, none seen")
    return Cell("observed", count, f"observed in {words.counted(count, 'session')}")
