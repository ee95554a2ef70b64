"""OpenVole's budget: what a request is made of, in tokens by its own estimator (engines document, section 2.3)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal

from contextviz.engines.openvole.messages import AgentMessage
from contextviz.tokens.estimators import json2_text4

ESTIMATOR_ID = "ov-json2-text4"
SHARE = 0.75  # of the window; above it compaction runs


@dataclass(frozen=True, slots=True)
class Budget:
    """One request, in tokens. `total` includes the reserve for the answer; `free` is negative where it does not fit."""

    system: int
    tools: int
    session: int
    messages: int
    reserve: int
    window: int

    @property
    def total(self) -> int:
        """Everything, the reserve included."""
        return self.system + self.tools + self.session + self.messages + self.reserve

    @property
    def free(self) -> int:
        """What is left of the window."""
        return self.window - self.total

    def plain(self) -> dict[str, int]:
        """By the names that OpenVole gives them."""
        return {
            "systemPrompt": self.system, "tools": self.tools, "sessionHistory": self.session,
            "taskMessages": self.messages, "responseReserve": self.reserve, "total": self.total,
            "maxTokens": self.window, "free": self.free,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Breakdown:
    """Messages by role, in tokens."""

    user: int = 0
    brain: int = 0
    tool_result: int = 0
    error: int = 0

    @property
    def total(self) -> int:
        """All of them."""
        return self.user + self.brain + self.tool_result + self.error

    def plain(self) -> dict[str, int]:
        """By the names that OpenVole gives them."""
        return {"user": self.user, "brain": self.brain, "toolResult": self.tool_result, "error": self.error,
                "total": self.total}  # fmt: skip


def estimate(text: str) -> int:
    """Tokens of a text: two UTF-16 units each where it begins as JSON does, else four."""
    return json2_text4(text)


def estimate_messages(messages: Iterable[AgentMessage]) -> int:
    """Tokens of messages, with four for each beside its text."""
    return sum(message.size for message in messages)


def calculate_budget(window: int, reserve: int, *, system: int, tools: int, session: int, messages: int) -> Budget:
    """The budget of one request."""
    return Budget(system, tools, session, messages, reserve, window)


def should_compact(budget: Budget) -> bool:
    """Whether more than three quarters of the window are used (strictly more)."""
    return budget.total > budget.window * SHARE


def exceeds_count(messages: int, threshold: int) -> bool:
    """The other trigger: strictly more messages than `threshold`; 0 turns it off."""
    return threshold > 0 and messages > threshold


def message_breakdown(messages: Iterable[AgentMessage]) -> Breakdown:
    """Tokens by role."""
    sums = {"user": 0, "brain": 0, "tool_result": 0, "error": 0}
    for message in messages:
        sums[message.role] += message.size
    return Breakdown(**sums)


def format_budget(budget: Budget) -> str:
    """The line that OpenVole logs: thousands with one decimal and a K, smaller and negative numbers as they are."""
    shown = [
        ("System", budget.system), ("Tools", budget.tools), ("Session", budget.session),
        ("Messages", budget.messages), ("Reserve", budget.reserve), ("Free", budget.free),
    ]  # fmt: skip
    return " | ".join(f"{name}: {_short(number)}" for name, number in shown) + f" / {_short(budget.window)}"


def _short(number: int) -> str:
    if number < 1000:
        return str(number)
    # toFixed rounds the binary number: 1.25 goes up, 1.35 (a little below) stays down.
    return f"{Decimal(number / 1000).quantize(Decimal('0.1'), ROUND_HALF_UP)}K"
