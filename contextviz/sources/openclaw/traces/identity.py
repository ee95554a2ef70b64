"""What each message of a log is: an entry of the transcript, a whole body that no entry holds, or only a role."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cache
from typing import Any

import orjson

from contextviz.events.evidence import TracedMessage
from contextviz.events.message import Role
from contextviz.events.snapshot import ContextItem
from contextviz.events.text import TextPool
from contextviz.sources.openclaw import content
from contextviz.sources.openclaw.traces.fingerprints import Imprints, is_at_some_moment, moments_between
from contextviz.sources.openclaw.traces.values import SessionTrace, TracedRow
from contextviz.sources.openclaw.window import COMPACTION_HEAD, COMPACTION_TAIL
from contextviz.sources.values import as_dict, as_list, as_text

Json = dict[str, Any]
CARRIER = "runtimeContextCarrier"
CARRIED = "<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>>"
MOST_CARRIERS = 8
# Hashes tried for one session, about five seconds' worth; what is not told by then is told by role and place.
MOST_TRIES = 5_000_000
# A run's own messages are stamped a little before its first row is written.
EARLIER = timedelta(seconds=1)
LOGS = {"cache_trace": "cache trace", "trajectory": "trajectory"}
_ROLES: dict[str, Role] = {"assistant": "assistant", "toolResult": "tool", "system": "system"}


@dataclass(slots=True)
class Identities:
    """Messages of one session's logs, told by their fingerprints; what one was found to be is remembered.

    `carriers` are the texts that the client put at the end of requests, where a trace has them whole.
    """

    pool: TextPool
    trace: SessionTrace
    imprints: Imprints
    known: dict[bytes, TracedMessage] = field(default_factory=dict)
    carriers: list[str] = field(default_factory=list)
    tries: int = MOST_TRIES

    def __post_init__(self) -> None:
        for body in self.trace.bodies.values():
            text = _carried(orjson.loads(body)) if CARRIED.encode() in body else None
            if text is not None and text not in self.carriers and len(self.carriers) < MOST_CARRIERS:
                self.carriers.append(text)

    def messages(self, row: TracedRow) -> Iterator[TracedMessage]:
        """The messages of a row, in order."""
        for place, (role, found) in enumerate(zip(row.roles, row.prints, strict=True)):
            is_last = place == len(row.roles) - 1
            yield self._message(row, role, found, is_last=is_last)

    def _message(self, row: TracedRow, role: str | None, found: bytes | None, *, is_last: bool) -> TracedMessage:
        if found is None:
            return _by_role(_role(role))
        known = self.known.get(found)
        if known is None:
            known = self.known[found] = self._identified(row, role, found, is_last=is_last)
        return known

    def _identified(self, row: TracedRow, role: str | None, found: bytes, *, is_last: bool) -> TracedMessage:
        entry = self.imprints.entries.get(found)
        if entry is not None:
            return TracedMessage(_role(role), entry)
        packed = self.trace.bodies.get(found)
        if packed is not None:
            return self._whole(orjson.loads(packed), row)
        if role == "user" and row.run is not None:
            entry = self._opened_by(row, found)
            if entry is not None:
                return TracedMessage("user", entry)
            text = self._carried_text(row, found) if is_last else None
            if text is not None:
                return TracedMessage("user", None, (self._client_item(text),), is_client=True)
        return TracedMessage(_role(role))

    def _opened_by(self, row: TracedRow, found: bytes) -> str | None:
        entry, text = self.imprints.prompts.get(row.run or "", (None, ""))
        body = {"role": "user", "content": text}
        return entry if entry is not None and self._is_of_run(row, found, body) else None

    def _carried_text(self, row: TracedRow, found: bytes) -> str | None:
        for text in self.carriers:
            body = {"role": "user", "content": [{"type": "text", "text": text}], CARRIER: True}
            if self._is_of_run(row, found, body):
                return text
        return None

    def _is_of_run(self, row: TracedRow, found: bytes, body: Json) -> bool:
        moments = moments_between(self.trace.started.get(row.run or "", row.at) - EARLIER, row.at)
        self.tries -= len(moments)
        return self.tries > 0 and is_at_some_moment(found, body, moments)

    def _whole(self, body: Json, row: TracedRow) -> TracedMessage:
        role = as_text(body.get("role")) or "user"
        carried = _carried(body)
        if carried is not None:
            return TracedMessage("user", None, (self._client_item(carried),), is_client=True)
        pool, reason = self.pool, f"in the {LOGS[row.source]}, not in the transcript"
        if role == "compactionSummary":
            text = pool.put(COMPACTION_HEAD + (as_text(body.get("summary")) or "") + COMPACTION_TAIL)
            return TracedMessage("user", None, (ContextItem("user", "summary", text, state="summary", reason=reason),))
        blocks = (
            content.result_blocks(body, pool) if role == "toolResult" else content.blocks_of(body.get("content"), pool)
        )
        items = tuple(
            ContextItem(
                _role(role) or "user", block.kind, block.text, reason=reason, is_error=block.is_error,
                tool_name=block.tool_name, tool_call_id=block.tool_call_id, media_bytes=block.media_bytes,
            )
            for block in blocks
        )  # fmt: skip
        return TracedMessage(_role(role), None, items)

    def _client_item(self, text: str) -> ContextItem:
        reason = "runtime context at the end of the request, from the cache trace"
        return ContextItem("user", "injected", self.pool.put(text), state="injected", reason=reason)


@cache
def _by_role(role: Role | None) -> TracedMessage:
    """A message of which no more is known; one for all of them, since a cut window has thousands."""
    return TracedMessage(role)


def _role(word: str | None) -> Role | None:
    return None if word is None else _ROLES.get(word, "user")


def _carried(body: Json) -> str | None:
    """The text of a message that the client puts into one request alone; None for any other message."""
    if body.get("role") != "user":
        return None
    parts = as_list(body.get("content"))
    text = as_text(as_dict(parts[0]).get("text")) if len(parts) == 1 else as_text(body.get("content"))
    is_carrier = body.get(CARRIER) is True or (text or "").startswith(CARRIED)
    return text if is_carrier else None
