"""A session as replays are given it, from the store."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from contextviz.engines.material import Material
from contextviz.engines.reading import material_of
from contextviz.events.session import Transcript
from contextviz.events.text import TextRef
from contextviz.services.export.sizes import text_bytes
from contextviz.services.replay.pool import ReplayPool
from contextviz.store.queries import sessions, transcripts

MOST_TEXT_BYTES = 256 * 1024 * 1024
TRIES = 3


class NotReplayable(Exception):
    """The session cannot be replayed; the text is a sentence. `can_retry`: it may be in a moment."""

    def __init__(self, sentence: str, *, can_retry: bool = False) -> None:
        super().__init__(sentence)
        self.can_retry = can_retry


@dataclass(frozen=True, slots=True)
class Loaded:
    """A session's `transcript` at its `revision`, the `material` made of it, and the pool that both take texts from."""

    revision: int
    transcript: Transcript
    material: Material
    pool: ReplayPool


def load(session_id: int) -> Loaded:
    """Read a session whole, as of one revision; raises NotFound, NotReplayable. Some twenty queries and two more for
    every 5,000 texts; memory follows the session."""
    size = text_bytes(session_id)
    if size > MOST_TEXT_BYTES:
        raise NotReplayable(
            f"This session's texts are {size / 2**20:,.0f} MiB; a replay holds them in memory and takes at most"
            f" {MOST_TEXT_BYTES / 2**20:,.0f} MiB."
        )
    for _ in range(TRIES):
        revision = sessions.get_session(session_id).revision
        transcript = transcripts.load_transcript(session_id)
        if sessions.get_session(session_id).revision == revision:  # else it was saved anew in between
            break
    else:
        raise NotReplayable("This session grows while it is read. Try again in a moment.", can_retry=True)
    pool = ReplayPool()
    pool.hold(_refs(transcript))
    return Loaded(revision, transcript, material_of(transcript, pool), pool)


def _refs(transcript: Transcript) -> Iterator[TextRef]:
    """The texts that a replay may look at: of messages, of the recorded summaries, and what only windows hold."""
    seen: set[bytes] = set()
    for ref in _all_refs(transcript):
        if ref is not None and ref.digest not in seen:
            seen.add(ref.digest)
            yield ref


def _all_refs(transcript: Transcript) -> Iterator[TextRef | None]:
    for message in transcript.messages:
        for block in message.blocks:
            yield block.text
    for item in transcript.log.table.items:
        yield item.text
    for event in transcript.compactions:
        yield event.summary
    if transcript.store is not None:
        for node in transcript.store.nodes:
            yield node.text
            yield node.given
