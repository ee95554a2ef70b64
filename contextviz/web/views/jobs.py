"""Jobs: the list, one with its log, try again, stop."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.template.backends.utils import csrf_input
from django.urls import path, reverse
from django.utils import timezone
from django.utils.cache import patch_vary_headers
from django.views.decorators.http import require_POST, require_safe

from contextviz.charts import words
from contextviz.commands import command
from contextviz.services import doctor
from contextviz.services import jobs as service
from contextviz.store.queries import jobs, sessions, uploads
from contextviz.store.values import JobRow
from contextviz.web.access import job_read
from contextviz.web.answers import safe_next, see_other
from contextviz.web.errors import refusal
from contextviz.web.htmx import page_or_fragment, wants_fragment
from contextviz.web.pages.jobs import STATES, batches_of, job_page, jobs_page, result_links, sessions_of
from contextviz.web.queueing import enqueue_after_commit

PAGE_SIZE = 50
STOP_POLLING = 286


@require_safe
def job_list(request: HttpRequest) -> HttpResponse:
    """Every job, the newest first; for htmx the list alone."""
    notices = []
    state = request.GET.get("state", "")
    if state and state not in STATES:
        notices.append(f"“{state[:40]}” is not a state of jobs; all are shown.")
        state = ""
    text = request.GET.get("page", "1")
    number = int(text) if text.isascii() and text.isdigit() and len(text) < 7 else 1
    found = jobs.jobs(page=number, size=PAGE_SIZE, state=state)
    notices += _left_waiting(found.items)
    names = uploads.names_of_batches(batches_of(found.items))
    page = jobs_page(found, names, state=state, notices=notices, now=timezone.now())
    context = {"page": page, "csrf": csrf_input(request)}
    response = page_or_fragment(request, "jobs/jobs.html", "jobs/list.html", context)
    if wants_fragment(request) and not page.is_moving:
        response.status_code = STOP_POLLING
    return response


def _left_waiting(rows: Sequence[JobRow]) -> list[str]:
    """A sentence where jobs wait that no worker takes; asked only where one of the shown ones waits."""
    count = doctor.left_waiting(now=timezone.now()) if any(row.state == "queued" for row in rows) else 0
    if not count:
        return []
    waiting = f"{words.counted(count, 'job')} {'waits' if count == 1 else 'wait'}, and no worker has done anything"
    return [f"{waiting} for two minutes. Run {command('doctor')}: it says what is wrong and what to do."]


@require_safe
def job(request: HttpRequest, job_id: UUID) -> HttpResponse:
    """One job with its log; for htmx what is new after the watermark `after`, and 286 once it has ended."""
    row = job_read(request, job_id)
    is_fragment = wants_fragment(request)
    text = request.GET.get("after", "")
    after = int(text) if is_fragment and text.isascii() and text.isdigit() and len(text) < 18 else 0
    names = uploads.names_of_batches(batches_of([row]))
    found = sessions.find_sessions(sessions_of(row))
    lines, links = jobs.job_log(job_id, after=after), result_links(row, found)
    page = job_page(row, names, lines, links, after=after, now=timezone.now(), found=found)
    template = "jobs/live.html" if is_fragment else "jobs/job.html"
    status = STOP_POLLING if is_fragment and page.is_finished else 200
    response = render(request, template, {"page": page, "is_fragment": is_fragment}, status=status)
    patch_vary_headers(response, ["HX-Request"])
    return response


@require_POST
def retry(request: HttpRequest, job_id: UUID) -> HttpResponse:
    """Try a failed or cancelled job again; 409 where that is impossible."""
    row = job_read(request, job_id)
    if not service.retry(job_id):
        if row.state in ("failed", "cancelled"):
            return refusal(request, f"Another try would end the same way: {row.outcome}", 409)
        sentence = f"This job is {STATES[row.state]}; only one that failed or was cancelled can be tried again."
        return refusal(request, sentence, 409)
    enqueue_after_commit(job_id)
    messages.success(request, "The job is queued again.")
    return see_other(safe_next(request, request.POST.get("next"), reverse("job", args=[job_id])))


@require_POST
def cancel(request: HttpRequest, job_id: UUID) -> HttpResponse:
    """Ask a job to stop; 409 where it has ended."""
    row = job_read(request, job_id)
    if not service.cancel(job_id, now=timezone.now()):
        return refusal(request, f"This job is {STATES[row.state]} already; there is nothing to stop.", 409)
    messages.success(request, "The job stops at its next step; nothing that was there before is changed.")
    return see_other(safe_next(request, request.POST.get("next"), reverse("job", args=[job_id])))


urlpatterns = [
    path("jobs/", job_list, name="jobs"),
    path("jobs/<uuid:job_id>/", job, name="job"),
    path("jobs/<uuid:job_id>/retry/", retry, name="job_retry"),
    path("jobs/<uuid:job_id>/cancel/", cancel, name="job_cancel"),
]
