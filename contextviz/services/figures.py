"""What is computed once from a transcript and kept with it: the Library's numbers, window sums, strips."""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, fields
from operator import attrgetter
from typing import Any

import orjson
import zstandard

from contextviz import __version__
from contextviz.analysis.budget import usage_groups
from contextviz.analysis.composition import CATEGORIES, Composition, compositions, measure
from contextviz.analysis.findings import findings, main_calls, newer_compaction
from contextviz.analysis.spend import total_of
from contextviz.analysis.strip import CompactionMark, StripTable, strip
from contextviz.analysis.transcript import title_of
from contextviz.analysis.windows import fill_threshold
from contextviz.events.session import Transcript
from contextviz.events.text import TextPool
from contextviz.services.budget.costs import cost_numbers
from contextviz.services.budget.prices import price_table, use_own_window
from contextviz.services.budget.tables import packed_budget
from contextviz.sources.features import features_of, to_bits
from contextviz.store.bulk import BIGGEST, clean
from contextviz.store.memory import give_back
from contextviz.store.queries import sessions
from contextviz.store.values import NotFound
from contextviz.store.writes import Derived

FRAME_ROWS = 256
_STRIP_FIELDS = tuple(field.name for field in fields(StripTable))
_COMPOSITION_FIELDS = tuple(field.name for field in fields(Composition))
_composition_row = attrgetter(*_COMPOSITION_FIELDS)


def derive(transcript: Transcript, pool: TextPool, *, with_budget: bool = True) -> Derived:
    """Everything derived from `transcript`; its problems are completed by the findings that follow from the whole.

    Without the budget that is left to whoever looks at it (services.budget.tables): it is half of the work, and a
    session that grows by the second would have it done each time for nobody.
    """
    session = transcript.session
    use_own_window(session)
    fill_threshold(session, session.window)
    transcript.problems = findings(transcript)
    measures = measure(transcript)
    found = compositions(transcript, measures)
    strips = _packed({agent or "": _strip_json(transcript, found, agent) for agent in _agents(transcript)})
    framed = _framed(found)
    give_back()
    return Derived(
        numbers=_numbers(transcript, pool),
        budget=packed_budget(transcript, found, pool, measures) if with_budget else b"",
        categories=measures.categories,
        sums=_by_category(measures.sums.estimated),
        strips=strips,
        compositions=framed,
    )


def _by_category(sums: array[int]) -> Iterator[Mapping[str, int]]:
    """The sums of each window by category, made as they are written: a dict for each call is much memory."""
    for start in range(0, len(sums), len(CATEGORIES)):
        row = sums[start : start + len(CATEGORIES)]
        yield {str(name): tokens for name, tokens in zip(CATEGORIES, row, strict=True) if tokens}


def _agents(transcript: Transcript) -> list[str | None]:
    return [None, *dict.fromkeys(call.agent for call in transcript.calls if call.agent)]


def _strip_json(transcript: Transcript, found: list[Composition], agent: str | None) -> dict[str, Any]:
    session = transcript.session
    table = strip(
        found, transcript.calls, transcript.compactions, agent=agent,
        window=session.window if agent is None else None,
        threshold=session.compaction_threshold if agent is None else None,
    )  # fmt: skip
    # Not asdict of the whole: it copies every number of every series.
    return {name: getattr(table, name) for name in _STRIP_FIELDS} | {
        "compactions": [asdict(mark) for mark in table.compactions]
    }


def _packed(value: Any) -> bytes:
    return zstandard.ZstdCompressor(level=3).compress(orjson.dumps(value))


def _unpacked(data: bytes) -> Any:
    return orjson.loads(zstandard.ZstdDecompressor().decompress(data, max_output_size=1 << 30))


def _framed(rows: Sequence[Composition]) -> bytes:
    """Rows in packs of FRAME_ROWS, with their sizes in front: one row is read without opening all."""
    frames = [
        _packed(list(map(_composition_row, rows[at : at + FRAME_ROWS]))) for at in range(0, len(rows), FRAME_ROWS)
    ]
    head = orjson.dumps([len(rows), *map(len, frames)])
    return b"".join([len(head).to_bytes(4, "big"), head, *frames])


