"""The rows of the budget page's tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from contextviz.analysis.budget import (
    BudgetTable,
    FileTotal,
    HeavyItem,
    PrefixBreak,
    Repeat,
    ToolTotal,
    UsageGroup,
    bill,
)
from contextviz.charts import palette
from contextviz.events.masking import without_secrets
from contextviz.events.usage import sum_usage
from contextviz.tokens.prices import MILLION, PriceTable
from contextviz.web.pages.links import call_url, compaction_url, message_url


@dataclass(frozen=True, slots=True)
class ItemRow:
    """One heavy item."""

    # Its category's key
    category: str
    # Tool and target, "" for what no tool gave; then its own first line
    name: str
    text: str
    # Where it is
    url: str
    # First call that held it, calls that held it
    since: int
    calls: int
    # Tokens, tokens × calls, and that as a share of the heaviest (for the bar)
    tokens: int
    carry: int
    share: float
    # Whether the last window holds it
    is_now: bool
    # Last call that named its file; None where that cannot be said
    used: int | None
    # Whether it is a file that nothing named again
    is_unused: bool

    @property
    def bar(self) -> str:
        """The bar's width as CSS."""
        return f"{self.share * 100:.1f}%"


@dataclass(frozen=True, slots=True)
class BreakRow:
    """One prefix break."""

    # The call, and its context
    call: int
    url: str
    # "compaction 3", "cache expired", and the few words after it
    name: str
    why: str
    # Whether orange is its colour
    is_folded: bool
    # Who: engine, user, client, time, unknown
    by: str
    # Share of the prompt that was kept
    share: float
    # Predicted and billed tokens, None where not known
    predicted: int | None
    billed: int | None
    # Tokens written or paid in full once more, and what they cost; None without a price
    rewritten: int
    cost: float | None
    # Idle seconds before it, None where times are not known
    gap: float | None
    # The first item that differs, in one line, "" where not known
    item: str

    @property
    def bar(self) -> str:
        """The bar's width as CSS."""
        return f"{self.share * 100:.1f}%"


@dataclass(frozen=True, slots=True)
class ToolRow:
    """One tool, with its carry as a share of the dearest."""

    total: ToolTotal
    share: float

    @property
    def bar(self) -> str:
        """The bar's width as CSS."""
        return f"{self.share * 100:.1f}%"


@dataclass(frozen=True, slots=True)
class FileRow:
    """One file, with the share of the dearest and where it was used last."""

    total: FileTotal
    share: float
    url: str

    @property
    def short(self) -> str:
        """The path, cut in the middle: its end tells it apart."""
        return _cut(self.total.path, PATH_CHARS)

    @property
    def bar(self) -> str:
        """The bar's width as CSS."""
        return f"{self.share * 100:.1f}%"


@dataclass(frozen=True, slots=True)
class RepeatRow:
    """One repeated tool use, with where its answers are."""

    repeat: Repeat
    first_url: str
    last_url: str


@dataclass(frozen=True, slots=True)
class ModelRow:
    """What one model was used for, and what that cost."""

    model: str
    scope: str
    calls: int
    prompt: int | None
    read: int | None
    written: int | None
    output: int | None
    cost: float | None
    # reported, derived, unknown
    basis: str


PATH_CHARS = 42
NAME_CHARS = 24
NAMES: Mapping[str, str] = {
    "trim": "trim",
    "model": "model switched",
    "tools": "tools",
    "system": "system prompt",
    "injection": "injection",
    "edit": "earlier item",
    "expired": "cache expired",
    "unknown": "not explained",
}


def item_rows(
    session_id: int, rows: Sequence[HeavyItem], texts: Mapping[int, str]
) -> list[ItemRow]:  # fmt: skip
    """Rows of the heaviest items; `texts` are first lines by item position."""
    largest = max((row.carry for row in rows), default=0) or 1
    return [
        ItemRow(
            category=row.category,
            name=without_secrets(_name(row)),
            text=without_secrets(texts.get(row.position, "")),
            url=_place(session_id, row.message_index, row.since),
            since=row.since,
            calls=row.calls,
            tokens=row.tokens,
            carry=row.carry,
            share=row.carry / largest,
            is_now=row.is_now,
            used=row.used,
            is_unused=row.used is None and row.category in ("result", "error") and "/" in row.target,
        )
        for row in rows
    ]


