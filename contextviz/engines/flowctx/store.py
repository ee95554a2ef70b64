"""Where flowctx keeps originals, and the working memory that a model edits (section 3.6). Both are in memory: rows of
flowctx.sqlite go in and come out as values, since engines read no files."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from contextviz.engines.flowctx.clips import digest
from contextviz.events.javascript import length16, slice16
from contextviz.events.text import HANDLE_LENGTH

REFS, NODES, SCRATCHPAD = "refs", "summary-nodes", "scratchpad"
MOST_ENTRIES = 500
Clock = Callable[[], int]


def hash_of(text: str) -> str:
    """The handle of a text: the first 24 hex digits of its SHA-256."""
    return digest(text, HANDLE_LENGTH)


@dataclass(frozen=True, slots=True)
class Row:
    """A row of `flowctx_kv`. Times are milliseconds since 1970; without an expiry it stays."""

    ns: str
    key: str
    value: str
    expires_at_ms: int | None
    updated_at_ms: int


class Store:
    """Originals by hash: at most `most` in memory, the oldest first out, each for its time; and the rows behind them
    where the engine has a folder for its state (`durable`). `clock` gives milliseconds."""

    def __init__(self, clock: Clock, *, most: int = MOST_ENTRIES, durable: bool = False) -> None:
        self._clock = clock
        self._most = most
        self._durable = durable
        self._held: dict[str, tuple[str, float, float]] = {}  # text, stored at, for how long
        self._order: list[str] = []
        self._next_end = math.inf  # no entry ends before, so no sweep is needed before
        self.rows: dict[tuple[str, str], Row] = {}

    @classmethod
    def of_rows(cls, rows: Iterable[Row], clock: Clock) -> Store:
        """A store that was opened again: what is in its rows, nothing in memory."""
        store = cls(clock, durable=True)
        store.rows = {(row.ns, row.key): row for row in rows}
        return store

    def store(self, text: str, ttl_seconds: float) -> str:
        """Keep a text for `ttl_seconds`; its hash. With 0 or less a row has ended at once, and memory has no end."""
        name = hash_of(text)
        now = self._clock()
        self._hold(name, text, now, ttl_seconds * 1000)
        if self._durable:
            ends = now + max(0, int(ttl_seconds * 1000))
            self.rows[REFS, name] = Row(REFS, name, text, ends, now)
        return name

    def retrieve(self, name: str) -> str | None:
        """The text behind a hash, byte for byte; None where it ended or never was."""
        now = self._clock()
        held = self._held.get(name)
        if held is not None:
            text, at, ttl = held
            if not 0 < ttl < now - at:
                return text
            del self._held[name]
        text_or_none = self.value(REFS, name)
        if text_or_none is not None:
            self._hold(name, text_or_none, now, math.inf)
        return text_or_none

    def put(self, ns: str, key: str, value: str) -> None:
        """Keep a value without an end, where there are rows."""
        if self._durable:
            self.rows[ns, key] = Row(ns, key, value, None, self._clock())

    def value(self, ns: str, key: str) -> str | None:
        """What a row holds; one that has ended is deleted and holds nothing."""
        row = self.rows.get((ns, key))
        if row is None:
            return None
        if row.expires_at_ms is not None and self._clock() >= row.expires_at_ms:
            del self.rows[ns, key]
            return None
        return row.value

    def __len__(self) -> int:
        return len(self._held)

    def _hold(self, name: str, text: str, now: float, ttl: float) -> None:
        if name not in self._held:
            self._order.append(name)
        self._held[name] = (text, now, ttl)
        if ttl > 0:
            self._next_end = min(self._next_end, now + ttl)
        while len(self._order) > self._most:
            self._held.pop(self._order.pop(0), None)
        if now > self._next_end:
            self._held = {key: one for key, one in self._held.items() if not 0 < one[2] < now - one[1]}
            self._next_end = min((at + ttl for _, at, ttl in self._held.values() if ttl > 0), default=math.inf)


class Scratchpad:
    """A session's working memory: text of at most `most` UTF-16 units."""

    def __init__(self, most: float, text: str = "") -> None:
        self._most = int(most)
        self.text = text

    def append(self, text: str) -> str:
        """A line more; the text as it is then."""
        return self.rethink(f"{self.text}\n{text}" if self.text else text)

    def replace(self, old: str, new: str) -> str:
        """The first `old` by `new`, whose dollar signs have their meaning in JavaScript."""
        start = self.text.find(old)
        if start < 0:
            return self.rethink(self.text)
        before, after = self.text[:start], self.text[start + len(old) :]
        return self.rethink(before + _expanded(new, old, before, after) + after)

    def rethink(self, text: str) -> str:
        """Another text instead of it, cut at the limit."""
        self.text = slice16(text, 0, self._most)
        return self.text

    def render(self) -> str | None:
        """The block that a model is given; None while it is empty."""
        if not self.text:
            return None
        return (
            f'<working_memory chars_current="{length16(self.text)}" chars_limit="{self._most}">\n'
            f"{self.text}\n</working_memory>"
        )

    def run(self, tool: str, arguments: Any) -> bool:
        """What a call of one of the three tools does; False where it is none of them."""
        given: dict[str, Any] = arguments if isinstance(arguments, dict) else {}
        if tool == "flowctx_scratch_append":
            self.append(_said(given.get("text")))
        elif tool == "flowctx_scratch_replace":
            self.replace(_said(given.get("old_text")), _said(given.get("new_text")))
        elif tool == "flowctx_scratch_rethink":
            self.rethink(_said(given.get("content")))
        else:
            return False
        return True


def arguments_of(text: str) -> dict[str, Any]:
    """The arguments of a tool call by its text, `{"name","arguments"}`; none where they are not an object."""
    try:
        call = json.loads(text)
        arguments = call.get("arguments") if isinstance(call, dict) else None
        if isinstance(arguments, str):
            arguments = json.loads(arguments)
    except (ValueError, RecursionError):
        return {}
    return arguments if isinstance(arguments, dict) else {}


def _said(value: Any) -> str:
    return "" if value is None else str(value)


def _expanded(new: str, old: str, before: str, after: str) -> str:
    """A replacement with `$$`, `$&`, `` $` `` and `$'` as `String.replace` takes them for a text."""
    parts = {"$$": "$", "$&": old, "$`": before, "$'": after}
    out, place = [], 0
    while (found := new.find("$", place)) >= 0:
        sign = new[found : found + 2]
        out.append(new[place:found] + parts.get(sign, "$"))
        place = found + (2 if sign in parts else 1)
    return "".join(out) + new[place:]
