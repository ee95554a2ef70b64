"""What each call of the recorded session needed of its history (metrics.md section 4)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from contextviz.analysis.compaction.loss import FormKey, stands_in
from contextviz.analysis.replay.history import HistoryMessage, answer_to
from contextviz.events.identifiers import GRAMMAR, Identifier, IdentifierKind, extract
from contextviz.events.message import Kind

# Tokens since the last occurrence; a distance of a bound itself is in the band above it.
BOUNDS = (2_000, 10_000, 50_000)
BANDS = ("< 2 k", "2–10 k", "10–50 k", "> 50 k")
FIRST_FAR = 2
_SAID_BY_THE_MODEL: frozenset[Kind] = frozenset({"text", "tool_call"})


class Need(NamedTuple):
    """An identifier that a call's output names and the history holds.

    `spellings` are how the history spelt it last and how the output does (one where both agree); `seq` is the message
    of its last earlier occurrence, `distance` the tokens of the messages since, up to the call.
    """

    kind: IdentifierKind
    canonical: str
    spellings: tuple[str, ...]
    seq: int
    distance: int

    @property
    def band(self) -> int:
        """The position in BANDS."""
        return sum(self.distance >= bound for bound in BOUNDS)

    @property
    def is_far(self) -> bool:
        """Whether it lies 10 k tokens back or more."""
        return self.distance >= BOUNDS[FIRST_FAR - 1]


@dataclass(frozen=True, slots=True)
class CallNeeds:
    """What one call needed, by the call's index in the run; calls that needed nothing are not listed."""

    call: int
    needs: tuple[Need, ...]


@dataclass(slots=True)
class Needs:
    """The needs of a session. `answered` calls have a recorded answer; `left_out` identifiers were cut by the grammar
    in the middle of a word, so that no window could be searched for them."""

    calls: list[CallNeeds] = field(default_factory=list)
    answered: int = 0
    left_out: int = 0
    grammar: str = GRAMMAR

    @property
    def total(self) -> int:
        """How many needs there are, over all calls."""
        return sum(len(one.needs) for one in self.calls)

    def spellings(self) -> list[str]:
        """Every spelling, each once, in the order of their first need."""
        return list(dict.fromkeys(text for one in self.calls for need in one.needs for text in need.spellings))


class _Seen(NamedTuple):
    spelling: str
    text: str
    seq: int
    until: int  # tokens of the session up to and including that message


def needs_of(history: Sequence[HistoryMessage], points: Sequence[int], *, root: str | None = None) -> Needs:
    """The needs of every call; `points` is by call how many messages had been read. One pass, each text read once.

    `root` is the session's folder, which paths are compared relative to. The model's thinking needs nothing: only what
    it said and the arguments it gave count as output.
    """
    found = Needs()
    reader = _Reader(root)
    last: dict[FormKey, _Seen] = {}
    read, tokens = 0, 0
    for call, messages in enumerate(points):
        for message in history[read:messages]:
            tokens += message.tokens
            for text, one in reader.of(message):
                last[one.kind, one.canonical] = _Seen(one.text, text, message.seq, tokens)
        read = max(read, messages)
        answer = answer_to(history, points, call)
        if not answer:
            continue
        found.answered += 1
        needs = tuple(_needed(reader.said_in(answer), last, tokens, found))
        if needs:
            found.calls.append(CallNeeds(call, needs))
    return found


def _needed(said: Iterable[Identifier], last: dict[FormKey, _Seen], tokens: int, found: Needs) -> Iterator[Need]:
    done: set[FormKey] = set()
    for one in said:
        form = (one.kind, one.canonical)
        seen = last.get(form)
        if seen is None or form in done:
            continue
        done.add(form)
        if not stands_in(seen.spelling, seen.text):
            found.left_out += 1
            continue
        spellings = (seen.spelling,) if seen.spelling == one.text else (seen.spelling, one.text)
        yield Need(one.kind, one.canonical, spellings, seen.seq, tokens - seen.until)


class _Reader:
    """Identifiers by message, read once although an answer is asked for twice: as output, then as history."""

    def __init__(self, root: str | None):
        self._root = root
        self._waiting: dict[int, list[list[Identifier]]] = {}

    def said_in(self, answer: Sequence[HistoryMessage]) -> Iterator[Identifier]:
        """What the model named in its answer, in order."""
        for message in answer:
            read = self._waiting[message.seq] = self._read(message)
            for said, identifiers in zip(message.texts, read, strict=True):
                if said.kind in _SAID_BY_THE_MODEL:
                    yield from identifiers

    def of(self, message: HistoryMessage) -> Iterator[tuple[str, Identifier]]:
        """Everything a message names, with the text it stands in."""
        read = self._waiting.pop(message.seq, None) or self._read(message)
        for said, identifiers in zip(message.texts, read, strict=True):
            for one in identifiers:
                yield said.text, one

    def _read(self, message: HistoryMessage) -> list[list[Identifier]]:
        return [extract(said.text, speaker=message.role, root=self._root) for said in message.texts]
