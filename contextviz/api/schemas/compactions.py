"""Compactions: what is written about them, and what they took away."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from ninja import Schema

from contextviz.analysis.composition import Composition
from contextviz.analysis.difference import Change, WindowDifference
from contextviz.api.replies import Bodies
from contextviz.api.schemas.calls import item_values
from contextviz.api.shapes import Name, Text, Tokens, Words
from contextviz.events.call import ModelCall
from contextviz.events.compaction import Compaction as CompactionEvent
from contextviz.store.values import SnapshotRow

Fate = Literal["dropped", "kept", "new"]
FATES: dict[str, Fate] = {"gone": "dropped", "kept": "kept", "moved": "kept", "new": "new"}


class Compaction(Schema):
    """One compaction. The client's numbers are its own claims; the prompts are what the provider reported for the
    last call before and the first after, else the estimate of their windows. Calls are numbers from 1."""

    number: int
    id: Name | None
    kind: str
    trigger: Words | None
    producer: Words | None
    agent: Name | None
    at: datetime | None
    duration_seconds: float | None
    before_call: int | None
    after_call: int | None
    client_before: Tokens
    client_after: Tokens
    prompt_before: Tokens
    prompt_after: Tokens
    summary: Text | None
    summary_note: Words | None
    problem: Words | None
    on_active_path: bool
    first_kept: Name | None
    kept_entries: int
    message: int | None
    file: Words
    line: int | None


class FateCount(Schema):
    """Items of one category and one fate, and their tokens in the window before (of new ones in the window after). The
    sums of a category are those of the calls' snapshots, less what no record holds."""

    fate: Fate
    category: str
    items: int
    tokens: Tokens


class CompactionDetail(Compaction):
    """One compaction with what it dropped, kept and added, by category; `changes` is null, and `note` says why, where
    one of the two windows is not known. The items themselves are under `/items`."""

    changes: list[FateCount] | None
    note: str | None


class ChangedItem(Schema):
    """One item and its fate. Places count from 0 in the window before and after, null where it is not."""

    fate: Fate
    category: str
    place_before: int | None
    place_after: int | None
    role: str
    kind: str
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


Near = tuple[Mapping[int, ModelCall], Mapping[int, SnapshotRow]]


def compaction_of(event: CompactionEvent, bodies: Bodies, near: Near) -> Compaction:
    """A compaction as the API shows it; `near` are calls and snapshots by call index."""
    return Compaction(**_values(event, bodies, near))


@dataclass(frozen=True, slots=True)
class Told:
    """What became of a window's items, with the compositions of both windows; else a note why that is not known."""

    found: WindowDifference | None = None
    before: Composition | None = None
    after: Composition | None = None
    note: str | None = None


def detail_of(event: CompactionEvent, bodies: Bodies, near: Near, told: Told) -> CompactionDetail:
    """The same with what became of the window's items."""
    changes = None if told.found is None else _fates(told.found, told)
    return CompactionDetail(**_values(event, bodies, near), changes=changes, note=told.note)


def changed_of(change: Change, bodies: Bodies) -> ChangedItem:
    """One item with its fate."""
    return ChangedItem(
        fate=FATES[change.kind],
        category=change.category,
        place_before=change.a,
        place_after=change.b,
        **item_values(change.item, bodies),
    )


def _values(event: CompactionEvent, bodies: Bodies, near: Near) -> dict[str, Any]:
    return {
        "number": event.number,
        "id": event.id,
        "kind": event.kind,
        "trigger": event.trigger,
        "producer": event.producer,
        "agent": event.agent,
        "at": event.at,
        "duration_seconds": event.duration_seconds,
        "before_call": None if event.before_call is None else event.before_call + 1,
        "after_call": None if event.after_call is None else event.after_call + 1,
        "client_before": Tokens.of(event.tokens_before, "reported"),
        "client_after": Tokens.of(event.tokens_after, "reported"),
        "prompt_before": _prompt(event.before_call, near),
        "prompt_after": _prompt(event.after_call, near),
        "summary": bodies.find(event.summary),
        "summary_note": event.summary_note,
        "problem": event.problem,
        "on_active_path": event.on_active_path,
        "first_kept": event.first_kept,
        "kept_entries": len(event.kept),
        "message": event.message_index,
        "file": event.file,
        "line": event.line,
    }


def _prompt(call_index: int | None, near: Near) -> Tokens:
    calls, snapshots = near
    if call_index is None:
        return Tokens.of(None, "unknown")
    call = calls.get(call_index)
    if call is not None and call.usage.prompt_tokens is not None:
        return Tokens.of(call.usage.prompt_tokens, call.basis)
    snapshot = snapshots.get(call_index)
    return Tokens.of(None if snapshot is None else snapshot.estimated_tokens, "estimated")


def _fates(found: WindowDifference, told: Told) -> list[FateCount]:
    counted: dict[tuple[Fate, str], list[int]] = {}
    for change in found.changes:
        entry = counted.setdefault((FATES[change.kind], change.a_category or change.category), [0, 0])
        entry[0] += 1
        entry[1] += change.tokens if change.a is None else change.a_tokens
    return [
        FateCount(fate=fate, category=category, items=items, tokens=Tokens.of(tokens, _basis(fate, told)))
        for (fate, category), (items, tokens) in sorted(counted.items())
    ]


def _basis(fate: Fate, told: Told) -> str:
    made = told.after if fate == "new" else told.before
    return "estimated" if made is None else made.scale_basis
