"""A summary store: nodes, messages, current context."""

from __future__ import annotations

from contextviz.events.compaction import ContextRef, StoreMessage, SummaryNode
from contextviz.store.models.summary import ContextRefRecord, StoreMessageRecord, SummaryNodeRecord
from contextviz.store.rows.table import Row, Table, pack_ref, unpack_ref

NODE_COLUMNS = (
    "source_id", "kind", "depth", "stored_depth", "tokens", "text", "made_from", "consumers", "covers", "in_context",
    "model", "earliest_at", "latest_at", "created_at", "conversation",
)  # fmt: skip


def _node_to_row(node: SummaryNode) -> Row:
    return (
        node.id, node.kind, node.depth, node.stored_depth, node.tokens, pack_ref(node.text), list(node.made_from),
        list(node.consumers), list(node.covers), node.in_context, node.model, node.earliest_at, node.latest_at,
        node.created_at, node.conversation,
    )  # fmt: skip


def _to_node(row: Row) -> SummaryNode:
    (source_id, kind, depth, stored_depth, tokens, text, made_from, consumers, covers, in_context, model, earliest,
     latest, created, conversation) = row  # fmt: skip
    return SummaryNode(
        source_id, kind, depth, stored_depth, tokens, unpack_ref(text), made_from, consumers, covers, in_context,
        model or None, earliest, latest, created, conversation or None,
    )  # fmt: skip


NODES = Table[SummaryNode](SummaryNodeRecord, NODE_COLUMNS, _node_to_row, _to_node)

STORE_MESSAGE_COLUMNS = (
    "source_id", "conversation", "seq", "role", "text", "tokens", "at", "tool_call_id", "transcript_entry",
)  # fmt: skip


def _message_to_row(message: StoreMessage) -> Row:
    return (
        message.id, message.conversation, message.seq, message.role, pack_ref(message.text), message.tokens,
        message.at, message.tool_call_id, message.transcript_entry,
    )  # fmt: skip


def _to_message(row: Row) -> StoreMessage:
    source_id, conversation, seq, role, text, tokens, at, tool_call_id, entry = row
    return StoreMessage(
        source_id, conversation, seq, role, unpack_ref(text), tokens, at, tool_call_id or None, entry or None
    )  # fmt: skip


STORE_MESSAGES = Table[StoreMessage](StoreMessageRecord, STORE_MESSAGE_COLUMNS, _message_to_row, _to_message)
CONTEXT_REFS = Table[ContextRef](
    ContextRefRecord, ("kind", "ref"), lambda ref: (ref.kind, ref.id), lambda row: ContextRef(row[0], row[1])
)
