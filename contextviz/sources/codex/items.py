"""Response items, the model-visible history of a rollout, as messages and blocks (formats.md C.3)."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from contextviz.events.message import Block, Role
from contextviz.events.text import TextPool
from contextviz.sources.values import as_dict, as_id, as_list, as_text, inner_json

ENCRYPTED = "encrypted by the provider: its text is not readable"
_ROLES: dict[str, Role] = {"user": "user", "assistant": "assistant", "developer": "developer", "system": "system"}
_CALLS = frozenset(
    {
        "function_call",
        "custom_tool_call",
        "local_shell_call",
        "web_search_call",
        "tool_search_call",
        "image_generation_call",
    }
)
# The provider runs these itself and no result item follows, so they are never pending.
_SERVER_SIDE = frozenset({"web_search_call", "image_generation_call"})
_RESULTS = frozenset({"function_call_output", "custom_tool_call_output", "tool_search_output", "mcp_tool_call_output"})
_OPAQUE_SUMMARIES = frozenset({"compaction", "compaction_summary", "context_compaction"})
# Written into the rollout but never sent to a model.
UNSENT = frozenset({"ghost_snapshot"})
# Only the start of a text is looked at: a user may quote any of these further down (trap 36).
_INJECTED = re.compile(
    r"\s*(?:<(?:environment_context|user_instructions|permissions instructions|permissions_instructions|turn_aborted"
    r"|skills?_instructions|skills?|collaboration_mode|apps_instructions|plugins_instructions|model_switch"
    r"|personality_spec|realtime_conversation|subagent_notification|user_shell_command|hook_context|INSTRUCTIONS)>"
    r"|<skill[ >]|# AGENTS\.md)"
)
_EXIT = re.compile(r"^(?:Process exited with code|Exit code:) (-?\d+)\s*$", re.MULTILINE)
_DATA_URI = re.compile(r"data:([\w.+-]+/[\w.+-]+)?[^,]{0,64};base64,", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Item:
    """One response item. `is_model` marks what a model wrote, `is_human` a prompt that a person typed; `sampled`
    is the history position the answer was made from, where the client writes it."""

    id: str | None
    type: str
    role: Role
    native_role: str
    blocks: tuple[Block, ...]
    is_model: bool = False
    is_human: bool = False
    is_opaque: bool = False
    call_id: str | None = None
    sampled: Any = None

    @property
    def is_result(self) -> bool:
        """Whether it is the result of a tool call."""
        return self.type in _RESULTS

    @property
    def awaits_result(self) -> bool:
        """Whether it is a tool call whose result is an item of its own."""
        return self.type in _CALLS and self.type not in _SERVER_SIDE


def read_item(payload: dict[str, Any], pool: TextPool) -> Item | None:
    """`payload` as an Item, None where its type is not known. Never raises."""
    kind = as_text(payload.get("type")) or ""
    if kind == "message":
        return _message(payload, pool)
    if kind == "reasoning":
        text = _reasoning_text(payload)
        block = Block("thinking", pool.put(text))
        is_opaque = not text and payload.get("encrypted_content") is not None
        return _made(payload, "assistant", (block,), is_model=True, is_opaque=is_opaque)
    if kind in _CALLS:
        return _made(payload, "assistant", _call_blocks(kind, payload, pool), is_model=True)
    if kind in _RESULTS:
        return _made(payload, "tool", _result_blocks(kind, payload, pool))
    if kind in _OPAQUE_SUMMARIES:
        return _made(payload, "assistant", (Block("summary", pool.put("")),), is_opaque=True)
    return None


def content_kinds(payload: dict[str, Any]) -> list[str]:
    """What the client says each content part is (`user.text`, `compaction.summary`, …); empty before 0.17x."""
    passthrough = as_dict(payload.get("internal_chat_message_metadata_passthrough"))
    return [kind for kind in as_list(passthrough.get("content_item_kinds")) if isinstance(kind, str)]


def plain_text(payload: dict[str, Any]) -> str:
    """The text parts of a message, one after the other."""
    return "\n".join(_part_text(part) for part in _parts(payload.get("content")))


def _made(
    payload: dict[str, Any], role: Role, blocks: tuple[Block, ...], *, is_model: bool = False, is_opaque: bool = False
) -> Item:
    kind = as_text(payload.get("type")) or ""
    return Item(
        as_id(payload.get("id")),
        kind,
        role,
        kind,
        blocks,
        is_model=is_model,
        is_opaque=is_opaque,
        call_id=as_id(payload.get("call_id")),
        sampled=_sampled(payload),
    )


def _sampled(payload: dict[str, Any]) -> Any:
    return as_dict(payload.get("metadata")).get("sampled_through_sequence")


def _message(payload: dict[str, Any], pool: TextPool) -> Item:
    word = as_text(payload.get("role")) or "user"
    role = _ROLES.get(word, "user")
    kinds = content_kinds(payload)
    blocks = []
    for number, part in enumerate(_parts(payload.get("content"))):
        said = kinds[number] if number < len(kinds) else None
        blocks.append(_message_block(part, role, said, pool))
    is_human = role == "user" and any(block.kind in ("text", "image") for block in blocks)
    return Item(
        as_id(payload.get("id")),
        "message",
        role,
        word,
        tuple(blocks),
        is_model=role == "assistant",
        is_human=is_human,
        sampled=_sampled(payload),
    )


def _message_block(part: Any, role: Role, said: str | None, pool: TextPool) -> Block:
    if as_dict(part).get("type") == "input_image":
        return _image(as_dict(part), pool)
    text = _part_text(part)
    if role == "assistant":
        return Block("text", pool.put(text))
    if said == "compaction.summary":
        return Block("summary", pool.put(text))
    return Block("injected" if is_injected(text, role, said) else "text", pool.put(text))


def is_injected(text: str, role: Role, said: str | None) -> bool:
    """Whether the client put this text in by itself. `said` is the client's own word for it, where it has one."""
    if role in ("developer", "system"):
        return True
    if said is not None and said != "unknown":
        return not said.startswith("user.")
    return _INJECTED.match(text) is not None


