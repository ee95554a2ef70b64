"""Rows of an lcm.db, whatever its age: columns are probed, what is missing is None (formats.md E.1)."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from typing import Any

from contextviz.sources.sqlite import columns_of

TABLES = frozenset(
    {
        "conversations",
        "messages",
        "message_parts",
        "summaries",
        "summary_messages",
        "summary_parents",
        "context_items",
        "large_files",
        "focus_briefs",
        "conversation_compaction_telemetry",
        "conversation_compaction_maintenance",
        "pending_compaction_batches",
        "pending_summary_nodes",
    }
)
Row = dict[str, Any]


class StoreRows:
    """The allow-listed tables of one open store, a conversation at a time."""

    def __init__(self, connection: sqlite3.Connection):
        self._connection = connection
        self._columns = {table: columns_of(connection, table) for table in TABLES}

    def has(self, table: str, *columns: str) -> bool:
        """Whether `table` exists and has all of `columns`."""
        return bool(self._columns[table]) and self._columns[table].issuperset(columns)

    def conversations(self) -> list[Row]:
        """All conversations in the order they were made (rows without a whole number as their id left out)."""
        wanted = ("conversation_id", "session_id", "session_key", "active", "archived_at", "archive_cause", "title",
                  "created_at", "updated_at")  # fmt: skip
        found = self._rows("conversations", wanted, "1=1", (), "conversation_id")
        return [row for row in found if isinstance(row["conversation_id"], int)]

    def count(self, table: str, conversation: int) -> int | None:
        """How many rows of `table` belong to a conversation; None where the table is not in this store."""
        if not self.has(table, "conversation_id"):
            return None
        sql = f"SELECT count(*) FROM {table} WHERE conversation_id=?"
        return int(self._connection.execute(sql, (conversation,)).fetchone()[0])

    def messages(self, conversation: int) -> Iterator[Row]:
        """A conversation's messages in its own order (seq)."""
        wanted = ("message_id", "seq", "role", "content", "token_count", "transcript_entry_id", "created_at",
                  "large_content")  # fmt: skip
        return self._rows("messages", wanted, "conversation_id=?", (conversation,), "seq, message_id")

    def parts(self, message: int) -> list[Row]:
        """The parts of one message in order; none in a store that has no parts."""
        wanted = ("part_type", "ordinal", "text_content", "is_synthetic", "tool_call_id", "tool_name",
                  "tool_status", "tool_input", "tool_output", "tool_error", "file_mime", "file_name",
                  "metadata")  # fmt: skip
        if not self.has("message_parts", "message_id", "part_type"):
            return []
        return list(self._rows("message_parts", wanted, "message_id=?", (message,), "ordinal"))

    def summaries(self, conversation: int) -> Iterator[Row]:
        """A conversation's summaries in the order they were made."""
        wanted = ("summary_id", "kind", "depth", "content", "token_count", "earliest_at", "latest_at",
                  "descendant_count", "created_at", "model")  # fmt: skip
        return self._rows("summaries", wanted, "conversation_id=?", (conversation,), "rowid")

    def covered(self, conversation: int) -> Iterator[Row]:
        """Which messages each leaf was made from, in order."""
        return self._links("summary_messages", "message_id", conversation)

    def sources(self, conversation: int) -> Iterator[Row]:
        """Which summaries each condensed one was made from: `parent_summary_id` is the source (formats.md E.1)."""
        return self._links("summary_parents", "parent_summary_id", conversation)

    def context(self, conversation: int) -> Iterator[Row]:
        """The current context in order."""
        wanted = ("ordinal", "item_type", "message_id", "summary_id")
        return self._rows("context_items", wanted, "conversation_id=?", (conversation,), "ordinal")

    def batches(self, conversation: int) -> Iterator[Row]:
        """Planned and published compaction batches (1.0 schemas)."""
        wanted = ("batch_id", "status", "created_at", "published_at", "model", "failure_summary")
        return self._rows("pending_compaction_batches", wanted, "conversation_id=?", (conversation,), "rowid")

    def batch_summaries(self, conversation: int) -> Iterator[Row]:
        """The summaries that batches have published, by batch."""
        wanted = ("batch_id", "canonical_summary_id", "status", "ready_at", "promoted_at")
        return self._rows("pending_summary_nodes", wanted, "conversation_id=?", (conversation,), "rowid")

    def large_files(self, conversation: int) -> Iterator[Row]:
        """Payloads that the engine keeps apart, in the order they came."""
        wanted = ("file_id", "file_name", "mime_type", "byte_size", "line_count", "storage_uri", "exploration_summary",
                  "created_at")  # fmt: skip
        return self._rows("large_files", wanted, "conversation_id=?", (conversation,), "rowid")

    def focus_briefs(self, conversation: int) -> Iterator[Row]:
        """What was written for the model on a question, in the order it came."""
        wanted = ("brief_id", "prompt", "status", "token_count", "error", "created_at")
        return self._rows("focus_briefs", wanted, "conversation_id=?", (conversation,), "rowid")

    def state(self, table: str, conversation: int) -> Row:
        """The one row a bookkeeping table has for a conversation, or nothing."""
        wanted = tuple(sorted(self._columns[table]))
        return next(self._rows(table, wanted, "conversation_id=?", (conversation,), "rowid"), {})

    def _links(self, table: str, target: str, conversation: int) -> Iterator[Row]:
        if not self.has(table, "summary_id", target):
            return
        order = "ordinal" if "ordinal" in self._columns[table] else "rowid"
        sql = (
            f"SELECT t.summary_id AS summary_id, t.{target} AS target FROM {table} t"
            f" JOIN summaries s ON s.summary_id=t.summary_id WHERE s.conversation_id=? ORDER BY t.summary_id, t.{order}"
        )
        for row in self._connection.execute(sql, (conversation,)):
            yield dict(row)

    def _rows(
        self, table: str, wanted: tuple[str, ...], where: str, values: tuple[Any, ...], order: str
    ) -> Iterator[Row]:
        here = [column for column in wanted if column in self._columns[table]]
        if not here or any(name not in self._columns[table] for name in ("conversation_id",) if name in where):
            return
        by = [name for name in order.split(", ") if name == "rowid" or name in self._columns[table]] or ["rowid"]
        quoted = ", ".join(f'"{column}"' for column in here)
        sql = f"SELECT {quoted} FROM {table} WHERE {where} ORDER BY {', '.join(by)}"
        blank: Row = dict.fromkeys(wanted)
        for row in self._connection.execute(sql, values):
            yield {**blank, **dict(row)}
