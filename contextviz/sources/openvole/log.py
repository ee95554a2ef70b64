"""vole.log: the tasks with their model calls, budgets and compactions (engines.md 2.9)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Literal

from contextviz.events.times import instant
from contextviz.sources.lines import bounded_lines

EventKind = Literal["budget", "final", "trigger", "hook", "trim", "think", "tool", "call"]
MAX_LINE_BYTES = 1024 * 1024
_LINE = re.compile(r"^(\d{4}-\d\d-\d\dT[\d:.]+Z) \[(DEBUG|INFO|WARN|ERROR)\] \[([\w@/.-]{1,80})\] (.*)$", re.DOTALL)
_TASK = re.compile(r'^Agent loop started for task (\S+): "(.*?)"?$', re.DOTALL)
_TASK_END = re.compile(r"^Task (\S+) (completed|failed|cancelled)")
_BUDGET = re.compile(r"^BUDGET (PRE-COMPACT|FINAL) — .*?total: (\d{1,12})/(\d{1,12})(?: \((\w+)\))?")
_TRIGGER = re.compile(r"^Context (?:at (\d+)%|has (\d+) messages \(threshold: (\d+)\)).{0,10}running compact")
_HOOK = re.compile(r'^Compact hook from "([^"]{1,200})" reduced messages from (\d{1,9}) to (\d{1,9})')
_TRIM = re.compile(r"^Context over budget by (\d{1,12}) tokens . trimming")
_THINK = re.compile(r"think — model: (.{1,200}?), messages: (\d{1,9})")
_TOOL = re.compile(r"^Tool call: ([^\s(]{1,200})\((.*)\)$", re.DOTALL)
_COST = re.compile(
    r"^LLM cost: \$([\d.]{1,20}) \(in: (\d{1,12})\b.{0,200}?out: (\d{1,12})\b.{0,200}?\)"
    r"(?: \[(.{1,200})\])?$"
)
_NO_PRICE = re.compile(r"^No pricing for model ")
_HEAD = re.compile(
    rb"^\d{4}-\d\d-\d\dT[\d:.]+Z \[(?:DEBUG|INFO|WARN|ERROR)\] \[(?:loop|task-queue|cost-tracker|paw-[\w-]+|openvole"
    rb"|tool-registry)\] ",
    re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class LogEvent:
    """One line that says something about the window. `numbers` are: budgets (total, window); hooks (from, to);
    trims (tokens over); thinks (messages); calls (input, output). `text` is a trigger's words, a tool's arguments
    or a model; `name` a tool or a paw."""

    kind: EventKind
    at: datetime | None
    line: int
    numbers: tuple[int, ...] = ()
    text: str | None = None
    name: str | None = None
    cost: float | None = None


@dataclass(slots=True)
class Task:
    """One run of the agent loop; `text` is the first line of what started it, None for lines before any task."""

    id: str | None
    text: str | None
    at: datetime | None
    line: int
    events: list[LogEvent] = field(default_factory=list)

    @property
    def calls(self) -> int:
        """How many model calls it made."""
        return sum(event.kind == "call" for event in self.events)


@dataclass(slots=True)
class VoleLog:
    """A log's tasks in order. `lines` counts all, `cut` those longer than 1 MiB, which are skipped."""

    name: str
    tasks: list[Task] = field(default_factory=list)
    lines: int = 0
    cut: int = 0


def is_log(head: bytes) -> bool:
    """Whether a file begins as OpenVole's log does."""
    return _HEAD.search(head[:4096]) is not None and (b"[paw-" in head or b"[loop]" in head)


def read_log(path: Path, name: str) -> VoleLog:
    """The tasks of a log. Lines without a stamp continue the one before them and say nothing of their own."""
    log = VoleLog(name)
    is_default_price = False
    with path.open("rb") as raw:
        for number, (line, _ended, is_too_long) in enumerate(bounded_lines(raw, MAX_LINE_BYTES), start=1):
            log.lines += 1
            log.cut += is_too_long
            found = _LINE.match(line.decode("utf-8", errors="replace").rstrip("\r"))
            if found is None:
                continue
            at, said = instant(found.group(1)), found.group(4)
            task = _TASK.match(said)
            if task is not None:
                log.tasks.append(Task(task.group(1), task.group(2), at, number))
                continue
            for event in _events(said, at, number, is_default_price=is_default_price):
                if not log.tasks:
                    log.tasks.append(Task(None, None, at, number))
                log.tasks[-1].events.append(event)
            is_default_price = _NO_PRICE.match(said) is not None
    return log


def _events(said: str, at: datetime | None, line: int, *, is_default_price: bool) -> Iterator[LogEvent]:
    if (found := _BUDGET.match(said)) is not None:
        kind: EventKind = "final" if found.group(1) == "FINAL" else "budget"
        yield LogEvent(kind, at, line, (int(found.group(2)), int(found.group(3))), found.group(4))
    elif (found := _TRIGGER.match(said)) is not None:
        yield LogEvent("trigger", at, line, text="share" if found.group(1) else "messages")
    elif (found := _HOOK.match(said)) is not None:
        yield LogEvent("hook", at, line, (int(found.group(2)), int(found.group(3))), name=found.group(1))
    elif (found := _TRIM.match(said)) is not None:
        yield LogEvent("trim", at, line, (int(found.group(1)),))
    elif (found := _TOOL.match(said)) is not None:
        yield LogEvent("tool", at, line, text=found.group(2), name=found.group(1))
    elif (found := _COST.match(said)) is not None:
        # A cost by the client's default price for models it does not know is no cost anybody pays.
        cost = None if is_default_price else _cost(found.group(1))
        yield LogEvent("call", at, line, (int(found.group(2)), int(found.group(3))), found.group(4), cost=cost)
    elif (found := _THINK.search(said)) is not None:
        yield LogEvent("think", at, line, (int(found.group(2)),), found.group(1))


def _cost(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
