"""Messages of a session, by page, by index, by entry id."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from django.db.models import Q

from contextviz.events.message import Message, ToolPair
from contextviz.store.bulk import chunks
from contextviz.store.models import EntryRecord, MessageRecord, ToolPairRecord
from contextviz.store.rows.message import MESSAGES, PAIRS
from contextviz.store.values import MessagePage, NotFound

QUERY_ROWS = 10_000


def messages(
    session_id: int, *, after: int | None = None, before: int | None = None, limit: int = 100,
    agent: str | None = None, only_agent: bool = False,
) -> MessagePage:  # fmt: skip
    """Messages after index `after`, or those just before `before`, in order. One query.

    `only_agent` keeps those of `agent` (None: the main chain).
    """
    found = MessageRecord.objects.filter(session_id=session_id)
    if only_agent:
        found = found.filter(agent=agent or "")
    if before is not None:
        rows = list(found.filter(index__lt=before).order_by("-index").values_list(*MESSAGES.columns)[: limit + 1])
        has_more = len(rows) > limit
        listed = [MESSAGES.to_event(row) for row in reversed(rows[:limit])]
        return MessagePage(listed, listed[0].index if has_more else None, listed[-1].index if listed else None)
    start = -1 if after is None else after
    rows = list(found.filter(index__gt=start).order_by("index").values_list(*MESSAGES.columns)[: limit + 1])
    listed = [MESSAGES.to_event(row) for row in rows[:limit]]
    first = listed[0].index if listed and start >= 0 else None
    return MessagePage(listed, first, listed[-1].index if len(rows) > limit else None)


def get_message(session_id: int, index: int) -> Message:
    """One message; raises NotFound."""
    found = messages_at(session_id, [index])
    if not found:
        raise NotFound(f"Session {session_id} has no message {index + 1}.")
    return found[index]


def messages_at(session_id: int, indexes: Iterable[int]) -> dict[int, Message]:
    """Messages by index, missing ones left out. One query."""
    result: dict[int, Message] = {}
    for part in chunks(set(indexes), QUERY_ROWS):
        rows = MessageRecord.objects.filter(session_id=session_id, index__in=part).values_list(*MESSAGES.columns)
        result.update((row[0], MESSAGES.to_event(row)) for row in rows)
    return dict(sorted(result.items()))


def indexes_of_entries(session_id: int, entries: Collection[str]) -> dict[str, int]:
    """Which message each entry id belongs to; unknown ids left out. One query."""
    result: dict[str, int] = {}
    for part in chunks(set(entries), QUERY_ROWS):
        found = EntryRecord.objects.filter(session_id=session_id, entry__in=part)
        # The first one of an id that a transcript writes twice.
        for entry, index in found.order_by("index").values_list("entry", "message_index"):
            result.setdefault(entry, index)
    return result


def by_entries(session_id: int, entries: Collection[str]) -> dict[str, Message]:
    """Messages by entry id; unknown ids left out. Two queries."""
    places = indexes_of_entries(session_id, entries)
    found = messages_at(session_id, places.values())
    return {entry: found[index] for entry, index in places.items() if index in found}


def tool_pairs(session_id: int, indexes: Collection[int]) -> list[ToolPair]:
    """The pairs of tool call and result that begin or end in these messages. One query."""
    either = Q(call_message__in=list(indexes)) | Q(result_message__in=list(indexes))
    found = ToolPairRecord.objects.filter(either, session_id=session_id).order_by("index")
    return [PAIRS.to_event(row) for row in found.values_list(*PAIRS.columns)]


def indexes_with_text(session_id: int, sha256: str, *, limit: int = 100) -> list[int]:
    """Messages that hold a text, by index. Looks through the session's rows: for jobs, not for pages."""
    found = []
    rows = MessageRecord.objects.filter(session_id=session_id).order_by("index").values_list("index", "blocks")
    for index, blocks in rows.iterator(chunk_size=2000):
        if any(block["t"][0] == sha256 for block in blocks):
            found.append(index)
            if len(found) >= limit:
                break
    return found
