"""Sessions and their runs."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from ninja import Schema

from contextviz.api.shapes import Cost, Name, SessionCost, Tokens, Words
from contextviz.events.usage import TokenUsage
from contextviz.store.values import ClientTotal, SessionRow, SourceRow


class Window(Schema):
    """The size of the context window in tokens, and who says so: the source, an index's hint, the agent's
    configuration, our table."""

    tokens: int | None
    basis: Literal["reported", "hint", "configuration", "table", "unknown"]


class Occupancy(Tokens):
    """How full the window is after the main chain's last call; `share` from 0 to 1, above when exceeded."""

    share: float | None


class Spend(Schema):
    """Tokens summed over all calls."""

    input: Tokens
    cache_read: Tokens
    cache_write: Tokens
    output: Tokens
    total: Tokens


class Counts(Schema):
    """How many of each there are."""

    entries: int
    messages: int
    calls: int
    failed_calls: int
    compactions: int
    snapshots: int
    sub_agents: int
    summaries: int
    topics: int
    problems: int
    errors: int


class Session(Schema):
    """One session. `revision` grows with every change. Null means unknown."""

    id: int
    revision: int
    status: str
    source_id: Name
    format: str
    format_version: Name | None
    generation: str
    generation_at: datetime | None
    title: Words | None
    agent: Name | None
    model: Name | None
    folder: Words | None
    parent: Name | None
    forked_from: Name | None
    started_at: datetime | None
    ended_at: datetime | None
    created_at: datetime
    updated_at: datetime
    window: Window
    compaction_threshold: Tokens
    occupancy: Occupancy
    last_prompt: Tokens
    spend: Spend
    cost: SessionCost
    counts: Counts
    coverage: float | None
    estimator: str | None


class Source(Schema):
    """A file that the session is read from; `is_in_place` where it lies outside the data folder."""

    sha256: str
    name: Words
    bytes: int
    is_in_place: bool
    received_at: datetime


class Unlogged(Spend):
    """What the client's own total of the session has beyond its calls, by kind of token; no call tells of it, so it is
    not in `spend`. `with_calls` is that total: the calls' and this. `cost` is the client's own of this part, if it
    tells one."""

    kind: Literal["client_total"]
    cost: Cost
    with_calls: Tokens


class SessionDetail(Session):
    """One session with the files it is read from. `unlogged` is null where the client tells of no tokens beyond the
    calls; `client_cost` is what it says that the whole session cost, by its own total."""

    sources: list[Source]
    unlogged: Unlogged | None
    client_cost: Cost


class Run(Schema):
    """A run: how the session's messages were assembled into windows. Run 0 is what really happened."""

    number: int
    kind: Literal["recorded"]
    engine: str | None
    calls: int
    snapshots: int
    compactions: int


def session_of(row: SessionRow) -> Session:
    """A session as the API shows it."""
    return Session(**_values(row))


def detail_of(row: SessionRow, sources: list[SourceRow], total: ClientTotal) -> SessionDetail:
    """The same with its files, and what the client says of it as a whole."""
    listed = [
        Source(
            sha256=one.sha256,
            name=one.name,
            bytes=one.size,
            is_in_place=one.is_in_place,
            received_at=one.received_at,
        )
        for one in sources
    ]
    return SessionDetail(
        **_values(row), sources=listed, unlogged=_unlogged(row, total.beyond), client_cost=_reported(total.cost_usd)
    )


def _reported(usd: float | None) -> Cost:
    return Cost(usd=usd, basis="unknown" if usd is None else "reported")


def _unlogged(row: SessionRow, rest: TokenUsage | None) -> Unlogged | None:
    if rest is None or not rest.is_real:
        return None
    return Unlogged(
        kind="client_total",
        input=Tokens.of(rest.input_tokens, "reported"),
        cache_read=Tokens.of(rest.cache_read_tokens, "reported"),
        cache_write=Tokens.of(rest.cache_write_tokens, "reported"),
        output=Tokens.of(rest.output_tokens, "reported"),
        total=Tokens.of(rest.total_tokens, "reported"),
        cost=_reported(rest.cost_usd),
        with_calls=Tokens.of((row.spend_total_tokens or 0) + (rest.total_tokens or 0), "reported"),
    )


def run_of(row: SessionRow) -> Run:
    """The recorded run."""
    return Run(
        number=0,
        kind="recorded",
        engine=None,
        calls=row.call_count,
        snapshots=row.snapshot_count,
        compactions=row.compaction_count,
    )


_SAME = (
    "id", "revision", "status", "source_id", "format", "format_version", "generation", "generation_at", "title",
    "agent", "model", "parent", "forked_from", "started_at", "ended_at", "created_at", "updated_at", "coverage",
    "estimator",
)  # fmt: skip


def _values(row: SessionRow) -> dict[str, Any]:
    occupancy = Tokens.of(row.occupancy_tokens, row.occupancy_basis)
    return {name: getattr(row, name) for name in _SAME} | {
        "folder": row.cwd,
        "window": Window(tokens=row.window, basis=_window_basis(row)),
        "compaction_threshold": Tokens.of(row.compaction_threshold, _threshold_basis(row)),
        "occupancy": Occupancy(tokens=occupancy.tokens, basis=occupancy.basis, share=row.occupancy_share),
        "last_prompt": Tokens.of(row.last_prompt_tokens, "reported"),
        "spend": _spend(row),
        "cost": SessionCost(
            usd=row.cost_usd,
            basis="unknown" if row.cost_usd is None else row.cost_basis,  # type: ignore[arg-type]
            unpriced_calls=row.cost_unpriced_calls,
        ),
        "counts": _counts(row),
    }


def _threshold_basis(row: SessionRow) -> str:
    # A configuration says how a threshold follows from the window; what the source says itself is reported.
    return "derived" if row.compaction_threshold_basis == "configuration" else "reported"


def _window_basis(row: SessionRow) -> Literal["reported", "hint", "configuration", "table", "unknown"]:
    if row.window is None:
        return "unknown"
    # A window without a basis of the session's own is the last call's, which its source reported.
    return row.window_basis or "reported"  # type: ignore[return-value]


def _spend(row: SessionRow) -> Spend:
    return Spend(
        input=Tokens.of(row.spend_input_tokens, "reported"),
        cache_read=Tokens.of(row.spend_cache_read_tokens, "reported"),
        cache_write=Tokens.of(row.spend_cache_write_tokens, "reported"),
        output=Tokens.of(row.spend_output_tokens, "reported"),
        total=Tokens.of(row.spend_total_tokens, "reported"),
    )


def _counts(row: SessionRow) -> Counts:
    return Counts(
        entries=row.entry_count,
        messages=row.message_count,
        calls=row.call_count,
        failed_calls=row.failed_call_count,
        compactions=row.compaction_count,
        snapshots=row.snapshot_count,
        sub_agents=row.subagent_count,
        summaries=row.node_count,
        topics=row.topic_count,
        problems=row.problem_count,
        errors=row.error_count,
    )
