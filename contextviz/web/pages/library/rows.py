"""The Library's rows: a session each, under the day it was last active."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.urls import reverse
from django.utils import timezone

from contextviz.charts import words
from contextviz.sources.naming import program_and_format
from contextviz.store.queries.sparklines import Sparkline
from contextviz.store.values import SessionRow
from contextviz.web.pages.boundary_words import window_words
from contextviz.web.pages.library.sparkline import Spark, spark
from contextviz.web.shell import origin_of, states_of


@dataclass(frozen=True, slots=True)
class SessionLine:
    """One session as the table shows it. None is unknown."""

    # The session's page
    url: str
    # Its title, else its id
    title: str
    # A state of the `state` tag
    state: str
    # Folder, agent's name, sub-agents: the second line
    about: str
    # How many problems and notes reading it found, in words
    problems: str
    # The program that wrote it, and the format
    program: str
    format: str
    # Last activity
    at: datetime | None
    # Model calls, and how they are known
    calls: int
    # The window over the calls, None where no size is known
    spark: Spark | None
    # The last call's use, the window and the compaction threshold, in tokens
    used: int | None
    window: int | None
    threshold: int | None
    # Where the window is from, "" where the source reported it
    window_from: str
    # How `used` is known
    basis: str
    # How often it was compacted
    compactions: int
    # Dollars, as recorded or from prices, and which; how many calls have no price; without any, billed tokens
    cost: float | None
    cost_basis: str
    unpriced: int
    billed: int | None


@dataclass(frozen=True, slots=True)
class DayGroup:
    """Neighbouring sessions under one heading, "" where the order is not that of time."""

    name: str
    lines: list[SessionLine]


def session_line(row: SessionRow, picture: Sparkline | None, notes: int, state: str) -> SessionLine:
    """One session as the table shows it; `notes` of its problems are mere notes, `state` is that of the side bar."""
    program, kind = program_and_format(row.format)
    return SessionLine(
        url=reverse("session", args=[row.id]),
        title=row.title or row.source_id,
        state=state,
        about=" · ".join(_about(row)),
        problems=words.findings(row.problem_count - notes, notes),
        program=program,
        format=kind,
        at=row.ended_at or row.started_at,
        calls=row.call_count,
        spark=spark(picture),
        used=row.occupancy_tokens,
        window=row.window,
        threshold=row.compaction_threshold,
        window_from=window_words(row.window_basis),
        basis=row.occupancy_basis,
        compactions=row.compaction_count,
        cost=row.cost_usd,
        cost_basis=row.cost_basis,
        unpriced=row.cost_unpriced_calls,
        billed=row.spend_total_tokens,
    )


def _about(row: SessionRow) -> Iterable[str]:
    if row.cwd:
        yield row.cwd.replace("\\", "/").rstrip("/").rsplit("/", 1)[-1]
    if row.forked_from or row.parent:
        yield origin_of(row)
    if row.agent:
        yield row.agent
    if row.model:
        yield row.model
    if row.subagent_count:
        yield words.counted(row.subagent_count, "sub-agent")
    if row.node_count:
        yield words.counted(row.node_count, "summary", "summaries")
    if row.topic_count:
        yield words.counted(row.topic_count, "topic")


def grouped(
    rows: Sequence[SessionRow], pictures: Mapping[int, Sparkline], notes: Mapping[int, int], *, by_day: bool
) -> list[DayGroup]:
    """Rows in their order, with a heading where the day changes."""
    groups: list[DayGroup] = []
    now = timezone.localtime()
    states = states_of(rows, now)
    for row in rows:
        line = session_line(row, pictures.get(row.id), notes.get(row.id, 0), states[row.id])
        name = _heading(line.at, now) if by_day else ""
        if not groups or groups[-1].name != name:
            groups.append(DayGroup(name, []))
        groups[-1].lines.append(line)
    return groups


def _heading(at: datetime | None, now: datetime) -> str:
    if at is None:
        return "No time reported"
    local = timezone.localtime(at)
    days = (now.date() - local.date()).days
    if days < 0:
        return "Later than now"  # its clock runs ahead; under a month it would stand before today
    if days in (0, 1):
        return "Yesterday" if days else "Today"
    if days > 1 and local.date() >= (now - timedelta(days=now.weekday())).date():
        return "Earlier this week"
    if 1 < days < 7:
        return "Last week"
    return f"{local:%B %Y}"
