"""When an artefact counts where it stands, and what the item that holds it then is (engines.md 8.2, 8.3).

All of it is content, and people quote content. So what is a whole message must be the whole message, by the role that
its engine gives it; what is a line must be a line of a tool result, outside of code blocks; and in what a person or a
model wrote a marker counts only where the text beside it is as long as the marker says.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from contextviz.events.artefacts.grammar import Artefact, ArtefactKind
from contextviz.events.message import Kind, Role
from contextviz.events.snapshot import ItemState

Engine = Literal["openvole", "flowctx", "cortext", "lossless-claw"]
Word = Literal["summary", "placeholder", "tool_result", "bridge", "recalled", "handoff", "working", "focus_brief"]
_TOOLS_OWN: frozenset[Kind] = frozenset({"tool_result"})
_WRITTEN: frozenset[Kind] = frozenset({"text", "system", "injected", "summary"})
_ENGINES: dict[str, Engine] = {
    "openvole": "openvole",
    "flowctx": "flowctx",
    "cortext": "cortext",
    "lcm": "lossless-claw",
}
ENGINE_NAMES: dict[Engine, str] = {
    "openvole": "OpenVole",
    "flowctx": "flowctx",
    "cortext": "Cortext",
    "lossless-claw": "lossless-claw",
}


@dataclass(frozen=True, slots=True)
class Segment:
    """What an item is that an artefact fills: its kind (None: it stays what it was), its state, and the segment's
    kind in the words of engines.md 8.2."""

    kind: Kind | None
    state: ItemState
    word: Word


_SEGMENTS: dict[ArtefactKind, Segment] = {
    "openvole_summary": Segment("summary", "summary", "summary"),
    "flowctx_summary": Segment("summary", "summary", "summary"),
    "lcm_summary": Segment("summary", "summary", "summary"),
    "cortext_bridge": Segment("injected", "injected", "bridge"),
    "cortext_memory": Segment("injected", "injected", "recalled"),
    "flowctx_handoff": Segment("injected", "injected", "handoff"),
    "flowctx_scratchpad": Segment("injected", "injected", "working"),
    "lcm_focus_brief": Segment("injected", "injected", "focus_brief"),
    "flowctx_marker": Segment(None, "stub", "placeholder"),
    "lcm_file": Segment(None, "stub", "placeholder"),
    "lcm_tool_output": Segment(None, "stub", "placeholder"),
    "openvole_shrunk": Segment(None, "truncated", "tool_result"),
}
_BY_USER: frozenset[ArtefactKind] = frozenset(
    {"flowctx_summary", "flowctx_handoff", "flowctx_scratchpad", "lcm_summary", "lcm_focus_brief", "cortext_bridge"}
)


def engine_of(kind: ArtefactKind) -> Engine:
    """The engine that writes artefacts of a kind."""
    return _ENGINES[kind.partition("_")[0]]


def segment_of(artefact: Artefact) -> Segment | None:
    """What an item becomes that is filled by `artefact`; None where the item holds more than it, and stays as it is."""
    segment = _SEGMENTS.get(artefact.kind)
    fills = artefact.is_whole or artefact.kind == "flowctx_marker"
    return segment if fills else None


def counts_in(artefact: Artefact, *, role: Role, kind: Kind, is_human: bool, tool_name: str | None = None) -> bool:
    """Whether `artefact` counts in a block or item of that role and kind. `is_human` says that a person is taken to
    have written it (engines hand their summaries and bridges to the model as a user's message)."""
    is_result = kind in _TOOLS_OWN or role == "tool"
    if artefact.kind in ("flowctx_marker", "lcm_file", "lcm_tool_output"):
        return _line_counts(artefact, is_result=is_result, is_written=kind in _WRITTEN, is_human=is_human, role=role)
    if artefact.kind == "openvole_shrunk":
        return is_result and (artefact.label == tool_name or (tool_name is None and artefact.fits))
    if is_result or kind not in _WRITTEN:
        return False
    if artefact.kind == "openvole_summary":
        return role == "assistant" or not is_human
    if artefact.kind in _BY_USER and role == "user":
        return artefact.is_whole
    # The host puts an engine's addition before its system prompt (engines.md 1.2), so there it need not be alone.
    if role in ("system", "developer"):
        return artefact.is_whole or (artefact.fits and not artefact.is_fenced)
    return artefact.kind == "cortext_memory" and artefact.is_whole and role == "user" and not is_human


def _line_counts(artefact: Artefact, *, is_result: bool, is_written: bool, is_human: bool, role: Role) -> bool:
    if is_result:
        # A hash that ends in an ellipsis is how documentation shows a marker.
        return artefact.fits or (artefact.handle is not None and not artefact.is_fenced)
    if not is_written or role == "assistant":
        return False
    if artefact.kind == "flowctx_marker":
        return artefact.fits or (not is_human and role == "user" and not artefact.is_fenced)
    return artefact.fits and not artefact.is_fenced


def reason_for(artefact: Artefact) -> str:
    """Why an item is there that holds `artefact`, in a few words: the segment's kind first."""
    name = ENGINE_NAMES[engine_of(artefact.kind)]
    makers = {
        "openvole_summary": f"summary of {_number(artefact.count)} messages by {name}",
        "flowctx_summary": f"summary of turns {_turns(artefact)} by {name}",
        "lcm_summary": f"summary of depth {artefact.depth if artefact.depth is not None else '?'} by {name}",
        "cortext_bridge": f"bridge over what {name} archived",
        "cortext_memory": f"memory recalled by {name}",
        "flowctx_handoff": f"hand-off note by {name}",
        "flowctx_scratchpad": f"working memory kept by {name}",
        "lcm_focus_brief": f"focus brief by {name}",
        "flowctx_marker": f"placeholder by {name}: {_number(artefact.original_chars)} characters compressed to "
        f"{_number(artefact.kept_chars)}",
        "lcm_file": f"placeholder by {name}: a file of {_number(artefact.original_bytes)} bytes",
        "lcm_tool_output": f"placeholder by {name}: a result of {_number(artefact.original_bytes)} bytes",
        "openvole_shrunk": f"shrunk by {name}"
        + (f" from {_number(artefact.original_chars)} characters" if artefact.original_chars else ""),
    }
    return makers[artefact.kind]


def _number(value: int | None) -> str:
    return "—" if value is None else f"{value:,}"


def _turns(artefact: Artefact) -> str:
    return f"{artefact.turns[0]:,}–{artefact.turns[1]:,}" if artefact.turns else "—"
