"""What the OpenVole engine tells its host: events of section 8.2, boundaries, summaries and originals."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from contextviz.engines.engine import Host
from contextviz.engines.openvole.budget import SHARE, Budget, estimate
from contextviz.engines.openvole.mapping import Held
from contextviz.engines.openvole.messages import OVERHEAD, AgentMessage
from contextviz.engines.openvole.trim import Change, Trimmed
from contextviz.engines.recording import handle_of
from contextviz.engines.window import CompactionMade, NodeMade
from contextviz.events.compaction import CompactionKind
from contextviz.events.javascript import length16
from contextviz.events.snapshot import ItemState

ORPHAN = "its call left the window"
WORDS = {
    1: "old result, seen: shrunk to fit",
    3: "old words of the brain: cut to fit",
    4: "old words of the user: cut to fit",
}


@dataclass(frozen=True, slots=True)
class Step:
    """What a compaction or a trim did: how many messages of how many tokens there were, which are gone, what is left
    and its tokens."""

    messages: int
    tokens: int
    gone: Sequence[Held]
    left: Sequence[Held]
    tokens_left: int


class Teller:
    """Tells one host. Numbers are OpenVole's own, by its estimator."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._nodes = 0
        self._is_told_no_room = False

    # ---- each call ----

    def evaluated(self, budget: Budget, trigger: str | None, messages: int, most: int) -> None:
        """Whether compaction is due."""
        self._host.told(
            "compaction.evaluated",
            {"current": budget.total, "threshold": int(budget.window * SHARE) if budget.window else None,
             "budget": budget.window or None, "should": trigger is not None, "trigger": trigger or "none",
             "messages": messages, "mostMessages": most or None},
            "exact",
        )  # fmt: skip

    def assembled(self, budget: Budget, sums: Mapping[str, int], messages: int, mode: str, line: str) -> None:
        """The budget of the call as it is made."""
        known = bool(budget.window)
        self._host.told(
            "context.assembled",
            {"max": budget.window or None, "reserve": budget.reserve, "system": budget.system, "tools": budget.tools,
             "session": budget.session, "user": sums["user"], "brain": sums["brain"],
             "toolResults": sums["tool_result"], "errors": sums["error"], "total": budget.total,
             "free": budget.free if known else None, "messages": messages, "mode": mode,
             "line": line if known else None},
            "derived",
        )  # fmt: skip

    def no_room(self, budget: Budget) -> None:
        """What is fixed fills the window: OpenVole ends the task without a call. Told once."""
        if self._is_told_no_room:
            return
        self._is_told_no_room = True
        fixed = budget.system + budget.tools + budget.reserve
        self._host.told(
            "engine.error",
            {"message": f"System prompt ({budget.system:,}), tools ({budget.tools:,}) and reserve ({budget.reserve:,})"
             f" need {fixed:,} tokens, more than the window of {budget.window:,}: OpenVole fails the task and makes no"
             " call.", "phase": "budget"},
            "exact",
        )  # fmt: skip

    def started(self, strategy: str, tokens: int, messages: int) -> None:
        """Compaction or trimming begins."""
        self._host.told(
            "compaction.started",
            {"strategy": strategy, "tokensBefore": tokens, "messagesBefore": messages}, "exact",
        )  # fmt: skip

    # ---- single messages ----

    def compressed(self, held: Held, original: str, route: str, reason: str) -> None:
        """A text was shortened: keep the original, show what stands there now."""
        state: ItemState = "truncated" if route == "truncate" else "stub"
        handle = self._kept(held, original)
        held.show(state, reason, handle)
        self._host.told(
            "block.compressed",
            {"hash": handle, "contentType": held.role, "route": route, "originalChars": length16(original),
             "originalTokens": estimate(original), "keptChars": length16(held.content),
             "keptTokens": held.size - OVERHEAD, "msg": held.seq,
             "tool": held.tool_call.name if held.tool_call else None, "reversible": False},
            "exact",
        )  # fmt: skip

    def _kept(self, held: Held, original: str) -> str:
        """The handle of the text that the message came with, kept the first time that it is shortened."""
        if held.handle is None:
            held.handle = handle_of(original)
            self._host.keep(held.handle, held.source, original)
        return held.handle

    def trimmed(self, change: Change, *, is_broken: bool) -> bool:
        """One thing that the trimmer did; whether it was told. OpenVole shrinks what it has shrunk again and again:
        from the second time on that is counted in the boundary and not told one by one."""
        held = change.message
        assert isinstance(held, Held)
        if change.action == "shrink":
            is_again = held.part is not None and held.part.reason.startswith(WORDS[1])
            if is_again and held.content != change.original:
                held.show("stub", WORDS[1], held.handle)
            if is_again:
                return False
            self.compressed(held, change.original, "trim-pass-1", WORDS[1])
        elif change.action == "truncate":
            # One that was cut is 203 units long and so is cut to the same again.
            if held.content == change.original:
                return False
            held.show("truncated", WORDS[change.number], self._kept(held, change.original))
        self._host.told(
            "message.trimmed",
            {"msg": held.seq, "node": held.node, "pass": change.number, "action": change.action,
             "tokensSaved": change.saved, "wasProtected": is_broken},
            "exact",
        )  # fmt: skip
        return True

    def orphans(self, gone: Sequence[Held], left: Sequence[Held]) -> None:
        """Say which results stand without their calls from here on: OpenVole lets that happen."""
        calls = {call for held in gone for call in held.calls}
        found = 0
        for held in left if calls else ():
            if held.results and held.part is not None and not calls.isdisjoint(held.results):
                held.note = f"; {ORPHAN}"
                held.part = replace(held.part, reason=held.part.reason.removesuffix(held.note) + held.note)
                found += len(calls.intersection(held.results))
        if found:
            self._host.told(
                "engine.error",
                {"message": f"{found:,} tool results stay without their calls, as OpenVole leaves them.",
                 "phase": "invariant", "results": found},
                "exact",
            )  # fmt: skip

    # ---- boundaries ----

    def summary(self, message: AgentMessage, covered: Sequence[Held], left: Sequence[Held], level: str) -> Held:
        """The summary as a message of the task, its node made. `left` are the messages that stay."""
        self._nodes += 1
        held = Held(message.role, message.content, message.timestamp, node=f"openvole-{self._nodes}")
        held.show("summary", f"summary of {len(covered):,} messages")
        sources = tuple(one.node for one in covered if one.node is not None)
        self._host.node(
            NodeMade(f"openvole-{self._nodes}", 0, held.content, estimate(held.content), "rolling", sources,
                     _left_by(covered, left), level, "simulated" if level == "llm" else "exact")
        )  # fmt: skip
        return held

    def compacted(self, step: Step, trigger: str, summary: Held | None, shrunk: int, level: str) -> None:
        """Compaction is over: a boundary where it changed anything."""
        if summary is None and not shrunk:
            self._nothing("compact", trigger, step, "too few messages for a summary, and no large result to shrink")
            return
        self._boundary(
            step, "summary" if summary else "microcompact", trigger, summary,
            "old messages became one summary" if summary else "large results were shrunk",
            {"shrunk": shrunk, "level": level if summary else None}, calls=int(level in ("llm", "fallback")),
        )  # fmt: skip

    def trim_done(self, step: Step, done: Trimmed, again: int) -> None:
        """Trimming is over; a summary that it dropped stands for nothing any more. `again` of its changes were of what
        had been shortened before: where there is nothing else, that is no boundary."""
        trigger = "over-budget"
        if not done.changes:
            self._nothing("trim", trigger, step, "all that is left is protected")
        elif again == len(done.changes):
            self._nothing("trim", trigger, step, "what had been shortened was shortened again, and nothing else")
        else:
            self._boundary(
                step, "trim" if step.gone else "microcompact", trigger, None, "messages did not fit the window",
                {"passes": max(change.number for change in done.changes), "removed": len(step.gone), "again": again,
                 "protectedLost": len({id(held) for held in done.broken})},
            )  # fmt: skip
        self._replaced(step.gone)

    def new_task(self, step: Step) -> None:
        """A task begins: what was in the window before it is not in it."""
        self._replaced(step.gone)
        self._boundary(step, "reset", "new-task", None, "a new task begins with its history", {})

    def _replaced(self, gone: Sequence[Held]) -> None:
        for held in gone:
            if held.node is not None:
                self._host.replaced(held.node)

    def _nothing(self, strategy: str, trigger: str, step: Step, reason: str) -> None:
        self._host.told(
            "compaction.finished",
            {"strategy": strategy, "trigger": trigger, "tokensBefore": step.tokens, "tokensAfter": step.tokens_left,
             "compacted": False, "reason": reason},
            "exact",
        )  # fmt: skip

    def _boundary(
        self, step: Step, kind: CompactionKind, trigger: str, summary: Held | None, reason: str,
        data: Mapping[str, int | str | None], calls: int = 0,
    ) -> None:  # fmt: skip
        dropped = _left_by(step.gone, step.left)
        self._host.compacted(
            CompactionMade(
                kind, trigger, step.tokens, step.tokens_left, dropped,
                tuple(held.node for held in step.left if held.node is not None),
                summary.content if summary else None, reason, calls,
                {"messagesBefore": step.messages, "messagesAfter": len(step.left), **data},
            )
        )  # fmt: skip


def _left_by(gone: Sequence[Held], left: Sequence[Held]) -> tuple[int, ...]:
    """The positions of messages that are gone whole: one with several results is several of OpenVole's."""
    seqs = seqs_of(gone)
    if any(held.is_share for held in gone):
        still = set(seqs_of(left))
        return tuple(seq for seq in seqs if seq not in still)
    return seqs


def seqs_of(messages: Iterable[Held]) -> tuple[int, ...]:
    """The positions of messages in the replay, each once, without those that the engine made."""
    return tuple(dict.fromkeys(held.source.seq for held in messages if held.source is not None))
