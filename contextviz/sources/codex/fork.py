"""Where a forked rollout's copy of its parent ends (formats.md C.6, traps 15 and 18)."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import orjson

from contextviz.sources.codex.records import EVENT, ITEM, META, TURN, USAGE, Line
from contextviz.sources.values import as_id, as_text

# A replay is written in one go when the fork is made, so its lines are stamped within moments of each other.
BURST = timedelta(milliseconds=500)
_UUID7 = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7")
_UUID7_TIME = len("00000000-0000")
_OWN_WORDS = frozenset({"timestamp", "metadata", "internal_chat_message_metadata_passthrough"})


@dataclass(frozen=True, slots=True)
class Print:
    """A parent's line by content, without its times."""

    is_item: bool
    digest: bytes


def prints_of(lines: Iterable[Line]) -> list[Print]:
    """The parent's lines in order, as a fork can be compared with them."""
    return [_print(line) for line in lines]


def _print(line: Line) -> Print:
    kept = {key: value for key, value in line.payload.items() if key not in _OWN_WORDS}
    try:
        raw = orjson.dumps([line.kind, kept], option=orjson.OPT_SORT_KEYS)
    except orjson.JSONEncodeError:
        raw = repr((line.kind, kept)).encode("utf-8", errors="replace")
    return Print(line.kind == ITEM, hashlib.blake2b(raw, digest_size=16).digest())


@dataclass(slots=True)
class ReplayCut:
    """Says for each line after a fork's own session_meta whether it still repeats the parent.

    With the parent at hand (`parent`) lines are compared; a fork may leave events out, never conversation.
    Without it, the replay is what is stamped before the fork was made (`started`), and what comes in one burst before
    the first turn newer than the fork itself.
    """

    own_id: str
    is_fork: bool
    started: datetime | None = None
    parent: list[Print] | None = None
    lines: int = 0
    first_own_line: int | None = None
    _at: datetime | None = None
    _position: int = 0
    _is_matched: bool = False

    def is_replay(self, number: int, line: Line, at: datetime | None) -> bool:
        """Whether line `number` is part of the replay; once one is not, none is."""
        if self.first_own_line is not None:
            return False
        if self._repeats(line, at):
            self.lines += 1
            self._at = at or self._at
            return True
        self.first_own_line = number
        return False

    def _repeats(self, line: Line, at: datetime | None) -> bool:
        if self._is_of_another_thread(line):
            self.is_fork = True
            return True
        if not self.is_fork or self._is_own_turn(line):
            return False
        if self.started is not None and at is not None and at < self.started:
            return True
        if self.parent is not None:
            if self._matches(line):
                return True
            if self._is_matched:
                return False
        return self.lines > 0 and at is not None and self._at is not None and at - self._at < BURST

    def _is_of_another_thread(self, line: Line) -> bool:
        if line.kind == META:
            return as_id(line.payload.get("id")) not in (None, self.own_id)
        return line.kind == USAGE and as_id(line.payload.get("thread_id")) not in (None, self.own_id)

    def _is_own_turn(self, line: Line) -> bool:
        if line.kind != TURN and not (line.kind == EVENT and line.payload.get("type") == "task_started"):
            return False
        turn = as_text(line.payload.get("turn_id")) or ""
        if not (_UUID7.match(turn) and _UUID7.match(self.own_id)):
            return False
        return turn[:_UUID7_TIME] >= self.own_id[:_UUID7_TIME]

    def _matches(self, line: Line) -> bool:
        mine = _print(line)
        parent = self.parent or []
        for position in range(self._position, len(parent)):
            if parent[position] == mine:
                self._position = position + 1
                self._is_matched = self._is_matched or mine.is_item
                return True
            if parent[position].is_item:
                return False
        return False


def relations(meta: dict[str, Any]) -> tuple[str | None, str | None]:
    """The thread a session was spawned by, and the one it was forked from (formats.md C.3 and C.6)."""
    source = meta.get("source")
    spawn = source.get("subagent") if isinstance(source, dict) else None
    thread = spawn.get("thread_spawn") if isinstance(spawn, dict) else None
    by_source = as_id(thread.get("parent_thread_id")) if isinstance(thread, dict) else None
    return by_source or as_id(meta.get("parent_thread_id")), as_id(meta.get("forked_from_id"))
