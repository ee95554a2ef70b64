"""Saving what was read. Repeatable: the same transcript twice changes nothing. Transactions are the caller's."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from contextviz.events.session import Transcript
from contextviz.store.bulk import chunks
from contextviz.store.columns import insert, inserting_beside
from contextviz.store.models.budget import BudgetRecord
from contextviz.store.models.session import SessionDetailRecord, SessionRecord, SessionSeriesRecord
from contextviz.store.models.text import TextUseRecord
from contextviz.store.rows import call, engine_event, message, place, session, summary, topic, window
from contextviz.store.rows.table import Table
from contextviz.store.tables import Hashes, pack_hashes, replace, unpack_hashes
from contextviz.store.texts import ids_of

QUERY_TEXTS = 10_000
FEW_MESSAGES = 500  # not worth a thread
# Columns that say how a session was read and priced, which another version or another price changes without its files.
_OURS = frozenset({"read_by", "features", "cost_usd", "cost_basis", "cost_unpriced_calls", "cost_prices"})
# Every table of a session, children of nothing but it.
TABLES: tuple[Table[Any], ...] = (
    message.MESSAGES, message.ENTRIES, message.PAIRS, call.CALLS, call.COMPACTIONS, call.PROBLEMS, window.ITEMS,
    window.SNAPSHOTS, summary.NODES, summary.STORE_MESSAGES, summary.CONTEXT_REFS, topic.TOPICS, topic.TOPIC_EVENTS,
    engine_event.ENGINE_EVENTS, place.PLACES,
)  # fmt: skip


class MissingTexts(Exception):
    """Texts that the transcript refers to are not in the store: they were dropped while it was read. Read it again."""


@dataclass(frozen=True, slots=True)
class Derived:
    """What services computed from a transcript, to be kept with it.

    `numbers` are columns of SessionRecord; `categories` one for each item of the ItemTable; `sums` estimated tokens by
    category for each snapshot, gone through once; `strips` and `compositions` as SessionSeriesRecord holds them,
    `budget` as BudgetRecord does; empty where it is left for later: an older one is then dropped.
    """

    numbers: Mapping[str, Any]
    categories: Sequence[str] = ()
    sums: Iterable[Mapping[str, int]] = ()
    strips: bytes = b""
    compositions: bytes = b""
    budget: bytes = b""


@dataclass(frozen=True, slots=True)
class Saved:
    """What saving did: the session's id, whether it is new, how many rows changed, and its revision now. `is_changed`
    says whether anything differs that is read from its files, which may be in no row: a title, a window, a hint."""

    session_id: int
    is_new: bool
    changed_rows: int
    revision: int
    is_changed: bool = False


@dataclass(slots=True)
class _Write:
    """One save on its way."""

    session_id: int
    hashes: Hashes
    changed: int = field(default=0)

    def table(self, table: Table[Any], events: Iterable[Any]) -> None:
        self.changed += replace(table, self.session_id, events, self.hashes)


def save_transcript(transcript: Transcript, derived: Derived, *, now: datetime, key: str = "") -> Saved:
    """Make the store hold `transcript`, touching only rows that differ; a known session keeps its id.

    `key` is what it is kept under, its own where none is given.

    Call it inside a transaction. Raises MissingTexts where a text is gone; the whole must then be read again.
    """
    record, is_new = _locked_record(transcript, now, key or session.key_of(transcript.session))
    detail = None if is_new else SessionDetailRecord.objects.filter(session=record).first()
    write = _Write(record.pk, unpack_hashes(detail.row_hashes) if detail else {})
    changed_uses, ids = _save_uses(record.pk, transcript)
    write.changed += changed_uses
    # Of a session that is known rows are looked for and removed in between.
    with inserting_beside() if is_new and len(transcript.messages) > FEW_MESSAGES else nullcontext():
        _save_tables(write, transcript, derived)
        write.table(place.PLACES, place.Places(transcript, ids).rows())
    del ids  # of a long session megabytes, which the next needs
    body = session.pack_detail(transcript)
    series = SessionSeriesRecord.objects.filter(session=record).first()
    is_same_series = (
        series is not None
        and bytes(series.strips) == derived.strips
        and bytes(series.compositions) == derived.compositions
    )
    differing = _differing(record, transcript, derived)
    is_same = detail is not None and bytes(detail.body) == body and is_same_series and _is_same_budget(record, derived)
    if is_same and not write.changed and not differing:
        return Saved(record.pk, False, 0, record.revision)
    is_changed = bool(write.changed or differing - _OURS) or detail is None or not session.tells_same(detail.body, body)
    _save_record(record, transcript, derived, is_new=is_new, now=now)
    SessionDetailRecord.objects.update_or_create(
        session=record, defaults={"body": body, "row_hashes": pack_hashes(write.hashes)}
    )
    SessionSeriesRecord.objects.update_or_create(
        session=record, defaults={"strips": derived.strips, "compositions": derived.compositions}
    )
    if derived.budget:
        BudgetRecord.objects.update_or_create(session=record, defaults={"body": derived.budget})
    else:
        BudgetRecord.objects.filter(session=record).delete()
    return Saved(record.pk, is_new, write.changed, record.revision, is_changed)


def _is_same_budget(record: SessionRecord, derived: Derived) -> bool:
    found = BudgetRecord.objects.filter(session=record).values_list("body", flat=True).first()
    return not derived.budget or (found is not None and bytes(found) == derived.budget)


def _locked_record(transcript: Transcript, now: datetime, key: str) -> tuple[SessionRecord, bool]:
    record = SessionRecord(key=key, created_at=now, updated_at=now, sorted_at=now)
    session.fill(record, transcript.session)
    defaults = {
        column.name: getattr(record, column.name)
        for column in SessionRecord._meta.concrete_fields
        if not column.primary_key
    }
    found, is_new = SessionRecord.objects.get_or_create(key=key, defaults=defaults)
    # Two digests of one session go one after the other.
    return SessionRecord.objects.select_for_update().get(pk=found.pk), is_new


def _values(transcript: Transcript, derived: Derived) -> dict[str, Any]:
    wanted = SessionRecord()
    session.fill(wanted, transcript.session)
    return {name: getattr(wanted, name) for name in session.FILLED} | dict(derived.numbers)


def _differing(record: SessionRecord, transcript: Transcript, derived: Derived) -> set[str]:
    """The columns in which the session's row is to change."""
    return {name for name, value in _values(transcript, derived).items() if getattr(record, name) != value}


