"""Reads lcm.db: one transcript per conversation that holds messages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from contextviz.events.compaction import SummaryStore
from contextviz.events.engine_event import in_time_order
from contextviz.events.problem import ReadProblem
from contextviz.events.session import Session, SourceFile, Transcript
from contextviz.events.times import instant, oddity
from contextviz.sources.features import declared
from contextviz.sources.lossless_claw.folds import compactions, folds_of
from contextviz.sources.lossless_claw.messages import MessageReader, compaction_facts, paired
from contextviz.sources.lossless_claw.rows import TABLES, Row, StoreRows
from contextviz.sources.lossless_claw.store import read_store, store_message
from contextviz.sources.lossless_claw.told import told
from contextviz.sources.source import Detection, Found, Probe, ReadItem, ReadOptions
from contextviz.sources.sqlite import UnreadableStore, open_store
from contextviz.sources.values import as_id, as_text

FORMAT = "lossless-claw"
# What makes a SQLite file one of lossless-claw's; three unrelated projects also call theirs lcm.db.
SIGNATURE = {
    "conversations": {"conversation_id", "session_id"},
    "messages": {"message_id", "conversation_id", "seq", "role", "content"},
    "summaries": {"summary_id", "conversation_id", "kind", "content"},
    "context_items": {"conversation_id", "ordinal", "item_type"},
}
INTERNAL = "internal-session-effects"


class LosslessClawReader:
    """lossless-claw's store, first generation to 1.0 (formats.md E.1, engines.md 7)."""

    name = "lossless_claw"
    declares = {
        FORMAT: declared(
            "messages times title tool_pairs thinking images compactions summary graph engine_events",
            cached="unwritten",
        )
    }
    format = FORMAT

    def detect(self, probe: Probe) -> Detection | None:
        """By its tables and their columns; a file of that name with other tables is not ours."""
        tables = probe.tables
        if not tables:
            return None
        fits = all(columns <= tables.get(table, frozenset()) for table, columns in SIGNATURE.items())
        return Detection(FORMAT, "store") if fits else None

    def read(self, files: Sequence[Found], options: ReadOptions) -> Iterator[ReadItem]:
        """See Reader.read. A store that cannot be opened is a problem, not an exception."""
        for found in files:
            yield from _read_file(found, options)


def _read_file(found: Found, options: ReadOptions) -> Iterator[ReadItem]:
    name, size = found.probe.name, found.probe.size
    is_listed = False
    try:
        with open_store(found.probe.path, TABLES) as connection:
            rows = StoreRows(connection)
            conversations = rows.conversations()
            with_messages = [row for row in conversations if rows.count("messages", row["conversation_id"])]
            yield _source_file(found, with_messages)
            is_listed = True
            if not with_messages:
                message = f"{name} holds no messages: the store was made and never used"
                yield ReadProblem("empty_store", message, "info", name)
            taken: set[tuple[str, str]] = set()
            for row in with_messages:
                yield _transcript(rows, row, conversations, taken, name, options)
    except UnreadableStore as error:
        if not is_listed:
            yield SourceFile(name, FORMAT, "store", False, str(error), size)
        yield ReadProblem("unreadable_store", f"{name}: {error}", "error", name)


def _source_file(found: Found, conversations: list[Row]) -> SourceFile:
    session = str(conversations[0]["session_id"]) if len(conversations) == 1 else None
    reason = None if conversations else "no messages in it"
    return SourceFile(found.probe.name, FORMAT, "store", bool(conversations), reason, found.probe.size, session)