def _cut(path: str, chars: int) -> str:
    return path if len(path) <= chars else f"{path[: chars // 4]}…{path[-(chars * 3) // 4 :]}"


def _name(row: HeavyItem) -> str:
    if row.category == "call":
        return ""  # its own line begins with the tool's name
    if row.tool:
        return f"{row.tool} {_cut(row.target, NAME_CHARS)}".strip()
    return "" if row.category in ("user", "assistant", "thinking") else palette.category(row.category).name


def _place(session_id: int, message: int | None, call: int | None) -> str:
    if message is not None:
        return message_url(session_id, message)
    return call_url(session_id, call) if call else ""


def break_rows(
    session_id: int, rows: Sequence[PrefixBreak], prices: PriceTable, texts: Mapping[int, str]
) -> list[BreakRow]:
    """Rows of the prefix breaks; a compaction leads to its own page, all else to the context at the call."""
    return [_break(session_id, row, prices, texts) for row in rows]


def _break(session_id: int, row: PrefixBreak, prices: PriceTable, texts: Mapping[int, str]) -> BreakRow:
    price = prices.of(row.model)
    rate = None if price is None else price.input if price.cache_write_5m is None else price.cache_write_5m
    held = row.predicted if row.billed is None else row.billed
    is_folded = row.kind in ("compaction", "trim")
    differs = row.item if row.item is not None else row.gone
    return BreakRow(
        call=row.call,
        url=compaction_url(session_id, row.compaction) if row.compaction else call_url(session_id, row.call),
        name=f"compaction {row.compaction}" if row.kind == "compaction" else NAMES[row.kind],
        why=without_secrets(row.why),
        is_folded=is_folded,
        by=row.by,
        share=min((held or 0) / row.prompt, 1.0) if row.prompt else 0.0,
        predicted=row.predicted,
        billed=row.billed,
        rewritten=row.rewritten,
        cost=None if rate is None else row.rewritten * rate / MILLION,
        gap=row.gap_seconds,
        item="" if differs is None or is_folded else without_secrets(texts.get(differs, "")),
    )


def tool_rows(rows: Sequence[ToolTotal]) -> list[ToolRow]:
    """Tools with their bars."""
    largest = max((row.carry for row in rows), default=0) or 1
    return [ToolRow(replace(row, tool=without_secrets(row.tool)), row.carry / largest) for row in rows]


def file_rows(session_id: int, rows: Sequence[FileTotal]) -> list[FileRow]:
    """Files with their bars."""
    largest = max((row.carry for row in rows), default=0) or 1
    return [
        FileRow(row, row.carry / largest, call_url(session_id, row.last_call) if row.last_call else "") for row in rows
    ]


def repeat_rows(session_id: int, rows: Sequence[Repeat]) -> list[RepeatRow]:
    """Repeated tool uses with links to the first and the last answer."""
    return [
        RepeatRow(
            replace(row, tool=without_secrets(row.tool), target=without_secrets(row.target)),
            _place(session_id, row.first_message, row.first_call),
            _place(session_id, row.last_message, row.last_call),
        )
        for row in rows
    ]


def model_rows(table: BudgetTable, prices: PriceTable) -> list[ModelRow]:
    """Usage and cost by model and by who called it, the dearest input first."""
    gathered: dict[tuple[str, str], list[UsageGroup]] = {}
    for group in table.usage:
        gathered.setdefault((group.model or "", group.scope), []).append(group)
    found = [_model(model, scope, groups, prices) for (model, scope), groups in gathered.items()]
    return sorted(found, key=lambda row: (-(row.prompt or 0), row.model))


def _model(model: str, scope: str, groups: Sequence[UsageGroup], prices: PriceTable) -> ModelRow:
    usage = sum_usage(group.usage for group in groups)
    money = bill(groups, prices)
    basis = "unknown" if money.usd is None else "derived" if money.derived else "reported"
    return ModelRow(
        model, scope, sum(group.calls for group in groups), usage.prompt_tokens, usage.cache_read_tokens,
        usage.cache_write_tokens, usage.output_tokens, money.usd, basis,
    )  # fmt: skip
