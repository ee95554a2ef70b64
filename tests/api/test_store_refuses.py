"""A database that is locked and a disk that is full: 503 and 507 for every way in, and nothing queued behind them."""

from __future__ import annotations

import errno
import json
from collections.abc import Callable
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test import Client

from contextviz import tasks
from contextviz.api.api import api
from contextviz.services.api_keys import create_key
from contextviz.services.jobs import open_job
from contextviz.store import artifacts
from contextviz.store.models import InboxRecord, JobRecord
from tests.api.conftest import caller
from tests.services.building import NOW, claude_lines
from tests.stores import full_disk, locked, refusing

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]
FAULTS = [pytest.param(locked, 503, "busy", id="locked"), pytest.param(full_disk, 507, "storage_full", id="full")]
Fault = Callable[[], Exception]
EVENT = (
    json.dumps({"seq": 1, "engine": "tidy", "type": "compaction.started", "ts": 1_700_000_000, "data": {}}).encode()
    + b"\n"
)


def event(seq: int, words: str = "") -> bytes:
    value = {"seq": seq, "engine": "tidy", "type": "compaction.started", "ts": 1_700_000_000, "data": {"x": words}}
    return json.dumps(value).encode() + b"\n"


def files(*names: str) -> dict[str, Any]:
    return {"files": [SimpleUploadedFile(name, claude_lines(2, word=name).encode()) for name in names]}


def said(answer: Any, status: int, code: str) -> str:
    """The answer's sentence, once it has the one shape."""
    assert answer.status_code == status, answer.content
    assert int(answer.headers["Retry-After"]) > 0
    error = answer.json()["error"]
    assert (error["status"], error["code"]) == (status, code)
    return str(error["sentence"])


@pytest.mark.django_db(transaction=True)  # a fault outside a transaction would end the test's own
@pytest.mark.parametrize(("fault", "status", "code"), FAULTS)
def test_every_way_in_says_so_and_queues_nothing(
    operator: Client, session_id: int, fault: Fault, status: int, code: str
) -> None:
    failed = open_job("digest", now=NOW)
    JobRecord.objects.filter(pk=failed).update(state="failed", finished_at=NOW)
    requests: dict[str, Callable[[], Any]] = {
        "upload": lambda: operator.post("/api/v1/uploads", files("a.jsonl")),
        "delete": lambda: operator.delete(f"/api/v1/sessions/{session_id}"),
        "retrieve": lambda: operator.post("/api/v1/originals/retrieve", {"query": "a" * 24}, "application/json"),
        "retry": lambda: operator.post(f"/api/v1/jobs/{failed}/retry"),
        "events": lambda: operator.post("/api/v1/sessions/s/events", event(1), "application/x-ndjson"),
    }
    for name, request in requests.items():
        with refusing(fault):
            assert said(request(), status, code), name

    assert list(JobRecord.objects.values_list("state", flat=True)) == ["failed"]
    assert InboxRecord.objects.count() == 0


@pytest.mark.parametrize(("fault", "status", "code"), FAULTS)
def test_a_key_whose_use_cannot_be_written_down_says_so(
    owner: Any, fault: Fault, status: int, code: str, session_id: int
) -> None:
    unused = caller(create_key(owner.pk, label="new", scopes=("read",), now=NOW)[1])

    with refusing(fault, "store_apikeyrecord"):
        said(unused.get(f"/api/v1/sessions/{session_id}"), status, code)


