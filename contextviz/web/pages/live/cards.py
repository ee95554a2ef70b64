"""The cards of the Live page: how full a session's window is, what it does, its last compaction and check."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.urls import reverse

from contextviz.charts import words
from contextviz.events.masking import without_secrets
from contextviz.services.live.shown import address_of, sentence_of, shown_at
from contextviz.sources.context_events.reader import FORMAT as EVENTS
from contextviz.sources.naming import program_and_format
from contextviz.sources.openvole.reader import FORMAT as OPENVOLE
from contextviz.store.queries.live import Growing, LiveEvent
from contextviz.store.queries.sparklines import Sparkline
from contextviz.web.pages.library.sparkline import Spark, spark
from contextviz.web.pages.links import compaction_url
from contextviz.web.shell import IDLE, NEWS, origin_of

RECENT = NEWS
MOST_TITLE = 120
# Formats whose source says that a compaction begins, where its agent does say it.
SAYS_BEGIN = frozenset({EVENTS, OPENVOLE})
# A session whose own last time lies longer back than this came late and does not grow, unless its agent posts it.
_LATE = timedelta(hours=1)
# Clocks of sources go wrong; a compaction that began longer ago than this is timed from when it was told here.
_MOST_TIMED = timedelta(hours=1)
SOURCES = {"hint": "by the index", "table": "from our table", "configuration": "by the agent's configuration"}
SORTS = {"near": "Nearest to compaction", "recent": "Last event", "title": "Title"}


@dataclass(frozen=True, slots=True)
class Begun:
    """A compaction that began and has not ended. `seconds` since then; `is_stale` where the session fell silent."""

    seconds: int
    clock: str
    facts: str
    is_stale: bool


@dataclass(frozen=True, slots=True)
class Ended:
    """The last compaction: tokens before and after are the client's own numbers."""

    number: int
    url: str
    before: int | None
    after: int | None
    facts: str
    at: datetime | None
    # Where the source never says that one begins
    only_end: bool


@dataclass(frozen=True, slots=True)
class Told:
    """One thing that happened: a sentence, when, and the page that shows it."""

    sentence: str
    at: datetime | None
    url: str


@dataclass(frozen=True, slots=True)
class Card:
    """One session that grows. Tokens are None where unknown."""

    id: int
    url: str
    title: str
    # running, waiting, idle, error, compacting
    state: str
    program: str
    about: str
    calls: int
    compactions: int
    used: int | None
    basis: str
    window: int | None
    # Who says so, "" where the source itself does
    window_source: str
    threshold: int | None
    threshold_source: str
    share: float | None
    is_over: bool
    spark: Spark | None
    begun: Begun | None
    ended: Ended | None
    # A check after which nothing was compacted, with its numbers
    check: Told | None
    error: Told | None
    subagents: int
    subagent: str
    last: Told | None


def cards(found: Iterable[Growing], pictures: Mapping[int, Sparkline], *, sort: str, now: datetime) -> list[Card]:
    """The cards in the order of `sort`, a key of SORTS; `found` are the sessions, the newest first."""
    made = [_card(one, pictures.get(one.row.id), now) for one in found]
    if sort == "title":
        return sorted(made, key=lambda card: (card.title.casefold(), card.id))
    return made if sort == "recent" else sorted(made, key=_nearness)


def summary(made: list[Card], total: int) -> str:
    """What there is, in a line: "6 sessions growing, 2 idle · 1 compacting". Those that are not shown are not counted
    as either."""
    idle = sum(card.state == "idle" for card in made)
    parts = [words.counted(len(made) - idle, "session") + " growing" + (f", {idle:,} idle" if idle else "")]
    counts = {"compacting": sum(card.state == "compacting" for card in made),
              "over the threshold": sum(card.is_over for card in made),
              "failing": sum(card.state == "error" for card in made)}  # fmt: skip
    parts += [f"{count} {name}" for name, count in counts.items() if count]
    if total > len(made):
        parts.append(f"the newest {len(made)} of {total:,} are shown")
    return " · ".join(parts)


def _nearness(card: Card) -> tuple[int, float, int]:
    limit = card.threshold or card.window
    near = card.used / limit if card.used is not None and limit else -1.0
    return {"compacting": 0, "error": 1, "idle": 3}.get(card.state, 2), -near, card.id