def _frames(data: bytes) -> tuple[int, list[bytes]]:
    """How many rows there are, and the packs that `_framed` wrote."""
    start = 4 + int.from_bytes(data[:4], "big")
    count, *sizes = orjson.loads(data[4:start])
    frames = []
    for size in sizes:
        frames.append(data[start : start + size])
        start += size
    return count, frames


def strip_of(session_id: int, agent: str | None = None) -> StripTable:
    """The context strip of the main chain, or of sub-agent `agent`, unreduced; raises NotFound. One query."""
    found = _unpacked(sessions.strips(session_id)).get(agent or "")
    if found is None:
        raise NotFound(f"Session {session_id} has no sub-agent called {(agent or '')[:80]}.")
    found["compactions"] = [CompactionMark(**mark) for mark in found["compactions"]]
    return StripTable(**found)


def compositions_of(session_id: int) -> list[Composition]:
    """The composition of every call, in order; raises NotFound. One query."""
    _, packed = sessions.series(session_id)
    return [_composition(row) for frame in _frames(packed)[1] for row in _unpacked(frame)]


def composition_of(session_id: int, call_index: int) -> Composition:
    """The composition of one call; raises NotFound. One query."""
    return compositions_at(session_id, [call_index])[call_index]


def compositions_at(session_id: int, call_indexes: Collection[int]) -> dict[int, Composition]:
    """The compositions of some calls by call index; raises NotFound. One query."""
    _, packed = sessions.series(session_id)
    count, frames = _frames(packed)
    opened: dict[int, list[Any]] = {}
    found = {}
    for index in call_indexes:
        if not 0 <= index < count:
            raise NotFound(f"Session {session_id} has no call {index + 1}.")
        pack, row = divmod(index, FRAME_ROWS)
        if pack not in opened:
            opened[pack] = _unpacked(frames[pack])
        found[index] = _composition(opened[pack][row])
    return found


def _composition(row: list[Any]) -> Composition:
    values = dict(zip(_COMPOSITION_FIELDS, row, strict=True))
    return Composition(**{**values, "tokens": tuple(values["tokens"])})


def _numbers(transcript: Transcript, pool: TextPool) -> dict[str, Any]:
    session, store = transcript.session, transcript.store
    spend = total_of(transcript.calls)
    numbers: dict[str, Any] = {
        "status": "growing" if transcript.lines.in_progress is not None else "complete",
        "entry_count": transcript.entries,
        "message_count": len(transcript.messages),
        "call_count": len(transcript.calls),
        "failed_call_count": transcript.failed_calls,
        "compaction_count": len(transcript.compactions),
        "snapshot_count": len(transcript.log.snapshots),
        "subagent_count": len(transcript.subagents),
        "node_count": len(store.nodes) if store else 0,
        "topic_count": len(transcript.topics),
        "problem_count": len(transcript.problems),
        "error_count": sum(problem.severity == "error" for problem in transcript.problems),
        "coverage": transcript.lines.coverage,
        "features": to_bits(features_of(transcript)),
        "spend_input_tokens": _bounded(spend.input_tokens),
        "spend_cache_read_tokens": _bounded(spend.cache_read_tokens),
        "spend_cache_write_tokens": _bounded(spend.cache_write_tokens),
        "spend_output_tokens": _bounded(spend.output_tokens),
        "spend_total_tokens": _bounded(spend.total_tokens),
        **cost_numbers(usage_groups(transcript.calls), price_table()),
        "estimator": pool.estimator,
        "read_by": __version__[:32],
        "title": clean(title_of(transcript, pool)),
    }
    sorted_at = session.ended_at or session.started_at
    # A session without any time keeps the one at which it was first read.
    return numbers | _occupancy(transcript) | ({"sorted_at": sorted_at} if sorted_at else {})


def _occupancy(transcript: Transcript) -> dict[str, Any]:
    main = main_calls(transcript)
    last = main[-1] if main else None
    window = _bounded((last.window if last else None) or transcript.session.window)
    prompt = _bounded(last.usage.prompt_tokens if last else None)
    tokens = None if newer_compaction(transcript) is not None else prompt
    return {
        "last_prompt_tokens": prompt,
        "window": window,
        "occupancy_tokens": tokens,
        "occupancy_share": tokens / window if tokens is not None and window else None,
        "occupancy_basis": "unknown" if tokens is None or last is None else last.basis,
    }


def _bounded(number: int | None) -> int | None:
    return None if number is None else min(number, BIGGEST)
