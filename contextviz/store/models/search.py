"""Where texts stand, for search. The index itself is no model: FTS5 or tsvector, made in a migration (store.search)."""

from __future__ import annotations

from django.db import models

from contextviz.store.models.rows import IndexedRecord
from contextviz.store.models.text import TextRecord

PLACE_KINDS = ("message", "tool_call", "tool_result", "summary", "node", "original", "context", "note")


class PlaceRecord(IndexedRecord):
    """One place where a session holds a text: a message (once however often it stands in it), a summary, a node of a
    summary store, a message that only such a store has (`original`), an item of a window that is no message
    (`context`), a note on a topic.

    `place` is a summary's compaction number, a node's or an item's position. `is_in_window`: whether the window of the
    session's (or sub-agent's) last call still held it; null where no window is known.
    """

    # No constraint: rows go with their session, and a text only goes when no session uses it.
    text = models.ForeignKey(
        TextRecord, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+"
    )
    kind = models.CharField(max_length=12)
    role = models.CharField(max_length=32, default="", blank=True)
    tool = models.CharField(max_length=120, default="", blank=True)
    agent = models.CharField(max_length=200, default="", blank=True)  # the sub-agent whose window it was, "" the main
    at = models.DateTimeField(null=True)
    message_index = models.BigIntegerField(null=True)
    call_index = models.BigIntegerField(null=True)  # the call that gave it, else the first that was given it
    place = models.BigIntegerField(null=True)
    is_in_window = models.BooleanField(null=True)

    class Meta(IndexedRecord.Meta):
        indexes = [
            # store.search.match: from texts that hold the words to where they stand, everywhere or in one session
            models.Index(fields=["text", "session"], name="place_by_text"),
        ]
