"""What an artefact says happened: an event of the recorded run (engines.md 8.2).

It is never a compaction: an artefact proves that something was folded or compressed, not when (engines.md 8.3 takes
compactions from logs, stores and the host).
"""

from __future__ import annotations

from contextviz.events.artefacts.grammar import Artefact, ArtefactKind
from contextviz.events.artefacts.rules import engine_of
from contextviz.events.engine_event import EngineEvent, EventType, Quality, Scalar
from contextviz.events.message import Message

_TYPES: dict[ArtefactKind, EventType] = {
    "openvole_summary": "summary.created",
    "flowctx_summary": "summary.created",
    "lcm_summary": "summary.created",
    "flowctx_marker": "block.compressed",
    "lcm_file": "block.compressed",
    "lcm_tool_output": "block.compressed",
    "openvole_shrunk": "block.compressed",
    "cortext_bridge": "window.moved",
    "cortext_memory": "recall.injected",
    "flowctx_handoff": "recall.injected",
    "flowctx_scratchpad": "recall.injected",
    "lcm_focus_brief": "recall.injected",
}
# The bridge's fixed length tells the mode (engines.md 4.5).
_MODES = {162: "hybrid", 194: "full"}
_SUMMARY_KINDS = {"openvole_summary": "rolling"}
MOST_SOURCES = 50


def event_of(artefact: Artefact, message: Message, block: int) -> EngineEvent:
    """The event that `artefact` shows in block number `block` of `message`.

    `data` has the names of section 8.2; `artefact`, `message` and `block` say what was recognised and where. Sizes
    are the artefact's own claims. Its quality is "exact" where those fit the text, else "derived".
    """
    data: dict[str, Scalar] = {"artefact": artefact.kind, "message": message.index, "block": block}
    makers = {
        "summary.created": _summary, "block.compressed": _compressed, "window.moved": _moved,
        "recall.injected": _recalled,
    }  # fmt: skip
    kind = _TYPES[artefact.kind]
    data |= makers[kind](artefact, message, block)
    quality: Quality = "exact" if artefact.fits else "derived"
    return EngineEvent(kind, engine_of(artefact.kind), message.at, message.file, message.line, "disk", quality, data)


def retrieval(engine: str, tool: str, key: str | None, message: Message, block: int) -> EngineEvent:
    """The event of a tool call that gets something back; whether it brought it is not said yet (`hit` is None)."""
    data: dict[str, Scalar] = {
        "artefact": "retrieval", "message": message.index, "block": block, "tool": tool, "key": key, "hit": None,
    }  # fmt: skip
    return EngineEvent("retrieve", engine, message.at, message.file, message.line, "disk", "exact", data)


def _summary(artefact: Artefact, message: Message, block: int) -> dict[str, Scalar]:
    kind = _SUMMARY_KINDS.get(artefact.kind) or artefact.label or ("condensed" if artefact.depth else "leaf")
    return {
        "id": artefact.handle or f"summary-{message.blocks[block].text.handle[:12]}", "kind": kind,
        "depth": artefact.depth or 0, "count": artefact.count,
        "turn_start": artefact.turns[0] if artefact.turns else None,
        "turn_end": artefact.turns[1] if artefact.turns else None,
        "sources": " ".join(artefact.sources[:MOST_SOURCES]),
    }  # fmt: skip


def _compressed(artefact: Artefact, _message: Message, _block: int) -> dict[str, Scalar]:
    if artefact.kind == "flowctx_marker":
        base, _, content_type = (artefact.label or "").partition(":")
        data: dict[str, Scalar] = {
            "hash": artefact.handle, "label": base, "contentType": content_type or None,
            "route": "structured" if content_type else "head-tail", "reversible": artefact.handle is not None,
        }  # fmt: skip
    elif artefact.kind == "openvole_shrunk":
        route = "shrink" if artefact.original_chars is not None else "trim-pass-1"
        data = {"hash": None, "label": artefact.label, "contentType": None, "route": route, "reversible": False}
    else:
        data = {"hash": artefact.handle, "label": artefact.label, "contentType": None, "route": "file",
                "reversible": True, "original_bytes": artefact.original_bytes}  # fmt: skip
    return data | {"original_chars": artefact.original_chars, "kept_chars": artefact.kept_chars}


def _moved(artefact: Artefact, _message: Message, _block: int) -> dict[str, Scalar]:
    return {"mode": _MODES.get(artefact.end - artefact.start)}


def _recalled(artefact: Artefact, message: Message, _block: int) -> dict[str, Scalar]:
    origins = {"flowctx_scratchpad": "working", "flowctx_handoff": "handoff", "lcm_focus_brief": "focus_brief"}
    is_system = message.role in ("system", "developer")
    place = "user-message" if not is_system else "system-section" if artefact.is_whole else "system-prefix"
    return {
        "origin": origins.get(artefact.kind, "recalled"), "position": place, "chars": artefact.end - artefact.start,
        "id": artefact.handle,
    }  # fmt: skip
