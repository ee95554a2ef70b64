"""The budget page of a session: everything on it, prepared."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar
from urllib.parse import urlencode

from django.urls import reverse

from contextviz.analysis.budget import BudgetTable, CacheEconomics, Headroom, bill, cache_economics
from contextviz.charts import budget as treemap
from contextviz.charts import budget_calls, palette, words
from contextviz.events.masking import without_secrets
from contextviz.services.budget import prices as own
from contextviz.store.queries import sessions, snapshots
from contextviz.store.values import SessionRow
from contextviz.tokens.prices import PriceTable
from contextviz.web.pages.budget.figures import Kpi, kpis
from contextviz.web.pages.budget.rows import (
    BreakRow,
    FileRow,
    ItemRow,
    ModelRow,
    RepeatRow,
    ToolRow,
    break_rows,
    file_rows,
    item_rows,
    model_rows,
    repeat_rows,
    tool_rows,
)
from contextviz.web.pages.held import first_lines, title_of
from contextviz.web.pages.tabs import Tab, session_tabs
from contextviz.web.pages.unlogged import Beyond, beyond

Listed = TypeVar("Listed")
FEW = 9
FEW_BREAKS = 6
FEW_OTHERS = 10
TWIN_ROWS = 40
LISTS = ("items", "breaks", "tools", "files", "repeats")


@dataclass(frozen=True, slots=True)
class BudgetParams:
    """Where the page stands; all of it is in the address."""

    view: treemap.View = "category"
    measure: treemap.Measure = "carry"
    mode: budget_calls.Mode = "tokens"
    # The one list that is shown whole, "" for none
    whole: str = ""


def parse(query: Mapping[str, str]) -> BudgetParams:
    """The parameters of a query string; what is not one of them is left at its default."""
    return BudgetParams(
        next((view for view in treemap.VIEWS if view == query.get("view")), "category"),
        next((measure for measure in treemap.MEASURES if measure == query.get("of")), "carry"),
        next((mode for mode in budget_calls.MODES if mode == query.get("chart")), "tokens"),
        next((name for name in LISTS if name == query.get("all")), ""),
    )


@dataclass(frozen=True, slots=True)
class Choice:
    """One of several that exclude each other."""

    name: str
    url: str
    current: bool
    # The key that chooses it, "" for none
    key: str = ""


@dataclass(frozen=True, slots=True)
class Chart:
    """A figure with its sentence and its table twin."""

    src: str
    summary: str
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class BudgetPage:
    """The page; `table` None where the budget was never computed for this session."""

    row: SessionRow
    title: str
    tabs: list[Tab]
    params: BudgetParams
    table: BudgetTable | None
    compute_url: str
    prices_url: str
    kpis: list[Kpi]
    room: Headroom | None
    cache: CacheEconomics | None
    # Choices of the treemap and of the chart over calls
    views: list[Choice]
    measures: list[Choice]
    modes: list[Choice]
    treemap: Chart | None
    calls: Chart | None
    # The categories that the windows held, in the order they are stacked
    legend: list[str]
    prefix: Chart | None
    items: list[ItemRow]
    # Share of all prompt tokens that the items shown carried
    items_share: float | None
    breaks: list[BreakRow]
    # "by engine 4, time 1"
    breaks_by: str
    breaks_cost: float | None
    # Billed ÷ predicted − 1, None where one is not known
    billed_delta: float | None
    tools: list[ToolRow]
    files: list[FileRow]
    repeats: list[RepeatRow]
    models: list[ModelRow]
    # What the client's own total has beyond the calls, and what it says that all cost; None where it says nothing
    beyond: Beyond | None
    client_cost: float | None
    # Addresses that show a list whole
    more: dict[str, str]


def budget_page(row: SessionRow, table: BudgetTable | None, params: BudgetParams) -> BudgetPage:
    """The page of a session. Eight queries at most, whatever its length."""
    total = sessions.client_total(row.id)
    prices = own.price_table()
    known = table or BudgetTable()
    room = _room(known.headroom, row)
    cache = cache_economics(known.usage, prices)
    money = bill(known.usage, prices)
    heavy = _few(known.heaviest, params, "items", FEW)
    breaks = sorted(known.prefix.breaks, key=lambda found: -found.rewritten)
    shown = sorted(_few(breaks, params, "breaks", FEW_BREAKS), key=lambda found: found.call)
    wanted = [item.position for item in heavy] + [n for b in shown for n in (b.item, b.gone) if n is not None]
    texts = _texts(row.id, wanted) if table else {}
    rewritten = break_rows(row.id, shown, prices, texts)
    return BudgetPage(
        row=row,
        title=title_of(row),
        tabs=session_tabs(row, "budget"),
        params=params,
        table=table,
        compute_url=reverse("budget_compute", args=[row.id]),
        prices_url=reverse("prices"),
        kpis=kpis(known, money, cache, room, prices),
        room=room,
        cache=cache,
        views=[
            Choice(view.capitalize(), _url(params, view=view), view == params.view, str(number))
            for number, view in enumerate(treemap.VIEWS, 1)
        ],
        measures=[
            Choice(name, _url(params, of=measure), measure == params.measure)
            for measure, name in (("carry", "Session"), ("now", "Last window"))
        ],
        modes=[Choice(mode.capitalize(), _url(params, chart=mode), mode == params.mode) for mode in budget_calls.MODES],
        treemap=_treemap(row.id, known, params),
        calls=_calls(row.id, known, params),
        legend=_legend(known, params),
        prefix=Chart(reverse("budget_prefix", args=[row.id]), budget_calls.prefix_summary(known.prefix)),
        items=item_rows(row.id, heavy, texts),
        items_share=_ratio(sum(item.carry for item in heavy), known.prompt_tokens),
        breaks=rewritten,
        breaks_by=", ".join(f"{by} {count:,}" for by, count in sorted(known.prefix.by.items(), key=lambda p: -p[1])),
        breaks_cost=_breaks_cost(row.id, known, prices),
        billed_delta=_delta(known.prefix.billed, known.prefix.predicted),
        tools=tool_rows(_few(known.tools, params, "tools", FEW_OTHERS)),
        files=file_rows(row.id, _few(known.files, params, "files", FEW_OTHERS)),
        repeats=repeat_rows(row.id, _few(known.repeats, params, "repeats", FEW_OTHERS)),
        models=model_rows(known, prices),
        beyond=beyond(row, total),
        client_cost=total.cost_usd,
        more={name: _url(replace(params, whole=name)) + f"#{name}" for name in LISTS},
    )


def _url(params: BudgetParams, **changes: str) -> str:
    query = {"view": params.view, "of": params.measure, "chart": params.mode, "all": params.whole} | changes
    plain = {"view": "category", "of": "carry", "chart": "tokens", "all": ""}
    return "?" + urlencode({name: value for name, value in query.items() if value != plain[name]})


def _few(rows: list[Listed], params: BudgetParams, name: str, few: int) -> list[Listed]:
    return rows if params.whole == name else rows[:few]


def _room(room: Headroom | None, row: SessionRow) -> Headroom | None:
    """The headroom with this installation's own window, else the table's, where the source reports none."""
    if room is None or (room.window is not None and row.window_basis != "table"):
        return room
    return replace(room, window=own.window_here(row.model, largest_prompt=room.peak))


def _texts(session_id: int, positions: Iterable[int]) -> dict[int, str]:
    found = snapshots.items_at(session_id, positions)
    lines = first_lines([item.text for item, _ in found.values()])
    return {position: lines.get(item.text.digest, "") for position, (item, _) in found.items()}


def _treemap(session_id: int, table: BudgetTable, params: BudgetParams) -> Chart:
    is_now = params.measure == "now"
    residual = table.now_residual if is_now else table.carry_residual
    total = (table.headroom.tokens if table.headroom else 0) if is_now else table.prompt_tokens
    found = treemap.branches(table.groups, params.view, params.measure)
    rows = []
    for branch in found:
        share = words.percent(_ratio(branch.value, total))
        rows.append((without_secrets(branch.name), words.tokens(branch.value), share))
    listed = rows[:TWIN_ROWS]
    rest = sum(branch.value for branch in found[TWIN_ROWS:])
    if rest:
        listed.append((f"{len(found) - TWIN_ROWS} more", words.tokens(rest), words.percent(_ratio(rest, total))))
    listed.append(("Residual", words.signed(residual), words.percent(_ratio(residual, total))))
    listed.append(("Total", words.tokens(total), words.percent(_ratio(total, total))))
    src = reverse("budget_treemap", args=[session_id]) + "?" + urlencode({"view": params.view, "of": params.measure})
    return Chart(
        src,
        treemap.summary(found, params.view, params.measure, residual),
        (params.view.capitalize(), "tok" if is_now else "tok × calls", "share"),
        tuple(listed),
    )


def _calls(session_id: int, table: BudgetTable, params: BudgetParams) -> Chart:
    """The chart over calls; its twin has the categories over all calls and in the last window."""
    sums = {found.key: [0, 0] for found in palette.CATEGORIES}
    for group in table.groups:
        row = sums.setdefault(group.category, [0, 0])
        row[0] += group.carry
        row[1] += group.now
    rows = [(palette.category(key).name, words.tokens(carry), words.tokens(now)) for key, (carry, now) in sums.items()]
    rows.append(("Residual", words.signed(table.carry_residual), words.signed(table.now_residual)))
    now = table.headroom.tokens if table.headroom else None
    rows.append(("Total", words.tokens(table.prompt_tokens), words.tokens(now)))
    src = reverse("budget_calls", args=[session_id]) + f"?chart={params.mode}"
    peak = table.headroom
    what = {"tokens": "Window tokens by category", "share": "Shares of the window by category"}
    sentence = f"{what.get(params.mode, 'Room that is left in the window')} over {words.counted(table.calls, 'call')}"
    if peak is not None and params.mode != "headroom":
        sentence += f", largest {words.compact(peak.peak)} at call {peak.peak_call:,}"
    if table.carry_residual and table.carry_residual < 0 and params.mode != "headroom":
        over = words.tokens(-table.carry_residual)
        sentence += f"; over all calls the parts come to {over} more than was reported, hatched over its line"
    return Chart(src, sentence + ".", ("Category", "all calls, tok × calls", "last window, tok"), tuple(rows))


def _legend(table: BudgetTable, params: BudgetParams) -> list[str]:
    held = {group.category for group in table.groups if group.carry > 0}
    return [found.key for found in palette.CATEGORIES if found.key in held] if params.mode != "headroom" else []


def _ratio(part: float, whole: float) -> float | None:
    return part / whole if whole else None


def _delta(billed: int | None, predicted: int | None) -> float | None:
    return billed / predicted - 1 if billed is not None and predicted else None


def _breaks_cost(session_id: int, table: BudgetTable, prices: PriceTable) -> float | None:
    rows = break_rows(session_id, table.prefix.breaks, prices, {})
    costs = [row.cost for row in rows if row.cost is not None]
    return sum(costs) if costs and len(costs) == table.prefix.count else None
