"""Which markers of a session point to which original, and which point to nothing we hold."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from contextviz.analysis.transcript import call_arguments
from contextviz.events.artefacts import standing_markers
from contextviz.events.artefacts.markers import Marker, MarkerKind
from contextviz.events.session import Transcript
from contextviz.events.text import TextPool

_HEX = re.compile(r"[0-9a-fA-F]{4,64}")
RETRIEVE_TOOLS = ("flowctx_retrieve", "lcm_describe", "lcm_expand", "lcm_expand_query")


@dataclass(frozen=True, slots=True)
class MarkerPlace:
    """Where a marker stands: the message by index, its entry id and line, and its block."""

    message_index: int
    entry: str | None
    line: int | None
    block: int
    marker: Marker


@dataclass(slots=True)
class Original:
    """One handle: where its markers stand, which messages ask for it, and whether we hold what it names.

    `is_dangling` is None where nobody could say (no way to look handles up).
    """

    handle: str
    kind: MarkerKind
    places: list[MarkerPlace] = field(default_factory=list)
    retrieved_by: list[int] = field(default_factory=list)
    is_dangling: bool | None = None


def originals(
    transcript: Transcript, pool: TextPool, *, is_known: Callable[[str], bool] | None = None
) -> list[Original]:
    """The handles that the markers of a session name, in the order they appear first; not those in code blocks.

    `is_known` tells whether the bytes behind a handle (or the beginning of one) are held.
    """
    found: dict[str, Original] = {}
    asked: list[tuple[int, str]] = []
    for message in transcript.messages:
        for number, block in enumerate(message.blocks):
            try:
                text = pool.get(block.text)
            except KeyError:
                continue
            if block.kind == "tool_call":
                asked.extend((message.index, text) for tool in RETRIEVE_TOOLS if tool in text[:2000])
                continue
            for marker in standing_markers(text):
                original = found.setdefault(marker.handle, Original(marker.handle, marker.kind))
                original.places.append(MarkerPlace(message.index, message.id, message.line, number, marker))
    for index, text in asked:
        for handle in _handles_asked_for(text):
            if handle in found and index not in found[handle].retrieved_by:
                found[handle].retrieved_by.append(index)
    if is_known is not None:
        for original in found.values():
            original.is_dangling = not is_known(original.handle)
    return list(found.values())


def dangling(found: list[Original]) -> list[Original]:
    """The originals whose bytes are not held."""
    return [original for original in found if original.is_dangling]


def _handles_asked_for(call_text: str) -> list[str]:
    name, arguments = call_arguments(call_text)
    if name is None or name.rpartition("__")[2] not in RETRIEVE_TOOLS or not isinstance(arguments, dict):
        return []
    named = [arguments.get("hash"), arguments.get("id")]
    listed = arguments.get("summaryIds")
    named.extend(listed if isinstance(listed, list) else [])
    return [value.lower() if _HEX.fullmatch(value) else value for value in named if isinstance(value, str)]
