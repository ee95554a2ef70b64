"""The messages of a SWE-agent or mini-swe-agent trajectory into a draft."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from contextviz.events.message import Block, Message, Role
from contextviz.events.usage import TokenUsage
from contextviz.sources.plain.content import blocks_of, part_blocks, role_of, tool_call, tool_results
from contextviz.sources.plain.draft import Draft
from contextviz.sources.plain.usage import usage_of
from contextviz.sources.values import as_dict, as_float, as_list, as_text

Json = Mapping[str, Any]


class HistoryReader:
    """Adds messages in order. Everything written is what the model was given next, except what ends the run."""

    def __init__(self, draft: Draft, model: str | None):
        self._draft = draft
        self._model = model
        self._main: str | None = None

    def read(self, messages: list[Any]) -> None:
        """Add every message of a `history` or `messages` list."""
        for number, value in enumerate(messages, start=1):
            self._draft.transcript.entries += 1
            self._draft.transcript.lines.total += 1
            self._message(as_dict(value), number)

    def steps(self, trajectory: list[Any]) -> None:
        """Add the steps of a trajectory that has no history: what was answered, and what was seen then."""
        for number, value in enumerate(trajectory, start=1):
            step = as_dict(value)
            self._draft.transcript.entries += 1
            self._draft.transcript.lines.total += 1
            response, thought = as_text(step.get("response")) or "", as_text(step.get("thought")) or ""
            said = [Block("thinking", self._draft.pool.put(thought))] if thought and thought not in response else []
            said.append(Block("text", self._draft.pool.put(response)))
            action = as_text(step.get("action"))
            if action:
                said.append(tool_call(self._draft.pool, "action", {"command": action}, f"step-{number}"))
            self._put(self._draft.message("assistant", "assistant", said, id=f"step-{number}", model=self._model))
            seen = tool_results(self._draft.pool, step.get("observation") or "", "action", f"step-{number}")
            self._put(self._draft.message("tool", "observation", seen, id=f"step-{number}-observation"))

    def _put(self, message: Message) -> None:
        self._draft.put(message, agent=message.agent)

    def _message(self, value: Json, number: int) -> None:
        draft, extra = self._draft, as_dict(value.get("extra"))
        native = as_text(value.get("role")) or as_text(value.get("object")) or as_text(value.get("type")) or "unknown"
        role = _role(value, native)
        if role is None:
            draft.unknown(native)
        agent = self._agent(value)
        many = as_list(extra.get("timestamps"))
        written = extra.get("timestamp", value.get("timestamp", many[0] if many else None))
        at = draft.time(written, f"message {number}")
        is_demo = value.get("is_demo") is True
        message = draft.message(
            role or "user", native, self._blocks(value, role), at=at, agent=agent,
            model=self._model if role == "assistant" else None,
            is_human=role == "user" and not is_demo and value.get("message_type") != "observation",
        )  # fmt: skip
        response = as_dict(extra.get("response")) or (dict(value) if native == "response" else {})
        if role == "assistant":
            call = draft.call(
                _usage(response, extra), id=as_text(response.get("id")) or message.id, at=at, agent=agent,
                response_id=as_text(response.get("id")), model=as_text(response.get("model")) or self._model,
                message=message,
            )  # fmt: skip
            draft.snapshot(call)
        if native != "exit":
            self._put(message)

    def _agent(self, value: Json) -> str | None:
        """None for the agent that spoke first; another one's name makes it a sub-agent."""
        name = as_text(value.get("agent"))
        if name is None:
            return None
        self._main = self._main or name
        return None if name == self._main else name

    def _blocks(self, value: Json, role: Role | None) -> list[Block]:
        pool = self._draft.pool
        if value.get("object") == "response" or (role is not None and "role" not in value):
            return _items(value, self._draft)
        if role == "tool" or (value.get("message_type") == "observation" and value.get("tool_call_ids")):
            ids = as_list(value.get("tool_call_ids"))
            call = value.get("tool_call_id") or (ids[0] if ids else None)
            return tool_results(pool, value.get("content"), value.get("name"), call)
        blocks: list[Block] = []
        thought = as_text(value.get("reasoning_content")) or as_text(value.get("thinking"))
        if thought:
            blocks.append(Block("thinking", pool.put(thought)))
        blocks.extend(blocks_of(value.get("content"), pool, kind="system" if role == "system" else "text"))
        for one in as_list(value.get("tool_calls")):
            function = as_dict(as_dict(one).get("function"))
            blocks.append(tool_call(pool, function.get("name"), function.get("arguments"), as_dict(one).get("id")))
        return blocks


def _role(value: Json, native: str) -> Role | None:
    if native == "exit":
        return "system"
    if value.get("object") == "response":
        return "assistant"
    if native.endswith("_output"):
        return "tool"
    return role_of(native)


def _items(value: Json, draft: Draft) -> list[Block]:
    """A Responses reply's items, or one such item as a message of its own."""
    items = as_list(value.get("output")) if value.get("object") == "response" else [value]
    blocks: list[Block] = []
    for item in map(as_dict, items):
        if item.get("type") == "message":
            blocks.extend(blocks_of(item.get("content"), draft.pool))
        else:
            blocks.extend(part_blocks(item, draft.pool))
    return blocks


def _usage(response: Json, extra: Json) -> TokenUsage | None:
    usage = usage_of(response.get("usage"))
    cost = as_float(extra.get("cost")) or None
    if usage is None or cost is None or usage.cost_usd is not None:
        return usage
    return replace(usage, cost_usd=cost)
