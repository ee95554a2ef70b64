"""What a GenAI span says of its messages: the attributes, their older forms, and those of other instrumentations."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from contextviz.events.message import Block, Role
from contextviz.events.text import TextPool
from contextviz.sources.otlp.envelope import Attributes, Event
from contextviz.sources.plain.content import blocks_of, dumps, part_blocks, role_of, tool_call, tool_results
from contextviz.sources.plain.exchange import Said
from contextviz.sources.values import as_dict, as_id, as_list, as_text, inner_json

MAX_INDEX = 10_000
_DECODER = json.JSONDecoder(parse_constant=lambda _name: None)
_OLD_EVENTS: dict[str, Role] = {
    "gen_ai.system.message": "system",
    "gen_ai.user.message": "user",
    "gen_ai.assistant.message": "assistant",
    "gen_ai.tool.message": "tool",
}


class Content:
    """The messages of one call, as far as its instrumentation wrote them. `is_cut` where an attribute was cut off
    and only its beginning could be read."""

    def __init__(self, pool: TextPool):
        self._pool = pool
        self.context: list[Said] = []
        self.answer: Said | None = None
        self.is_cut = False

    def read(self, attributes: Attributes, events: Iterable[Event]) -> None:
        """Read from the newest form to the oldest; the first that says anything is taken."""
        for event in events:
            if event.name == "gen_ai.client.inference.operation.details":
                attributes = {**event.attributes, **as_dict(event.body), **attributes}
        instructions = self._list(attributes.get("gen_ai.system_instructions"))
        tools = self._list(attributes.get("gen_ai.tool.definitions") or attributes.get("gen_ai.request.tools"))
        given = self._list(attributes.get("gen_ai.input.messages"))
        made = self._list(attributes.get("gen_ai.output.messages"))
        head = [block for part in instructions for block in part_blocks(part, self._pool, "system")]
        head.extend(Block("tools", self._pool.put(dumps(one)), _tool_name(one)) for one in tools)
        messages = [self._said(as_dict(one)) for one in given]
        answers = [self._said(as_dict(one)) for one in made]
        if not messages and not answers:
            messages, answers = self._from_events(events)
        if not messages and not answers:
            messages, answers = self._numbered(attributes)
        self.context = [*([Said("system", "system", tuple(head))] if head else []), *messages]
        self.answer = _joined(answers)

    def _list(self, value: Any) -> list[Any]:
        """A structured value, or JSON text of one; of text that was cut off what is whole in it."""
        if isinstance(value, str):
            text = value.strip()
            try:
                value = inner_json(text) if text[:1] in ("[", "{") else [value]
            except RecursionError:
                self.is_cut = True
                return []
            except ValueError:
                self.is_cut = True
                return _whole_ones(text)
        if isinstance(value, Mapping):
            return [value]
        return value if isinstance(value, list) else []

    def _said(self, message: Mapping[str, Any]) -> Said:
        native = as_text(message.get("role")) or "user"
        role: Role = role_of(native) or "user"
        parts = message.get("parts")
        kind = "system" if role == "system" else "text"
        content = parts if isinstance(parts, list) else message.get("content")
        if role == "tool" and not isinstance(parts, list):
            call = message.get("tool_call_id") or message.get("id")
            return Said(role, native, tuple(tool_results(self._pool, content, message.get("name"), call)))
        blocks = blocks_of(content, self._pool, kind=kind)  # type: ignore[arg-type]
        for one in as_list(message.get("tool_calls")):
            function = as_dict(as_dict(one).get("function")) or as_dict(one)
            call_id = as_dict(one).get("id")
            blocks.append(tool_call(self._pool, function.get("name"), function.get("arguments"), call_id))
        if blocks and role == "user" and all(block.kind == "tool_result" for block in blocks):
            role = "tool"
        return Said(role, native, tuple(blocks), as_id(message.get("message_id")))

    def _from_events(self, events: Iterable[Event]) -> tuple[list[Said], list[Said]]:
        """The older form: one event for each message, and one for each answer."""
        messages: list[Said] = []
        answers: list[Said] = []
        for event in events:
            body = as_dict(event.body) or {key.rpartition(".")[2]: value for key, value in event.attributes.items()}
            if event.name in _OLD_EVENTS:
                role = _OLD_EVENTS[event.name]
                messages.append(self._said({**body, "role": as_text(body.get("role")) or role}))
            elif event.name == "gen_ai.choice":
                message = as_dict(body.get("message")) or body
                answers.append(self._said({**message, "role": "assistant"}))
        return messages, answers

    def _numbered(self, attributes: Attributes) -> tuple[list[Said], list[Said]]:
        """OpenInference's `llm.input_messages.0.message.role` and Traceloop's `gen_ai.prompt.0.content`."""
        found: tuple[list[Said], list[Said]] = ([], [])
        pairs = (
            (("llm.input_messages.", "message."), ("gen_ai.prompt.", "")),
            (("llm.output_messages.", "message."), ("gen_ai.completion.", "")),
        )
        for place, forms in enumerate(pairs):
            for prefix, inner in forms:
                for message in _by_number(attributes, prefix):
                    fields = {key.removeprefix(inner): value for key, value in message.items()}
                    default = "assistant" if place else "user"
                    found[place].append(self._fields(fields, default))
        return found

    def _fields(self, fields: Attributes, default: str) -> Said:
        native = as_text(fields.get("role")) or default
        role: Role = role_of(native) or "user"
        text = fields.get("content")
        if role == "tool":
            call = fields.get("tool_call_id")
            return Said(role, native, tuple(tool_results(self._pool, text or "", fields.get("name"), call)))
        blocks = blocks_of(text, self._pool, kind="system" if role == "system" else "text")
        for part in _by_number(fields, "contents."):
            value = part.get("message_content.text")
            blocks.extend(blocks_of(value if value is not None else part, self._pool))
        for call in _by_number(fields, "tool_calls."):
            inner = {key.removeprefix("tool_call.").removeprefix("function."): value for key, value in call.items()}
            blocks.append(tool_call(self._pool, inner.get("name"), inner.get("arguments"), inner.get("id")))
        return Said(role, native, tuple(blocks))


def _tool_name(value: Any) -> str | None:
    found = as_dict(value)
    return as_text(as_dict(found.get("function")).get("name")) or as_text(found.get("name"))


def _joined(answers: list[Said]) -> Said | None:
    """Several output messages are one answer's parts, or choices: all are shown."""
    if not answers:
        return None
    blocks = tuple(block for one in answers for block in one.blocks)
    return Said("assistant", answers[0].native_role, blocks, answers[0].id)


def _by_number(attributes: Attributes, prefix: str) -> list[Attributes]:
    """Attributes `prefix<number>.<rest>` as one dictionary a number, in the order of the numbers."""
    found: dict[int, Attributes] = {}
    for key, value in attributes.items():
        if not key.startswith(prefix):
            continue
        number, _, rest = key[len(prefix) :].partition(".")
        if number.isascii() and number.isdigit() and len(number) < 6 and int(number) < MAX_INDEX and rest:
            found.setdefault(int(number), {})[rest] = value
    return [found[number] for number in sorted(found)]


def _whole_ones(text: str) -> list[Any]:
    found: list[Any] = []
    place = 1
    while text.startswith("[") and place < len(text):
        while place < len(text) and text[place] in " ,\n\r\t":
            place += 1
        try:
            value, place = _DECODER.raw_decode(text, place)
        except (ValueError, RecursionError):
            break
        found.append(value)
    return found
