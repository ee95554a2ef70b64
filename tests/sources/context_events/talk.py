"""A talk as an engine would tell it: two calls with their windows, a check that did not fire, a compaction."""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]


def event(seq: int, kind: str, data: Json, **more: Any) -> Json:
    stamp = f"2026-03-02T10:00:{seq:02d}.000Z"
    return {"v": 1, "seq": seq, "ts": stamp, "engine": "tidy", "origin": "log", "session": "talk-1", "type": kind,
            "data": data, **more}  # fmt: skip


def ingested(seq: int, number: int, role: str, text: str) -> Json:
    msg = {"id": f"m{number}", "seq": number, "role": role, "hash": "0" * 16}
    return event(seq, "message.ingested", {"msg": msg, "tokens": {"n": len(text) // 4, "estimator": "chars4"},
                                           "chars": len(text), "stored": True, "text": text})  # fmt: skip


def segment(kind: str, tokens: int, ref: Any = None, **more: Any) -> Json:
    return {"kind": kind, "ref": ref, "tokens": {"n": tokens, "estimator": "chars4"}, "chars": tokens * 4,
            "state": "verbatim", "protected": None, **more}  # fmt: skip


def talk() -> list[Json]:
    """Every kind of event whose place in a transcript the tests look at."""
    node = {"id": "n1", "engine_id": "tidy", "kind": "leaf", "depth": 0, "tokens": 9, "sources": ["m0", "m1"],
            "consumers": [], "cover": {"first_seq": 0, "last_seq": 1, "count": 2}, "source_tokens": 30,
            "active": True, "text": "They spoke of rain."}  # fmt: skip
    total = {"n": 30, "estimator": "chars4"}
    return [
        event(0, "session.bootstrap", {"config": {"threshold": 0.8}}),
        ingested(1, 0, "user", "Will it rain in the valley today?"),
        event(2, "context.assembled", {"budget": {"max": 1000}, "total": total, "segments": [
            segment("system", 12, text="Be brief."), segment("message", 8, {"id": "m0", "seq": 0, "role": "user"}),
            segment("reserve", 100)]}),
        event(3, "llm.call", {"purpose": "brain", "model": "small-1", "inputTokens": 120, "cacheRead": 100,
                              "outputTokens": 6}),
        ingested(4, 1, "assistant", "No rain today."),
        event(5, "compaction.evaluated", {"current": 126, "threshold": 800, "budget": 1000, "should": False,
                                          "trigger": "ratio"}),
        event(6, "summary.created", {"node": node, "level": "normal", "inputTokens": 30, "outputTokens": 9,
                                     "removedTokens": 21}),
        event(7, "compaction.started", {"strategy": "llm"}),
        event(8, "compaction.finished", {"strategy": "llm", "tokensBefore": 900, "tokensAfter": 300,
                                         "compacted": True, "reason": "by hand"}),
        event(9, "context.assembled", {"budget": {"max": 1000}, "total": total, "segments": [
            segment("system", 12, text="Be brief."), segment("summary", 9, "n1"), segment("memory", 5),
            segment("recalled", 6, text="It rained on Monday.")]}),
        event(10, "llm.call", {"purpose": "brain", "model": "small-1", "inputTokens": 40, "outputTokens": 3}),
        event(11, "topic.switch", {"id": "t1", "topic": "weather", "displayName": "Weather", "declared": True}),
        event(12, "agent.spawn", {"id": "a1", "task": "look outside", "mode": "isolated"}),
        event(13, "agent.end", {"id": "a1", "status": "ok"}),
        event(14, "engine.error", {"message": "the store was locked", "phase": "ingest"}),
    ]  # fmt: skip
