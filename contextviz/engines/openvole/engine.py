"""The OpenVole engine: budget, then compaction, then trimming, before every call (engines document, section 2.1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from contextviz.engines.engine import AssembleRequest, CompactRequest, EngineSpec, Host, ReplayEngine
from contextviz.engines.material import ReplayMessage
from contextviz.engines.openvole.budget import (
    Budget,
    calculate_budget,
    estimate,
    exceeds_count,
    format_budget,
    message_breakdown,
    should_compact,
)
from contextviz.engines.openvole.compact import compact
from contextviz.engines.openvole.history import split_line
from contextviz.engines.openvole.mapping import Held, held_messages
from contextviz.engines.openvole.messages import AgentMessage
from contextviz.engines.openvole.notebook import Notebook
from contextviz.engines.openvole.prompt import memory_section
from contextviz.engines.openvole.settings import QUALITIES, SETTINGS, SIMULATED
from contextviz.engines.openvole.telling import Step, Teller, seqs_of
from contextviz.engines.openvole.trim import trim
from contextviz.engines.settings import Value
from contextviz.engines.summaries import SummariserFailed, SummaryRequest
from contextviz.engines.window import Assembly, CompactResult, Part, made


class OpenVole(ReplayEngine):
    """OpenVole 4.16.2 with paw-compact, paw-memory and paw-session."""

    spec = EngineSpec(
        "openvole", "4.16.2", "OpenVole",
        "Compacts above three quarters of the window or above a number of messages: large results are shrunk, all but"
        " the first and the newest messages become one summary of a line each; then five passes trim what does not"
        " fit.",
        "2", SETTINGS, QUALITIES, SIMULATED, "ov-json2-text4", uses_summariser=True,
    )  # fmt: skip

    def __init__(self, host: Host, settings: Mapping[str, Value]) -> None:
        super().__init__(host, settings)
        self._window = self.whole("maxContextTokens") or host.window
        self._reserve = self.whole("responseReserve")
        self._tools = self.whole("toolTokens")
        self._by_turn = self.settings["tasks"] == "turn"
        self._notebook = Notebook(self.whole("sessionTtl"))
        self._tell = Teller(host)
        self._answer: str | None = None
        self._without_room: set[int] = set()  # calls
        self._begin()

    # ---- a task ----

    def _begin(self) -> None:
        """A task begins: no messages, the history and the memory of those before it."""
        self._messages: list[Held] = []
        self._parts: list[Part] = []
        self._unseen: list[Held] = []
        self._sums = {"user": 0, "brain": 0, "tool_result": 0, "error": 0}
        self._iteration = 0
        now = self.host.now()
        history = self._notebook.history(now) if self._by_turn and self.flag("sessionHistory") else ""
        memory = self._notebook.memory(now) if self._by_turn and self.flag("memory") else ""
        section = memory_section(memory)
        self._session = estimate(history)
        self._memory = estimate(section)
        self._front = _history_parts(history)
        self._system = made("system", section, segment="memory", reason="memory of earlier tasks") if section else None

    def ingest(self, message: ReplayMessage) -> None:
        """A message joins the task; with a task for each turn, a user's message begins one."""
        if self._by_turn and message.role == "user":
            before = self._messages
            self._begin()
            if before:
                self._tell.new_task(Step(len(before), sum(held.size for held in before), before, (), self._session))
            self._notebook.wrote("user", message.text, self.host.now())
            self._answer = None
        for held in held_messages(message):
            self._take(held)

    def _take(self, held: Held) -> None:
        whole = held.content
        if held.cut_from is not None:
            whole = held.cut_from
            self._tell.compressed(held, whole, "truncate", "tool output cut when it came")
        self._messages.append(held)
        assert held.part is not None
        self._parts.append(held.part)
        self._sums[held.role] += held.size
        if held.role == "tool_result":
            self._unseen.append(held)
        if not self._by_turn:
            return
        if held.role in ("tool_result", "error"):
            self._notebook.observed(held, whole, self.host.now())
        elif held.role == "brain":
            self._answer = held.content if not held.calls else None

    def after_turn(self, messages: Sequence[ReplayMessage]) -> None:
        """The task ends with the brain's last words, where they were no call."""
        if self._by_turn and self._answer:
            self._notebook.answered(self._answer, self.host.now())
            self._answer = None

    # ---- a call ----

    def assemble(self, request: AssembleRequest) -> Assembly:
        """One iteration up to the call: evaluate, compact, trim, and let the brain see what it is given."""
        budget = self._budget()
        if self._window and budget.system + budget.tools + budget.reserve > self._window:
            self._tell.no_room(budget)
            self._without_room.add(request.call)
            return self._assembly(self._budget(), "no call: no room for messages")
        trigger = self._trigger(budget)
        self._tell.evaluated(budget, trigger, len(self._messages), self.whole("compactThreshold"))
        mode = "full"
        if trigger is not None:
            self._compact(trigger)
            mode = "compacted"
            budget = self._budget()
        if self._window and budget.free < 0:
            self._trim(budget)
            mode = "trimmed"
            budget = self._budget()
        made_up = self._assembly(budget, mode)
        for held in self._unseen:
            held.seen_at = self._iteration
        self._unseen = []
        self._iteration += 1
        return made_up

    def _budget(self) -> Budget:
        return calculate_budget(
            self._window, self._reserve, system=self.host.system_tokens + self._memory, tools=self._tools,
            session=self._session, messages=sum(self._sums.values()),
        )  # fmt: skip

    def _trigger(self, budget: Budget) -> str | None:
        if self._window and should_compact(budget):
            return "ratio"
        return "message-count" if exceeds_count(len(self._messages), self.whole("compactThreshold")) else None

    def _assembly(self, budget: Budget, mode: str) -> Assembly:
        is_over = bool(self._window) and budget.free < 0
        self._tell.assembled(budget, self._sums, len(self._messages), mode, format_budget(budget))
        return Assembly(
            [*self._front, *self._parts], budget.messages + budget.session + self._memory, self._system, mode, is_over
        )

    def compact(self, request: CompactRequest) -> CompactResult:
        """The host's wish changes nothing: OpenVole has compacted and trimmed already, and calls over its budget."""
        return CompactResult(False, "OpenVole compacts before each call by its own rule, and then calls in any case")

    def dispose(self) -> None:
        """Say of the whole run how many of its windows OpenVole would have asked for no answer to."""
        count = len(self._without_room)
        if count:
            calls = "1 call" if count == 1 else f"{count:,} calls"
            self.host.noted(f"{calls} would have failed: system prompt, tools and reserve leave no room.")

    # ---- compaction and trimming ----

    def _compact(self, trigger: str) -> None:
        before, tokens, now = self._messages, sum(self._sums.values()), self.host.now()
        self._tell.started("compact", tokens, len(before))
        if self._by_turn and self.flag("memory"):
            self._notebook.before_compaction(before, now)
        with_model = self._with_model if self.settings["summary"] == "llm" else None
        done = compact(before, self.whole("keepRecent"), now, with_model)
        for message, original in done.shrunk:
            self._tell.compressed(cast(Held, message), original, "shrink", "large result, seen: shrunk by compaction")
        gone = cast("list[Held]", done.summarised)
        left = cast("list[Held]", done.messages)
        summary = None
        if done.summary is not None:
            summary = self._tell.summary(done.summary, gone, left[:1] + left[2:], done.level)
        if summary is not None:
            left[1] = summary
        self._replace(gone, left)
        step = Step(len(before), tokens, gone, left, sum(self._sums.values()))
        self._tell.compacted(step, trigger, summary, len(done.shrunk), done.level)

    def _with_model(self, text: str, messages: Sequence[AgentMessage]) -> str:
        held = cast("Sequence[Held]", messages)
        previous = next((one.content for one in held if one.node), None)
        try:
            return self.host.summarise(SummaryRequest(text, previous=previous, covers=seqs_of(held)))
        except SummariserFailed:
            return ""

    def _trim(self, budget: Budget) -> None:
        before = self._messages
        self._tell.started("trim", budget.messages, len(before))
        done = trim(before, budget.messages + budget.free, self._iteration, fixed=self.flag("fixed"))
        broken = {id(message) for message in done.broken}
        told = [self._tell.trimmed(change, is_broken=id(change.message) in broken) for change in done.changes]
        gone = [cast(Held, change.message) for change in done.changes if change.action == "drop"]
        left = cast("list[Held]", done.messages)
        self._replace(gone, left)
        step = Step(len(before), budget.messages, gone, left, sum(self._sums.values()))
        self._tell.trim_done(step, done, told.count(False))

    def _replace(self, gone: list[Held], left: list[Held]) -> None:
        """Other messages from here on; a result whose call is gone says so."""
        self._messages = left
        self._tell.orphans(gone, left)
        self._parts = [held.part for held in left if held.part is not None]
        found = message_breakdown(left)
        self._sums = {"user": found.user, "brain": found.brain, "tool_result": found.tool_result, "error": found.error}


def _history_parts(history: str) -> list[Part]:
    """The lines of a history as the messages that providers make of them."""
    parts = []
    for line in history.split("\n") if history else ():
        split = split_line(line)
        if split is not None:
            role, content = split[1], split[2]
            parts.append(made("user" if role == "user" else "assistant", content, segment="session_history",
                              reason="history of the session"))  # fmt: skip
    return parts