def _card(one: Growing, picture: Sparkline | None, now: datetime) -> Card:
    row = one.row
    newest = one.newest
    is_silent = now - max(row.updated_at, newest.seen_at if newest else row.updated_at) > IDLE or _came_late(one, now)
    begun = _begun(one, is_silent=is_silent, now=now)
    limit = row.compaction_threshold
    return Card(
        id=row.id,
        url=reverse("session", args=[row.id]),
        title=_cut(row.title or row.source_id),
        state=_state(one, begun, is_silent=is_silent),
        program=program_and_format(row.format)[0],
        about=_cut(" · ".join(part for part in (origin_of(row), row.agent, row.model) if part)),
        calls=row.call_count,
        compactions=row.compaction_count,
        used=row.occupancy_tokens,
        basis=row.occupancy_basis,
        window=row.window,
        window_source=SOURCES.get(row.window_basis or "", ""),
        threshold=limit,
        threshold_source=SOURCES.get(row.compaction_threshold_basis or "", ""),
        share=row.occupancy_share,
        is_over=row.occupancy_tokens is not None and limit is not None and row.occupancy_tokens >= limit,
        spark=spark(picture),
        begun=begun,
        ended=_ended(one),
        check=_check(one),
        error=_told(one.told.get("error")),
        subagents=row.subagent_count,
        subagent=sentence_of(one.told["subagent"]) if "subagent" in one.told else "",
        last=_told(one.newest),
    )


def _came_late(one: Growing, now: datetime) -> bool:
    """Whether what is told now happened long ago: a copy of an old session arrived. What agents post is as new as it
    is told, whatever their clocks say."""
    own = [at for at in (one.row.ended_at, one.newest.at if one.newest else None) if at]
    return bool(own) and not one.is_posted and now - max(own) > _LATE


def _state(one: Growing, begun: Begun | None, *, is_silent: bool) -> str:
    """Rules, since no source writes a state: a message that the model has to answer means that it runs."""
    if begun and not begun.is_stale:
        return "compacting"
    error, newest = one.told.get("error"), one.newest
    if error and newest and error.id == newest.id:
        return "error"
    if is_silent:
        return "idle"
    message = one.message
    return "waiting" if message and message.role == "assistant" and not message.has_open_call else "running"


def _begun(one: Growing, *, is_silent: bool, now: datetime) -> Begun | None:
    started = one.told.get("compaction_started")
    if started is None or _has_ended(one, started):
        return None
    since = started.at if started.at and timedelta() <= now - started.at <= _MOST_TIMED else started.seen_at
    seconds = max(0, int((now - since).total_seconds()))
    inner = started.data.get("data")
    facts = [f"{name} {_cut(str(inner[name]))}" for name in ("strategy", "trigger") if inner.get(name)] if inner else []
    return Begun(seconds, f"{seconds // 60:02}:{seconds % 60:02}", ", ".join(facts), is_silent)


def _has_ended(one: Growing, started: LiveEvent) -> bool:
    """Whether anything after it says that it is over: a compaction, or an attempt after which nothing was compacted."""
    for kind in ("compaction", "evaluation"):
        later = one.told.get(kind)
        if later is None or (kind == "evaluation" and later.data.get("type") != "compaction.finished"):
            continue
        if later.id > started.id or (later.at and started.at and later.at >= started.at):
            return True
    last = one.compaction
    return bool(last and last.at and started.at and last.at >= started.at)


def _ended(one: Growing) -> Ended | None:
    last = one.compaction
    if last is None:
        return None
    facts = [part for part in (_cut(last.trigger or ""), words.duration(last.seconds) if last.seconds else "") if part]
    only_end = one.row.format not in SAYS_BEGIN and "compaction_started" not in one.told
    url = compaction_url(one.row.id, last.number)
    return Ended(last.number, url, last.before, last.after, ", ".join(facts), last.at, only_end)


def _check(one: Growing) -> Told | None:
    """The last one that did not fire, unless a compaction came after it."""
    row, ended = one.told.get("evaluation"), one.told.get("compaction")
    return None if row is None or (ended and ended.id > row.id) else _told(row)


def _told(row: LiveEvent | None) -> Told | None:
    return None if row is None else Told(sentence_of(row), shown_at(row), address_of(row))


def _cut(text: str) -> str:
    quiet = without_secrets(text[:2_000])
    return quiet if len(quiet) <= MOST_TITLE else quiet[: MOST_TITLE - 1] + "…"
