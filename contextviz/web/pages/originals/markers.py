"""The markers of one session, and which of them name something that is held."""

from __future__ import annotations

import re
from dataclasses import dataclass

from contextviz.analysis.originals import Original, originals
from contextviz.events.session import Session, Transcript
from contextviz.store.queries import messages, sessions
from contextviz.store.queries.boundaries import find_handles
from contextviz.web.pages.held import hold, title_of
from contextviz.web.pages.links import message_url

MOST_MESSAGES = 4_000
MOST_BYTES = 6_000_000
MOST_MARKERS = 100
MOST_PLACES = 3
_HASH = re.compile(r"^[0-9a-f]{6,64}$")


@dataclass(frozen=True, slots=True)
class MarkerPlaceLink:
    """A message that shows the marker."""

    # The message's number
    number: int
    # The message
    url: str


@dataclass(frozen=True, slots=True)
class MarkerRow:
    """One handle that a session's markers name."""

    # The handle as it is written
    handle: str
    # flowctx, lcm file, lcm tool output, lcm summary
    kind: str
    # What the marker says it stands for
    label: str
    # Characters that the marker claims for the original, None where it does not
    original_chars: int | None
    # held, dangling, or "" for an id that only the engine's own store resolves
    state: str
    # Where it stands, the first MOST_PLACES
    places: list[MarkerPlaceLink]
    # In how many places it stands
    place_count: int
    # How many messages asked for it
    asked: int


@dataclass(frozen=True, slots=True)
class SessionMarkers:
    """The markers of a session."""

    # The session
    session_id: int
    # Its name
    title: str
    # Handles in the order they appear first
    rows: list[MarkerRow]
    # How many handles there are
    total: int
    # How many of them name nothing that is held
    dangling: int
    # What was not looked at, "" where everything was
    note: str


def session_markers(session_id: int) -> SessionMarkers:
    """Look a session's texts through for markers; raises NotFound. Five queries; bounded, and says where."""
    row = sessions.get_session(session_id)
    page = messages.messages(session_id, limit=MOST_MESSAGES)
    blocks = [block for message in page.messages for block in message.blocks]
    pool = hold([block.text for block in blocks if block.text.size], most_bytes=MOST_BYTES)
    transcript = Transcript(Session(row.source_id, row.format), messages=page.messages)
    found = originals(transcript, pool)
    known = find_handles([one.handle for one in found])
    rows = [_row(session_id, one, known) for one in found]
    is_cut = page.after is not None or pool.is_cut
    looked = f"The first {len(page.messages):,} messages and {MOST_BYTES // 1_000_000} MB were looked at."
    return SessionMarkers(
        session_id, title_of(row), rows[:MOST_MARKERS], len(rows),
        sum(one.state == "dangling" for one in rows), looked if is_cut else "",
    )  # fmt: skip


def _row(session_id: int, one: Original, known: dict[str, bytes]) -> MarkerRow:
    marker = one.places[0].marker
    is_hash = _HASH.match(one.handle) is not None
    state = ("held" if one.handle in known else "dangling") if is_hash else ""
    indexes = list(dict.fromkeys(place.message_index for place in one.places))
    return MarkerRow(
        one.handle, one.kind.replace("_", " "), marker.label or "", marker.original_chars, state,
        [MarkerPlaceLink(index + 1, message_url(session_id, index)) for index in indexes[:MOST_PLACES]],
        len(one.places), len(one.retrieved_by),
    )  # fmt: skip
