"""What the budget page is given: a bounded table of a session's main chain. Calls are numbers from 1.

Token numbers are window tokens: an item's estimate times its agent's calibration (derived, else estimated). `carry` is
tokens × calls resident: what the item cost over all prompts that held it. Spend is as the provider reported it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from contextviz.analysis.composition import Category
from contextviz.events.usage import TokenUsage

TargetKind = Literal["file", "command", "other", "none"]
Scope = Literal["main", "sub-agents", "summaries"]
BreakKind = Literal["compaction", "trim", "model", "tools", "system", "injection", "edit", "expired", "unknown"]
Culprit = Literal["engine", "user", "client", "time", "unknown"]


@dataclass(frozen=True, slots=True)
class Group:
    """Items of one category, tool and target: `now` tokens in the current window, `carry` over all calls.

    `target` is a file, a command's name, or "" for what has neither; "…" holds the small ones together. `note` says
    what a group without items is (the part of a window that no record holds).
    """

    category: Category
    tool: str
    target: str
    kind: TargetKind
    items: int
    now: int
    carry: int
    note: str = ""


@dataclass(frozen=True, slots=True)
class HeavyItem:
    """One item with what carrying it cost. `calls` is the number of calls whose window held it (each place counts).

    `position` is its place in the session's item table; `last` the last call that held it, `used` the last call that
    named its file again (None where it has no file, or nothing did).
    """

    position: int
    category: Category
    tool: str
    target: str
    since: int
    last: int
    calls: int
    tokens: int
    carry: int
    is_now: bool
    message_index: int | None
    used: int | None = None


@dataclass(frozen=True, slots=True)
class ToolTotal:
    """One tool: its uses, the tokens of its results and of its calls, their carry, and what is still in the window."""

    tool: str
    uses: int
    errors: int
    result_tokens: int
    call_tokens: int
    carry: int
    now: int


@dataclass(frozen=True, slots=True)
class FileTotal:
    """One file: how often tools read and wrote it, the tokens of the results, their carry, and the last use."""

    path: str
    reads: int
    writes: int
    result_tokens: int
    carry: int
    now: int
    last_call: int | None


@dataclass(frozen=True, slots=True)
class Repeat:
    """A tool use that was answered before, with the same words and no change known in between.

    `times` counts the answers beyond the first, `tokens` what they are together; `first_message` and `last_message`
    are the results' messages.
    """

    tool: str
    target: str
    kind: TargetKind
    times: int
    tokens: int
    carry: int
    first_call: int | None
    last_call: int | None
    first_message: int | None
    last_message: int | None


@dataclass(frozen=True, slots=True)
class UsageGroup:
    """Calls that cost at one rate: by model, by size of the prompt (above prices.LONG_PROMPT), by what is recorded."""

    model: str | None
    is_long: bool
    scope: Scope
    basis: str
    calls: int
    is_complete: bool
    usage: TokenUsage


@dataclass(frozen=True, slots=True)
class PrefixBreak:
    """A call whose prompt could not be served from the cache as far as it agrees in size with the one before.

    `predicted` is the shared prefix in tokens, `billed` the reported cache read, `rewritten` what was written or
    paid in full once more. `item` is the first item that differs, `gone` the one that stood there before (places in
    the item table). `why` is a few words.
    """

    call: int
    kind: BreakKind
    by: Culprit
    why: str
    compaction: int | None
    item: int | None
    gone: int | None
    predicted: int | None
    billed: int | None
    prompt: int
    rewritten: int
    gap_seconds: float | None
    model: str | None


@dataclass(frozen=True, slots=True)
class PrefixTable:
    """How stable prompts were. `share` columns are those of calls kept for the chart, at most MAX_BARS, breaks among
    them; `broken` says which are breaks.

    `predicted` and `billed` are sums over the calls where both are known, `prompt` over all calls with a predecessor.
    `rewrite_factor` is newly written tokens ÷ the largest window (metrics.md 5).
    """

    breaks: list[PrefixBreak] = field(default_factory=list)
    count: int = 0
    rewritten: int = 0
    by: dict[str, int] = field(default_factory=dict)
    predicted: int | None = None
    billed: int | None = None
    prefix_share: float | None = None
    rewrite_factor: float | None = None
    calls: list[int] = field(default_factory=list)
    share: list[float | None] = field(default_factory=list)
    broken: list[bool] = field(default_factory=list)
    is_billed: bool = False


@dataclass(frozen=True, slots=True)
class Headroom:
    """The last window against its limits, in tokens; None where a limit is unknown.

    `growth_low` and `growth_high` are the quartiles of growth a call since the window last shrank, None with too few.
    `over_window` and `over_threshold` count the calls that passed a limit.
    """

    call: int
    tokens: int
    is_reported: bool
    window: int | None
    threshold: int | None
    peak: int
    peak_call: int
    mean: float
    over_window: int | None
    over_threshold: int | None
    growth_low: int | None
    growth_high: int | None

    @property
    def limit(self) -> int | None:
        """The threshold, else the window."""
        return self.window if self.threshold is None else self.threshold

    @property
    def room(self) -> int | None:
        """Tokens left up to the limit, negative when it was passed."""
        return None if self.limit is None else self.limit - self.tokens

    @property
    def calls_left(self) -> tuple[int | None, int | None]:
        """An estimate of the calls that fit in the room: at fast growth, at slow growth (None: it does not grow)."""
        room = self.room
        if room is None or self.growth_low is None or self.growth_high is None:
            return None, None
        if room <= 0:
            return 0, 0
        fast = room // self.growth_high if self.growth_high > 0 else None
        return fast, room // self.growth_low if self.growth_low > 0 else None


@dataclass(frozen=True, slots=True)
class BudgetTable:
    """The budget of a session's main chain. Σ groups' carry + `carry_residual` = `prompt_tokens`, and Σ groups' now +
    `now_residual` = headroom.tokens, exactly; residuals are signed.

    `scale_basis` is the basis of every token number of items. Counts (`item_count`, `tool_count`, …) are of all,
    lists are bounded.
    """

    calls: int = 0
    prompt_tokens: int = 0
    carry_residual: int = 0
    now_residual: int = 0
    scale_basis: Literal["derived", "estimated"] = "estimated"
    groups: list[Group] = field(default_factory=list)
    heaviest: list[HeavyItem] = field(default_factory=list)
    item_count: int = 0
    tools: list[ToolTotal] = field(default_factory=list)
    tool_count: int = 0
    files: list[FileTotal] = field(default_factory=list)
    file_count: int = 0
    repeats: list[Repeat] = field(default_factory=list)
    repeat_count: int = 0
    repeat_tokens: int = 0
    usage: list[UsageGroup] = field(default_factory=list)
    prefix: PrefixTable = field(default_factory=PrefixTable)
    headroom: Headroom | None = None
