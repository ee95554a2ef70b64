"""What Copilot CLI's events hold, as blocks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from contextviz.events.message import Block
from contextviz.events.text import TextPool
from contextviz.sources.plain.content import dumps, media, tool_call, tool_results
from contextviz.sources.values import as_dict, as_int, as_list, as_text

Json = Mapping[str, Any]


def user_blocks(data: Json, pool: TextPool) -> list[Block]:
    """A prompt: what was typed, and around it what the client puts in before it is sent. Where the client wrote only
    the form that was sent, that is the text."""
    typed, sent = as_text(data.get("content")) or "", as_text(data.get("transformedContent")) or ""
    blocks = []
    start = _place(typed, sent)
    if start is not None:
        blocks = [(sent[:start], "injected"), (typed, "text"), (sent[start + len(typed) :], "injected")]
    elif typed and sent:
        blocks = [(typed, "text"), (sent, "injected")]
    else:
        blocks = [(typed or sent, "text")]
    made = [Block(kind, pool.put(text)) for text, kind in blocks if text]  # type: ignore[arg-type]
    made.extend(_attached(as_list(data.get("attachments")), pool))
    return made


def _place(typed: str, sent: str) -> int | None:
    """Where in what was sent the prompt stands: at its end, its beginning, or after an empty line; a short prompt may
    stand by chance in what was put around it. None where it is not in it."""
    if not typed:
        return None
    if sent.endswith(typed):
        return len(sent) - len(typed)
    if sent.startswith(typed):
        return 0
    start = sent.find(f"\n\n{typed}")
    start = start + 2 if start >= 0 else sent.find(typed)
    return start if start >= 0 else None


def _attached(values: list[Any], pool: TextPool) -> Iterator[Block]:
    """Images and documents by their sizes; other attachments stand in the text that is sent."""
    for value in values:
        one = as_dict(value)
        size = as_int(one.get("byteLength"))
        if as_text(one.get("data")):
            yield media(pool, one.get("data"), one.get("mimeType"))
        elif size is not None:
            kind = (as_text(one.get("mimeType")) or "application/octet-stream")[:100]
            yield Block("image", pool.put(""), media_type=kind, media_bytes=size)


def answer_blocks(data: Json, pool: TextPool, thought: str | None) -> list[Block]:
    """An answer: its readable reasoning (unless it is `thought`, which an event before it told), text, tool calls."""
    reasoning = as_text(data.get("reasoningText"))
    blocks = [Block("thinking", pool.put(reasoning))] if reasoning and reasoning != thought else []
    if as_text(data.get("content")):
        blocks.append(Block("text", pool.put(data["content"])))
    for value in as_list(data.get("toolRequests")):
        request = as_dict(value)
        blocks.append(tool_call(pool, request.get("name"), request.get("arguments"), request.get("toolCallId")))
    return blocks


def result_blocks(data: Json, pool: TextPool, name: str | None) -> list[Block]:
    """What a tool gave: the text that the model gets (not the longer one that is shown), and its images."""
    is_error = data.get("success") is False
    result, error = data.get("result"), as_dict(data.get("error"))
    content: Any = as_dict(result).get("content") if isinstance(result, Mapping) else result
    if content is None and is_error:
        content = error.get("message")
    if content is not None and not isinstance(content, str):
        content = dumps(content)
    blocks = tool_results(pool, content or "", name, data.get("toolCallId"), is_error=is_error)
    blocks.extend(_attached(as_list(as_dict(result).get("binaryResultsForLlm")), pool))
    return blocks
