"""What context engines left in a message, as its row says it: in words, with links to the originals it names."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from contextviz.events.artefacts import counts_in, find_artefacts, reason_for, standing_markers
from contextviz.events.message import Block, Message
from contextviz.store.queries.texts import find_handles
from contextviz.web.pages.links import original_url

MOST_LINKS = 5
MOST_BYTES = 1_000_000
LINK_BYTES = 260  # of HTML for one link
_SIGNS = (b"[flowctx", b"[LCM ", b"[Context Summary ", b"[LLM Summary ", b"[Earlier conversation was archived",
          b"<flowctx-h", b'<summary id="sum_', b"<cortext_memory>", b"<working_memory ", b"<focus_brief ")  # fmt: skip
SHORT_HANDLE = 24


@dataclass(frozen=True, slots=True)
class OriginalLink:
    """An original that a marker or reference in a message names."""

    # The handle as it is written, and where it is looked up
    handle: str
    url: str
    # Whether its text is held here; a handle that names nothing held dangles
    is_held: bool = False

    @property
    def short(self) -> str:
        """The handle, cut where it is a whole hash."""
        return self.handle if len(self.handle) <= SHORT_HANDLE else self.handle[:SHORT_HANDLE] + "…"


@dataclass(frozen=True, slots=True)
class Trace:
    """What one block holds of engines' artefacts: in words ("" for none that counts), and the originals named."""

    says: str = ""
    originals: tuple[OriginalLink, ...] = ()


NO_TRACE = Trace()


def trace_of(message: Message, block: Block, data: bytes) -> Trace:
    """The artefacts of a block by its text. Texts above a megabyte are not looked through."""
    has_sign = len(data) <= MOST_BYTES and any(sign in data for sign in _SIGNS)
    if not has_sign and block.kind != "tool_result":
        return NO_TRACE
    text = data[:MOST_BYTES].decode("utf-8", errors="ignore") if has_sign or len(data) < 2000 else ""
    role = "tool" if block.kind == "tool_result" else message.role
    counted = [
        one for one in find_artefacts(text)
        if counts_in(one, role=role, kind=block.kind, is_human=message.is_human, tool_name=block.tool_name)
    ]  # fmt: skip
    handles = dict.fromkeys(
        one.handle for one in (standing_markers(text) if has_sign else ()) if one.kind != "lcm_summary"
    )
    links = tuple(OriginalLink(handle, original_url(handle)) for handle in list(handles)[:MOST_LINKS])
    return Trace(reason_for(counted[0]) if counted else "", links)


def held_among(links: Iterable[OriginalLink]) -> frozenset[str]:
    """The handles of these links whose texts are held. One query where there are links, else none."""
    handles = [link.handle for link in links]
    return frozenset(find_handles(handles)) if handles else frozenset()


def with_state(links: tuple[OriginalLink, ...], held: frozenset[str]) -> tuple[OriginalLink, ...]:
    """The links, each saying whether it is held."""
    return tuple(replace(link, is_held=link.handle in held) for link in links)
