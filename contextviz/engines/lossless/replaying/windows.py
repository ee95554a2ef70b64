"""The windows of a replay: parts are made once for each item and used again, sums are carried along."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

from contextviz.engines.lossless.assembly import Selection, add_rendered, select
from contextviz.engines.lossless.clamp import clamped_sizes, target_of
from contextviz.engines.lossless.items import Conversation, Item, Line, Row, Summary
from contextviz.engines.lossless.rendering import summary_xml
from contextviz.engines.lossless.replaying.pairing import MISSING, Change, Pairs
from contextviz.engines.lossless.replaying.rows import serialized_size
from contextviz.engines.material import ReplayMessage
from contextviz.engines.window import Part, PartPiece, made
from contextviz.events.javascript import stringify
from contextviz.tokens.estimators import cp_weighted

NONE = "no result was recorded for this call"
BEFORE = "its result stands before the call and is dropped, as upstream does"


@dataclass(slots=True, eq=False)
class Shown:
    """An item as it is given: its part, the tokens of what it renders to and of the message's JSON, its role."""

    part: Part
    rendered: int
    serialized: int
    role: str
    is_dropped: bool = False


@dataclass(slots=True)
class Window:
    """The parts for a call. `tokens` is the plugin's own number; `is_over` by the clamp's."""

    parts: list[Part]
    selection: Selection
    tokens: int
    is_clamped: bool
    is_over: bool


