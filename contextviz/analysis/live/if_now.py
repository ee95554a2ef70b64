"""If it compacted now: which items of the window the session's own rule would remove, and what would go with them.

A rule is the client's, as the engines and formats documents have it; where they state none there is no answer. Nothing
is said of when a compaction will come.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from contextviz.analysis.compaction.loss import LossRow, Source, ledger, offered_tools, readable
from contextviz.analysis.composition.categories import item_tokens
from contextviz.events.message import Role
from contextviz.events.session import Setting
from contextviz.events.snapshot import ContextItem
from contextviz.events.text import TextPool

Quality = Literal["exact", "derived"]
Length = Callable[[ContextItem], int]
# pi's own default where its settings say nothing; OpenClaw's built-in engine is pi's.
PI_KEEPS_TOKENS = 20_000
OPENVOLE_KEEPS = 10
CHARS_A_TOKEN = 4
# pi counts a call's name and its arguments; the item is `{"name":"…","arguments":…}`.
CALL_FRAME_CHARS = len('{"name":"","arguments":}')
# The name of OpenClaw's built-in engine, where a configuration names one (engines document, section 1).
HOST_ENGINE = "legacy"


@dataclass(frozen=True, slots=True)
class Limit:
    """What the rule measures by: its name, its value with a unit, and where the value is from."""

    name: str
    value: str
    source: str


@dataclass(frozen=True, slots=True)
class Removed:
    """One item that would go: its place in the window (from 0), its window tokens, and why."""

    place: int
    tokens: int
    why: str


@dataclass(frozen=True, slots=True)
class IfNow:
    """What would go. `rule` says the rule in a sentence, "" where none is known; `quality` how well it is known: exact
    (measured, no miss) or derived (`misses` says where it may err). In window tokens `removed` + `kept_tokens` are the
    items of the window. `nothing` says why nothing would go, "" where something would."""

    rule: str
    quality: Quality | None
    removed: tuple[Removed, ...]
    removed_tokens: int
    kept_count: int
    kept_tokens: int
    limits: tuple[Limit, ...] = ()
    misses: str = ""
    nothing: str = ""


@dataclass(frozen=True, slots=True)
class Configured:
    """What a rule needs to know of the session: its format, its agent's name, and the configuration beside it (None
    where none came with it): the context engine in its slot and the settings by their dotted names."""

    format: str
    agent: str | None = None
    engine: str | None = None
    settings: Mapping[str, Setting] | None = None


@dataclass(frozen=True, slots=True)
class _Outcome:
    why: Mapping[int, str] = field(default_factory=dict)
    nothing: str = ""


@dataclass(slots=True)
class _Group:
    """The places of one message's items, in order."""

    role: Role
    places: list[int]


def if_now(
    items: Sequence[ContextItem], known: Configured, *, length: Length, tokens: Sequence[int] | None = None
) -> IfNow:
    """What the session's own rule would remove of `items`, the window as the next call would be given it. `length` is
    an item's text in UTF-16 units, as JavaScript counts it; `tokens` are the window tokens of each, plain estimates
    where they are not given."""
    found = _by_rule(items, known, length)
    if tokens is None:
        return found
    removed = tuple(replace(one, tokens=tokens[one.place]) for one in found.removed)
    gone = sum(one.tokens for one in removed)
    return replace(found, removed=removed, removed_tokens=gone, kept_tokens=sum(tokens) - gone)


def _by_rule(items: Sequence[ContextItem], known: Configured, length: Length) -> IfNow:
    if known.format == "pi":
        return _by_tokens(items, known, length, is_measured=True)
    if known.format in ("openclaw", "openclaw-sqlite"):
        if known.engine not in (None, HOST_ENGINE):
            text = f"The configuration sets the context engine “{known.engine}”; no rule of it is known here."
            return _result(items, "", None, _Outcome(nothing=text))
        return _by_tokens(items, known, length, is_measured=False)
    if known.format == "openvole":
        return _openvole(items)
    if known.format == "codex":
        return _codex(items)
    if known.format == "claude-code":
        return _claude(items)
    return _result(items, "", None, _Outcome(nothing="No rule is known for this format."))


