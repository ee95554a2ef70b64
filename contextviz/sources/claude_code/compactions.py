"""Compactions of a chain: one per event, from parsed top-level fields only (formats.md B.5, trap 36)."""

from __future__ import annotations

from bisect import bisect_left

from contextviz.events.compaction import Compaction
from contextviz.sources.claude_code.chain import preserved_rows
from contextviz.sources.claude_code.messages import Conversation
from contextviz.sources.claude_code.rows import Row


def compactions_of(conversation: Conversation) -> list[tuple[Compaction, Row | None]]:
    """The chain's compactions in file order, numbered from 1 by the caller, each with its summary's row."""
    chain = conversation.chain
    found: list[tuple[Compaction, Row | None]] = []
    waiting: int | None = None
    for row in chain.rows:
        if row.subtype == "compact_boundary" and row.kind == "system":
            found.append((_boundary(row, conversation), None))
            waiting = len(found) - 1
        elif row.subtype == "microcompact_boundary" and row.kind == "system":
            found.append((_event(row, conversation, "microcompact"), None))
        elif row.kind == "user" and row.is_summary and not _is_preserved(row, found):
            if waiting is None:
                found.append((_event(row, conversation, "summary"), row))
                _summarise(found[-1][0], row)
            else:
                found[waiting] = (found[waiting][0], row)
                _summarise(found[waiting][0], row)
                waiting = None
    return [(one, row) for one, row in found]


def _is_preserved(row: Row, found: list[tuple[Compaction, Row | None]]) -> bool:
    return any(row.uuid is not None and row.uuid in one.kept for one, _ in found)


def _event(row: Row, conversation: Conversation, kind: str) -> Compaction:
    compact = row.compact
    return Compaction(
        id=row.uuid,
        number=0,
        line=row.line,
        file=row.file,
        at=row.at,
        kind=kind,  # type: ignore[arg-type]
        trigger=compact.trigger if compact else None,
        tokens_before=compact.tokens_before if compact else None,
        tokens_after=compact.tokens_after if compact else None,
        on_active_path=conversation.chain.is_active(row),
        agent=conversation.chain.agent,
        duration_seconds=compact.duration_seconds if compact else None,
        producer="Claude Code",
    )


def _boundary(row: Row, conversation: Conversation) -> Compaction:
    event = _event(row, conversation, "summary")
    event.kept = list(preserved_rows(conversation.chain, row))
    missing = [uuid for uuid in event.kept if uuid not in conversation.chain.positions]
    event.first_kept = event.kept[0] if event.kept else None
    event.context_items = [uuid for uuid in event.kept if uuid not in missing]
    if missing:
        event.problem = "kept_missing"
    return event


def _summarise(event: Compaction, row: Row) -> None:
    event.summary = next((block.text for block in row.blocks if block.kind in ("text", "summary")), None)
    event.message_index = row.message_index
    event.context_items = [f"summary {event.id}", *event.context_items]


def place(event: Compaction, row: Row, orders: list[int], indexes: list[int]) -> None:
    """Fill the calls around a compaction: of its own chain's calls the positions of their first rows, ascending,
    and their indexes."""
    at = bisect_left(orders, row.order)
    event.before_call = indexes[at - 1] if at else None
    event.after_call = indexes[at] if at < len(indexes) else None
