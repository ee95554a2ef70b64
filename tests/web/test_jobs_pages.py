"""Jobs: the list, one with its log, try again, stop."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from contextviz.services.jobs import open_job
from contextviz.store.models import JobLogRecord, JobRecord, UploadBatchRecord, UploadRecord
from tests.services.building import NOW, claude_lines, upload

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]
HTMX = {"hx-request": "true"}


def a_job(state: str = "queued", **values: Any) -> JobRecord:
    batch = UploadBatchRecord.objects.create(created_at=NOW)
    UploadRecord.objects.create(batch=batch, name="one.jsonl", started_at=NOW)
    key = open_job("digest", now=NOW, params={"batch": str(batch.pk)})
    if state == "running":
        values.setdefault("heartbeat_at", timezone.now())
        values.setdefault("started_at", timezone.now())
    JobRecord.objects.filter(pk=key).update(state=state, **values)
    return JobRecord.objects.get(pk=key)


def test_the_list_names_each_job_and_says_how_it_ended(client: Client) -> None:
    a_job("failed", outcome="It could not be read. Send it again.")

    page = client.get("/jobs/").content.decode()

    assert "one.jsonl" in page
    assert "It could not be read. Send it again." in page
    assert "Retry" in page


def test_jobs_that_no_worker_takes_are_told_with_what_to_do(client: Client) -> None:
    a_job()  # it has waited since NOW, which is long ago
    assert "1 job waits, and no worker has done anything for two minutes" in client.get("/jobs/").content.decode()

    a_job("running")
    assert "no worker has done anything" not in client.get("/jobs/").content.decode()


def test_queries_do_not_grow_with_the_jobs(client: Client) -> None:
    a_job()
    with CaptureQueriesContext(connection) as few:
        client.get("/jobs/")
    for _ in range(9):
        a_job("done")

    with CaptureQueriesContext(connection) as many:
        client.get("/jobs/")

    assert len(many) == len(few) <= 12


def test_the_list_is_filtered_by_state_and_unknown_states_are_told(client: Client) -> None:
    a_job("done", outcome="Read 1 file.")

    assert "Read 1 file." not in client.get("/jobs/?state=failed").content.decode()
    assert "is not a state of jobs" in client.get("/jobs/?state=lost").content.decode()


def test_without_jobs_the_page_says_what_would_stand_here(client: Client) -> None:
    assert "Work that takes a while stands here" in client.get("/jobs/").content.decode()


def test_a_job_shows_progress_log_and_result(client: Client) -> None:
    row = upload(("one.jsonl", claude_lines(1)))
    JobLogRecord.objects.create(job_id=row.id, at=NOW, text="password=hunter2hunter2 was <b>here</b>")

    page = client.get(f"/jobs/{row.id}/").content.decode()

    assert "Read 1 file: 1 session (1 new)." in page
    assert 'href="/sessions/' in page
    assert "&lt;b&gt;here" in page


def test_the_poll_brings_only_lines_after_the_watermark(client: Client) -> None:
    job = a_job("running", progress=10, total=100)
    first = JobLogRecord.objects.create(job=job, at=NOW, text="the first line")
    JobLogRecord.objects.create(job=job, at=NOW, text="the second line")

    answer = client.get(f"/jobs/{job.pk}/?after={first.pk}", headers=HTMX)

    page = answer.content.decode()
    assert answer.status_code == 200
    assert "the first line" not in page
    assert "the second line" in page
    assert 'hx-swap-oob="beforeend:#log"' in page
    assert "every 1s" in page


def test_the_poll_ends_with_the_job(client: Client) -> None:
    job = a_job("done", outcome="Read 1 file.", finished_at=NOW)

    answer = client.get(f"/jobs/{job.pk}/?after=0", headers=HTMX)

    assert answer.status_code == 286
    assert "every 1s" not in answer.content.decode()


def test_without_a_script_a_running_job_refreshes_itself(client: Client) -> None:
    job = a_job("running")

    assert '<noscript><meta http-equiv="refresh"' in client.get(f"/jobs/{job.pk}/").content.decode()


def test_a_failed_job_is_tried_again(
    client: Client, django_capture_on_commit_callbacks: Callable[..., AbstractContextManager[Any]]
) -> None:
    job = a_job("failed")

    with django_capture_on_commit_callbacks(execute=True) as queued:
        answer = client.post(f"/jobs/{job.pk}/retry/")

    assert answer.status_code == 303
    assert len(queued) == 1


@pytest.mark.parametrize(
    ("state", "can_retry", "sentence"),
    [("done", True, "only one that failed or was cancelled"), ("failed", False, "Another try would end the same way")],
)
def test_what_cannot_be_tried_again_is_409(client: Client, state: str, can_retry: bool, sentence: str) -> None:
    job = a_job(state, can_retry=can_retry, outcome="No.")

    answer = client.post(f"/jobs/{job.pk}/retry/")

    assert answer.status_code == 409
    assert sentence in answer.content.decode()


def test_a_waiting_job_is_cancelled_and_an_ended_one_is_409(client: Client) -> None:
    waiting, ended = a_job(), a_job("done")

    assert client.post(f"/jobs/{waiting.pk}/cancel/", {"next": "/"}).headers["Location"] == "/"
    waiting.refresh_from_db()
    assert waiting.state == "cancelled"
    refused = client.post(f"/jobs/{ended.pk}/cancel/")
    assert refused.status_code == 409
    assert "done already" in refused.content.decode()


def test_cancelling_leads_nowhere_else(client: Client) -> None:
    job = a_job()

    answer = client.post(f"/jobs/{job.pk}/cancel/", {"next": "https://evil.example/"})

    assert answer.headers["Location"] == f"/jobs/{job.pk}/"


@pytest.mark.parametrize("path", ["/jobs/{}/", "/jobs/{}/retry/", "/jobs/{}/cancel/"])
def test_a_job_that_is_not_there_is_404(client: Client, path: str) -> None:
    url = path.format(uuid.uuid4())

    answer = client.get(url) if url.count("/") == 3 else client.post(url)

    assert answer.status_code == 404
    assert "There is no such job here" in answer.content.decode()
