"""The loss ledger of a boundary: one row for each identifier that left the window (metrics.md section 2)."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from contextviz.analysis.transcript import argument_texts, call_arguments
from contextviz.events.artefacts.markers import Marker, find_markers
from contextviz.events.identifiers import GRAMMAR, Identifier, IdentifierKind, base_name, read
from contextviz.events.message import Role
from contextviz.events.snapshot import ContextItem
from contextviz.events.text import TextPool, digest_of

LossState = Literal["stale", "kept", "variant", "recoverable", "lost"]
Resolve = Callable[[str], str | None]
FormKey = tuple[IdentifierKind, str]
STATES: tuple[LossState, ...] = ("kept", "stale", "variant", "recoverable", "lost")
MAX_ROWS = 5000
# Extraction reads about 1.3 MB/s (2 cores, 2026); these keep one ledger under some seconds whatever the input.
MAX_SOURCE_CHARS = 3_000_000
MAX_TRIES = 50
MOST_TOOLS = 12
_SENTENCES = ("directive", "decision", "open_item")
_REMOVAL = re.compile(r"(?:sudo )?(?:git )?(?P<verb>rm|mv)\b(?: -\S+)*(?P<rest>(?: [^\s;&|]+){1,50})")


class Source(NamedTuple):
    """One text that left: who said it, and the number of the call whose window had it first (None: unknown)."""

    text: str
    speaker: Role
    call: int | None


class LaterUse(NamedTuple):
    """A call after the boundary whose output names the identifier, in a tool call's arguments or in its answer."""

    call: int
    where: Literal["arguments", "answer"]


@dataclass(slots=True)
class LossRow:
    """One identifier and what became of it. Calls are numbers from 1; `size` is its length in characters.

    `text` is its last spelling before the boundary. `handle` is what gets it back where it is recoverable.
    """

    kind: IdentifierKind
    text: str
    canonical: str
    size: int
    first_call: int | None
    last_call: int | None
    mentions: int
    state: LossState = "lost"
    handle: str | None = None
    later: list[LaterUse] = field(default_factory=list)

    def is_missed(self, boundary: int, within: int | None = None) -> bool:
        """Whether it was lost and then named in a tool call's arguments within so many calls from call `boundary`."""
        return self.state == "lost" and any(
            use.where == "arguments" and (within is None or use.call < boundary + within) for use in self.later
        )


@dataclass(slots=True)
class LossLedger:
    """The rows of one boundary, exactly one state each. `notes` say what was not read."""

    rows: list[LossRow]
    grammar: str = GRAMMAR
    notes: list[str] = field(default_factory=list)

    def count(self, *states: LossState) -> int:
        """How many rows are in one of `states`."""
        return sum(row.state in states for row in self.rows)

    @property
    def retention(self) -> float | None:
        """(kept + stale) ÷ all; None without rows."""
        return self.count("kept", "stale") / len(self.rows) if self.rows else None

    @property
    def reach(self) -> float | None:
        """(kept + stale + variant + recoverable) ÷ all; None without rows."""
        return 1 - self.count("lost") / len(self.rows) if self.rows else None

    @property
    def staleness(self) -> float | None:
        """stale ÷ (kept + stale); None where nothing was kept."""
        kept = self.count("kept", "stale")
        return self.count("stale") / kept if kept else None

    @property
    def identifiers_in_neither(self) -> list[LossRow]:
        """The rows found neither in the summary nor anywhere else in the window after."""
        return [row for row in self.rows if row.state == "lost"]


def readable(item: ContextItem, pool: TextPool) -> str:
    """The text of an item as identifiers are read in it: a tool call's values, one a line; "" where it is missing."""
    try:
        text = pool.get(item.text)
    except KeyError:
        return ""
    return readable_text(text) if item.kind == "tool_call" else text


def readable_text(call_text: str) -> str:
    """The values of a tool call's JSON, one a line, as they are before JSON escapes them."""
    name, arguments = call_arguments(call_text)
    return "\n".join([name or "", *argument_texts(arguments)])


def offered_tools(*windows: Iterable[ContextItem]) -> frozenset[str]:
    """The tools that a client offers and no record defines, by the calls in its windows; none where a window holds the
    definitions, which are then read as they stand."""
    items = [item for window in windows for item in window]
    if any(item.kind == "tools" for item in items):
        return frozenset()
    return frozenset(item.tool_name for item in items if item.kind == "tool_call" and item.tool_name)


def ledger(
    sources: Sequence[Source],
    after: Iterable[str],
    *,
    resolve: Resolve | None = None,
    root: str | None = None,
    tools: Container[str] = (),
) -> LossLedger:
    """The ledger of what `sources` named, against the texts of the window right `after`. `tools` are the names that
    tool definitions of that window hold which no record does: they stand in it verbatim.

    The first state that applies: stale (in the window after, but its file was removed or its key's last value
    differs), kept (verbatim), variant (another spelling, or its base name), recoverable (through a marker whose
    original `resolve` returns and whose hash fits), lost.
    """
    window = "\n".join(after)
    notes: list[str] = []
    rows, last_values, removed = _rows(sources, root, notes)
    judge = _Judge(window, root, resolve)
    for row in rows:
        is_offered = row.kind == "symbol" and row.canonical in tools
        row.state = "kept" if is_offered else judge.state(row, is_stale=_is_stale(row, last_values, removed))
        row.handle = judge.handle if row.state == "recoverable" else None
    by_tools = [row.text for row in rows if row.kind == "symbol" and row.canonical in tools]
    if by_tools:
        shown = ", ".join(by_tools[:MOST_TOOLS]) + (" …" if len(by_tools) > MOST_TOOLS else "")
        notes.append(f"Kept as names of tools, whose definitions no record holds: {shown}.")
    if judge.is_cut:
        notes.append("The window after is too long to be read whole for other spellings.")
    return LossLedger(rows, notes=notes)