def _transcript(
    rows: StoreRows,
    conversation: Row,
    conversations: list[Row],
    taken: set[tuple[str, str]],
    file: str,
    options: ReadOptions,
) -> Transcript:
    store = read_store(rows, conversation, file, options.pool)
    store.conversations = [str(row["conversation_id"]) for row in conversations]
    store.facts["internal_conversations"] = sum(is_internal(row) for row in conversations)
    transcript = Transcript(_session(conversation, taken), [file], store=store)
    logged = _read_messages(rows, int(conversation["conversation_id"]), transcript, store, options)
    number = int(conversation["conversation_id"])
    folds = folds_of(rows.batches(number), rows.batch_summaries(number), logged, store.nodes)
    events = frozenset(message for message, _at, _facts in logged)
    transcript.compactions, is_right = compactions(store, folds, events, options.pool)
    store.facts["replayed_context_matches"] = int(is_right)
    by_entry = {message.id: message.index for message in transcript.messages}
    for fold, compaction in zip(folds, transcript.compactions, strict=True):
        compaction.message_index = by_entry.get(fold.message)
        if not is_right and store.context and compaction.problem is None:
            compaction.problem = "the window after it is rebuilt; the last one rebuilt is not the stored context"
    transcript.engine_events = in_time_order(told(rows, number, file))
    transcript.context_at_end = [f"summary {i.id}" if i.kind == "summary" else i.id for i in store.context]
    transcript.pairs, transcript.orphan_results = paired(transcript.messages)
    _times(transcript, options.now)
    return transcript


def _read_messages(
    rows: StoreRows, conversation: int, transcript: Transcript, store: SummaryStore, options: ReadOptions
) -> list[tuple[str, datetime | None, dict[str, Any]]]:
    reader = MessageReader(options.pool, store.file)
    logged: list[tuple[str, datetime | None, dict[str, Any]]] = []
    for row in rows.messages(conversation):
        parts = rows.parts(row["message_id"])
        message = reader.message(row, parts, len(transcript.messages))
        content = as_text(row["content"]) or ""
        transcript.messages.append(message)
        store.messages.append(store_message(message, row, content, conversation, options.pool))
        facts = compaction_facts(parts)
        if facts is not None and message.id is not None:
            logged.append((message.id, message.at, facts))
        _time_problem(transcript, row, message.at)
    transcript.entries = len(transcript.messages)
    transcript.problems.extend(reader.problems)
    return logged


def _time_problem(transcript: Transcript, row: Row, at: datetime | None) -> None:
    entry = str(row["message_id"])
    transcript.entry_times[entry] = at
    if at is None:
        text = f"the time of message {entry} cannot be read"
        value = None if row["created_at"] is None else str(row["created_at"])[:80]
        transcript.problems.append(
            ReadProblem("unreadable_time", text, file=transcript.files[0], entry=entry, value=value)
        )


def _times(transcript: Transcript, now: datetime) -> None:
    latest: datetime | None = None
    good: list[datetime] = []
    file = transcript.files[0]
    for message in transcript.messages:
        if message.at is None:
            continue
        odd = oddity(message.at, now=now)
        if odd is not None:
            text = f"message {message.id} is dated {odd}"
            transcript.problems.append(ReadProblem("suspicious_time", text, file=file, entry=message.id, value=odd))
            continue
        if latest is not None and message.at < latest:
            text = f"message {message.id} is dated before one that stands in front of it"
            transcript.problems.append(ReadProblem("out_of_order", text, "info", file, entry=message.id))
        latest = message.at if latest is None else max(latest, message.at)
        good.append(message.at)
    session = transcript.session
    session.started_at = min(good, default=session.started_at)
    session.ended_at = max(good, default=None)
    session.model = next((message.model for message in reversed(transcript.messages) if message.model), None)


def is_internal(conversation: Row) -> bool:
    """Whether a conversation is one the host held with itself (a memory flush has a row of its own)."""
    return INTERNAL in (as_text(conversation["session_key"]) or "") or str(conversation["session_id"]).startswith(
        INTERNAL
    )


def _session(conversation: Row, taken: set[tuple[str, str]]) -> Session:
    key = as_text(conversation["session_key"]) or ""
    parts = key.split(":")
    session = Session(str(conversation["session_id"]), FORMAT)
    session.agent = parts[1] if len(parts) > 1 and parts[0] == "agent" else None
    session.started_at = instant(conversation["created_at"])
    session.title = as_id(conversation["title"])
    archived = instant(conversation["archived_at"])
    if archived is not None:
        session.generation, session.generation_at = "reset", archived
    same = (session.id, session.generation)
    if same in taken:
        # Rows that share a session would else be one session: they stay apart by when they were made.
        session.generation_at = session.generation_at or session.started_at
    taken.add(same)
    session.hints = {"conversation_id": int(conversation["conversation_id"])}
    if key:
        session.hints["session_key"] = key
    if is_internal(conversation):
        session.hints["is_internal"] = 1
        session.title = session.title or "internal run of the host (memory flush)"
    return session