def test_of_an_upload_what_came_before_is_read_and_the_rest_named(
    operator: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    write, sizes = artifacts.ArtifactWriter.write, list[int]()

    def full_at_the_second(writer: artifacts.ArtifactWriter, chunk: bytes) -> None:
        sizes.append(len(chunk))
        if len(sizes) > 1:
            raise OSError(errno.ENOSPC, "No space left on device")
        write(writer, chunk)

    monkeypatch.setattr(artifacts.ArtifactWriter, "write", full_at_the_second)
    answer = operator.post("/api/v1/uploads", files("a.jsonl", "b.jsonl", "c.jsonl"))

    assert answer.status_code == 202
    told = answer.json()["files"]
    assert [(one["name"], one["state"]) for one in told] == [("a.jsonl", "received"), ("b.jsonl", "refused")]
    assert "disk" in told[1]["sentence"]
    assert JobRecord.objects.get().state == "queued"


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(("fault", "status", "code"), FAULTS)
def test_pages_say_it_too(client: Client, fault: Fault, status: int, code: str) -> None:
    failed = open_job("digest", now=NOW)
    JobRecord.objects.filter(pk=failed).update(state="failed", finished_at=NOW)

    with refusing(fault):
        uploaded = client.post("/upload/", files("a.jsonl"), headers={"accept": "application/json"})
        form = client.post("/upload/", files("a.jsonl"))
        retried = client.post(f"/jobs/{failed}/retry/", headers={"referer": "http://127.0.0.1/jobs/?state=failed"})
        from_elsewhere = client.post(f"/jobs/{failed}/retry/", headers={"referer": "http://elsewhere.example/jobs/"})

    assert (uploaded.status_code, form.status_code, retried.status_code) == (status, status, status)
    assert all(answer.headers["Retry-After"] for answer in (uploaded, form, retried))
    assert ("The disk" if code == "storage_full" else "The store is busy") in retried.content.decode()
    assert 'href="/jobs/?state=failed">Go back<' in retried.content.decode()
    assert "Go back" not in from_elsewhere.content.decode()
    assert JobRecord.objects.get().state == "failed"


@pytest.mark.parametrize("accept", ["text/html", "application/json"])
def test_what_fails_before_a_view_says_it_too(client: Client, monkeypatch: pytest.MonkeyPatch, accept: str) -> None:
    def failing(*_: object) -> None:
        raise locked()

    monkeypatch.setattr("contextviz.web.roles.RoleMiddleware.process_view", failing)
    client.raise_request_exception = False
    answer = client.get("/jobs/", headers={"accept": accept})

    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "2")
    assert "The store is busy" in answer.content.decode()


@pytest.mark.parametrize("fault", [locked, full_disk])
def test_exporters_are_told_to_send_it_again(anonymous_client: Client, settings: Any, fault: Fault) -> None:
    settings.LISTENS_ON_LOOPBACK = True
    span = {"traceId": "1" * 32, "spanId": "2" * 16, "name": "chat m", "startTimeUnixNano": "1700000000000000000",
            "attributes": [{"key": "gen_ai.operation.name", "value": {"stringValue": "chat"}},
                           {"key": "gen_ai.request.model", "value": {"stringValue": "m"}}]}  # fmt: skip
    body = json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]})

    with refusing(fault):
        answer = anonymous_client.post("/v1/traces", body, "application/json")

    assert answer.status_code == 503 and int(answer.headers["Retry-After"]) > 0
    assert answer.json()["code"] == 14
    assert ("disk" if fault is full_disk else "busy") in answer.json()["message"]
    assert anonymous_client.post("/v1/traces", body, "application/json").status_code == 200


def test_a_fault_while_an_export_is_kept_is_told_in_the_protocols_form(
    anonymous_client: Client, settings: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    settings.LISTENS_ON_LOOPBACK = True

    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("secret detail")

    monkeypatch.setattr("contextviz.api.otlp.receive_export", broken)
    answer = anonymous_client.post("/v1/traces", "{}", "application/json")

    assert (answer.status_code, answer.json()["code"]) == (500, 13)
    assert "secret" not in answer.json()["message"]
    assert answer.json()["message"].split()[-1].rstrip(".") in caplog.text


def test_every_operation_names_both_statuses() -> None:
    for path, methods in api.get_openapi_schema()["paths"].items():
        for method, operation in methods.items():
            assert {503, 507} <= {int(status) for status in operation["responses"]}, f"{method} {path}"


@pytest.mark.django_db(transaction=True)
def test_a_database_that_can_grow_no_more_is_a_full_disk(operator: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    if connection.vendor != "sqlite":
        pytest.skip("is about SQLite's own limit")
    monkeypatch.setattr(tasks, "enqueue", lambda _: None)
    operator.get("/api/v1/")  # its key's use is written down
    events = b"".join(event(seq, "y" * 2000) for seq in range(500))
    with connection.cursor() as cursor:
        (pages,) = cursor.execute("PRAGMA page_count").fetchone()
        cursor.execute(f"PRAGMA max_page_count = {pages + 20}")
    try:
        sentence = said(operator.post("/api/v1/sessions/s/events", events, "application/x-ndjson"), 507, "storage_full")
        assert "what came before is kept" in sentence
    finally:
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA max_page_count = 1073741823")
    assert operator.post("/api/v1/sessions/s/events", events, "application/x-ndjson").json()["new"] == 500
