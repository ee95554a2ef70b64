"""Real sessions beside the checkout, read once a run, and what tests of hosts' rules ask of them."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cache
from pathlib import Path

from contextviz.engines.material import Material
from contextviz.engines.reading import material_of
from contextviz.events.compaction import Compaction
from contextviz.events.message import Message
from contextviz.events.session import Transcript
from contextviz.events.snapshot import ContextItem
from contextviz.sources.files import read_paths, walk
from contextviz.sources.source import ReadOptions
from contextviz.tokens.pool import MemoryPool


@cache
def sample(folder: Path) -> tuple[list[Transcript], MemoryPool]:
    """The sessions of a folder, and the pool with their texts."""
    pool = MemoryPool()
    options = ReadOptions(pool, datetime(2026, 12, 1, tzinfo=UTC))
    return [one for one in read_paths(list(walk(folder)), options) if isinstance(one, Transcript)], pool


@cache
def material(folder: Path) -> Material:
    """What replays of the folder's first session are given."""
    found, pool = sample(folder)
    return material_of(found[0], pool)


def window_after(made: Transcript, one: Compaction) -> list[ContextItem]:
    """The recorded window of the first call after a compaction."""
    place = next(at for at, snapshot in enumerate(made.log.snapshots) if snapshot.call_index == one.after_call)
    return made.log.window(place)


def line_of(made: Transcript, leaf: Message) -> list[Message]:
    """The messages from the first to `leaf`, on its branch. Where an entry that is no message (a compaction) lies
    between two, the one before is the last on the same side of the branch."""
    known = {entry: message for message in made.messages for entry in (message.entry_ids or (message.id,)) if entry}
    found: list[Message] = []
    at: Message | None = leaf
    while at is not None:
        found.append(at)
        child = at
        at = known.get(child.parent_id or "")
        if at is None and child.parent_id is not None:
            same = (one for one in made.messages[: child.index] if one.on_active_path == child.on_active_path)
            at = max(same, key=lambda one: one.index, default=None)
    return found[::-1]
