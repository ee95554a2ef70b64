"""A session as plain records in the order of a copy, read in parts: memory does not follow its length.

Each record comes with the section it belongs to and where it is, in words. docs/export.md has every field.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict
from typing import Any, Generic, TypeVar

from contextviz.events.call import ModelCall
from contextviz.events.compaction import Compaction, SummaryNode
from contextviz.events.evidence import check_as_dict
from contextviz.events.message import Message
from contextviz.events.snapshot import ContextItem
from contextviz.events.text import TextRef
from contextviz.events.topic import Topic
from contextviz.services.export.sieve import Body
from contextviz.store.queries import calls, engine_events, messages, sessions, summaries, topics, transcripts
from contextviz.store.texts import TextReader
from contextviz.store.values import SessionDetail

Record = dict[str, Any]
Piece = tuple[str, Record, str]  # section, record, where
Row = TypeVar("Row")
ROWS = 500
MOST_BYTES = 8 * 1024 * 1024  # of texts at once; a larger one comes alone
SECTIONS = (
    "sources", "messages", "tool_pairs", "calls", "compactions", "items", "snapshots", "summaries", "store_messages",
    "store_context", "topics", "topic_events", "engine_events", "problems",
)  # fmt: skip


class _Texts:
    """The words of the texts at hand."""

    def __init__(self) -> None:
        self._reader = TextReader()
        self._held: dict[bytes, str] = {}

    def hold(self, refs: Iterable[TextRef]) -> None:
        """Have these at hand, and no others."""
        self._held = self._reader.get_many(refs)

    def body(self, ref: TextRef | None, where: str, *, joins: bool = False) -> Body | None:
        """The text as a record holds it; None where there is none."""
        return None if ref is None else Body(self._held.get(ref.digest), ref, where, joins)


class _Parts(Generic[Row]):
    """Rows in parts small enough to hold with their texts."""

    def __init__(self, read: Callable[[int, int], Sequence[Row]], refs: Callable[[Row], Iterable[TextRef]]) -> None:
        self._read = read
        self._refs = refs

    def walk(self, texts: _Texts) -> Iterator[tuple[int, Row]]:
        """Each row with its place, its texts held."""
        start = 0
        while rows := self._read(start, start + ROWS):
            at = 0
            while at < len(rows):
                end = self._end(rows, at)
                texts.hold(ref for row in rows[at:end] for ref in self._refs(row))
                for place in range(at, end):
                    yield start + place, rows[place]
                at = end
            start += ROWS

    def _end(self, rows: Sequence[Row], at: int) -> int:
        size, end = 0, at
        while end < len(rows):
            size += sum(ref.size for ref in self._refs(rows[end]))
            if size > MOST_BYTES and end > at:
                break
            end += 1
        return end


def walk(detail: SessionDetail) -> Iterator[Piece]:
    """Every record of a session but its own (see `session_record`), in the order of SECTIONS."""
    key = detail.row.id
    texts = _Texts()
    for number, source in enumerate(sessions.sources(key), start=1):
        yield "sources", {"name": source.name, "size": source.size, "sha256": source.sha256}, f"source {number}"
    yield from _messages(key, texts)
    yield from _plain("tool_pairs", lambda start, stop: transcripts.pairs_between(key, start, stop), _pair)
    yield from _plain("calls", lambda start, stop: calls.calls(key, start=start, stop=stop), _call)
    compacted = _Parts(lambda start, stop: calls.compactions(key, start=start, stop=stop), _summary_ref)
    for _, compaction in compacted.walk(texts):
        yield "compactions", _compaction(compaction, texts), f"compaction {compaction.number}"
    yield from _windows(key, texts)
    yield from _store(key, texts)
    topic_parts = _Parts(lambda start, stop: topics.topics(key, start=start, stop=stop), _topic_refs)
    for place, topic in topic_parts.walk(texts):
        yield "topics", _topic(topic, texts, f"topic {place + 1}"), f"topic {place + 1}"
    yield from _plain("topic_events", lambda start, stop: topics.topic_events(key, start=start, stop=stop), asdict)
    told = engine_events.engine_events
    yield from _plain("engine_events", lambda start, stop: told(key, start=start, stop=stop), asdict)
    yield from _plain("problems", lambda start, stop: calls.problems(key, offset=start, limit=stop - start), asdict)


def _plain(section: str, read: Callable[[int, int], Sequence[Row]], make: Callable[[Row], Record]) -> Iterator[Piece]:
    noun = section.rstrip("s").replace("_", " ")
    for place, row in _Parts(read, lambda row: ()).walk(_Texts()):
        yield section, make(row), f"{noun} {place + 1}"


def _messages(key: int, texts: _Texts) -> Iterator[Piece]:
    def read(start: int, stop: int) -> list[Message]:
        return messages.messages(key, after=start - 1, limit=stop - start).messages

    for _, message in _Parts(read, lambda message: [block.text for block in message.blocks]).walk(texts):
        where = f"message {message.index + 1}"
        blocks = []
        for number, block in enumerate(message.blocks, start=1):
            at = f"{where}, block {number} ({block.kind.replace('_', ' ')})"
            record = asdict(block)
            record["content"] = texts.body(block.text, at, joins=True)
            del record["text"]
            blocks.append(record)
        record = asdict(message) | {"number": message.index + 1, "call": _one_more(message.call_index)}
        record["blocks"] = blocks
        del record["index"], record["call_index"]
        yield "messages", record, where


def _items(key: int, start: int, stop: int) -> list[tuple[ContextItem, str, int | None]]:
    """Items, each with the number of the block that it is word for word, whose text is not repeated then."""
    rows = transcripts.items_between(key, start, stop)
    named = messages.messages_at(key, {item.message_index for item, _ in rows if item.message_index is not None})
    found = []
    for item, category in rows:
        message = named.get(item.message_index) if item.message_index is not None else None
        digests = [block.text.digest for block in message.blocks] if message else []
        block = digests.index(item.text.digest) + 1 if item.text.digest in digests else None
        found.append((item, category, block))
    return found


def _windows(key: int, texts: _Texts) -> Iterator[Piece]:
    items = _Parts(lambda start, stop: _items(key, start, stop), lambda row: [] if row[2] else [row[0].text])
    for place, (item, category, block) in items.walk(texts):
        where = f"window item {place + 1}"
        record = asdict(item) | {"number": place + 1, "category": category or None}
        record |= {"message": _one_more(item.message_index), "block": block}
        record["tokens"] = counted(item.text.estimated_tokens, "estimated")
        record["content"] = None if block else texts.body(item.text, where)
        del record["text"], record["message_index"]
        yield "items", record, where
    read = _Parts(lambda start, stop: transcripts.snapshots_between(key, start, stop), lambda row: ())
    for place, (snapshot, tokens) in read.walk(texts):
        record = {
            "number": place + 1,
            "call": snapshot.call_index + 1,
            "basis": snapshot.basis,
            "note": snapshot.note,
            "check": None if snapshot.check is None else check_as_dict(snapshot.check),
            "previous": _one_more(snapshot.previous),
            "keep": snapshot.keep,
            "then": [position + 1 for position in snapshot.tail],
            "tokens": {"count": tokens, "basis": "estimated"},
        }
        yield "snapshots", record, f"snapshot {place + 1}"


def _store(key: int, texts: _Texts) -> Iterator[Piece]:
    nodes = _Parts(lambda start, stop: summaries.nodes(key, start=start, stop=stop), _node_refs)
    for place, node in nodes.walk(texts):
        where = f"summary {place + 1}"
        record = asdict(node) | {"text": texts.body(node.text, where), "given": texts.body(node.given, where)}
        yield "summaries", record | {"tokens": counted(node.tokens)}, where
    kept = _Parts(lambda start, stop: transcripts.store_messages_between(key, start, stop), lambda row: [row.text])
    for place, message in kept.walk(texts):
        where = f"stored message {place + 1}"
        record = asdict(message) | {"text": texts.body(message.text, where), "tokens": counted(message.tokens)}
        yield "store_messages", record, where
    for place, ref in enumerate(transcripts.context_refs(key), start=1):
        yield "store_context", asdict(ref), f"entry {place} of the store's context"


def _summary_ref(one: Compaction) -> list[TextRef]:
    return [one.summary] if one.summary else []


def _node_refs(node: SummaryNode) -> list[TextRef]:
    return [ref for ref in (node.text, node.given) if ref]


def _topic_refs(topic: Topic) -> list[TextRef]:
    return [ref for ref in (topic.thread, topic.status_note) if ref]


def _topic(topic: Topic, texts: _Texts, where: str) -> Record:
    notes = {"thread": texts.body(topic.thread, f"{where}, thread note")}
    notes["status_note"] = texts.body(topic.status_note, f"{where}, status note")
    return asdict(topic) | notes


def _call(call: ModelCall) -> Record:
    usage = {name: value for name, value in asdict(call.usage).items() if name != "cost_usd"}
    record = asdict(call) | {
        "number": call.index + 1,
        "message": _one_more(call.message_index),
        "window": counted(call.window),
        "usage": {"basis": call.basis, "prompt_tokens": call.usage.prompt_tokens, **usage},
        "cost": {"usd": call.usage.cost_usd, "basis": "unknown" if call.usage.cost_usd is None else "reported"},
    }
    del record["index"], record["message_index"], record["basis"]
    return record


def _compaction(one: Compaction, texts: _Texts) -> Record:
    record = asdict(one) | {
        "tokens_before": counted(one.tokens_before),
        "tokens_after": counted(one.tokens_after),
        "summary": texts.body(one.summary, f"summary of compaction {one.number}"),
        "call_before": _one_more(one.before_call),
        "call_after": _one_more(one.after_call),
        "message": _one_more(one.message_index),
    }
    del record["before_call"], record["after_call"], record["message_index"]
    return record


def _pair(pair: Any) -> Record:
    return {
        "call_message": pair.call_message + 1,
        "call_block": pair.call_block + 1,
        "result_message": _one_more(pair.result_message),
        "result_block": _one_more(pair.result_block),
    }


def counted(tokens: int | None, basis: str = "reported") -> Record:
    """A token number with its basis; null and unknown where there is none."""
    return {"count": tokens, "basis": "unknown" if tokens is None else basis}


def _one_more(index: int | None) -> int | None:
    """A place as people count it."""
    return None if index is None else index + 1
