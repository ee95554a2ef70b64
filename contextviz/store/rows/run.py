"""A replay run as chunks: stretches of its lists, zstd of JSON, so that a page opens the few that it shows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any, Generic, TypeVar
from zlib import crc32

import orjson
import zstandard

from contextviz.events.compaction import SummaryNode
from contextviz.events.engine_event import EngineEvent
from contextviz.events.run import KEY_EVERY, Run, RunBoundary, RunCall, RunMessage, RunOriginal, WindowEdit
from contextviz.events.text import TextRef
from contextviz.store.bulk import bounded, chunks, clean_deep
from contextviz.store.rows.call import COMPACTION_COLUMNS, COMPACTIONS
from contextviz.store.rows.engine_event import COLUMNS as EVENT_COLUMNS
from contextviz.store.rows.engine_event import ENGINE_EVENTS
from contextviz.store.rows.summary import NODE_COLUMNS, NODES
from contextviz.store.rows.table import pack_optional, pack_ref, unpack_optional, unpack_ref
from contextviz.store.rows.window import ITEM_COLUMNS, ITEMS, CategorisedItem

Entry = TypeVar("Entry")
PackedRow = list[Any]
MOST_CHUNK_BYTES = 1 << 30
IN_A_BUCKET = 1_024
MOST_NAME = 255
_DIGEST = ITEM_COLUMNS.index("digest")
_TIMES_OF_NODES = tuple(NODE_COLUMNS.index(name) for name in ("earliest_at", "latest_at", "created_at"))
_AT_OF_COMPACTION = COMPACTION_COLUMNS.index("at")
_AT_OF_EVENT = EVENT_COLUMNS.index("at")


class Part(Generic[Entry]):
    """One list of a run: the kind of its chunks, how many entries are in one, an entry as a row and back. `from_row`
    is told the entry's place in the list."""

    def __init__(
        self, kind: str, size: int, to_row: Callable[[Entry], PackedRow], from_row: Callable[[PackedRow, int], Entry]
    ) -> None:
        self.kind = kind
        self.size = size
        self.to_row = to_row
        self.from_row = from_row

    def packed(self, entries: Iterable[Entry]) -> Iterator[tuple[str, int, bytes]]:
        """The chunks of a list: kind, number, body."""
        for number, part in enumerate(chunks(entries, self.size)):
            yield self.kind, number, pack_body([self.to_row(entry) for entry in part])

    def opened(self, number: int, body: bytes | memoryview) -> list[Entry]:
        """The entries of chunk `number`, in order."""
        first = number * self.size
        return [self.from_row(row, place) for place, row in enumerate(open_body(body), start=first)]


def pack_body(value: Any) -> bytes:
    """A chunk's rows as it holds them."""
    try:
        raw = orjson.dumps(value)
    except TypeError:  # half surrogates, integers beyond 64 bits
        raw = orjson.dumps(clean_deep(value), default=str)
    return zstandard.ZstdCompressor(level=3).compress(raw)


def open_body(body: bytes | memoryview) -> Any:
    """The rows behind `pack_body`."""
    return orjson.loads(zstandard.ZstdDecompressor().decompress(bytes(body), max_output_size=MOST_CHUNK_BYTES))


def runs_of(positions: Iterable[int]) -> list[int]:
    """Positions as starts and lengths in turns: a window is mostly a few stretches of neighbours."""
    runs: list[int] = []
    for position in positions:
        if runs and position == runs[-2] + runs[-1]:
            runs[-1] += 1
        else:
            runs += (position, 1)
    return runs


def positions_of(runs: Sequence[int]) -> list[int]:
    """The positions behind `runs_of`, in order."""
    return [at for place in range(0, len(runs), 2) for at in range(runs[place], runs[place] + runs[place + 1])]


def _edit_to_row(edit: WindowEdit) -> PackedRow:
    return [edit.keep, runs_of(edit.insert), edit.start, edit.end, runs_of(edit.tail)]


def _to_edit(row: PackedRow, _: int) -> WindowEdit:
    keep, insert, start, end, tail = row
    return WindowEdit(keep, tuple(positions_of(insert)), start, end, tuple(positions_of(tail)))


def _call_to_row(call: RunCall) -> PackedRow:
    return [
        call.messages, call.model_call, call.items, call.tokens, call.engine_tokens, call.kept_items, call.kept_tokens,
        call.hash, call.is_over, call.mode, call.broken_by,
    ]  # fmt: skip


def _item_to_row(pair: CategorisedItem) -> PackedRow:
    row = list(ITEMS.to_row(pair))
    row[_DIGEST] = row[_DIGEST].hex()
    return row


def _to_item(row: PackedRow, _: int) -> CategorisedItem:
    return ITEMS.to_event((*row[:_DIGEST], bytes.fromhex(row[_DIGEST]), *row[_DIGEST + 1 :]))


def _boundary_to_row(boundary: RunBoundary) -> PackedRow:
    return [
        list(COMPACTIONS.to_row(boundary.compaction)), runs_of(boundary.dropped), list(boundary.nodes),
        boundary.messages, boundary.basis, boundary.summariser_calls, boundary.data,
    ]  # fmt: skip


def _to_boundary(row: PackedRow, _: int) -> RunBoundary:
    compaction, dropped, nodes, messages, basis, calls, data = row
    _restore_times(compaction, (_AT_OF_COMPACTION,))
    return RunBoundary(
        COMPACTIONS.to_event(tuple(compaction)), tuple(positions_of(dropped)), tuple(nodes), messages, basis, calls,
        data,
    )  # fmt: skip