def _parts(content: Any) -> list[Any]:
    return [content] if isinstance(content, str) else as_list(content)


def _part_text(part: Any) -> str:
    if isinstance(part, str):
        return part
    fields = as_dict(part)
    return as_text(fields.get("text")) or as_text(fields.get("refusal")) or ""


def _image(part: dict[str, Any], pool: TextPool) -> Block:
    url = as_text(part.get("image_url")) or as_text(as_dict(part.get("image_url")).get("url")) or ""
    found = _DATA_URI.match(url[:200])
    if found is None:
        return Block("image", pool.put(""))
    chars = len(url) - found.end()
    return Block(
        "image",
        pool.put(""),
        media_type=found.group(1),
        media_bytes=_decoded(url, chars),
        base64_chars=chars,
    )


def _decoded(base64: str, chars: int) -> int:
    padding = len(base64) - len(base64.rstrip("=")) if chars else 0
    return max(0, chars * 3 // 4 - padding)


def _reasoning_text(payload: dict[str, Any]) -> str:
    parts = as_list(payload.get("summary")) + as_list(payload.get("content"))
    return "\n".join(text for text in map(_part_text, parts) if text)


def _call_blocks(kind: str, payload: dict[str, Any], pool: TextPool) -> tuple[Block, ...]:
    name, arguments = _call(kind, payload)
    text = json.dumps({"name": name, "arguments": arguments}, ensure_ascii=False)
    call_id = as_id(payload.get("call_id")) or as_id(payload.get("id"))
    call = Block("tool_call", pool.put(text), tool_name=name, tool_call_id=call_id)
    picture = as_text(payload.get("result")) if kind == "image_generation_call" else None
    if not picture:
        return (call,)
    image = Block(
        "image",
        pool.put(""),
        media_type="image/png",
        media_bytes=_decoded(picture, len(picture)),
        base64_chars=len(picture),
    )
    return call, image


def _call(kind: str, payload: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    name = as_text(payload.get("name")) or kind.removesuffix("_call")
    if kind == "custom_tool_call":
        return name, {"input": payload.get("input")}
    if kind in ("local_shell_call", "web_search_call"):
        return name, as_dict(payload.get("action"))
    if kind == "image_generation_call":
        return name, {"revised_prompt": payload.get("revised_prompt")}
    return name, _arguments(payload.get("arguments"))


def _arguments(value: Any) -> dict[str, Any]:
    if isinstance(value, dict):
        return value
    if not isinstance(value, str):
        return {} if value is None else {"value": value}
    try:
        parsed = inner_json(value)
    except (ValueError, RecursionError):
        return {"text": value}
    return parsed if isinstance(parsed, dict) else {"value": parsed}


def _result_blocks(kind: str, payload: dict[str, Any], pool: TextPool) -> tuple[Block, ...]:
    output = payload.get("tools") if kind == "tool_search_output" else payload.get("output")
    success = None
    if isinstance(output, dict):
        success = output.get("success")
        output = output.get("content") if "content" in output else json.dumps(output, ensure_ascii=False)
    call_id = as_id(payload.get("call_id"))
    if kind == "tool_search_output":
        output = json.dumps(output, ensure_ascii=False)
    parts = _parts(output)
    text = "\n".join(_part_text(part) for part in parts if as_dict(part).get("type") != "input_image")
    is_error = success is False or _exit_code(text) not in (None, 0)
    result = Block("tool_result", pool.put(text), tool_call_id=call_id, is_error=is_error)
    images = [_image(part, pool) for part in map(as_dict, parts) if part.get("type") == "input_image"]
    return (result, *images)


def _exit_code(text: str) -> int | None:
    """The exit code of a command as its result's head says it: a JSON envelope once, lines before `Output:` now."""
    if text.startswith('{"output"'):
        try:
            code = as_dict(as_dict(inner_json(text)).get("metadata")).get("exit_code")
        except (ValueError, RecursionError):
            return None
        return code if isinstance(code, int) and not isinstance(code, bool) else None
    head, mark, _ = text[:1000].partition("\nOutput:\n")
    found = _EXIT.search(head) if mark else None
    return int(found.group(1)) if found else None
