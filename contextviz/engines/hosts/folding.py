"""What the hosts' rules share: a rolling summary in front of the messages since, counted by characters ÷ 4."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from contextviz.engines.engine import AssembleRequest, CompactRequest, Host, ReplayEngine
from contextviz.engines.material import Piece, ReplayMessage
from contextviz.engines.settings import Value
from contextviz.engines.summaries import SummariserFailed, SummaryRequest
from contextviz.engines.window import Assembly, CompactionMade, CompactResult, NodeMade, Part, made
from contextviz.events.javascript import length16, parse, stringify

CHARS_A_TOKEN = 4
_FRAME = len('{"name": "", "arguments": }')
_SPEAKERS = {"user": "User", "assistant": "Assistant", "tool": "Tool result"}


def piece_chars(piece: Piece) -> int:
    """The characters that the hosts count of a block: of a call its name and its arguments as JavaScript writes them.

    Images count nothing here: the documents do not say what they count.
    """
    if piece.kind != "tool_call":
        return length16(piece.text)
    try:
        call = parse(piece.text)
        return length16(str(call["name"])) + length16(stringify(call["arguments"]))
    except (ValueError, KeyError, TypeError):
        return max(0, length16(piece.text) - _FRAME)


def message_tokens(message: ReplayMessage) -> int:
    """Tokens of a message: its characters by four, rounded up."""
    return -(-sum(map(piece_chars, message.pieces)) // CHARS_A_TOKEN)


def tail_start(sizes: Sequence[int], keep: float) -> int | None:
    """The place of the newest messages that together are `keep` tokens or more; None where all are fewer."""
    total = 0
    for at in range(len(sizes) - 1, -1, -1):
        total += sizes[at]
        if total >= keep:
            return at
    return None


def can_begin(message: ReplayMessage) -> bool:
    """Whether a kept tail may begin here: at a message of the user or the model, so never at a tool's result."""
    return message.role in ("user", "assistant")


def told(messages: Sequence[ReplayMessage]) -> str:
    """Messages as a summariser is given them: who said it, then what."""
    return "\n\n".join(f"[{_SPEAKERS.get(one.role, one.role.capitalize())}]: {one.text}" for one in messages)


class Folding(ReplayEngine):
    """A window of one summary and the messages since. Who inherits says when it folds (`is_due`), what goes
    (`leaving`), and may say in which order the rest stays (`arranged`)."""

    def __init__(self, host: Host, settings: Mapping[str, Value]) -> None:
        super().__init__(host, settings)
        self.parts: list[Part] = []
        self.messages: list[ReplayMessage] = []
        self.sizes: list[int] = []
        self.total = 0
        self.summary: Part | None = None
        self.summary_tokens = 0
        self.summary_at = 0  # the part before which it stands
        self._summary_text: str | None = None
        self._node: str | None = None
        self._folds = 0
        # Until a message comes, asking again for what just failed or had nothing to give cannot help.
        self._is_settled = False

    @property
    def current(self) -> int:
        """Tokens of the whole request as the host counts it: system prompt, summary, messages."""
        return self.host.system_tokens + self.summary_tokens + self.total

    def is_due(self) -> bool:
        """Whether the host would fold now."""
        raise NotImplementedError

    def leaving(self) -> Sequence[int]:
        """The places of the messages that go; a range is from the first one on."""
        raise NotImplementedError

    def wrapped(self, summary: str) -> str:
        """A summary as the model is given it."""
        return summary

    def arranged(self, staying: list[int]) -> list[int]:
        """The order in which the rest stays."""
        return staying

    def ingest(self, message: ReplayMessage) -> None:
        """See Engine."""
        self.parts.append(Part(message.role, message))
        self.messages.append(message)
        size = message_tokens(message)
        self.sizes.append(size)
        self.total += size
        self._is_settled = False

    def assemble(self, request: AssembleRequest) -> Assembly:
        """The summary and the messages since."""
        if self.is_due():
            self.fold("threshold")
        return self.window()

    def window(self) -> Assembly:
        """What stands now."""
        parts = self.parts.copy()
        if self.summary is not None:
            parts.insert(self.summary_at, self.summary)
        return Assembly(parts, self.summary_tokens + self.total)

    def compact(self, request: CompactRequest) -> CompactResult:
        """The window did not fit."""
        return self.fold("overflow" if request.is_forced else "host")

    def fold(self, trigger: str) -> CompactResult:
        """Replace what goes by a new summary; the old one goes into it."""
        gone = range(0) if self._is_settled else self.leaving()
        self._is_settled = True
        if not gone:
            return CompactResult(False, "by its rule nothing would go")
        before = self.current
        leaving = [self.messages[at] for at in gone]
        covers = tuple(message.seq for message in leaving)
        try:
            text = self.host.summarise(SummaryRequest(told(leaving), previous=self._summary_text, covers=covers))
        except SummariserFailed as error:
            self.host.told("engine.error", {"message": str(error), "phase": "compaction"}, "simulated")
            return CompactResult(False, str(error))
        self._stand_in(text, covers)
        self._drop(gone)
        self.host.compacted(
            CompactionMade(
                "summary", trigger, before, self.current, covers, (self._node,) if self._node else (), text,
                reason=f"{len(gone):,} messages folded into summary {self._folds}", summariser_calls=1,
            )
        )  # fmt: skip
        return CompactResult(True, "", before, self.current, text)

    def _stand_in(self, text: str, covers: tuple[int, ...]) -> None:
        self._folds += 1
        given = self.wrapped(text)
        node = f"{self.spec.id}-summary-{self._folds}"
        self.summary_tokens = -(-length16(given) // CHARS_A_TOKEN)
        sources = (self._node,) if self._node else ()
        self.host.node(NodeMade(node, 0, text, self.summary_tokens, "rolling", sources, covers, given=given))
        reason = f"summary {self._folds}"
        self.summary = made("user", given, segment="summary", reason=reason, kind="summary", node=node)
        self._summary_text = text
        self._node = node

    def _drop(self, gone: Sequence[int]) -> None:
        if isinstance(gone, range):
            # Hosts mostly cut at one place: what stays is not gone through again.
            self.total -= sum(self.sizes[: gone.stop])
            for column in (self.parts, self.messages, self.sizes):
                del column[: gone.stop]
            return
        left, first = set(gone), min(gone)
        staying = [*range(first), *(at for at in range(first, len(self.parts)) if at not in left)]
        arranged = self.arranged(staying)
        # In a long session nearly all of what stays is before the first that goes, in the order it had.
        start = first if arranged is staying else 0
        order = arranged[start:]
        self.parts[start:] = [self.parts[at] for at in order]
        self.messages[start:] = [self.messages[at] for at in order]
        self.sizes[start:] = [self.sizes[at] for at in order]
        self.total = sum(self.sizes)