class Windows:
    """Windows over a growing context."""

    def __init__(self, conversation: Conversation, messages: dict[int, ReplayMessage]) -> None:
        self._conversation = conversation
        self._messages = messages
        self._asked: set[str] = set()  # calls that have no result yet
        self._early: dict[str, int] = {}  # by call: the first message with a result of it that no call waited for
        self.lost: list[int] = []  # seqs of the results that the last window leaves out for want of their calls
        self._known: dict[Item, Shown] = {}
        self._altered: dict[tuple[int, Change], list[Shown]] = {}
        self._version = -1
        self._reset()

    def arrived(self, message: ReplayMessage) -> None:
        """A message came. Whether a result stood before its call is asked of all messages, not of the context alone."""
        if message.role == "tool":
            for call in message.answers:
                if call not in self._asked:
                    self._early.setdefault(call, message.seq)
            self._asked.difference_update(message.answers)
        elif message.role == "assistant":
            self._asked.update(message.calls)

    def _reset(self) -> None:
        self._line = Line()
        self._serialized = [0]
        self._shown: list[Shown] = []
        self._parts: list[Part] = []
        self._roles: list[str] = []
        self._dropped: set[int] = set()
        self._pairs = Pairs()

    def _sync(self) -> None:
        items = self._conversation.items
        if self._version != self._conversation.version:
            self._version = self._conversation.version
            self._reset()
        for at in range(len(self._parts), len(items)):
            item = items[at]
            shown = self._known.get(item)
            if shown is None:
                shown = self._known[item] = self._made(item)
            add_rendered(self._line, item, shown.rendered)
            self._serialized.append(self._serialized[-1] + (0 if shown.is_dropped else shown.serialized))
            self._shown.append(shown)
            self._parts.append(shown.part)
            self._roles.append(shown.role)
            if shown.is_dropped:
                self._dropped.add(at)
            self._pairs.add(item)

    def _made(self, item: Item) -> Shown:
        if isinstance(item, Summary):
            text = summary_xml(item)
            reason = "a summary of messages" if item.kind == "leaf" else f"a summary of summaries, depth {item.depth}"
            part = made("user", text, segment="summary", reason=reason, kind="summary", node=item.id)
            return Shown(part, cp_weighted(text), cp_weighted(stringify({"role": "user", "content": text})), "user")
        message = self._messages[item.seq]
        part = Part(message.role, message)
        is_dropped = item.is_void or item.is_blank
        return Shown(part, item.rendered_tokens(), serialized_size(item, message), item.runtime_role, is_dropped)

    def window(
        self, budget: int, *, tail_count: int, tail_most: int | None, prompt: str = "", is_prompt_aware: bool = False
    ) -> Window:
        """The window for `budget` tokens; 0 is no limit."""
        self._sync()
        items = self._conversation.items
        most = budget or self._line.total()
        chosen = select(
            items, self._line, most, tail_count=tail_count, tail_most=tail_most, prompt=prompt,
            is_prompt_aware=is_prompt_aware,
        )  # fmt: skip
        changes = self._pairs.changes(items, chosen.chosen, chosen.tail)
        lost = (items[at] for at, change in sorted(changes.items()) if change.is_dropped and not change.is_moved)
        self.lost = [item.seq for item in lost if isinstance(item, Row)]
        if not isinstance(chosen.chosen, range):
            return self._listed(self._walked(chosen.chosen, changes), chosen, budget)
        start = chosen.chosen.start
        changed = sorted(at for at in changes.keys() | self._dropped if at >= start)
        if changed:
            return self._from(start, changed, changes, chosen, budget)
        total = self._serialized[-1] - self._serialized[start]
        if budget and total > budget:
            return self._clamped(start, chosen, budget)
        return Window(self._parts[start:], chosen, chosen.estimated, False, chosen.estimated > most)

    def _fitting(self, start: int, budget: int) -> int:
        """The index of the first of the newest items that fit a clamped window."""
        sums = self._serialized
        return min(len(sums) - 2, bisect_left(sums, sums[-1] - target_of(budget), start))

    def _clamped(self, start: int, chosen: Selection, budget: int) -> Window:
        """`clamped_sizes` over the items from `start` on, by the sums alone: no list is walked."""
        sums, roles = self._serialized, self._roles
        first, end = self._fitting(start, budget), len(roles)
        while first < end - 1 and roles[first] == "toolResult":
            first += 1
        seats: list[int] = []
        if "user" not in roles[first:]:
            seats = [at for at in range(first - 1, start - 1, -1) if roles[at] == "user"][:1]
        while end > first and roles[end - 1] == "assistant":
            end -= 1
        if end == first and not seats:
            end = len(roles)
        tokens = sums[end] - sums[first] + sum(sums[at + 1] - sums[at] for at in seats)
        parts = [*(self._parts[at] for at in seats), *self._parts[first:end]]
        return Window(parts, chosen, tokens, True, tokens > budget)

    def _from(
        self, start: int, changed: list[int], changes: dict[int, Change], chosen: Selection, budget: int
    ) -> Window:
        """Like `window`, with what lies between the changed items taken as it is."""
        first = start
        total = self._serialized[-1] - self._serialized[start]
        parts: list[Part] = []
        for at in changed:
            parts += self._parts[start:at]
            instead = self._instead(at, changes.get(at))
            parts += [shown.part for shown in instead]
            total += sum(shown.serialized for shown in instead)
            total -= self._serialized[at + 1] - self._serialized[at]
            start = at + 1
        parts += self._parts[start:]
        if not budget or total <= budget:
            over = bool(budget and chosen.estimated > budget)
            return Window(parts, chosen, chosen.estimated, False, over)
        if changed[-1] < self._fitting(first, budget) and "user" in self._roles[changed[-1] + 1 :]:
            return self._clamped(first, chosen, budget)
        return self._listed(self._walked(chosen.chosen, changes), chosen, budget)

    def _walked(self, chosen: Sequence[int], changes: dict[int, Change]) -> list[Shown]:
        shown: list[Shown] = []
        for at in chosen:
            if at in changes or at in self._dropped:
                shown += self._instead(at, changes.get(at))
            else:
                shown.append(self._shown[at])
        return shown

    def _listed(self, shown: list[Shown], chosen: Selection, budget: int) -> Window:
        if not budget:
            return Window([one.part for one in shown], chosen, chosen.estimated, False, False)
        cut = clamped_sizes([one.serialized for one in shown], [one.role for one in shown], budget)
        tokens = cut.tokens if cut.is_clamped else chosen.estimated
        is_over = cut.is_over or (not cut.is_clamped and chosen.estimated > budget)
        return Window([shown[at].part for at in cut.kept], chosen, tokens, cut.is_clamped, is_over)

    def _instead(self, at: int, change: Change | None) -> list[Shown]:
        shown = self._shown[at]
        if change is None:
            return [] if shown.is_dropped else [shown]
        if change.is_dropped:
            return []
        item = self._conversation.items[at]
        assert isinstance(item, Row)
        key = (item.seq, change)
        if change.moved or key not in self._altered:
            first = self._stripped(item, shown, change.stripped) if change.stripped else [shown]
            after = [self._shown[moved] for moved in change.moved]
            self._altered[key] = [*first, *after, *self._missing(item, change.missing)]
        return self._altered[key]

    def _stripped(self, item: Row, shown: Shown, calls: tuple[str, ...]) -> list[Shown]:
        message = self._messages[item.seq]
        left = [piece for piece in message.pieces if piece.kind != "tool_call" or piece.tool_call_id not in calls]
        if not any(piece.kind == "tool_call" or (piece.kind != "thinking" and piece.text.strip()) for piece in left):
            return []
        pieces = tuple(
            PartPiece(piece.kind, piece.text, piece.index, "verbatim", piece.tool_name, piece.tool_call_id)
            for piece in left
        )
        part = Part(message.role, message, pieces, reason="without a call that has no result behind it")
        gone = sum(cp_weighted(piece.text) for piece in message.pieces if piece not in left)
        return [Shown(part, max(0, shown.rendered - gone), max(0, shown.serialized - gone), shown.role)]

    def _missing(self, item: Row, calls: tuple[str, ...]) -> list[Shown]:
        made_up = []
        names = {piece.tool_call_id: piece.tool_name for piece in self._messages[item.seq].pieces}
        for call in calls:
            piece = PartPiece("tool_result", MISSING, None, "injected", names.get(call), call, True)
            is_early = self._early.get(call, item.seq) < item.seq
            part = Part("tool", None, (piece,), segment="error", reason=BEFORE if is_early else NONE)
            content = {"role": "toolResult", "content": [{"type": "text", "text": MISSING}], "toolCallId": call}
            made_up.append(Shown(part, cp_weighted(MISSING), cp_weighted(stringify(content)), "toolResult"))
        return made_up
