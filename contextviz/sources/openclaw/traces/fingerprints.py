"""OpenClaw's fingerprint of a message: SHA-256 of its JSON with sorted keys and no spaces (measured on 2026.9.6: all
652 whole messages of a cache trace). A message's own is made again from the transcript, so that a body which the trace
cut can still be told from another one (formats.md section I)."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import orjson

from contextviz.sources.openclaw.window import DAYS, date_prefix
from contextviz.sources.values import as_dict, as_id, as_list

Json = dict[str, Any]
MOST_MOMENTS = 20_000
# What the client takes out of tool call ids for providers that allow letters and digits alone.
_ODD = re.compile(r"[^A-Za-z0-9]")
_UNSENT = frozenset({"details"})
_OWN = frozenset({"__openclaw", "idempotencyKey"})


def canonical(value: Any) -> bytes | None:
    """A value as the client writes it for its hash; None for what JSON cannot hold."""
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    except (TypeError, ValueError, RecursionError):
        return None


def fingerprint(value: Any) -> bytes | None:
    """The fingerprint of a message."""
    body = canonical(value)
    return None if body is None else hashlib.sha256(body).digest()


@dataclass(slots=True)
class Imprints:
    """The fingerprints that a transcript's messages may have in a trace, as they are read.

    `wanted` are the trace's; `entries` maps those that were met to their entry. `runs` is the run of each answer,
    `prompts` the entry that opened each run.
    """

    wanted: frozenset[bytes] = frozenset()
    entries: dict[bytes, str] = field(default_factory=dict)
    runs: dict[str, str] = field(default_factory=dict)
    prompts: dict[str, tuple[str, str]] = field(default_factory=dict)

    def message(self, entry: str, message: Json, said_at: datetime | None) -> None:
        """Take in a message of the transcript."""
        run = as_id(as_dict(message.get("__openclaw")).get("runId"))
        if run is not None:
            self.runs[entry] = run
        if message.get("role") == "user":
            key = as_id(message.get("idempotencyKey")) or ""
            text = _dated(message.get("content"), said_at)
            if key.endswith(":user") and isinstance(text, str):
                self.prompts[key.removesuffix(":user")] = (entry, text)
        if self.wanted:
            for one in _variants(message, said_at):
                self._meet(entry, one)

    def summary(self, entry: str, record: Json, at: datetime | None) -> None:
        """Take in a compaction: the trace has its summary as a message."""
        if not self.wanted or at is None:
            return
        body = {"role": "compactionSummary", "summary": record.get("summary"), "timestamp": _millis(at)}
        self._meet(entry, {**body, "tokensBefore": record.get("tokensBefore")})

    def _meet(self, entry: str, body: Json) -> None:
        found = fingerprint(body)
        if found is not None and found in self.wanted:
            self.entries.setdefault(found, entry)


def _variants(message: Json, said_at: datetime | None) -> Iterator[Json]:
    """The forms in which a message stands in a trace: without what is never sent, its tool ids plain or cleaned, in
    later runs with the client's own fields and in its own run without."""
    base = {key: value for key, value in message.items() if key not in _UNSENT}
    if base.get("role") == "user":
        base["content"] = _dated(base.get("content"), said_at)
    cleaned = _with_plain_ids(base)
    for one in (base, cleaned) if cleaned != base else (base,):
        yield one
        if _OWN & one.keys():
            yield {key: value for key, value in one.items() if key not in _OWN}


def _dated(content: Any, said_at: datetime | None) -> Any:
    if said_at is None:
        return content
    if isinstance(content, str):
        is_dated = content.lstrip().startswith(tuple(f"[{day} " for day in DAYS))
        return content if is_dated else date_prefix(said_at) + content
    parts = as_list(content)
    first = as_dict(parts[0]) if parts else {}
    if first.get("type") != "text" or not isinstance(first.get("text"), str):
        return content
    return [{**first, "text": _dated(first["text"], said_at)}, *parts[1:]]


def _with_plain_ids(message: Json) -> Json:
    found = dict(message)
    if isinstance(found.get("toolCallId"), str):
        found["toolCallId"] = _ODD.sub("", found["toolCallId"])
    if isinstance(found.get("content"), list):
        found["content"] = [_plain_id(part) for part in found["content"]]
    return found


def _plain_id(part: Any) -> Any:
    is_call = isinstance(part, dict) and part.get("type") == "toolCall" and isinstance(part.get("id"), str)
    return {**part, "id": _ODD.sub("", part["id"])} if is_call else part


def moments_between(start: datetime, end: datetime) -> range:
    """The milliseconds from one moment to another, at most MOST_MOMENTS."""
    first = _millis(start)
    return range(first, min(_millis(end) + 1, first + MOST_MOMENTS))


def is_at_some_moment(wanted: bytes, body: Json, moments: range) -> bool:
    """Whether `wanted` is the fingerprint of `body` with one of `moments` as its time: in its own run a message carries
    the millisecond at which the run took it up, which no record holds."""
    head = canonical(body)
    if head is None or any(key > "timestamp" for key in body):
        return False
    begun = hashlib.sha256(head[:-1] + b',"timestamp":')
    for moment in moments:
        tried = begun.copy()
        tried.update(b"%d}" % moment)
        if tried.digest() == wanted:
            return True
    return False


def _millis(at: datetime) -> int:
    return round(at.timestamp() * 1000)
