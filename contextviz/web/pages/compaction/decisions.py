"""What a context engine wrote down beside its compactions: checks that did not fire, assemblies, debts, errors."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlencode

from contextviz.events.engine_event import EngineEvent, Scalar
from contextviz.store.queries import engine_events
from contextviz.web.pages.links import message_url, original_url

PAGE_SIZE = 50
MOST_FACTS = 14
VALUE_CHARS = 240
# Of an event that was recognised in a message: said by a link.
_PLACE = ("message", "block")
WORDS = {
    "session.bootstrap": "engine started",
    "message.ingested": "message taken in",
    "context.assembled": "window assembled",
    "compaction.evaluated": "compaction considered",
    "compaction.started": "compaction started",
    "compaction.finished": "compaction finished",
    "window.moved": "window moved",
    "window.cleared": "window whole again",
    "summary.created": "summary made",
    "block.compressed": "text compressed",
    "retrieve": "got back",
    "recall.injected": "recalled",
    "gate.segment": "gate looked",
    "gate.fired": "gate fired",
    "answer.revised": "answer revised",
    "consolidation": "memory consolidated",
    "llm.call": "model asked",
    "maintenance.debt": "compaction owed",
    "engine.error": "error of the engine",
}
ORIGINS = {"disk": "by its files", "log": "by its log", "transcript": "by the transcript"}


@dataclass(frozen=True, slots=True)
class TypeChip:
    """One type of event, to show alone."""

    name: str
    count: int
    url: str
    is_on: bool


@dataclass(frozen=True, slots=True)
class DecisionRow:
    """One event."""

    # When, None where that is not written
    at: object
    engine: str
    # In words, with the type of the event model
    what: str
    type: str
    # Where its numbers come from: reported as the engine wrote them, or derived from what it wrote
    basis: str
    # A check or an attempt after which nothing was compacted
    did_not_fire: bool
    # Names and values as the engine wrote them
    facts: list[tuple[str, str]]
    # Words and addresses: the message that shows it, the original that it names
    links: list[tuple[str, str]]
    # File and line, and what kind of source that is
    where: str
    origin: str


@dataclass(frozen=True, slots=True)
class Decisions:
    """The events of one page of them."""

    rows: list[DecisionRow]
    chips: list[TypeChip]
    # Of the chosen type, and of all
    total: int
    first: int
    last: int
    all_url: str
    # Whether one type is chosen
    filtered: bool
    previous: str
    next: str


def decisions(session_id: int, type: str, page: int) -> Decisions:
    """One page of a session's engine events, of one type where one is chosen. Two queries."""
    counts = engine_events.counts_by_type(session_id)
    chosen = type if type in counts else ""
    total = counts[chosen] if chosen else sum(counts.values())
    pages = max(1, -(-total // PAGE_SIZE))
    number = min(max(page, 1), pages)
    start = (number - 1) * PAGE_SIZE
    read = engine_events.engine_events
    found = read(session_id, start=start, stop=start + PAGE_SIZE, type=chosen or None) if total else []
    chips = [TypeChip(WORDS.get(name, name), count, _url(name, 1), name == chosen) for name, count in counts.items()]
    return Decisions(
        [_row(session_id, event) for event in found], chips, total, start + 1 if found else 0, start + len(found),
        _url("", 1), bool(chosen), _url(chosen, number - 1) if number > 1 else "",
        _url(chosen, number + 1) if number < pages else "",
    )  # fmt: skip


def _url(type: str, page: int) -> str:
    query = ({"event": type} if type else {}) | ({"events": str(page)} if page > 1 else {})
    return f"?{urlencode(query)}#decisions"


def _row(session_id: int, event: EngineEvent) -> DecisionRow:
    linked = _PLACE if "artefact" in event.data else ()
    shown = [(name, value) for name, value in event.data.items() if value not in (None, "") and name not in linked]
    facts = [(name[:60], _value(value)) for name, value in shown][:MOST_FACTS]
    origin = "transcript" if "artefact" in event.data else event.origin
    where = event.file if event.line is None else f"{event.file}, line {event.line}"
    return DecisionRow(
        event.at, event.engine, WORDS.get(event.type, event.type), event.type,
        "reported" if event.quality == "exact" else "derived", event.did_not_fire, facts,
        _links(session_id, event), where,
        ORIGINS.get(origin, origin),
    )  # fmt: skip


def _links(session_id: int, event: EngineEvent) -> list[tuple[str, str]]:
    """Where an event leads that was recognised in a message."""
    index, handle = event.data.get("message"), event.data.get("hash")
    if "artefact" not in event.data or not isinstance(index, int):
        return []
    found = [(f"message {index + 1:,}", message_url(session_id, index))]
    return [*found, ("its original", original_url(handle))] if isinstance(handle, str) else found


def _value(value: Scalar) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.4g}"
    text = str(value)
    return text if len(text) <= VALUE_CHARS else text[:VALUE_CHARS] + "…"
