"""One message with the whole of its texts."""

from __future__ import annotations

from dataclasses import dataclass, replace

from django.urls import reverse

from contextviz.events.message import Block, Message
from contextviz.store.queries import messages
from contextviz.store.values import NotFound
from contextviz.web.pages.held import READER
from contextviz.web.pages.session.place import Place
from contextviz.web.pages.session.shown import Shown, beginning, shown
from contextviz.web.pages.session.traces import OriginalLink, held_among, trace_of, with_state

PAGE_BYTES = 900_000  # no reply is larger than a megabyte unless it is a download
PAGE_BLOCKS = 200


@dataclass(frozen=True, slots=True)
class BlockPart:
    """One block of the message."""

    # Its position, from 0, and what it is
    index: int
    kind: str
    tool: str
    # Its hash, for the originals page
    sha256: str
    # Estimated tokens, bytes
    tokens: int | None
    size: int
    text: Shown
    # The text as a file
    download: str
    # What a context engine left in it, in words, and the originals that its markers name
    says: str
    originals: tuple[OriginalLink, ...]


@dataclass(frozen=True, slots=True)
class MessagePage:
    """The page of one message."""

    session_id: int
    # Its number, from 1, its role, and the source's own word for it
    number: int
    role: str
    native_role: str
    # File and line it was read from; 0 where there is no line
    file: str
    line: int | None
    blocks: tuple[BlockPart, ...]
    # Blocks that are not listed
    more: int
    # The transcript at this message
    back: str


def message_page(session_id: int, index: int, only: int | None = None) -> MessagePage:
    """The message with its texts, up to a megabyte in all; `only` one block of it. Raises NotFound."""
    message = messages.get_message(session_id, index)
    if only is not None and not 0 <= only < len(message.blocks):
        raise NotFound(f"Message {index + 1} of session {session_id} has no block {only + 1}.")
    chosen = list(enumerate(message.blocks))[:PAGE_BLOCKS] if only is None else [(only, message.blocks[only])]
    texts = READER.raw([block.text for _, block in chosen if block.text.size])
    share = PAGE_BYTES // max(1, len(chosen))
    parts = tuple(
        _part(session_id, message, at, block, texts.get(block.text.digest, b""), share) for at, block in chosen
    )
    held = held_among(link for part in parts for link in part.originals)
    parts = tuple(replace(part, originals=with_state(part.originals, held)) for part in parts)
    return MessagePage(
        session_id, index + 1, message.role, message.native_role, message.file, message.line, parts,
        len(message.blocks) - len(chosen) if only is None else 0, Place(session_id, message.agent).at_message(index),
    )  # fmt: skip


def _part(session_id: int, message: Message, at: int, block: Block, data: bytes, share: int) -> BlockPart:
    download = reverse("block_download", args=[session_id, message.index, at])
    text = shown(
        beginning(data, share), chars=block.text.chars, limit=share, most_bytes=share, url=download,
        unmask=reverse("unmask_block", args=[session_id, message.index, at]),
    )  # fmt: skip
    tokens = None if block.kind == "image" else block.text.estimated_tokens
    kind = block.kind.replace("_", " ")
    trace = trace_of(message, block, data)
    return BlockPart(
        at, kind, block.tool_name or "", block.text.sha256, tokens, block.text.size, text, download, trace.says,
        trace.originals,
    )  # fmt: skip


def block_text(session_id: int, index: int, block: int) -> bytes:
    """The whole text of a block as bytes of UTF-8; raises NotFound."""
    message = messages.get_message(session_id, index)
    if not 0 <= block < len(message.blocks):
        raise NotFound(f"Message {index + 1} of session {session_id} has no block {block + 1}.")
    ref = message.blocks[block].text
    data = READER.raw([ref]).get(ref.digest)
    if data is None:
        raise NotFound("The text of this block is no longer held.")
    return data
