"""Jobs as people see them: a row in a list, and one job with its log."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import urlencode
from uuid import UUID

from django.urls import reverse

from contextviz.charts import words
from contextviz.store.values import JobLine, JobRow, Page, SessionRow

KINDS = {
    "digest": "Import",
    "expand_summary": "Expand a summary",
    "retrieve_original": "Retrieve an original",
    "delete_session": "Delete a session",
    "index_texts": "Index for search",
    "look_through": "Look through for an export",
    "send_webhook": "Call a webhook",
    "replay": "Replay",
}
STATES = {"queued": "waiting", "running": "running", "done": "done", "failed": "failed", "cancelled": "cancelled"}


@dataclass(frozen=True, slots=True)
class JobView:
    """One job as components/job_row.html draws it."""

    # Its key, and its page
    id: UUID
    url: str
    # What it works on, and what kind of work that is
    name: str
    kind: str
    # queued, running, done, failed or cancelled
    state: str
    # How far it is, in the unit of its kind; `total` None while unknown
    done: int
    total: int | None
    progress_text: str
    # How it ended, as a sentence
    outcome: str
    # When it was opened, and how long it has run in seconds (None before it began)
    created_at: datetime
    seconds: float | None
    # Where to post to try again or to stop it, "" where that makes no sense
    retry_url: str
    cancel_url: str


@dataclass(frozen=True, slots=True)
class ResultLink:
    """Where a job's result is to be seen."""

    # What it leads to
    name: str
    url: str


@dataclass(frozen=True, slots=True)
class FileLine:
    """What became of one file of an import."""

    # The file's name and what it was taken for
    name: str
    role: str
    # Why it was not taken, "" where it was
    reason: str
    # The session it was read into, "" where there is none or the job still works on it
    session_url: str = ""


@dataclass(frozen=True, slots=True)
class StateLink:
    """One filter of the list."""

    name: str
    url: str
    current: bool


@dataclass(frozen=True, slots=True)
class JobsPage:
    """The list of jobs."""

    # The rows of this page, the newest first
    jobs: list[JobView]
    # How many there are in all
    total: int
    # Filters by state
    states: list[StateLink]
    # Addresses of the pages before and after, "" at the ends
    previous: str
    next: str
    # Whether any row may still change: then the list looks again by itself
    is_moving: bool
    # The address to look at again
    url: str
    # What of the address could not be understood
    notices: list[str]


@dataclass(frozen=True, slots=True)
class JobPage:
    """One job."""

    # The job itself
    job: JobView
    # Whether it will not change any more by itself
    is_finished: bool
    # Whether a person has asked it to stop, and it has not stopped yet
    is_stopping: bool
    # How often a worker has begun it
    attempts: int
    # When it began and ended
    started_at: datetime | None
    finished_at: datetime | None
    # The log's lines, from the first or after the watermark
    lines: list[JobLine]
    # The watermark: the number of the newest line shown
    after: int
    # Where its result is to be seen
    links: list[ResultLink]
    # What became of the files of an import
    files: list[FileLine]
    # The address to look at again, with the watermark
    poll_url: str


def job_view(row: JobRow, names: Mapping[str, list[str]], *, now: datetime) -> JobView:
    """One job; `names` are the files of import jobs by batch."""
    return JobView(
        id=row.id,
        url=reverse("job", args=[row.id]),
        name=_name(row, names),
        kind=KINDS[row.kind],
        state=row.state,
        done=row.progress,
        total=row.total,
        progress_text=_progress(row),
        outcome=row.outcome or ("Waiting for a worker." if row.state == "queued" else ""),
        created_at=row.created_at,
        seconds=((row.finished_at or now) - row.started_at).total_seconds() if row.started_at else None,
        retry_url=reverse("job_retry", args=[row.id]) if row.may_retry else "",
        cancel_url="" if row.is_finished or row.is_cancel_asked else reverse("job_cancel", args=[row.id]),
    )


def job_views(rows: Iterable[JobRow], names: Mapping[str, list[str]], *, now: datetime) -> list[JobView]:
    """Every job of a list."""
    return [job_view(row, names, now=now) for row in rows]


def batches_of(rows: Iterable[JobRow]) -> list[str]:
    """The batches whose file names the jobs are called by."""
    return [str(row.params["batch"]) for row in rows if row.params.get("batch") and not row.params.get("paths")]