def _save_record(
    record: SessionRecord, transcript: Transcript, derived: Derived, *, is_new: bool, now: datetime
) -> None:
    for name, value in _values(transcript, derived).items():
        setattr(record, name, value)
    record.updated_at = now
    record.revision = 1 if is_new else record.revision + 1
    record.save()


def _save_tables(write: _Write, transcript: Transcript, derived: Derived) -> None:
    log, store = transcript.log, transcript.store
    write.table(message.MESSAGES, transcript.messages)
    write.table(message.ENTRIES, message.entries(transcript.messages))
    write.table(message.PAIRS, transcript.pairs)
    write.table(call.CALLS, transcript.calls)
    write.table(call.COMPACTIONS, transcript.compactions)
    write.table(call.PROBLEMS, transcript.problems)
    write.table(window.ITEMS, zip(log.table.items, derived.categories, strict=True))
    write.table(window.SNAPSHOTS, window.snapshot_rows(log, derived.sums))
    write.table(summary.NODES, store.nodes if store else ())
    write.table(summary.STORE_MESSAGES, store.messages if store else ())
    write.table(summary.CONTEXT_REFS, store.context if store else ())
    write.table(topic.TOPICS, transcript.topics)
    write.table(topic.TOPIC_EVENTS, transcript.topic_events)
    write.table(engine_event.ENGINE_EVENTS, transcript.engine_events)


def save_places(transcript: Transcript, session_id: int) -> int:
    """Write the places of a session that was saved before there was a search; how many rows changed. Call it inside a
    transaction."""
    detail = SessionDetailRecord.objects.select_for_update().filter(session_id=session_id).first()
    if detail is None:
        return 0
    write = _Write(session_id, unpack_hashes(detail.row_hashes))
    write.table(place.PLACES, place.Places(transcript, ids_of(uses_of(transcript))).rows())
    SessionDetailRecord.objects.filter(session_id=session_id).update(row_hashes=pack_hashes(write.hashes))
    return write.changed


def _save_uses(session_id: int, transcript: Transcript) -> tuple[int, dict[bytes, int]]:
    """How many uses changed, and the primary keys of all texts by digest."""
    uses: dict[bytes, Any] = uses_of(transcript)
    known = set(TextUseRecord.objects.filter(session_id=session_id).values_list("text_id", flat=True))
    gone = set(known)
    changed = missing = 0
    # One dictionary for both, a part at a time: of a long session a second one would be megabytes.
    for part in chunks(uses, QUERY_TEXTS):
        ids = ids_of(part)
        missing += len(part) - len(ids)
        fresh = [(session_id, key, uses[digest]) for digest, key in ids.items() if key not in known]
        changed += insert(TextUseRecord, ("session_id", "text_id", "message_index"), fresh)
        gone.difference_update(ids.values())
        uses.update(ids)
    if missing:
        raise MissingTexts(f"{missing} texts are not in the store")
    for part_of_gone in chunks(gone, QUERY_TEXTS):
        TextUseRecord.objects.filter(session_id=session_id, text_id__in=part_of_gone).delete()
    return changed + len(gone), uses


def uses_of(transcript: Transcript) -> dict[bytes, int | None]:
    """Every text that a transcript refers to, with the first message that holds it."""
    uses: dict[bytes, int | None] = {}
    for one in transcript.messages:
        for block in one.blocks:
            uses.setdefault(block.text.digest, one.index)
    for item in transcript.log.table.items:
        uses.setdefault(item.text.digest, None)
    refs = [event.summary for event in transcript.compactions]
    for note in transcript.topics:
        refs.extend((note.thread, note.status_note))
    if transcript.store:
        refs.extend(node.text for node in transcript.store.nodes)
        refs.extend(row.text for row in transcript.store.messages)
    for ref in refs:
        if ref is not None:
            uses.setdefault(ref.digest, None)
    return uses
