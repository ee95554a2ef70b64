"""An lcm.db message and its parts, as blocks (formats.md E.1)."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from contextviz.events.message import Block, Kind, Message, Role, ToolPair
from contextviz.events.problem import ReadProblem
from contextviz.events.text import TextPool
from contextviz.events.times import instant
from contextviz.sources.lossless_claw.rows import Row
from contextviz.sources.values import as_dict, as_id, as_text, inner_json

ROLES: dict[str, Role] = {"system": "system", "user": "user", "assistant": "assistant", "tool": "tool"}
SYNTHETIC = ("[openclaw] missing tool result", "[lossless-claw] missing tool result")
TEXT_PARTS = frozenset({"text", "patch", "subtask", "snapshot", "agent", "retry", "step_start", "step_finish"})
KNOWN_PARTS = TEXT_PARTS | {"reasoning", "tool", "file", "compaction"}


@dataclass(slots=True)
class MessageReader:
    """Turns rows into messages while `problems` and `unknown_parts` fill."""

    pool: TextPool
    file: str
    problems: list[ReadProblem] = field(default_factory=list)
    unknown_parts: set[str] = field(default_factory=set)

    def message(self, row: Row, parts: list[Row], index: int) -> Message:
        """The message of a row; a row without parts gives its content as one block."""
        role = ROLES.get(str(row["role"]), "user")
        content = _text(row["content"])
        blocks = [block for part in parts for block in self._blocks(role, part)]
        if content and not any(block.kind != "tool_call" for block in blocks):
            blocks.insert(0, self._content_block(role, content, parts))
        entry = str(row["message_id"])
        return Message(
            index, entry, None, role, str(row["role"]), tuple(blocks), instant(row["created_at"]), None, self.file,
            model=next((model for model in (_metadata(part).get("modelId") for part in parts) if as_id(model)), None),
            is_human=role == "user", entry_ids=(entry,),
        )  # fmt: skip

    def _content_block(self, role: Role, content: str, parts: list[Row]) -> Block:
        if role != "tool":
            return Block("text", self.pool.put(content))
        call = next((as_id(part["tool_call_id"]) for part in parts if as_id(part["tool_call_id"])), None)
        name = next((as_id(part["tool_name"]) for part in parts if as_id(part["tool_name"])), None)
        return Block("tool_result", self.pool.put(content), name, call, is_synthetic=content.startswith(SYNTHETIC))

    def _blocks(self, role: Role, part: Row) -> list[Block]:
        kind = str(part["part_type"])
        if kind not in KNOWN_PARTS and kind not in self.unknown_parts:
            self.unknown_parts.add(kind)
            problem = f"parts of the type {kind[:40]} are not known; their text is kept where they have one"
            self.problems.append(ReadProblem("unknown_type", problem, "info", self.file, value=kind[:40]))
        if kind == "compaction":
            return []
        if kind == "tool" and role != "tool":
            return [self._call(part)]
        if role == "tool" and kind in ("text", "tool"):
            return self._result(part)
        if kind == "file" and _text(part["file_mime"]).startswith("image/"):
            return [Block("image", self.pool.put(""), media_type=_text(part["file_mime"]))]
        text = _text(part["text_content"]) or (_text(part["file_name"]) if kind == "file" else "")
        block_kind: Kind = "thinking" if kind == "reasoning" else "text"
        return [Block(block_kind, self.pool.put(text))] if text else []

    def _call(self, part: Row) -> Block:
        raw = as_dict(_metadata(part).get("raw"))
        name = as_id(part["tool_name"]) or as_id(raw.get("name"))
        arguments: Any = _json(part["tool_input"])
        if not isinstance(arguments, dict):
            arguments = raw["arguments"] if isinstance(raw.get("arguments"), dict) else {}
        text = json.dumps({"name": name, "arguments": arguments}, ensure_ascii=False)
        return Block("tool_call", self.pool.put(text), name, as_id(part["tool_call_id"]) or as_id(raw.get("id")))

    def _result(self, part: Row) -> list[Block]:
        texts = (part["text_content"], part["tool_output"], part["tool_error"])
        text = next((found for found in map(_text, texts) if found), "")
        facts = _metadata(part)
        call = as_id(part["tool_call_id"]) or as_id(facts.get("toolCallId"))
        is_error = facts.get("isError") is True or part["tool_status"] == "error" or bool(part["tool_error"])
        is_synthetic = bool(part["is_synthetic"]) or text.startswith(SYNTHETIC)
        name = as_id(part["tool_name"]) or as_id(facts.get("toolName"))
        return [Block("tool_result", self.pool.put(text), name, call, is_error, is_synthetic)]


def paired(messages: list[Message]) -> tuple[list[ToolPair], list[str]]:
    """Calls with their results by position, and the entries of results whose call is nowhere before them."""
    pairs: list[ToolPair] = []
    orphans: list[str] = []
    waiting: dict[str, list[int]] = {}
    for message in messages:
        for number, block in enumerate(message.blocks):
            call = block.tool_call_id or ""
            if block.kind == "tool_call":
                waiting.setdefault(call, []).append(len(pairs))
                pairs.append(ToolPair(message.id, message.index, number))
            elif block.kind == "tool_result" and waiting.get(call):
                at = waiting[call].pop(0)
                asked = pairs[at]
                pairs[at] = ToolPair(
                    asked.call_entry, asked.call_message, asked.call_block, message.id, message.index, number
                )
            elif block.kind == "tool_result" and call not in waiting and message.id is not None:
                orphans.append(message.id)
    return pairs, orphans


def compaction_facts(parts: list[Row]) -> dict[str, Any] | None:
    """The metadata of a compaction part (first-generation stores log their compactions as system rows)."""
    part = next((one for one in parts if one["part_type"] == "compaction"), None)
    return None if part is None else _metadata(part)


def _metadata(part: Row) -> dict[str, Any]:
    return as_dict(_json(part["metadata"]))


def _json(value: object) -> Any:
    if not isinstance(value, str) or len(value) > 8 * 1024 * 1024:
        return None
    try:
        return inner_json(value)
    except (ValueError, RecursionError):
        return None


def _text(value: object) -> str:
    if isinstance(value, bytes):
        return value.decode("utf-8", errors="replace")
    return as_text(value) or ""
