"""A block as flowctx projects it: a shorter view with a marker by which the original comes back (section 3.2)."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Literal

from contextviz.engines.flowctx.detection import ContentType
from contextviz.engines.flowctx.reducers import structured
from contextviz.engines.flowctx.store import Store
from contextviz.events.javascript import length16, round_half_up, slice16
from contextviz.tokens.estimators import cp_weighted

Route = Literal["structured", "head-tail"]
PORT_NAME, SEED_NAME = "flowctx-dsh", "flowctx"
HEAD_SHARE, TAIL_SHARE = 0.6, 0.3
# Bounded, so that a text full of beginnings costs no more than its length.
_MARKER = re.compile(
    r"\[flowctx(?:-dsh)?: (?P<kind>[^\]\n]{0,120}?) compressed (?P<original>[0-9]{1,15})→(?P<kept>[0-9]{1,15}) chars\b"
    r'[^\]\n]{0,200}?hash="(?P<hash>[0-9a-f…]{1,64})"',
    re.ASCII,
)


@dataclass(frozen=True, slots=True)
class Marker:
    """What a marker says. Without a content type the middle was left out; sizes are UTF-16 units."""

    kind: str
    content_type: str | None
    original_chars: int
    kept_chars: int
    hash: str

    @property
    def route(self) -> Route:
        """Whether a reducer made the view, or head and tail were kept."""
        return "head-tail" if self.content_type is None else "structured"


@dataclass(frozen=True, slots=True)
class Projection:
    """A block as it is given. Where it was not compressed, only `text`, the tokens and the size say anything."""

    text: str
    original_chars: int
    original_tokens: int
    tokens: int
    content_type: ContentType | None = None
    route: Route | None = None
    hash: str | None = None
    kept_chars: int | None = None
    marker: str | None = None

    @property
    def is_compressed(self) -> bool:
        """Whether the text is another than the block's."""
        return self.hash is not None


def marker(
    hash_: str, original_chars: int, kept_chars: int, ttl_seconds: float, kind: str, *, name: str = PORT_NAME
) -> str:
    """The line that stands for what was left out; the seed's is shorter and tells no expiry."""
    if name == SEED_NAME:
        bare = kind.rpartition(":")[2]
        return f'[flowctx: {bare} compressed {original_chars}→{kept_chars} chars · flowctx_retrieve(hash="{hash_}")]'
    return (
        f"[{name}: {kind} compressed {original_chars}→{kept_chars} chars. Retrieve original via"
        f' flowctx_retrieve(hash="{hash_}"). Expires in ~{round_half_up(ttl_seconds / 60)}m.]'
    )


def parse_marker(text: str) -> Marker | None:
    """The first marker in a text, of either name; None where there is none."""
    found = _MARKER.search(text)
    if found is None:
        return None
    kind, _, content_type = found["kind"].partition(":")
    return Marker(kind, content_type or None, int(found["original"]), int(found["kept"]), found["hash"])


def project(
    block: str, store: Store, *, threshold: float, ttl_seconds: float, kind: str = "block",
    tool_name: str | None = None, exit_code: int = 0, name: str = PORT_NAME,
) -> Projection:  # fmt: skip
    """Project a block of more than `threshold` tokens; the store keeps its original. Head and tail are sized in
    characters from a number of tokens, so for CJK they can be longer than the block."""
    tokens, length = cp_weighted(block), length16(block)
    if tokens <= threshold:
        return Projection(block, length, tokens, tokens)
    handle = store.store(block, ttl_seconds)
    found = structured(block, tool_name, exit_code)
    if found.text is not None:
        kept = length16(found.text)
        line = marker(handle, length, kept, ttl_seconds, f"{kind}:{found.content_type}", name=name)
        text = f"{found.text}\n\n{line}"
        route: Route = "structured"
    else:
        most = math.floor(threshold * 4)
        head = slice16(block, 0, math.floor(most * HEAD_SHARE))
        # The port's slice begins before the block where the tail is longer than it: then from the end again.
        tail = slice16(block, length - math.floor(most * TAIL_SHARE))
        kept = length16(head) + length16(tail)
        line = marker(handle, length, kept, ttl_seconds, kind, name=name)
        text = f"{head}\n\n{line}\n\n{tail}"
        route = "head-tail"
    return Projection(text, length, tokens, cp_weighted(text), found.content_type, route, handle, kept, line)