def _result(
    items: Sequence[ContextItem], rule: str, quality: Quality | None, found: _Outcome, *,
    limits: tuple[Limit, ...] = (), misses: str = "",
) -> IfNow:  # fmt: skip
    removed = tuple(Removed(place, item_tokens(items[place]), why) for place, why in sorted(found.why.items()))
    gone = sum(one.tokens for one in removed)
    whole = sum(map(item_tokens, items))
    return IfNow(
        rule, quality, removed, gone, len(items) - len(removed), whole - gone, limits, misses,
        found.nothing or ("" if removed else "By this rule nothing would go."),
    )  # fmt: skip


def _stays(item: ContextItem) -> bool:
    """Whether a client puts an item into every request, whatever is compacted."""
    return item.kind in ("system", "tools") or item.role in ("system", "developer")


def _groups(items: Sequence[ContextItem]) -> tuple[list[int], list[_Group]]:
    """The summaries that stand before every message, and the messages, each with the places of its items."""
    summaries: list[int] = []
    groups: list[_Group] = []
    last: object = None
    for place, item in enumerate(items):
        if _stays(item):
            continue
        if not groups and (item.kind == "summary" or item.state == "summary"):
            summaries.append(place)
            continue
        key = item.message_index if item.message_index is not None else f"alone {place}"
        if groups and key == last:
            groups[-1].places.append(place)
        else:
            groups.append(_Group(item.role, [place]))
        last = key
    return summaries, groups


def _by_tokens(items: Sequence[ContextItem], known: Configured, length: Length, *, is_measured: bool) -> IfNow:
    """pi's cut (engines document, section 11): back over the messages, adding ceil(characters ÷ 4), until they are
    keepRecentTokens; then the first message of the user or the model at or after that point."""
    keep, limit = _kept_tokens(known)
    found = _cut(items, keep, length)
    rule = (
        "Everything before the newest messages that make up keepRecentTokens (characters ÷ 4, rounded up a message) is "
        "folded into a summary; the cut is at a message of the user or the model."
    )
    if is_measured:
        return _result(items, rule, "exact", found, limits=(limit,))
    misses = (
        "This is pi's rule. Measured on OpenClaw's built-in engine it hit none of 5 cuts: that engine cut later, after "
        "a tool result, and kept some 800 to 1,850 tokens of 3,000. More may go than is listed here."
    )
    return _result(items, rule, "derived", found, limits=(limit,), misses=misses)


def _kept_tokens(known: Configured) -> tuple[int, Limit]:
    settings = known.settings or {}
    names = ["compaction.keepRecentTokens", "agents.defaults.compaction.keepRecentTokens"]
    if known.agent:
        names.insert(0, f"agents.list.{known.agent}.compaction.keepRecentTokens")
    for name in names:
        value = settings.get(name)
        if isinstance(value, int) and not isinstance(value, bool):
            return value, Limit("keepRecentTokens", f"{value:,} tokens", "by the agent's configuration")
    where = "no configuration came with the session" if known.settings is None else "its configuration does not set it"
    source = f"pi's default, since {where}"
    return PI_KEEPS_TOKENS, Limit("keepRecentTokens", f"{PI_KEEPS_TOKENS:,} tokens", source)


