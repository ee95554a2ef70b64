"""The summaries, links and current context of one conversation of an lcm.db."""

from __future__ import annotations

from contextviz.events.compaction import ContextRef, NodeKind, StoreMessage, SummaryNode, SummaryStore
from contextviz.events.message import Message
from contextviz.events.text import TextPool
from contextviz.events.times import instant
from contextviz.sources.lossless_claw.rows import Row, StoreRows
from contextviz.sources.values import as_id, as_int, as_text

TELEMETRY = ("last_observed_prompt_token_count", "last_observed_cache_read", "last_observed_cache_write", "cache_state",
             "turns_since_leaf_compaction", "tokens_accumulated_since_leaf_compaction", "last_activity_band",
             "last_leaf_compaction_at", "provider", "model")  # fmt: skip
MAINTENANCE = ("pending", "reason", "token_budget", "current_token_count", "projected_token_count",
               "raw_tokens_outside_tail", "context_threshold", "context_fresh_tail_count",
               "context_leaf_chunk_tokens", "last_failure_summary", "resolution_reason")  # fmt: skip

STATE = {"conversation_compaction_telemetry": TELEMETRY, "conversation_compaction_maintenance": MAINTENANCE}


def read_store(rows: StoreRows, conversation: Row, file: str, pool: TextPool) -> SummaryStore:
    """One conversation's store without its messages (they are read with their parts)."""
    number = int(conversation["conversation_id"])
    store = SummaryStore("lossless-claw", file)
    store.nodes = _nodes(rows, number, pool)
    store.context = _context(rows, number)
    shown = {item.id for item in store.context if item.kind == "summary"}
    for node in store.nodes:
        node.in_context = node.id in shown
    store.facts = {"conversation": number, **_facts(rows, number)}
    return store


def store_message(message: Message, row: Row, content: str, conversation: int, pool: TextPool) -> StoreMessage:
    """A message row as the store holds it. An assistant's `tool_call_id` is that of the first call it makes, so
    that rows without text differ from each other."""
    call = next((block.tool_call_id for block in message.blocks if block.tool_call_id), None)
    return StoreMessage(
        str(row["message_id"]), str(conversation), as_int(row["seq"]) or 0, message.native_role, pool.put(content),
        as_int(row["token_count"]), message.at, call, as_id(row["transcript_entry_id"]),
    )  # fmt: skip


def _nodes(rows: StoreRows, conversation: int, pool: TextPool) -> list[SummaryNode]:
    covered: dict[str, list[str]] = {}
    for link in rows.covered(conversation):
        covered.setdefault(str(link["summary_id"]), []).append(str(link["target"]))
    made_from: dict[str, list[str]] = {}
    consumers: dict[str, list[str]] = {}
    for link in rows.sources(conversation):
        made_from.setdefault(str(link["summary_id"]), []).append(str(link["target"]))
        consumers.setdefault(str(link["target"]), []).append(str(link["summary_id"]))
    nodes = []
    for row in rows.summaries(conversation):
        node = _node(row, pool, made_from.get(str(row["summary_id"]), []))
        node.consumers = consumers.get(node.id, [])
        node.covers = covered.get(node.id, [])
        node.conversation = str(conversation)
        nodes.append(node)
    return nodes


def _node(row: Row, pool: TextPool, made_from: list[str]) -> SummaryNode:
    kind: NodeKind = "condensed" if row["kind"] == "condensed" else "leaf"
    stored_depth = as_int(row["depth"])
    content = as_text(row["content"]) or ""
    model = as_id(row["model"])
    return SummaryNode(
        str(row["summary_id"]), kind, stored_depth if stored_depth is not None else int(kind == "condensed"),
        stored_depth, as_int(row["token_count"]), pool.put(content), made_from,
        model=None if model == "unknown" else model, earliest_at=instant(row["earliest_at"]),
        latest_at=instant(row["latest_at"]), created_at=instant(row["created_at"]),
        given=pool.put(wire_text(row, content, made_from)),
    )  # fmt: skip


def wire_text(row: Row, content: str, made_from: list[str]) -> str:
    """A summary as the engine gives it to the model: one user message (engines.md 7.5, measured on 1.0.0-beta.4).

    Its times carry no zone: the engine writes them in its own, and UTC is taken here.
    """
    facts = {
        "id": row["summary_id"],
        "kind": row["kind"],
        "depth": row["depth"] if row["depth"] is not None else int(row["kind"] == "condensed"),
        "descendant_count": row["descendant_count"] or 0,
        "trust": "untrusted",
        "earliest_at": _wire_time(row["earliest_at"]),
        "latest_at": _wire_time(row["latest_at"]),
    }
    attributes = " ".join(f'{name}="{_escaped(str(value))}"' for name, value in facts.items() if value is not None)
    references = "".join(f'    <summary_ref id="{_escaped(source)}" />\n' for source in made_from)
    parents = f"  <parents>\n{references}  </parents>\n" if made_from else ""
    return f"<summary {attributes}>\n{parents}  <content>\n{_escaped(content, False)}\n  </content>\n</summary>"


def _escaped(text: str, with_quotes: bool = True) -> str:
    safe = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return safe.replace('"', "&quot;") if with_quotes else safe


def _wire_time(value: object) -> str | None:
    at = instant(value)
    return None if at is None else at.strftime("%Y-%m-%dT%H:%M:%S")


def _context(rows: StoreRows, conversation: int) -> list[ContextRef]:
    found = []
    for row in rows.context(conversation):
        if row["item_type"] == "summary" and row["summary_id"] is not None:
            found.append(ContextRef("summary", str(row["summary_id"])))
        elif row["message_id"] is not None:
            found.append(ContextRef("message", str(row["message_id"])))
    return found


def _facts(rows: StoreRows, conversation: int) -> dict[str, int | str | None]:
    facts: dict[str, int | str | None] = {}
    for table in ("large_files", "focus_briefs"):
        facts[table] = rows.count(table, conversation)
    for batch in rows.batches(conversation):
        name = f"batches_{str(batch['status'])[:20]}"
        facts[name] = int(facts.get(name) or 0) + 1
    for table, names in (
        ("conversation_compaction_telemetry", TELEMETRY),
        ("conversation_compaction_maintenance", MAINTENANCE),
    ):
        state = rows.state(table, conversation)
        for name in names:
            if state.get(name) is not None:
                facts[name] = _fact(state[name])
    return facts


def _fact(value: object) -> int | str:
    return value if isinstance(value, int) else str(value)[:200]
