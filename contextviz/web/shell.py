"""What stands round every page: recent sessions, counts in the side bar, appearance, time zone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any
from zoneinfo import ZoneInfo

from django.http import HttpRequest, HttpResponseBase
from django.urls import reverse
from django.utils import timezone
from django.utils.functional import SimpleLazyObject

from contextviz.services.accounts.people import has_others
from contextviz.store.queries import alerts, jobs, live, preferences, sessions
from contextviz.store.queries.preferences import Preferences
from contextviz.store.values import SessionRow

RECENT = 10
# How long after its last news a session still counts as going on, as on the Live page.
IDLE = timedelta(minutes=5)
# How long the Live page keeps a session of which something was told.
NEWS = timedelta(minutes=15)
DENSITY_COOKIE = "contextviz_density"
# Of a session that another one names as its own: a sub-agent's, or one that was started from it.
CHILD = "begun by another session"
# Of one that goes on from a copy of another: the two share their title and their beginning.
FORK = "fork of another session"


@dataclass(frozen=True, slots=True)
class RecentSession:
    """A row of the side bar: `used`, `window` and `threshold` in tokens, None where unknown."""

    url: str
    title: str
    state: str
    used: int | None
    window: int | None
    threshold: int | None
    compactions: int
    # How it came of another session, "" where it did not
    origin: str


def shell(request: HttpRequest) -> dict[str, Any]:
    """Context processor. Everything is lazy: a fragment that shows none of it asks for none of it."""
    theme = _preferences(request).theme
    return {
        "theme": theme if theme in ("light", "dark") else request.COOKIES.get("contextviz_theme", ""),
        "density": density_of(request),
        "recent_sessions": SimpleLazyObject(partial(recent, request)),
        "nav_counts": SimpleLazyObject(partial(_counts, request)),
        "upload_sharing": SimpleLazyObject(partial(_upload_sharing, request)),
    }


def density_of(request: HttpRequest) -> str:
    """How close rows stand on this browser: compact, roomy, or "" for normal."""
    found = request.COOKIES.get(DENSITY_COOKIE, "")
    return found if found in ("compact", "roomy") else ""


def recent(request: HttpRequest) -> list[RecentSession]:
    """The newest sessions; none before signing in."""
    if not request.user.is_authenticated:
        return []
    rows = sessions.recent_sessions(RECENT)
    states = states_of(rows, timezone.now())
    return [recent_session(row, states[row.id]) for row in rows]


def states_of(rows: Sequence[SessionRow], now: datetime) -> dict[int, str]:
    """The states of sessions by their ids (see state_of). One query where a session without times changed here within
    IDLE, else none."""
    undated = [row.id for row in rows if now - row.updated_at <= IDLE and not (row.ended_at or row.started_at)]
    told = live.told_since(undated, now - NEWS) if undated else frozenset()
    return {row.id: state_of(row, now, is_told=row.id in told) for row in rows}


def state_of(row: SessionRow, now: datetime, *, is_told: bool = False) -> str:
    """running or idle. It runs where its file changed here within IDLE and either its last line is half written or the
    last time in it is as new; without any time, where something was told of it since it was found (`is_told`), as on
    the Live page. A copy of an old session is idle."""
    if now - row.updated_at > IDLE:
        return "idle"
    last = row.ended_at or row.started_at
    is_new = is_told if last is None else now - last <= IDLE
    return "running" if row.is_growing or is_new else "idle"


def recent_session(row: SessionRow, state: str) -> RecentSession:
    """A session as the side bar shows it."""
    return RecentSession(
        reverse("session", args=[row.id]),
        row.title or row.source_id,
        state,
        row.occupancy_tokens,
        row.window,
        row.compaction_threshold,
        row.compaction_count,
        origin_of(row),
    )


def origin_of(row: SessionRow) -> str:
    """How a session came of another one, in words; "" where it did not."""
    return FORK if row.forked_from else CHILD if row.parent else ""


@dataclass(frozen=True, slots=True)
class UploadSharing:
    """Whether an upload form asks who may see what comes of it, and what is chosen before anybody does."""

    is_asked: bool
    is_private: bool


def _upload_sharing(request: HttpRequest) -> UploadSharing:
    person_id = request.user.pk
    return UploadSharing(person_id is not None and has_others(person_id), _preferences(request).is_private)


def _counts(request: HttpRequest) -> dict[str, int]:
    if not request.user.is_authenticated:
        return {}
    told = alerts.alert_count(now=timezone.now())
    return {"library": sessions.session_count(), "jobs": len(jobs.unfinished_jobs())} | (
        {"alerts": told} if told else {}
    )


def _preferences(request: HttpRequest) -> Preferences:
    known = getattr(request, "preferences", None)
    if known is not None:
        found: Preferences = known
        return found
    user = getattr(request, "user", None)
    return preferences.preferences(user.pk) if user is not None and user.is_authenticated else Preferences()


class PreferencesMiddleware:
    """Reads the person's preferences once a request and shows times in their zone."""

    def __init__(self, get_response):  # type: ignore[no-untyped-def]
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        request.preferences = _preferences(request)  # type: ignore[attr-defined]
        with timezone.override(ZoneInfo(request.preferences.time_zone)):  # type: ignore[attr-defined]
            response: HttpResponseBase = self.get_response(request)
        return response
