"""The content of a ChatGPT message to blocks, by its `content_type`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from contextviz.events.message import Block
from contextviz.events.text import TextPool
from contextviz.sources.plain.content import dumps, tool_results
from contextviz.sources.values import as_dict, as_int, as_list, as_text, inner_json

Json = Mapping[str, Any]
LONGEST_NAME = 200
# What the app puts before the model by itself: custom instructions, and what it remembers.
CONTEXTS = {
    "user_editable_context": ("user_profile", "user_instructions"),
    "model_editable_context": ("model_set_context", "repository", "repo_summary", "structured_context"),
}
_PAGES = ("tether_quote", "sonic_webpage")
_CODE = ("code", "tether_browsing_code")
_OUTPUT = ("execution_output", "citable_code_output", "system_error", "tether_browsing_display")
KNOWN = frozenset({"text", "multimodal_text", "thoughts", "reasoning_recap", *CONTEXTS, *_PAGES, *_CODE, *_OUTPUT})
_MEDIA = {
    "image_asset_pointer": "image/unknown",
    "audio_asset_pointer": "audio/unknown",
    "video_container_asset_pointer": "video/unknown",
}
_NESTED = ("audio_asset_pointer", "video_container_asset_pointer")


def content_blocks(message: Json, pool: TextPool, role: str, on_unknown: Callable[[str], None]) -> list[Block]:
    """The blocks of a message, without those of its attachments. `on_unknown` is told the types of parts that are not
    known; they are kept as their JSON."""
    content = as_dict(message.get("content"))
    kind = as_text(content.get("content_type")) or "no content_type"
    if kind in CONTEXTS:
        values = [content.get(key) for key in CONTEXTS[kind]]
        return [Block("injected", pool.put(_text(value))) for value in values if value]
    if kind == "thoughts":
        return _thoughts(content, pool)
    if kind == "reasoning_recap":
        text = as_text(content.get("content")) or _parts_text(content)
        return [Block("thinking", pool.put(text))] if text else []
    name = (as_text(as_dict(message.get("author")).get("name")) or "")[:LONGEST_NAME] or None
    if role == "tool":
        return _result(message, content, kind, pool, name, on_unknown)
    recipient = as_text(message.get("recipient")) or "all"
    if role == "assistant" and recipient not in ("all", "assistant"):
        return [_call(content, kind, pool, recipient[:LONGEST_NAME])]
    return _said(content, kind, pool, on_unknown)


def _said(content: Json, kind: str, pool: TextPool, on_unknown: Callable[[str], None]) -> list[Block]:
    if kind in ("text", "multimodal_text"):
        return _parts(content, pool, on_unknown)
    text = _one_text(content, kind)
    return [Block("text", pool.put(text))] if text else []


def _one_text(content: Json, kind: str) -> str:
    """The text of a content that has no parts; its JSON where its type is not known."""
    if kind in _PAGES:
        return "\n".join(text for key in ("title", "url", "text") if (text := as_text(content.get(key))))
    if kind in KNOWN:
        words = (content.get(key) for key in ("text", "result", "output_str", "summary"))
        return next((word for word in words if isinstance(word, str) and word), "")
    return dumps(content)


def _call(content: Json, kind: str, pool: TextPool, name: str) -> Block:
    """What the model wrote to a tool: arguments where it is JSON, else code."""
    text = _parts_text(content) if kind in ("text", "multimodal_text") else _one_text(content, kind)
    try:
        arguments = inner_json(text)
    except (ValueError, RecursionError):
        arguments = None
    if not isinstance(arguments, dict):
        language = as_text(content.get("language"))
        arguments = {"code": text} if language in (None, "unknown") else {"language": language, "code": text}
    return Block("tool_call", pool.put(dumps({"name": name, "arguments": arguments})), name)


def _result(
    message: Json, content: Json, kind: str, pool: TextPool, name: str | None, on_unknown: Callable[[str], None]
) -> list[Block]:
    is_error = kind == "system_error" or _has_failed(as_dict(as_dict(message.get("metadata")).get("aggregate_result")))
    if kind not in ("text", "multimodal_text"):
        return tool_results(pool, _one_text(content, kind), name, None, is_error=is_error)
    found = [
        Block("tool_result", block.text, name, is_error=is_error) if block.kind == "text" else block
        for block in _parts(content, pool, on_unknown)
    ]
    if any(block.kind == "tool_result" for block in found):
        return found
    return [*tool_results(pool, "", name, None, is_error=is_error), *found]


def _has_failed(outcome: Json) -> bool:
    status = as_text(outcome.get("status")) or ""
    has_error = any(outcome.get(key) for key in ("in_kernel_exception", "system_exception"))
    return has_error or status.startswith("failed") or status == "cancelled"


def _thoughts(content: Json, pool: TextPool) -> list[Block]:
    found = content.get("thoughts")
    texts = [_thought(one) for one in (found if isinstance(found, list) else [found])]
    texts = [text for text in texts if text] or [text for text in [_parts_text(content)] if text]
    return [Block("thinking", pool.put(text)) for text in texts]


def _thought(value: Any) -> str:
    if isinstance(value, str):
        return value
    thought = as_dict(value)
    body = as_text(thought.get("content")) or "\n".join(filter(None, map(as_text, as_list(thought.get("chunks")))))
    return "\n".join(text for text in (as_text(thought.get("summary")), body) if text)


def _parts_text(content: Json) -> str:
    return "\n".join(part for part in as_list(content.get("parts")) if isinstance(part, str) and part)


def _parts(content: Json, pool: TextPool, on_unknown: Callable[[str], None]) -> list[Block]:
    blocks: list[Block] = []
    parts = content.get("parts")
    for part in parts if isinstance(parts, list) else [parts]:
        if part in (None, "", [], {}):
            continue
        blocks.extend(_part(part, pool, on_unknown))
    return blocks


def _part(part: Any, pool: TextPool, on_unknown: Callable[[str], None]) -> list[Block]:
    if not isinstance(part, dict):
        return [Block("text", pool.put(_text(part)))]
    kind = as_text(part.get("content_type")) or as_text(part.get("type")) or "no type"
    if kind in _MEDIA:
        return [file_block(pool, _type_of(part, kind), part.get("size_bytes"))]
    if kind == "real_time_user_audio_video_asset_pointer":
        inner = [part[key] for key in _NESTED if isinstance(part.get(key), dict)]
        inner += [one for one in as_list(part.get("frames_asset_pointers")) if isinstance(one, dict)]
        return [file_block(pool, _type_of(one, "image_asset_pointer"), one.get("size_bytes")) for one in inner]
    if kind in KNOWN or kind == "audio_transcription":
        whole = as_text(part.get("text")) if kind == "audio_transcription" else _one_text(part, kind)
        return [Block("text", pool.put(whole))] if whole else []
    text = as_text(part.get("text"))
    if kind not in ("text", "no type") or text is None:
        on_unknown(kind)
    return [Block("text", pool.put(text if text is not None else dumps(part)))]


def _type_of(part: Json, kind: str) -> str:
    word = as_text(part.get("format"))
    general = _MEDIA.get(as_text(part.get("content_type")) or kind, _MEDIA[kind])
    return f"{general.partition('/')[0]}/{word[:20]}" if word else general


def file_block(pool: TextPool, media_type: Any, size: Any) -> Block:
    """An image or another file by its type and size; its content is never in an export's document."""
    word = as_text(media_type) or "application/octet-stream"
    return Block("image", pool.put(""), media_type=word[:100], media_bytes=as_int(size))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else dumps(value)
