"""Sessions that grow now, as agents would tell of them: posted, read, and on the Live page."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone

from contextviz.services.inbox.events import Post, receive_events
from contextviz.services.ingest import digest
from contextviz.store.models import InboxStreamRecord

Event = tuple[str, dict[str, Any]]


def tell(name: str, *events: Event, first: int = 0, at: datetime | None = None, **chosen: Any) -> int:
    """Post events (type, data) of a session, numbered from `first`, and read them; the session's id. `at` is the time
    of the last of them, a second apart."""
    now = timezone.now()
    end = at or now
    lines = [
        json.dumps({"v": 1, "seq": first + place, "ts": (end - timedelta(seconds=len(events) - 1 - place)).isoformat(),
                    "engine": "tidy", "type": kind, "data": data}).encode() + b"\n"
        for place, (kind, data) in enumerate(events)
    ]  # fmt: skip
    post = Post()
    receive_events(name, lines, post, now=now, **chosen)
    assert post.refused == 0, post.rejected
    for job_id in post.jobs:
        assert digest(job_id)
    session_id = InboxStreamRecord.objects.get(pk=post.stream).session_id
    assert session_id is not None
    return session_id


def said(number: int, role: str, text: str) -> Event:
    """A message."""
    return "message.ingested", {"msg": {"id": f"m{number}", "seq": number, "role": role}, "text": text}


def asked(prompt: int, *, cached: int = 0) -> Event:
    """A model call with its usage."""
    return "llm.call", {"purpose": "brain", "model": "claude-sonnet-4-5", "inputTokens": prompt, "cacheRead": cached,
                        "outputTokens": 40}  # fmt: skip


def turn(number: int, text: str, prompt: int) -> list[Event]:
    """A question, a call, an answer."""
    return [
        said(2 * number, "user", text), asked(prompt, cached=prompt // 2),
        said(2 * number + 1, "assistant", f"done: {text}"),
    ]  # fmt: skip


def checked(current: int, threshold: int) -> Event:
    """A check after which nothing was compacted."""
    return "compaction.evaluated", {"current": current, "threshold": threshold, "should": False, "trigger": "ratio"}


BEGAN: Event = ("compaction.started", {"strategy": "llm"})


def ended(before: int, after: int) -> Event:
    """The end of a compaction."""
    return "compaction.finished", {"tokensBefore": before, "tokensAfter": after, "compacted": True, "strategy": "llm"}


def three_sessions() -> dict[str, int]:
    """One that compacts, one that failed close to its threshold, one that was compacted and waits; their ids."""
    cart = [event for n in range(6) for event in turn(n, "Migrate the cart to typed events", 40_000 + 21_000 * n)]
    triage = [event for n in range(5) for event in turn(n, "Nightly triage: queue depth", 110_000 + 12_500 * n)]
    ops = [event for n in range(4) for event in turn(n, "Weekly ops digest", 70_000 + 20_000 * n)]
    failed: Event = ("engine.error", {"message": "the summary came back empty", "phase": "summarise"})
    spawned: Event = ("agent.spawn", {"id": "log-reader", "task": "read the logs", "mode": "isolated"})
    return {
        "cart": tell("cart", *cart, checked(145_000, 160_000), BEGAN),
        "triage": tell("triage", *triage, checked(160_000, 167_000), failed),
        "ops": _in_two(ops, [spawned, BEGAN, ended(130_000, 41_000), *turn(4, "Weekly ops digest", 43_000)]),
    }


def _in_two(first: list[Event], then: list[Event]) -> int:
    """A session that was there before the rest of it is told."""
    tell("ops", *first)
    return tell("ops", *then, first=len(first))
