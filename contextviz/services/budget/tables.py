"""Budget tables: packed when a session is saved, opened for its page."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import orjson
import zstandard
from django.db import transaction

from contextviz.analysis.budget import (
    BudgetTable,
    FileTotal,
    Group,
    Headroom,
    HeavyItem,
    PrefixBreak,
    PrefixTable,
    Repeat,
    ToolTotal,
    UsageGroup,
    budget,
)
from contextviz.analysis.composition import Composition, Measures, compositions
from contextviz.events.session import Transcript
from contextviz.events.text import TextPool, TextRef
from contextviz.events.usage import TokenUsage
from contextviz.store.bulk import clean_deep
from contextviz.store.models import BudgetRecord
from contextviz.store.queries import sessions, transcripts
from contextviz.store.texts import TextReader

# Messages of a session whose budget a page computes without being asked: about a second.
MOST_AT_ONCE = 10_000
_LISTS: dict[str, type] = {
    "groups": Group,
    "heaviest": HeavyItem,
    "tools": ToolTotal,
    "files": FileTotal,
    "repeats": Repeat,
}


def packed_budget(
    transcript: Transcript, found: Sequence[Composition], pool: TextPool, measures: Measures | None = None
) -> bytes:
    """The budget table of `transcript` as BudgetRecord holds it; `measures` where they are there already."""
    table = budget(transcript, found, _texts_of(pool), measures)
    try:
        raw = orjson.dumps(table)
    except TypeError:  # half surrogates in a file's name, integers beyond 64 bits
        raw = orjson.dumps(clean_deep(asdict(table)))
    return zstandard.ZstdCompressor(level=3).compress(raw)


def _texts_of(pool: TextPool) -> Callable[[Iterable[TextRef]], Mapping[bytes, str]]:
    if isinstance(pool, TextReader):
        return pool.get_many
    return lambda refs: {ref.digest: pool.get(ref) for ref in refs}


def budget_of(session_id: int) -> BudgetTable | None:
    """A session's budget table, None where it was never computed. One query."""
    packed = sessions.find_budget(session_id)
    return None if packed is None else opened_budget(packed)


def budget_here(session_id: int, *, messages: int) -> BudgetTable | None:
    """A session's budget table; computed now where its file has grown since, None where it was never computed and the
    session has so many messages that somebody must ask for it. One query where it is there."""
    found = budget_of(session_id)
    if found is None and messages <= MOST_AT_ONCE:
        return compute_budget(session_id)
    return found


def opened_budget(packed: bytes) -> BudgetTable:
    """The table behind `packed_budget`."""
    read: dict[str, Any] = orjson.loads(zstandard.ZstdDecompressor().decompress(packed, max_output_size=1 << 26))
    for name, kind in _LISTS.items():
        read[name] = [kind(**row) for row in read[name]]
    read["usage"] = [UsageGroup(**row | {"usage": TokenUsage(**row["usage"])}) for row in read["usage"]]
    prefix = read["prefix"]
    read["prefix"] = PrefixTable(**prefix | {"breaks": [PrefixBreak(**row) for row in prefix["breaks"]]})
    read["headroom"] = Headroom(**read["headroom"]) if read["headroom"] else None
    return BudgetTable(**read)


def compute_budget(session_id: int) -> BudgetTable:
    """Compute and keep the table of a session that an earlier version saved. Reads the whole session; raises
    NotFound."""
    transcript = transcripts.load_transcript(session_id)
    packed = packed_budget(transcript, compositions(transcript), TextReader())
    with transaction.atomic():
        BudgetRecord.objects.update_or_create(session_id=session_id, defaults={"body": packed})
    return opened_budget(packed)
