"""Small lcm.db files for the tests: our own rows in the tables' public shape."""

from __future__ import annotations

import sqlite3
from datetime import UTC, datetime
from pathlib import Path

from contextviz.events.session import Transcript
from contextviz.sources.lossless_claw import LosslessClawReader
from contextviz.sources.source import Found, Probe, ReadItem, ReadOptions
from contextviz.sources.sqlite import table_columns
from contextviz.tokens.pool import MemoryPool

SHARED = Path(__file__).resolve().parents[3].parent / "shared"
NOW = datetime(2026, 12, 1, tzinfo=UTC)
OLD = """
CREATE TABLE conversations (conversation_id INTEGER PRIMARY KEY, session_id TEXT, title TEXT, created_at TEXT);
CREATE TABLE messages (message_id INTEGER PRIMARY KEY, conversation_id INTEGER, seq INTEGER, role TEXT, content TEXT,
  token_count INTEGER, created_at TEXT);
CREATE TABLE message_parts (part_id TEXT, message_id INTEGER, part_type TEXT, ordinal INTEGER, text_content TEXT,
  tool_call_id TEXT, tool_name TEXT, tool_input TEXT, metadata TEXT);
CREATE TABLE summaries (summary_id TEXT PRIMARY KEY, conversation_id INTEGER, kind TEXT, content TEXT,
  token_count INTEGER, created_at TEXT);
CREATE TABLE summary_messages (summary_id TEXT, message_id INTEGER, ordinal INTEGER);
CREATE TABLE summary_parents (summary_id TEXT, parent_summary_id TEXT, ordinal INTEGER);
CREATE TABLE context_items (conversation_id INTEGER, ordinal INTEGER, item_type TEXT, message_id INTEGER,
  summary_id TEXT);
"""
NEWER = """
ALTER TABLE conversations ADD COLUMN session_key TEXT;
ALTER TABLE conversations ADD COLUMN archived_at TEXT;
ALTER TABLE messages ADD COLUMN transcript_entry_id TEXT;
ALTER TABLE summaries ADD COLUMN depth INTEGER;
ALTER TABLE summaries ADD COLUMN model TEXT;
ALTER TABLE summaries ADD COLUMN descendant_count INTEGER;
CREATE TABLE pending_compaction_batches (batch_id TEXT, conversation_id INTEGER, status TEXT, published_at TEXT);
CREATE TABLE pending_summary_nodes (node_id TEXT, batch_id TEXT, conversation_id INTEGER, status TEXT,
  canonical_summary_id TEXT);
"""


class Lcm:
    """An lcm.db in the making."""

    def __init__(self, path: Path, *, is_old: bool = False):
        self.path = path
        self.db = sqlite3.connect(path)
        self.db.executescript(OLD if is_old else OLD + NEWER)

    def add(self, table: str, **values: object) -> None:
        names, marks = ", ".join(values), ", ".join("?" * len(values))
        self.db.execute(f"INSERT INTO {table} ({names}) VALUES ({marks})", tuple(values.values()))

    def conversation(self, number: int = 1, session: str = "s1", **more: object) -> None:
        self.add("conversations", conversation_id=number, session_id=session, created_at="2026-11-30 08:00:00", **more)

    def message(self, number: int, role: str, text: str, at: str, conversation: int = 1, **more: object) -> None:
        self.add("messages", message_id=number, conversation_id=conversation, seq=number, role=role, content=text,
                 token_count=10, created_at=at, **more)  # fmt: skip

    def leaf(self, name: str, covers: list[int], at: str, **more: object) -> None:
        self.add("summaries", summary_id=name, conversation_id=1, kind="leaf", content=f"<{name}>", token_count=4,
                 created_at=at, **more)  # fmt: skip
        for ordinal, message in enumerate(covers):
            self.add("summary_messages", summary_id=name, message_id=message, ordinal=ordinal)

    def condensed(self, name: str, sources: list[str], at: str, **more: object) -> None:
        self.add("summaries", summary_id=name, conversation_id=1, kind="condensed", content=name, token_count=4,
                 created_at=at, **more)  # fmt: skip
        for ordinal, source in enumerate(sources):
            self.add("summary_parents", summary_id=name, parent_summary_id=source, ordinal=ordinal)

    def context(self, *items: int | str) -> None:
        for ordinal, item in enumerate(items):
            kind = "message" if isinstance(item, int) else "summary"
            self.add("context_items", conversation_id=1, ordinal=ordinal, item_type=kind, **{f"{kind}_id": item})

    def batch(self, name: str, at: str, *summaries: str) -> None:
        self.add("pending_compaction_batches", batch_id=name, conversation_id=1, status="published", published_at=at)
        for summary in summaries:
            self.add("pending_summary_nodes", node_id=f"n-{summary}", batch_id=name, conversation_id=1,
                     status="promoted", canonical_summary_id=summary)  # fmt: skip


def probe_of(path: Path) -> Probe:
    return Probe(path, path.name, path.stat().st_size, path.read_bytes()[:100], tables=table_columns(path))


def read(path: Path, pool: MemoryPool | None = None) -> list[ReadItem]:
    reader, probe = LosslessClawReader(), probe_of(path)
    detection = reader.detect(probe)
    assert detection is not None
    return list(reader.read([Found(probe, detection)], ReadOptions(pool or MemoryPool(), NOW)))


def transcripts(path: Path, pool: MemoryPool | None = None) -> list[Transcript]:
    return [item for item in read(path, pool) if isinstance(item, Transcript)]