def _name(row: JobRow, names: Mapping[str, list[str]]) -> str:
    if row.kind == "digest":
        paths = row.params.get("paths")
        found = [_last(str(path)) for path in paths] if paths else names.get(str(row.params.get("batch")), [])
        return _listed(found) or "Files"
    if row.kind == "expand_summary":
        return str(row.params.get("node", ""))[:80] or "Summary"
    if row.kind == "retrieve_original":
        return " ".join(str(row.params.get("query", "")).split())[:80] or "Original"
    if row.kind == "send_webhook":
        return f"Alert {row.params.get('alert', '')}".strip()
    return str(row.params.get("title", ""))[:120] or "Session"


def _last(path: str) -> str:
    name = path.rstrip("/").rsplit("/", 1)[-1]
    return "The demo" if name.startswith("demo-") else name or path


def _listed(names: list[str]) -> str:
    if len(names) <= 1:
        return names[0] if names else ""
    return f"{names[0]} and {words.counted(len(names) - 1, 'other file')}"


def _progress(row: JobRow) -> str:
    if row.is_cancel_asked:
        return "stopping"
    if row.kind in ("digest", "index_texts", "look_through"):
        if row.total:
            return f"{words.size(row.progress)} of {words.size(row.total)}"
        return "looking at the files"
    return f"{row.progress:,} of {row.total:,}" if row.total else "begun"


def result_links(row: JobRow, found: Iterable[SessionRow]) -> list[ResultLink]:
    """Where to see what a finished job brought."""
    if row.state != "done":
        return []
    links = [ResultLink(one.title or one.source_id, reverse("session", args=[one.id])) for one in found]
    if row.kind == "expand_summary" and row.session_id is not None:
        node = str(row.params.get("node", ""))
        url = reverse("graph", args=[row.session_id]) + "?" + urlencode({"node": node, "job": row.id})
        links = [ResultLink("Show it in the summary graph", url)]
    if row.kind == "retrieve_original":
        url = reverse("originals") + "?" + urlencode({"job": row.id})
        links = [ResultLink("Show the originals", url)]
    if row.kind == "look_through" and row.session_id is not None:
        links = [ResultLink("Review and export", reverse("export", args=[row.session_id]))]
    if row.kind == "send_webhook":
        links = [ResultLink("Show the alerts", reverse("alerts"))]
    return links


def sessions_of(row: JobRow, limit: int = 100) -> list[int]:
    """The sessions that an import brought."""
    return [int(key) for key in (row.result.get("sessions") or [])[:limit]] if row.kind == "digest" else []


def job_page(
    row: JobRow, names: Mapping[str, list[str]], lines: list[JobLine], links: list[ResultLink], *,
    after: int, now: datetime, found: Iterable[SessionRow] = (),
) -> JobPage:  # fmt: skip
    """One job's page; `found` are the sessions that an import brought."""
    newest = lines[-1].number if lines else after
    urls = {one.source_id: reverse("session", args=[one.id]) for one in found}
    files = [
        FileLine(
            str(one.get("path", "")), str(one.get("role", "")), str(one.get("reason") or ""),
            urls.get(str(one.get("session")), ""),
        )
        for one in row.result.get("files") or []
    ]  # fmt: skip
    return JobPage(
        job=job_view(row, names, now=now),
        is_finished=row.is_finished,
        is_stopping=row.is_cancel_asked and not row.is_finished,
        attempts=row.attempts,
        started_at=row.started_at,
        finished_at=row.finished_at,
        lines=lines,
        after=newest,
        links=links,
        files=files,
        poll_url=f"{reverse('job', args=[row.id])}?after={newest}",
    )


def jobs_page(
    page: Page[JobRow], names: Mapping[str, list[str]], *, state: str, notices: list[str], now: datetime
) -> JobsPage:
    """The list's page."""
    url = reverse("jobs")
    states = [StateLink("All", url, not state)]
    states += [StateLink(name.capitalize(), f"{url}?state={key}", state == key) for key, name in STATES.items()]

    def at(number: int) -> str:
        wanted = {"state": state} if state else {}
        return f"{url}?{urlencode(wanted | ({'page': number} if number > 1 else {}))}"

    return JobsPage(
        jobs=job_views(page.items, names, now=now),
        total=page.total,
        states=states,
        previous=at(page.number - 1) if page.number > 1 else "",
        next=at(page.number + 1) if page.number < page.pages else "",
        is_moving=any(not row.is_finished for row in page.items),
        url=at(page.number),
        notices=notices,
    )
