"""Looking a large session through for secrets, as a job: in a request it would take longer than people wait."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from contextviz.charts import words
from contextviz.services.export.copying import look_through
from contextviz.services.export.kept import keep_report
from contextviz.services.export.report import Decisions
from contextviz.services.export.sizes import text_bytes
from contextviz.services.jobs import JobFailed, JobRun, open_job, perform
from contextviz.store.queries import jobs, sessions
from contextviz.store.values import JobRow, NotFound

KIND = "look_through"


def open_look(session_id: int, *, now: datetime) -> UUID:
    """A job that looks the session through; one that waits or runs already is given again. Enqueue it after commit.
    Raises NotFound."""
    row = sessions.get_session(session_id)
    last = last_look(session_id)
    if last is not None and not last.is_finished:
        return last.id
    return open_job("look_through", now=now, session_id=session_id, params={"title": row.title or row.source_id})


def last_look(session_id: int) -> JobRow | None:
    """The newest such job of a session. One query."""
    return next(iter(jobs.jobs_after(after=None, limit=1, kind=KIND, session_id=session_id)), None)


def look(job_id: UUID | str) -> bool:
    """Do the job; its report is kept for the page (services.export.kept), its result are numbers alone:
    `{bytes, found, suspected}`. False where another process has it."""
    return perform(job_id, _look)


def _look(run: JobRun) -> str:
    if run.session_id is None:
        raise JobFailed("The session was deleted before it was looked through.", can_retry=False)
    try:
        row = sessions.get_session(run.session_id)
        size = text_bytes(row.id)
        run.progress(0, size, force=True)
        report = look_through(row.id, progress=lambda done: run.progress(min(done, size), size))
    except NotFound as error:
        raise JobFailed(str(error), can_retry=False) from error
    if report.revision != row.revision:
        raise JobFailed("The session has grown while it was looked through. Try again.")
    keep_report(report, updated_at=row.updated_at)
    open_places = len(report.open(Decisions())) + report.unlisted
    found = len(report.masked(Decisions())) - len(report.open(Decisions())) + report.uncounted
    run.result = {"bytes": size, "found": found, "suspected": open_places}
    return (
        f"Looked through {words.size(size)}: {words.counted(found, 'value is', 'values are')} masked, "
        f"{words.counted(open_places, 'has', 'have')} to be decided before the export."
    )
