"""Originals: the form, one retrieval, recent ones, and the markers of a session."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from django.urls import reverse

from contextviz.events.masking import holds_secrets, without_secrets
from contextviz.services.retrieve import OF_STORE
from contextviz.store.queries import jobs, sessions
from contextviz.store.values import JobRow, SessionRow
from contextviz.web.pages.held import READER
from contextviz.web.pages.links import message_url
from contextviz.web.pages.originals.markers import SessionMarkers

PREVIEW_CHARS = 4_000
MOST_CHARS = 400_000
RECENT = 10
CHOICES = 30
MOST_MESSAGES = 5
MOST_SHOWN = 20
BADGES = ("verified", "mismatch", "missing", "redacted")


@dataclass(frozen=True, slots=True)
class PlaceLink:
    """A session that holds the text."""

    # Its name
    title: str
    # The session
    url: str
    # Messages with the text: number and address, the first MOST_MESSAGES
    messages: list[tuple[int, str]]
    # How many there are
    count: int


@dataclass(frozen=True, slots=True)
class CandidateRow:
    """One of several texts that a short prefix names."""

    # The whole hash
    sha256: str
    # Its size
    chars: int
    size: int
    # In how many sessions it occurs
    session_count: int
    # Its beginning
    beginning: str


@dataclass(frozen=True, slots=True)
class OriginalRow:
    """What one handle names."""

    # The handle that was asked for
    handle: str
    # verified, mismatch, missing, redacted or ambiguous
    status: str
    # One sentence
    sentence: str
    # The hash it is kept under, and the hash of its bytes now; "" where there are none
    sha256: str
    rehashed: str
    # Its size; None where there is none
    chars: int | None
    size: int | None
    tokens: int | None
    # Characters that the marker claims, None without a marker
    claimed_chars: int | None
    # Where it occurs
    places: list[PlaceLink]
    # Its text or the beginning of it, None where there is none
    text: str | None
    # Whether the text goes on
    is_cut: bool
    # The text as a file
    download_url: str
    # Where its masked values are asked for, "" where none is masked
    unmask_url: str
    # Texts that the prefix could mean
    candidates: list[CandidateRow]


@dataclass(frozen=True, slots=True)
class RecentRow:
    """An earlier retrieval."""

    # What was asked for, shortened
    query: str
    # Its result
    url: str
    # queued, running, done, failed, cancelled
    state: str
    # How it ended
    outcome: str
    # When it was asked
    at: datetime


@dataclass(frozen=True, slots=True)
class OriginalsPage:
    """The page."""

    # What stands in the form
    query: str
    # The job that the address names
    job: JobRow | None
    # Asks for the job again
    job_url: str
    # What the job found
    originals: list[OriginalRow]
    # How many of them are not shown
    more_originals: int
    # All of the texts, "" where all are shown
    all_url: str
    # Earlier retrievals, the newest first
    recent: list[RecentRow]
    # Sessions to look for markers in
    sessions: list[SessionRow]
    # The markers of the chosen session
    markers: SessionMarkers | None

    @property
    def status(self) -> int:
        """404 where the job found nothing at all, else 200."""
        is_missing = all(one.status in ("missing", "redacted") for one in self.originals)
        failed = self.job is not None and self.job.state == "failed" and not self.job.can_retry
        return 404 if failed or (self.originals and is_missing) else 200


def originals_page(
    *, query: str = "", job: JobRow | None = None, show_all: bool = False, markers: SessionMarkers | None = None
) -> OriginalsPage:
    """The page. Six queries at most."""
    found = list(job.result.get("originals", [])) if job is not None and job.state == "done" else []
    rows = _originals(found[:MOST_SHOWN], chars=MOST_CHARS if show_all else PREVIEW_CHARS)
    here = reverse("originals")
    job_url = f"{here}?{urlencode({'job': str(job.id)})}" if job is not None else ""
    is_cut = any(row.is_cut for row in rows)
    return OriginalsPage(
        query or (str(job.params.get("query", ""))[:2_000] if job is not None else ""),
        job, job_url, rows, max(0, len(found) - MOST_SHOWN),
        f"{job_url}&all=1" if is_cut and not show_all else "",
        [_recent(one, here) for one in jobs.jobs(kind="retrieve_original", size=RECENT).items],
        sessions.recent_sessions(CHOICES), markers,
    )  # fmt: skip


def _originals(found: Sequence[dict[str, Any]], *, chars: int) -> list[OriginalRow]:
    named = [one["sha256"] for one in found if one.get("sha256")]
    candidates = [each["sha256"] for one in found for each in one.get("candidates", [])]
    opened = READER.beginnings([bytes.fromhex(name) for name in [*named, *candidates]], chars=chars)
    rows = []
    for one in found:
        sha256 = one.get("sha256") or ""
        text = opened.get(bytes.fromhex(sha256)) if sha256 else None
        rows.append(
            OriginalRow(
                one["handle"], one["status"], _sentence(one), sha256, one.get("rehashed") or "",
                one.get("chars"), one.get("size"), one.get("estimated_tokens"), one.get("original_chars"),
                [_place(place) for place in one.get("places", [])],
                text.text if text else None, bool(text and text.is_cut),
                reverse("original_download", args=[sha256]) if text else "",
                reverse("unmask_original", args=[sha256]) if text and holds_secrets(text.text) else "",
                [_candidate(each, opened) for each in one.get("candidates", [])],
            )
        )  # fmt: skip
    return rows


def _sentence(one: dict[str, Any]) -> str:
    engine_id = str(one["handle"]).partition("_")
    if one["status"] == "missing" and engine_id[0] in OF_STORE and engine_id[1]:
        return f"This is an id of lossless-claw's own store and no hash: {OF_STORE[engine_id[0]]}"
    return {
        "verified": "The bytes were hashed again and give this hash: this is the original.",
        "mismatch": "The stored bytes hash to something else: this is not the original.",
        "missing": "Nothing that was read here has this hash. Import the transcript that held the original.",
        "redacted": "The marker's hash was redacted, so it names nothing.",
        "ambiguous": "Several texts begin with these digits. Choose one, or give more digits.",
    }.get(str(one["status"]), "")


def _place(place: dict[str, Any]) -> PlaceLink:
    session_id, indexes = int(place["session_id"]), list(place.get("message_indexes", []))
    links = [(index + 1, message_url(session_id, index)) for index in indexes[:MOST_MESSAGES]]
    return PlaceLink(str(place["title"]), reverse("session", args=[session_id]), links, len(indexes))


def _candidate(each: dict[str, Any], opened: dict[bytes, Any]) -> CandidateRow:
    text = opened.get(bytes.fromhex(each["sha256"]))
    line = " ".join(text.text[:160].split()) if text else ""
    return CandidateRow(each["sha256"], each["chars"], each["size"], each["session_count"], line)


def _recent(job: JobRow, here: str) -> RecentRow:
    query = without_secrets(" ".join(str(job.params.get("query", ""))[:200].split()))
    url = f"{here}?{urlencode({'job': str(job.id)})}"
    return RecentRow(query if len(query) <= 64 else query[:63] + "…", url, job.state, job.outcome, job.created_at)
