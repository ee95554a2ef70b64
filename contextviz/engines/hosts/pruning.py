"""OpenClaw's pruning of old tool results (engines document, section 11): by size and age, after the cache's time.

What was pruned stays so until the next time, so that the prefix is the same from call to call.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from contextviz.engines.engine import Host
from contextviz.engines.hosts.folding import CHARS_A_TOKEN, piece_chars
from contextviz.engines.material import ReplayMessage
from contextviz.engines.settings import Setting, Value
from contextviz.engines.window import Part, altered
from contextviz.events.javascript import length16, slice16

PLACEHOLDER = "[Old tool result content cleared]"
SETTINGS = (
    Setting("pruning", "cache-ttl", "Whether old tool results are pruned once the cache has run out.", kind="choice",
            choices=("cache-ttl", "off")),
    Setting("ttlSeconds", 300, "How long a prompt cache lives; nothing is pruned before.", least=0, most=86_400,
            unit="seconds"),
    Setting("keepLastAssistants", 3, "Answers of the model from whose oldest on nothing is pruned.", least=0, most=100,
            unit="answers"),
    Setting("softTrimRatio", 0.3, "Share of the window from which on long results are cut.", kind="float", least=0,
            most=1),
    Setting("hardClearRatio", 0.5, "Share of the window from which on results are cleared.", kind="float", least=0,
            most=1),
    Setting("minPrunableToolChars", 50_000, "Prunable characters below which nothing is cleared.", least=0,
            most=10_000_000, unit="characters"),
    Setting("softTrimChars", 4_000, "Results longer than this are cut.", least=0, most=10_000_000, unit="characters"),
    Setting("softTrimHead", 1_500, "What stays of a cut result's beginning.", least=0, most=1_000_000,
            unit="characters"),
    Setting("softTrimTail", 1_500, "What stays of a cut result's end.", least=0, most=1_000_000, unit="characters"),
)  # fmt: skip


@dataclass(slots=True)
class _Result:
    """A tool result that may be pruned: where it is, its message, its characters now."""

    at: int
    message: ReplayMessage
    chars: int


class Pruning:
    """Which results are pruned, and to what. `shown` are the parts that stand for messages, by their seq."""

    def __init__(self, host: Host, settings: Mapping[str, Value]) -> None:
        self._host = host
        self._settings = settings
        self._last_call: int | None = None
        self.shown: dict[int, Part] = {}

    def _number(self, key: str) -> float:
        return float(self._settings[key])

    def at_call(self, messages: Sequence[ReplayMessage]) -> bool:
        """A call is about to be made; whether something more was pruned."""
        now, before = self._host.now(), self._last_call
        self._last_call = now
        if self._settings["pruning"] == "off" or not self._host.window or not now or before is None:
            return False
        if now - before <= 1000 * self._number("ttlSeconds"):
            return False
        return self._prune(messages)

    def _prune(self, messages: Sequence[ReplayMessage]) -> bool:
        room = CHARS_A_TOKEN * self._host.window
        used = CHARS_A_TOKEN * self._host.system_tokens + sum(map(self._chars, messages))
        found = self._prunable(messages)
        before = len(self.shown), sum(part.text == PLACEHOLDER for part in self.shown.values())
        if used < self._number("softTrimRatio") * room:
            return False
        for one in found:
            used -= self._trim(one)
        if used >= self._number("hardClearRatio") * room:
            self._clear(found, used, room)
        return before != (len(self.shown), sum(part.text == PLACEHOLDER for part in self.shown.values()))

    def _chars(self, message: ReplayMessage) -> int:
        shown = self.shown.get(message.seq)
        return sum(map(piece_chars, message.pieces)) if shown is None else length16(shown.text)

    def _prunable(self, messages: Sequence[ReplayMessage]) -> list[_Result]:
        first = next((at for at, one in enumerate(messages) if one.role == "user"), len(messages))
        answers = [at for at, one in enumerate(messages) if one.role == "assistant"]
        newest = int(self._number("keepLastAssistants"))
        end = len(messages) if not newest else answers[-newest] if len(answers) >= newest else 0
        return [
            _Result(at, messages[at], self._chars(messages[at]))
            for at in range(first + 1, end)
            if messages[at].role == "tool" and not any(piece.kind == "image" for piece in messages[at].pieces)
        ]

    def _trim(self, one: _Result) -> int:
        """Cut a long result; how many characters that saves."""
        head, tail = int(self._number("softTrimHead")), int(self._number("softTrimTail"))
        most = self._number("softTrimChars")
        text = one.message.text
        if one.message.seq in self.shown or one.chars <= most or head + tail >= one.chars:
            return 0
        end = slice16(text, one.chars - tail) if tail else ""
        kept = f"{slice16(text, 0, head)}\n...\n{end}"
        return self._show(one, kept, "soft trim: the first and last characters of a long result", "soft-trim")

    def _clear(self, found: Sequence[_Result], used: int, room: int) -> None:
        if sum(one.chars for one in found) < self._number("minPrunableToolChars"):
            return
        for one in found:
            if used < self._number("hardClearRatio") * room:
                return
            used -= self._show(one, PLACEHOLDER, "hard clear: a placeholder for an old result", "hard-clear")

    def _show(self, one: _Result, text: str, reason: str, route: str) -> int:
        kept = length16(text)
        if kept >= one.chars:
            return 0
        state = "stub" if route == "hard-clear" else "truncated"
        self.shown[one.message.seq] = altered(one.message, text, state=state, reason=reason)  # type: ignore[arg-type]
        self._host.told(
            "block.compressed",
            {"route": route, "originalChars": one.chars, "keptChars": kept, "seqOf": one.message.seq,
             "reversible": False},
            "derived",
        )  # fmt: skip
        saved = one.chars - kept
        one.chars = kept
        return saved
