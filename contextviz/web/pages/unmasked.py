"""Texts with the values that pages mask, for one person who asked for them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from secrets import token_hex

from django.urls import reverse

from contextviz.events.text import TextRef
from contextviz.services.export import Place
from contextviz.services.export.sieve import VALUE_CHARS
from contextviz.store.queries import calls, messages, snapshots, summaries, texts
from contextviz.store.values import NotFound
from contextviz.web.pages.held import READER
from contextviz.web.pages.links import compaction_url, message_url

MOST_BLOCKS = 200
MOST_CHARS = 900_000  # of all texts together; a download has the rest
MOST_SESSIONS = 5


@dataclass(frozen=True, slots=True)
class UnmaskedText:
    """One text as it is in the store."""

    # What it is
    name: str
    # The text, or its beginning
    text: str
    is_cut: bool
    # Its length in all, 0 where that is not known
    chars: int
    # Stands for the text while the page around it is masked
    slot: str = field(default_factory=lambda: f"slot-{token_hex(16)}")


@dataclass(frozen=True, slots=True)
class Unmasked:
    """What was asked for: the texts, what is written down about it, where it stands on its page."""

    target: str
    title: str
    back: str
    texts: tuple[UnmaskedText, ...]


def of_message(session_id: int, index: int, block: int | None = None) -> Unmasked:
    """A message, or one block of it. Raises NotFound."""
    message = messages.get_message(session_id, index)
    if block is not None and not 0 <= block < len(message.blocks):
        raise NotFound(f"Message {index + 1} of session {session_id} has no block {block + 1}.")
    chosen = list(enumerate(message.blocks))[:MOST_BLOCKS] if block is None else [(block, message.blocks[block])]
    named = [(f"{one.kind.replace('_', ' ')} {one.tool_name or ''}".strip(), one.text) for _, one in chosen]
    part = "" if block is None else f", block {block + 1}"
    title = f"Message {index + 1:,}{part}"
    return Unmasked(
        f"session {session_id}, message {index + 1}{part}", title, message_url(session_id, index), _texts(named)
    )


def of_item(session_id: int, position: int) -> Unmasked:
    """An item of a window. Raises NotFound."""
    found = snapshots.items_at(session_id, [position]).get(position)
    if found is None:
        raise NotFound(f"Session {session_id} has no context item {position}.")
    back = reverse("item", args=[session_id, position])
    named = [(found[0].kind.replace("_", " "), found[0].text)]
    return Unmasked(f"session {session_id}, context item {position}", "Context item", back, _texts(named))


def of_compaction(session_id: int, number: int) -> Unmasked:
    """What a compaction left of its history. Raises NotFound."""
    found = next((one for one in calls.compactions(session_id) if one.number == number), None)
    if found is None or found.summary is None:
        raise NotFound(f"Session {session_id} has no compaction {number} with a summary.")
    target = f"session {session_id}, summary of compaction {number}"
    named = [("summary", found.summary)]
    return Unmasked(target, f"Compaction {number}", compaction_url(session_id, number), _texts(named))


def of_summary(session_id: int, node_id: str) -> Unmasked:
    """A node of a summary store. Raises NotFound."""
    node = summaries.get_node(session_id, node_id)
    target = f"session {session_id}, summary {node_id[:80]}"
    return Unmasked(target, "Summary", reverse("graph", args=[session_id]), _texts([("summary", node.text)]))


def of_original(digest: bytes) -> Unmasked:
    """A text by its hash, with the sessions that the asker sees it in. Raises NotFound."""
    data = texts.original_bytes(digest)
    name = digest.hex()
    held = [str(use.session_id) for use in texts.uses_of_text(name, limit=MOST_SESSIONS)]
    where = f", of session{'s' if len(held) > 1 else ''} {', '.join(held)}" if held else ""
    proved = "original" if hashlib.sha256(data).digest() == digest else "not the original: its hash differs"
    whole = data.decode("utf-8", errors="replace")
    text = UnmaskedText(proved, whole[:MOST_CHARS], len(whole) > MOST_CHARS, len(whole))
    return Unmasked(f"original {name[:24]}{where}", f"Original {name[:12]}…", reverse("originals"), (text,))


def of_place(session_id: int, place: Place) -> Unmasked:
    """A value that the review before an export lists."""
    kind = place.kind.replace("_", " ")
    text = UnmaskedText(kind, place.value, len(place.value) >= VALUE_CHARS, 0)
    back = reverse("export", args=[session_id])
    return Unmasked(f"session {session_id}, {kind} in {place.where[:160]}", f"A value in {place.where}", back, (text,))


def _texts(named: Sequence[tuple[str, TextRef]]) -> tuple[UnmaskedText, ...]:
    share = MOST_CHARS // max(1, len(named))
    found = READER.raw([ref for _, ref in named if ref.size])
    shown = []
    for name, ref in named:
        if ref.size and ref.digest not in found:
            raise NotFound("The text is no longer held.")
        text = found.get(ref.digest, b"")[: share * 4].decode("utf-8", errors="ignore")[:share]
        shown.append(UnmaskedText(name, text, len(text) < ref.chars, ref.chars))
    return tuple(shown)
