"""Model calls, and the windows they were given."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from ninja import Schema

from contextviz.analysis.composition import Composition
from contextviz.analysis.composition.categories import CATEGORIES, item_tokens
from contextviz.api.replies import Bodies
from contextviz.api.shapes import Cost, Name, Text, Tokens, Words
from contextviz.events.call import ModelCall
from contextviz.events.evidence import check_as_dict, described
from contextviz.events.snapshot import ContextItem
from contextviz.store.values import SnapshotRow, WindowItem
from contextviz.tokens.prices import PriceTable, cost


class Usage(Schema):
    """Tokens of one call. `prompt` is input, cache_read and cache_write together; reasoning is part of the output."""

    prompt: Tokens
    input: Tokens
    cache_read: Tokens
    cache_write: Tokens
    cache_write_5m: Tokens
    cache_write_1h: Tokens
    output: Tokens
    reasoning: Tokens


class Call(Schema):
    """One model call. `number` counts from 1 as on the pages; `message` is the answer's index from 0."""

    number: int
    id: Name | None
    response_id: Name | None
    at: datetime | None
    model: Name | None
    agent: Name | None
    purpose: str
    usage: Usage
    cost: Cost
    window: Tokens
    message: int | None
    entry: Name | None
    line: int | None
    on_active_path: bool


class CategoryTokens(Tokens):
    """Tokens of one category of the window."""

    category: str


class Check(Schema):
    """A window held against the client's own log of its requests, counted in messages. Confirmed: they agree;
    corrected: the window shown is the log's; refuted: they disagree, and the log is cut where they do; differs: the log
    notes what a context engine assembled, which is not always what was sent."""

    source: Literal["cache_trace", "trajectory"]
    verdict: Literal["confirmed", "corrected", "refuted", "differs"]
    sentence: Words
    file: Words
    line: int | None
    traced: int
    rebuilt: int
    client: int
    proven: int
    by_role: int
    missing: int
    extra: int
    filled: int


class Snapshot(Schema):
    """What a call was given, without its items. `basis` says how it is known: from the request itself, by the
    format's rules, or in part; `check` how that stands to the client's own log, null without one. The first
    `kept_items` are those of the snapshot `previous`."""

    index: int
    call: int
    basis: Literal["request", "rules", "partial"]
    note: Words | None
    check: Check | None
    previous: int | None
    kept_items: int
    items: int
    estimated: Tokens
    categories: list[CategoryTokens]


class CallSnapshot(Schema):
    """A call's window by category. The known parts and `residual` add up to `reported`, exactly; without a reported
    prompt the parts are estimates. `snapshot` is null where the window's items are not known."""

    call: int
    total: Tokens
    reported: Tokens
    residual: Tokens
    parts: list[CategoryTokens]
    note: Words | None
    snapshot: Snapshot | None


class Item(Schema):
    """One item of a window: what it is, what was done to it (`state`), and why it is there (`reason`). `basis` is
    derived where the text is known by rule and not from a record. `message` is an index from 0."""

    place: int
    position: int
    role: str
    kind: str
    category: str
    state: str
    reason: Words
    basis: Literal["recorded", "derived"]
    entry: Name | None
    message: int | None
    is_error: bool
    tool_name: Name | None
    tool_call_id: Name | None
    media_bytes: int | None
    text: Text


def call_of(call: ModelCall, *, prices: PriceTable) -> Call:
    """A call as the API shows it; `prices` say what it cost where it does not."""
    usage, basis = call.usage, call.basis
    return Call(
        number=call.index + 1,
        id=call.id,
        response_id=call.response_id,
        at=call.at,
        model=call.model,
        agent=call.agent,
        purpose=call.purpose,
        usage=Usage(
            prompt=Tokens.of(usage.prompt_tokens, basis),
            input=Tokens.of(usage.input_tokens, basis),
            cache_read=Tokens.of(usage.cache_read_tokens, basis),
            cache_write=Tokens.of(usage.cache_write_tokens, basis),
            cache_write_5m=Tokens.of(usage.cache_write_5m_tokens, basis),
            cache_write_1h=Tokens.of(usage.cache_write_1h_tokens, basis),
            output=Tokens.of(usage.output_tokens, basis),
            reasoning=Tokens.of(usage.reasoning_tokens, basis),
        ),
        cost=_cost(call, prices),
        window=Tokens.of(call.window, "reported"),
        message=call.message_index,
        entry=call.entry,
        line=call.line,
        on_active_path=call.on_active_path,
    )


def _cost(call: ModelCall, prices: PriceTable) -> Cost:
    found = cost(call.usage, call.model, prices)
    if found.usd is None:
        return Cost(usd=None, basis="unknown")
    if call.basis == "estimated":
        return Cost(usd=found.usd, basis="estimated")
    return Cost(usd=found.usd, basis="reported" if found.basis == "reported" else "derived")


def snapshot_of(row: SnapshotRow) -> Snapshot:
    """A snapshot without its items."""
    return Snapshot(
        index=row.index,
        call=row.call_index + 1,
        basis=row.basis,
        note=row.note,
        check=None if row.check is None else Check(sentence=described(row.check), **check_as_dict(row.check)),
        previous=row.previous,
        kept_items=row.kept_items,
        items=row.item_count,
        estimated=Tokens.of(row.estimated_tokens, "estimated"),
        categories=[
            CategoryTokens(category=name, tokens=row.sums[name], basis="estimated")
            for name in CATEGORIES
            if name in row.sums
        ],
    )


def window_of(composition: Composition, row: SnapshotRow | None) -> CallSnapshot:
    """One call's window by category."""
    bases = composition.bases
    is_known = composition.reported is not None or any(part is not None for part in composition.tokens)
    total_basis = "reported" if composition.reported is not None else "estimated"
    return CallSnapshot(
        call=composition.call_index + 1,
        total=Tokens.of(composition.total if is_known else None, total_basis),
        reported=Tokens.of(composition.reported, "reported"),
        residual=Tokens.of(composition.residual, "derived"),
        parts=[
            CategoryTokens(category=name, tokens=tokens, basis=bases[name])
            for name, tokens in composition.parts.items()
        ],
        note=composition.note,
        snapshot=None if row is None else snapshot_of(row),
    )


def item_of(one: WindowItem, bodies: Bodies) -> Item:
    """One item of a window."""
    return Item(place=one.place, position=one.position, category=one.category, **item_values(one.item, bodies))


def item_values(item: ContextItem, bodies: Bodies) -> dict[str, Any]:
    """What an item shows wherever it stands."""
    return {
        "role": item.role,
        "kind": item.kind,
        "state": item.state,
        "reason": item.reason,
        "basis": item.basis,
        "entry": item.entry,
        "message": item.message_index,
        "is_error": item.is_error,
        "tool_name": item.tool_name,
        "tool_call_id": item.tool_call_id,
        "media_bytes": item.media_bytes,
        "text": bodies.text(item.text, item_tokens(item)),
    }
