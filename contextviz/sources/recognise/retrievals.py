"""Calls that get something back from a context engine, and whether they brought it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from contextviz.events.artefacts import Engine, retrieval
from contextviz.events.engine_event import EngineEvent
from contextviz.events.message import Block, Message
from contextviz.events.session import Transcript
from contextviz.sources.lines import parse_object
from contextviz.sources.recognise.pool import WatchedPool

MOST_KEY_CHARS = 120
MOST_CALL_CHARS = 200_000
# Tools that get something back, by engine (engines.md 3.7, 7.6); OpenVole's is only its own in its own sessions.
_RETRIEVERS: dict[str, Engine] = {
    "flowctx_retrieve": "flowctx",
    "lcm_grep": "lossless-claw",
    "lcm_describe": "lossless-claw",
    "lcm_expand": "lossless-claw",
    "lcm_expand_query": "lossless-claw",
    "memory_search": "openvole",
}
_KEYS = ("hash", "node", "id", "summaryIds", "query", "pattern", "prompt")


def asked_in(message: Message, transcript: Transcript, pool: WatchedPool) -> Iterator[EngineEvent]:
    """The calls of a message that get something back from an engine."""
    for number, block in enumerate(message.blocks):
        if block.kind != "tool_call" or block.tool_name is None:
            continue
        name = block.tool_name.rpartition("__")[2]
        engine = _RETRIEVERS.get(name)
        if engine is None or (engine == "openvole" and transcript.session.format != "openvole"):
            continue
        yield retrieval(engine, name, _key_of(block, pool), message, number)


def _key_of(block: Block, pool: WatchedPool) -> str | None:
    if block.text.chars > MOST_CALL_CHARS:
        return None
    parsed = parse_object(pool.get(block.text).encode())
    arguments: Any = parsed[0].get("arguments") if parsed else None
    if isinstance(arguments, str):
        inner = parse_object(arguments.encode())
        arguments = inner[0] if inner else None
    if not isinstance(arguments, dict):
        return None
    for name in _KEYS:
        value = arguments.get(name)
        if isinstance(value, list):
            value = ", ".join(one for one in value if isinstance(one, str))
        if isinstance(value, str) and value:
            return value[:MOST_KEY_CHARS]
    return None


def note_results(events: list[EngineEvent], transcript: Transcript) -> None:
    """Whether retrievals brought what they asked for: an original must have the hash it was asked for by."""
    asked = {(one.data["message"], one.data["block"]): at for at, one in enumerate(events) if one.type == "retrieve"}
    if not asked:
        return
    for pair in transcript.pairs:
        at = asked.get((pair.call_message, pair.call_block))
        if at is None or pair.result_message is None or pair.result_block is None:
            continue
        result = transcript.messages[pair.result_message].blocks[pair.result_block]
        event = events[at]
        events[at] = replace(event, data=event.data | {"hit": _is_hit(event, result)})


def _is_hit(event: EngineEvent, result: Block) -> bool | None:
    if result.is_error:
        return False
    handle = str(event.data.get("key") or "").lower()
    is_hash = len(handle) >= 6 and all(char in "0123456789abcdef" for char in handle)
    return True if is_hash and result.text.sha256.startswith(handle) else None
