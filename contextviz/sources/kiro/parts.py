"""Content of Kiro's messages as blocks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from contextviz.events.message import Block
from contextviz.events.text import TextPool
from contextviz.sources.plain.content import dumps, media, tool_call, tool_results
from contextviz.sources.plain.draft import Draft
from contextviz.sources.values import as_dict, as_id, as_list, as_text

Json = dict[str, Any]


def log_blocks(content: Any, draft: Draft) -> Iterator[Block]:
    """The blocks of a line of the CLI's log; a part of a kind that is not known is kept as its JSON."""
    pool = draft.pool
    for part in map(as_dict, as_list(content)):
        kind, data = as_text(part.get("kind")) or "", part.get("data")
        if kind == "text":
            yield Block("text", pool.put(data if isinstance(data, str) else dumps(data)))
        elif kind == "thinking":
            thought = data if isinstance(data, str) else as_text(as_dict(data).get("text"))
            yield Block("thinking", pool.put(thought or ""))
        elif kind == "toolUse":
            call = as_dict(data)
            yield tool_call(pool, call.get("name"), call.get("input"), as_id(call.get("toolUseId")))
        elif kind == "toolResult":
            given = as_dict(data)
            yield from _log_result(given, pool)
        elif kind == "image":
            yield _image(data, pool)
        else:
            draft.unknown_part(kind or "no kind")
            yield Block("text", pool.put(dumps(part)))


def _log_result(given: Json, pool: TextPool) -> Iterator[Block]:
    call, is_error = as_id(given.get("toolUseId")), given.get("status") == "error"
    parts = [as_dict(part) for part in as_list(given.get("content"))]
    pictures = [part for part in parts if part.get("kind") == "image"]
    texts = [part.get("data") for part in parts if part.get("kind") != "image"]
    content = [{"type": "text", "text": one if isinstance(one, str) else dumps(one)} for one in texts]
    if content or not pictures:
        yield from tool_results(pool, content, None, call, is_error=is_error)
    for part in pictures:
        yield _image(part.get("data"), pool)


def _image(value: Any, pool: TextPool) -> Block:
    """A picture: its bytes as a list of numbers, or as base64."""
    image = as_dict(value)
    data = as_dict(image.get("source")).get("data")
    kind = as_text(image.get("format")) or "unknown"
    block = media(pool, data, f"image/{kind}")
    return replace(block, media_bytes=len(data)) if isinstance(data, list) else block


def prompt_blocks(user: Json, pool: TextPool) -> Iterator[Block]:
    """The blocks of the user's side of a saved entry: a prompt, what tools gave, or both."""
    content = user.get("content")
    if isinstance(content, str):
        yield Block("text", pool.put(content))
    for kind, value in as_dict(content).items():
        data = as_dict(value)
        for given in map(as_dict, as_list(data.get("tool_use_results"))):
            parts = [_saved_part(part) for part in as_list(given.get("content"))]
            texts = [{"type": "text", "text": part} for part in parts]
            call, is_error = as_id(given.get("tool_use_id")), given.get("status") == "Error"
            yield from tool_results(pool, texts, None, call, is_error=is_error)
        prompt = value if isinstance(value, str) and kind == "Prompt" else as_text(data.get("prompt"))
        if prompt:
            yield Block("text", pool.put(prompt))
    for picture in as_list(user.get("images")):
        yield _image(picture, pool)
    more = as_text(user.get("additional_context"))
    if more:
        yield Block("injected", pool.put(more))


def _saved_part(part: Any) -> str:
    value = as_dict(part)
    text = as_text(value.get("Text"))
    return text if text is not None else dumps(value.get("Json", part))


def answer_blocks(answer: Json, pool: TextPool) -> Iterator[Block]:
    """The blocks of the model's side of a saved entry."""
    for value in answer.values():
        said = as_dict(value)
        text = as_text(said.get("content"))
        if text:
            yield Block("text", pool.put(text))
        for call in map(as_dict, as_list(said.get("tool_uses"))):
            name = as_text(call.get("name")) or call.get("orig_name")
            arguments = call.get("args") if call.get("args") is not None else call.get("orig_args")
            yield tool_call(pool, name, arguments, as_id(call.get("id")))
