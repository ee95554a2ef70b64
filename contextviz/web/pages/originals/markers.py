"""The markers of one session, and which of them name something that is held."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import urlencode

from django.urls import reverse

from contextviz.analysis.originals import Original, originals
from contextviz.events.session import Session, Transcript
from contextviz.store.queries import messages, sessions
from contextviz.store.queries.summaries import known_nodes
from contextviz.store.queries.texts import MOST_HANDLES, find_handles
from contextviz.web.pages.held import hold, title_of
from contextviz.web.pages.links import message_url, original_url

MOST_MESSAGES = 4_000
MOST_BYTES = 6_000_000
MOST_MARKERS = 100
MOST_LOOKED_UP = 2_000
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
    # Where it leads: what the handle names, or the summary's node; "" where neither is known
    url: str
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
    """Look a session's texts through for markers; raises NotFound. Six queries, more where
    there are more than two hundred handles; bounded, and says where."""
    row = sessions.get_session(session_id)
    page = messages.messages(session_id, limit=MOST_MESSAGES)
    blocks = [block for message in page.messages for block in message.blocks]
    pool = hold([block.text for block in blocks if block.text.size], most_bytes=MOST_BYTES)
    transcript = Transcript(Session(row.source_id, row.format), messages=page.messages)
    found = originals(transcript, pool)
    listed = found[:MOST_LOOKED_UP]
    known = _held([one.handle for one in listed])
    named = [one.handle for one in listed if one.kind == "lcm_summary"]
    nodes = known_nodes(session_id, named) if named else frozenset()
    rows = [_row(session_id, one, known, nodes) for one in listed]
    is_cut = page.after is not None or pool.is_cut
    looked = f"The first {len(page.messages):,} messages and {MOST_BYTES // 1_000_000} MB were looked at."
    if len(found) > MOST_LOOKED_UP:
        looked, is_cut = f"Only the first {MOST_LOOKED_UP:,} handles were looked up.", True
    return SessionMarkers(
        session_id, title_of(row), rows[:MOST_MARKERS], len(found),
        sum(one.state == "dangling" for one in rows), looked if is_cut else "",
    )  # fmt: skip


def _held(handles: list[str]) -> dict[str, bytes]:
    """What is held of these handles. A query for each MOST_HANDLES of them."""
    known: dict[str, bytes] = {}
    for start in range(0, len(handles), MOST_HANDLES):
        known |= find_handles(handles[start : start + MOST_HANDLES])
    return known


def _row(session_id: int, one: Original, known: dict[str, bytes], nodes: frozenset[str]) -> MarkerRow:
    marker = one.places[0].marker
    indexes = list(dict.fromkeys(place.message_index for place in one.places))
    state, url = _state_of(session_id, one, known, nodes)
    return MarkerRow(
        one.handle, one.kind.replace("_", " "), marker.label or "", marker.original_chars, state, url,
        [MarkerPlaceLink(index + 1, message_url(session_id, index)) for index in indexes[:MOST_PLACES]],
        len(one.places), len(one.retrieved_by),
    )  # fmt: skip


def _state_of(session_id: int, one: Original, known: dict[str, bytes], nodes: frozenset[str]) -> tuple[str, str]:
    """Whether what a handle names is held, and where it leads."""
    if one.kind == "lcm_summary":
        graph = reverse("graph", args=[session_id])
        return ("held", f"{graph}?{urlencode({'node': one.handle})}") if one.handle in nodes else ("", "")
    # A file that was put aside lies outside of every transcript and store: its id is no hash, so nothing can be it.
    is_held = _HASH.match(one.handle) is not None and one.handle in known
    return "held" if is_held else "dangling", original_url(one.handle)
