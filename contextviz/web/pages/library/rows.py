"""The Library's rows: a session each, under the day it was last active."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.urls import reverse
from django.utils import timezone

from contextviz.charts import words
from contextviz.store.queries.sparklines import Sparkline
from contextviz.store.values import SessionRow
from contextviz.web.pages.boundary_words import window_words
from contextviz.web.pages.library.sparkline import Spark, spark
from contextviz.web.shell import state_of

FORMATS = {
    "claude-code": ("Claude Code", "claude jsonl"),
    "codex": ("Codex", "codex rollout"),
    "openclaw": ("OpenClaw", "openclaw jsonl"),
    "openclaw-sqlite": ("OpenClaw", "openclaw store"),
    "pi": ("pi", "pi jsonl"),
    "lossless-claw": ("OpenClaw", "lossless store"),
    "conversation-map": ("OpenClaw", "conversation map"),
    "openvole": ("OpenVole", "openvole transcript"),
    "gemini-cli": ("Gemini CLI", "gemini session"),
    "opencode": ("OpenCode", "opencode session"),
    "openhands": ("OpenHands", "openhands events"),
    "copilot-cli": ("Copilot CLI", "copilot events"),
    "droid": ("Droid", "droid session"),
    "kiro": ("Kiro", "kiro session"),
    "cursor": ("Cursor", "cursor transcript"),
    "chatgpt-export": ("ChatGPT", "chatgpt export"),
    "claude-ai-export": ("claude.ai", "claude.ai export"),
    "atif": ("ATIF", "atif trajectory"),
    "swe-agent": ("SWE-agent", "swe-agent trajectory"),
    "otlp": ("OpenTelemetry", "otlp traces"),
    "flowctx": ("flowctx", "flowctx"),
    "flowctx-dump": ("flowctx", "flowctx dump"),
    "cortext": ("Cortext", "cortext"),
    "engine-log": ("Engine log", "engine log"),
    "events": ("Posted events", "events"),
    "openai-chat": ("OpenAI Chat", "openai chat"),
    "openai-responses": ("OpenAI Responses", "openai responses"),
    "anthropic-messages": ("Anthropic Messages", "anthropic messages"),
    "gemini-api": ("Gemini API", "gemini api"),
    "chat-array": ("Chat messages", "chat array"),
    "sharegpt": ("ShareGPT", "sharegpt"),
}
# What a format is called where it stands alone, where that is not its program.
_ALONE = {
    "openclaw-sqlite": "OpenClaw store",
    "lossless-claw": "lossless-claw store",
    "conversation-map": "Conversation map",
    "flowctx-dump": "flowctx dump",
}


# Of a session that another one names as its own: a sub-agent's, or one that was started from it.
CHILD = "begun by another session"


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


def session_line(row: SessionRow, picture: Sparkline | None, notes: int, now: datetime) -> SessionLine:
    """One session as the table shows it; `notes` of its problems are mere notes."""
    program, kind = program_and_format(row.format)
    return SessionLine(
        url=reverse("session", args=[row.id]),
        title=row.title or row.source_id,
        state=state_of(row, now),
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


def program_and_format(key: str) -> tuple[str, str]:
    """The program that writes a format, and the format in words."""
    known = FORMATS.get(key)
    if known:
        return known
    return next((FORMATS[name][0] for name in FORMATS if key.startswith(name)), key), key.replace("-", " ")


def format_name(key: str) -> str:
    """What a format is called on a page of its session and on the coverage page."""
    return _ALONE.get(key) or program_and_format(key)[0]


def _about(row: SessionRow) -> Iterable[str]:
    if row.cwd:
        yield row.cwd.replace("\\", "/").rstrip("/").rsplit("/", 1)[-1]
    if row.parent:
        yield CHILD
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
    rows: Iterable[SessionRow], pictures: Mapping[int, Sparkline], notes: Mapping[int, int], *, by_day: bool
) -> list[DayGroup]:
    """Rows in their order, with a heading where the day changes."""
    groups: list[DayGroup] = []
    now = timezone.localtime()
    for row in rows:
        line = session_line(row, pictures.get(row.id), notes.get(row.id, 0), now)
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