def _node_to_row(node: SummaryNode) -> PackedRow:
    return [*NODES.to_row(node), pack_optional(node.given)]


def _to_node(row: PackedRow, _: int) -> SummaryNode:
    *columns, given = row
    _restore_times(columns, _TIMES_OF_NODES)
    node = NODES.to_event(tuple(columns))
    node.given = unpack_optional(given)
    return node


def _to_event(row: PackedRow, _: int) -> EngineEvent:
    _restore_times(row, (_AT_OF_EVENT,))
    return ENGINE_EVENTS.to_event(tuple(row))


def _restore_times(row: list[Any], places: Iterable[int]) -> None:
    for place in places:
        if row[place] is not None:
            row[place] = datetime.fromisoformat(row[place])


WINDOWS = Part[WindowEdit]("windows", KEY_EVERY, _edit_to_row, _to_edit)
CALLS = Part[RunCall]("calls", 256, _call_to_row, lambda row, place: RunCall(place, *row))
ITEMS_OF_RUNS = Part[CategorisedItem]("items", 1_024, _item_to_row, _to_item)
MESSAGES = Part[RunMessage](
    "messages", 2_048,
    lambda message: [message.source_index, message.role, message.turn, message.tokens],
    lambda row, place: RunMessage(place, *row),
)  # fmt: skip
BOUNDARIES = Part[RunBoundary]("boundaries", 128, _boundary_to_row, _to_boundary)
NODES_OF_RUNS = Part[SummaryNode]("nodes", 128, _node_to_row, _to_node)
EVENTS = Part[EngineEvent]("events", 512, lambda event: list(ENGINE_EVENTS.to_row(event)), _to_event)
ORIGINALS = Part[RunOriginal](
    "originals", 1_024,
    lambda one: [bounded(one.handle, MOST_NAME), pack_ref(one.text), one.seq],
    lambda row, _: RunOriginal(row[0], unpack_ref(row[1]), row[2]),
)  # fmt: skip


def bucket_of(name: str, count: int) -> int:
    """The chunk that says where `name` stands, in a list of `count` names."""
    return crc32(name.encode("utf-8", "replace")) % max(1, -(-count // IN_A_BUCKET))


def name_buckets(kind: str, names: Sequence[str]) -> Iterator[tuple[str, int, bytes]]:
    """The places of names as chunks of `kind`, so that one is found among a hundred thousand in one small chunk. Of
    equal names the first counts."""
    buckets: dict[int, dict[str, int]] = {}
    for place, name in enumerate(names):
        buckets.setdefault(bucket_of(name, len(names)), {}).setdefault(name, place)
    for number, places in sorted(buckets.items()):
        yield kind, number, pack_body(places)


def chunks_of(run: Run, categories: Sequence[str]) -> Iterator[tuple[str, int, bytes]]:
    """Everything of a run but its own row, as chunks; `categories` one for each item of its table."""
    yield from WINDOWS.packed(run.log.edits)
    yield from CALLS.packed(run.calls)
    yield from ITEMS_OF_RUNS.packed(zip(run.log.table.items, categories, strict=True))
    yield from MESSAGES.packed(run.messages)
    yield from BOUNDARIES.packed(run.boundaries)
    yield from NODES_OF_RUNS.packed(run.nodes)
    yield from EVENTS.packed(run.events)
    yield from ORIGINALS.packed(run.originals)
    yield from name_buckets("handles", [bounded(one.handle, MOST_NAME) for one in run.originals])
    yield from name_buckets("node_ids", [bounded(node.id, MOST_NAME) for node in run.nodes])


def packed_series(run: Run) -> bytes:
    """The columns that charts draw, as RunSeriesRecord holds them."""
    calls = run.calls
    return pack_body(
        {
            "messages": [call.messages for call in calls],
            "model_call": [call.model_call for call in calls],
            "tokens": [call.tokens for call in calls],
            "engine_tokens": [call.engine_tokens for call in calls],
            "kept_tokens": [call.kept_tokens for call in calls],
            "items": [call.items for call in calls],
            "is_over": [int(call.is_over) for call in calls],
            "boundaries": [_mark(boundary) for boundary in run.boundaries],
        }
    )


def _mark(boundary: RunBoundary) -> PackedRow:
    made = boundary.compaction
    return [made.number, made.after_call, made.kind, made.trigger, made.tokens_before, made.tokens_after]


def texts_of(run: Run) -> dict[bytes, TextRef]:
    """Every text that a run refers to, by digest."""
    refs: dict[bytes, TextRef] = {item.text.digest: item.text for item in run.log.table.items}
    found: list[TextRef | None] = [boundary.compaction.summary for boundary in run.boundaries]
    found += [ref for node in run.nodes for ref in (node.text, node.given)]
    found += [one.text for one in run.originals]
    refs.update((ref.digest, ref) for ref in found if ref is not None)
    return refs


def row_values(run: Run) -> dict[str, Any]:
    """The columns of RunRecord that a finished run fills."""
    return {
        "settings": clean_deep(run.settings),
        "measured": clean_deep(asdict(run.measured)),
        "qualities": clean_deep(run.qualities),
        "summariser": bounded(run.summariser, 200),
        "scorer": bounded(run.scorer, 200),
        "notes": clean_deep(run.notes),
        "message_count": len(run.messages),
        "call_count": len(run.calls),
        "item_count": len(run.log.table.items),
        "boundary_count": len(run.boundaries),
        "node_count": len(run.nodes),
        "event_count": len(run.events),
        "original_count": len(run.originals),
        "summariser_calls": run.summariser_calls,
        "hash": run.hash,
    }