def _cut(items: Sequence[ContextItem], keep: int, length: Length) -> _Outcome:
    summaries, groups = _groups(items)
    total, at = 0, len(groups)
    while at and total < keep:
        at -= 1
        chars = sum(_chars(items[place], length) for place in groups[at].places)
        total += -(-chars // CHARS_A_TOKEN)
    first = next((number for number in range(at, len(groups)) if groups[number].role in ("user", "assistant")), 0)
    if total < keep:
        return _Outcome(nothing=f"All its messages together are {total:,} of {keep:,} tokens by the rule's own count.")
    if not first:
        return _Outcome(nothing="The newest messages that stay reach back to the first one.")
    why = {place: "before the newest messages that stay" for group in groups[:first] for place in group.places}
    why |= dict.fromkeys(summaries, "earlier summary, goes into the new one")
    return _Outcome(why)


def _chars(item: ContextItem, length: Length) -> int:
    """An item's characters as pi counts them: what the client adds at the moment of the request is none of them."""
    if item.basis == "derived" or item.kind == "image":
        return 0
    return max(0, length(item) - CALL_FRAME_CHARS) if item.kind == "tool_call" else length(item)


def _openvole(items: Sequence[ContextItem]) -> IfNow:
    """paw-compact (engines document, section 2.5): the first message and the newest ten stay, once there are over
    twelve."""
    summaries, groups = _groups(items)
    groups = [*(_Group("assistant", [place]) for place in summaries), *groups]
    rule = f"The first message and the newest {OPENVOLE_KEEPS} stay; those between are folded into a summary."
    limit = Limit(
        "VOLE_COMPACT_KEEP_RECENT", f"{OPENVOLE_KEEPS} messages", "the paw's default; no file has its setting"
    )
    misses = (
        "The paw also shortens tool results of over 500 characters that stay. The transcript holds their first 300 "
        "characters alone, so that is not counted here."
    )
    if len(groups) <= OPENVOLE_KEEPS + 2:
        said = f"The window has {len(groups)} messages; only more than {OPENVOLE_KEEPS + 2} are folded."
        return _result(items, rule, "derived", _Outcome(nothing=said), limits=(limit,), misses=misses)
    why = f"between the first message and the newest {OPENVOLE_KEEPS}"
    gone = {place: why for group in groups[1:-OPENVOLE_KEEPS] for place in group.places}
    return _result(items, rule, "derived", _Outcome(gone), limits=(limit,), misses=misses)


def _codex(items: Sequence[ContextItem]) -> IfNow:
    """Codex (formats document, sections C.5 and on 0.171.0): every message of the user and what the client says for
    the developer survive verbatim, the model's and its tools' are dropped."""
    gone: dict[int, str] = {}
    for place, item in enumerate(items):
        if item.kind == "summary" or item.state == "summary":
            gone[place] = "earlier summary, goes into the new one"
        elif not _stays(item) and (item.role in ("assistant", "tool") or item.kind in _OF_THE_MODEL):
            gone[place] = "said by the model or a tool; only the user's messages stay"
    rule = "Messages of the user stay word for word; what the model and its tools said is folded into a summary."
    misses = (
        "An older Codex keeps recent messages of the user alone; how many is written nowhere. One in the middle of a "
        "turn does the last step again."
    )
    return _result(items, rule, "derived", _Outcome(gone), misses=misses)


_OF_THE_MODEL = frozenset({"thinking", "tool_call", "tool_result"})


def _claude(items: Sequence[ContextItem]) -> IfNow:
    """Claude Code (formats document, section B.5): after a boundary stand the system prompt, the tools, the summary,
    what the client preserved and what it attaches again."""
    gone: dict[int, str] = {}
    for place, item in enumerate(items):
        if item.kind == "summary" or item.state == "summary":
            gone[place] = "earlier summary, goes into the new one"
        elif not _stays(item):
            gone[place] = "before the boundary"
    rule = "The system prompt and the tools stay; every message is folded into a summary."
    misses = (
        "Some versions keep their newest messages word for word and attach files and to-do lists again; which ones is "
        "known only once the boundary is written. Less may go than is listed here."
    )
    return _result(items, rule, "derived", _Outcome(gone), misses=misses)


@dataclass(frozen=True, slots=True)
class AtRisk:
    """Identifiers of the items that would go which stand in no summary and no item that stays, in order; `looked_at`
    are all that the items name. `notes` say what was not read."""

    rows: tuple[LossRow, ...]
    looked_at: int
    notes: tuple[str, ...]


def at_risk(items: Sequence[ContextItem], found: IfNow, pool: TextPool, *, root: str | None = None) -> AtRisk:
    """What would be lost with the items that go, by the loss ledger's own grammar and rules. A summary that goes into
    the new one still counts as a summary: its words are carried on. `root` is the session's folder."""
    gone = {one.place for one in found.removed}
    left, stays = [], []
    for place, item in enumerate(items):
        text = readable(item, pool)
        if place in gone and item.kind != "summary" and item.state != "summary":
            left.append(Source(text, item.role, None))
        else:
            stays.append(text)
    made = ledger(left, stays, root=root, tools=offered_tools(items))
    rows = tuple(row for row in made.rows if row.state == "lost")
    return AtRisk(rows, len(made.rows), tuple(dict.fromkeys(made.notes)))
