"""What is new since a page was drawn: rows to append, calls whose results came, the play-head that follows."""

from __future__ import annotations

from dataclasses import dataclass, replace

from contextviz.services import figures
from contextviz.store.queries import calls, messages, sessions
from contextviz.web.pages.session.boundaries import CompactionRow, surroundings
from contextviz.web.pages.session.inspector import Inspector, inspector, settled
from contextviz.web.pages.session.page import Readout, SessionHead, head_of, readout_of
from contextviz.web.pages.session.place import Place
from contextviz.web.pages.session.rows import Row
from contextviz.web.pages.session.transcript import PAGE_MESSAGES, entries_of
from contextviz.web.pages.tabs import Tab, session_tabs


@dataclass(frozen=True, slots=True)
class Fresh:
    """A fragment for a page that follows its session."""

    # The session's number
    id: int
    # The last crumbs: the state and the counts
    head: SessionHead
    # What may have come to have compactions or a graph
    tabs: tuple[Tab, ...]
    # New rows, and rows that replace those with the same id
    entries: tuple[Row | CompactionRow, ...]
    # The index of the last message, whether there are more, and the revision
    last: int
    has_more: bool
    revision: int
    # How many messages are new, and how many there are in all
    added: int
    total: int
    # The number of the last call of this window
    calls: int
    # The readout, which counts the calls, and the inspector: what an estimate comes to may have changed
    readout: Readout | None
    inspector: Inspector | None


def fresh(session_id: int, place: Place, *, is_following: bool) -> Fresh:
    """What came after message `place.after`; raises NotFound."""
    row = sessions.get_session(session_id)
    compactions = calls.compactions(session_id, with_lists=False)
    after = -1 if place.after is None else place.after
    page = messages.messages(
        session_id, after=after if after >= 0 else None, limit=PAGE_MESSAGES, agent=place.agent, only_agent=True
    )
    listed = page.messages
    if listed:
        pairs = messages.tool_pairs(session_id, [message.index for message in listed])
        waiting = {pair.call_message for pair in pairs if pair.call_message <= after}
        listed = [*messages.messages_at(session_id, waiting).values(), *listed]
    table = figures.strip_of(session_id, place.agent)
    new_compactions = [one for one in compactions if one.message_index is None or one.message_index > after]
    around = surroundings(table, row.window, row.format)
    is_end = page.after is None
    entries = (
        entries_of(listed, place, new_compactions, is_end=is_end, around=around, among=compactions) if listed else ()
    )
    a, b, _ = settled(replace(place, b=None if is_following else place.b), table)
    stand = replace(place, a=a, b=b, after=None)
    return Fresh(
        session_id,
        head_of(row),
        tuple(session_tabs(row, "session")),
        entries,
        page.messages[-1].index if page.messages else after,
        page.after is not None,
        row.revision,
        len(page.messages),
        row.message_count,
        table.calls[-1] if table.calls else 0,
        readout_of(stand, table, compactions, row.window_basis) if table.calls else None,
        inspector(stand, table) if table.calls else None,
    )
