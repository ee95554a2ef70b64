"""The one session that is replayed, read from files without a database."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from contextviz.analysis.windows import fill_window
from contextviz.cli.inspect import NothingReadable, named_paths
from contextviz.cli.inspect_table import safe
from contextviz.cli.replay.asked import Unusable
from contextviz.engines.material import Material
from contextviz.engines.reading import material_of
from contextviz.events.session import SourceFile, Transcript
from contextviz.sources.files import read_paths
from contextviz.sources.source import ReadOptions
from contextviz.sources.unpack import unpacked
from contextviz.tokens.pool import MemoryPool

MOST_NAMED = 12


@dataclass(slots=True)
class Opened:
    """A session with its texts, and what replays of it are given."""

    transcript: Transcript
    pool: MemoryPool
    material: Material


def opened(paths: Sequence[str], session: str | None) -> Opened:
    """Read the session at `paths`; raises Unusable where there is none, or several and none was named."""
    pool = MemoryPool()
    transcripts: list[Transcript] = []
    reasons: list[str] = []
    try:
        named = named_paths(paths)
    except NothingReadable as error:
        raise Unusable(str(error)) from None
    with unpacked(named) as found:
        for item in found.all_of(read_paths(found.paths, ReadOptions(pool, datetime.now(UTC), with_snapshots=True))):
            if isinstance(item, Transcript):
                transcripts.append(item)
            elif isinstance(item, SourceFile) and item.reason:
                reasons.append(f"{safe(item.path)}: {safe(item.reason)}")
    transcript = _the_one(transcripts, session, paths, reasons)
    fill_window(transcript)
    return Opened(transcript, pool, material_of(transcript, pool))


def _the_one(
    transcripts: list[Transcript], session: str | None, paths: Sequence[str], reasons: list[str]
) -> Transcript:
    where = ", ".join(paths)
    if not transcripts:
        raise Unusable(f"no session at {where} can be read ({'; '.join(reasons[:3]) or 'no session in it'}).")
    asked = transcripts if session is None else [one for one in transcripts if one.session.id == session]
    if len(asked) == 1:
        return asked[0]
    ids = ", ".join(safe(one.session.id) for one in transcripts[:MOST_NAMED])
    more = f" and {len(transcripts) - MOST_NAMED} more" if len(transcripts) > MOST_NAMED else ""
    if not asked:
        raise Unusable(f"there is no session {safe(session or '')!r} at {where}; there are {ids}{more}.")
    what = "name one with --session" if session is None else "name the file that holds the one you mean"
    raise Unusable(f"there are {len(asked)} such sessions at {where}; {what}: {ids}{more}.")
