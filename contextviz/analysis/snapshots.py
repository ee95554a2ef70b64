"""Context snapshots as `contextviz inspect --snapshots` prints them (inspect.md)."""

from __future__ import annotations

from collections.abc import Iterator

from contextviz.events.evidence import check_as_dict
from contextviz.events.session import Transcript
from contextviz.events.snapshot import ContextItem
from contextviz.events.text import TextPool
from contextviz.events.times import iso

Json = dict[str, object]


def snapshot_lines(transcript: Transcript, pool: TextPool) -> Iterator[Json]:
    """One object for every model call whose window is known, in the order of the calls."""
    for position, snapshot in enumerate(transcript.log.snapshots):
        call = transcript.calls[snapshot.call_index]
        yield {
            "session": transcript.session.id,
            "agent": call.agent,
            "call": snapshot.call_index + 1,
            "response_id": call.response_id,
            "at": iso(call.at),
            "basis": snapshot.basis,
            "check": None if snapshot.check is None else check_as_dict(snapshot.check),
            "items": [item_json(item, pool) for item in transcript.log.window(position)],
        }


def item_json(item: ContextItem, pool: TextPool) -> Json:
    """One item; `tokens` are estimated by the pool's estimator, null for images (their size is not text)."""
    return {
        "role": item.role,
        "kind": item.kind,
        "entry": item.entry,
        "text": pool.get(item.text),
        "tokens": None if item.kind == "image" else item.text.estimated_tokens,
        "basis": "estimated" if item.kind != "image" else "unknown",
    }