def _rows(
    sources: Sequence[Source], root: str | None, notes: list[str]
) -> tuple[list[LossRow], dict[str, str], set[str]]:
    rows: dict[FormKey, LossRow] = {}
    last_values: dict[str, str] = {}
    removed: set[str] = set()
    left = MAX_SOURCE_CHARS
    for source in sources:
        found = read(source.text[: max(left, 0)], speaker=source.speaker, root=root)
        left -= len(source.text)
        if found.is_cut:
            notes.append("A text is too long to be read whole.")
        for one in found.identifiers:
            if one.kind == "path":
                removed.discard(one.canonical)
            key, value = _key_value(one.kind, one.canonical)
            if key is not None:
                last_values[key] = value
            _mention(rows, one, source)
        for one in found.identifiers:
            if one.kind == "command":
                removed.update(_removed_paths(one.canonical))
    if left < 0:
        notes.append(f"Only the first {MAX_SOURCE_CHARS:,} characters of what left were read.")
    if len(rows) > MAX_ROWS:
        notes.append(f"{len(rows):,} identifiers left; the first {MAX_ROWS:,} are listed.")
    return list(rows.values())[:MAX_ROWS], last_values, removed


def _mention(rows: dict[FormKey, LossRow], one: Identifier, source: Source) -> None:
    row = rows.get((one.kind, one.canonical))
    if row is None:
        rows[(one.kind, one.canonical)] = LossRow(
            one.kind, one.text, one.canonical, len(one.text), source.call, source.call, 1
        )
        return
    row.mentions += 1
    row.text, row.size = one.text, len(one.text)
    row.last_call = row.last_call if source.call is None else source.call


def _key_value(kind: IdentifierKind, form: str) -> tuple[str | None, str]:
    if kind not in ("number", "key", "version"):
        return None, ""
    parts = re.split(r"==|=|@", form, maxsplit=1)
    return (parts[0], parts[1]) if len(parts) == 2 and parts[0] and parts[1] else (None, "")


def _removed_paths(command: str) -> Iterator[str]:
    for match in _REMOVAL.finditer(command):
        names = [name.removeprefix("./") for name in match["rest"].split()]
        yield from names if match["verb"] == "rm" else names[:-1]


def _is_stale(row: LossRow, last_values: dict[str, str], removed: set[str]) -> bool:
    if row.kind == "path":
        return row.canonical in removed
    key, value = _key_value(row.kind, row.canonical)
    return key is not None and last_values.get(key, value) != value


class _Judge:
    """Where an identifier is in the window after."""

    def __init__(self, window: str, root: str | None, resolve: Resolve | None):
        self._window = window
        self._folded = re.sub(r"\s+", " ", window).casefold()
        found = read(window, root=root)
        self._forms = {(one.kind, one.canonical) for one in found.identifiers}
        self._originals = list(_originals(find_markers(window), resolve)) if resolve else []
        self.is_cut = found.is_cut
        self.handle: str | None = None

    def state(self, row: LossRow, *, is_stale: bool) -> LossState:
        if stands_in(row.text, self._window):
            return "stale" if is_stale else "kept"
        if (row.kind, row.canonical) in self._forms:
            return "variant"
        if row.kind in _SENTENCES and row.canonical in self._folded:
            return "variant"
        base = base_name(row.kind, row.canonical)
        if base is not None and stands_in(base, self._window):
            return "variant"
        for handle, text in self._originals:
            if stands_in(row.text, text):
                self.handle = handle
                return "recoverable"
        return "lost"


def _originals(markers: list[Marker], resolve: Resolve) -> Iterator[tuple[str, str]]:
    for handle in dict.fromkeys(marker.handle for marker in markers if not marker.is_cut):
        text = resolve(handle)
        # A flowctx handle is the hash itself, so it is checked here; for ids the resolver vouches.
        if text is not None and (not _is_hash(handle) or digest_of(text).hex().startswith(handle)):
            yield handle, text


def _is_hash(handle: str) -> bool:
    return re.fullmatch(r"[0-9a-f]{4,64}", handle) is not None


def stands_in(needle: str, text: str) -> bool:
    """Whether `needle` stands in `text` by itself: not as a part of a longer word (looked at MAX_TRIES times)."""
    at = text.find(needle)
    for _ in range(MAX_TRIES):
        if at < 0:
            return False
        end = at + len(needle)
        opens = at == 0 or not _joins(text[at - 1], needle[0])
        if opens and (end >= len(text) or not _joins(needle[-1], text[end])):
            return True
        at = text.find(needle, at + 1)
    return False


def _joins(left: str, right: str) -> bool:
    return (left.isalnum() or left == "_") and (right.isalnum() or right == "_")
