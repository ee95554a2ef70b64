"""Files through the API: taken, refused, too large, no form at all."""

from __future__ import annotations

import json
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from contextviz.services.api_keys import create_key
from contextviz.store.models import UploadBatchRecord
from contextviz.store.queries import sessions
from tests.services.building import NOW, claude_lines

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]
UPLOADS = "/api/v1/uploads"
FIELD = b'--b\r\nContent-Disposition: form-data; name="x"\r\n\r\n1\r\n--b--\r\n'


def send(client: Client, *files: tuple[str, bytes | str]) -> Any:
    made = [SimpleUploadedFile(name, text if isinstance(text, bytes) else text.encode()) for name, text in files]
    return client.post(UPLOADS, {"files": made})


def test_files_are_taken_together_and_read_by_one_job(
    operator: Client, django_capture_on_commit_callbacks: Any
) -> None:
    other = claude_lines(3, session="0b1c2d3e-0000-4000-8000-000000000002", word="beta")
    with django_capture_on_commit_callbacks(execute=True):
        answer = send(operator, ("a.jsonl", claude_lines(2)), ("b.jsonl", other), ("c.png", b"\x89PNG\r\n\x1a\n" * 9))

    assert answer.status_code == 202
    body = answer.json()
    assert [one["state"] for one in body["files"]] == ["received", "received", "refused"]
    assert body["files"][0]["bytes"] == len(claude_lines(2))
    assert body["files"][2]["sentence"]
    assert answer.headers["Location"] == f"/api/v1/jobs/{body['job']}"
    assert operator.get(answer.headers["Location"]).json()["state"] == "done"
    assert sessions.session_count() == 2
    status = operator.get(f"{UPLOADS}/{body['upload']}").json()
    assert status["job"] == body["job"]
    assert [one["name"] for one in status["files"]] == ["a.jsonl", "b.jsonl", "c.png"]
    assert UploadBatchRecord.objects.get().origin == "api"


@pytest.mark.parametrize(
    ("name", "content", "status"),
    [("empty.jsonl", b"", 400), ("picture.png", b"\x89PNG\r\n\x1a\n" * 9, 415), ("big.jsonl", b"{}\n" * 500_000, 413)],
)
def test_a_file_that_is_not_taken_is_an_error_with_its_reason(
    operator: Client, data_dir: Path, settings: Any, name: str, content: bytes, status: int
) -> None:
    settings.MAX_UPLOAD_BYTES = 1024 * 1024

    answer = send(operator, (name, content))

    assert answer.status_code == status
    error = answer.json()["error"]
    assert name in error["sentence"]
    assert error["fields"][0]["field"] == name
    assert list((data_dir / "incoming").iterdir()) == []


@pytest.mark.parametrize(
    ("body", "kind", "status"),
    [
        (b"{}", "application/json", 415),
        (b"{}", "", 415),
        (b"--b--\r\n", "multipart/form-data; boundary=b", 422),
        (b"nothing", "multipart/form-data", 400),
        (FIELD, "multipart/form-data; boundary=b", 422),
    ],
)
def test_what_is_no_form_with_files_is_refused(operator: Client, body: bytes, kind: str, status: int) -> None:
    answer = operator.generic("POST", UPLOADS, body, kind)

    assert answer.status_code == status
    assert "file" in answer.json()["error"]["sentence"]


def test_an_upload_that_is_not_there_is_named(operator: Client) -> None:
    answer = operator.get(f"{UPLOADS}/00000000-0000-0000-0000-000000000000")

    assert (answer.status_code, answer.json()["error"]["sentence"]) == (404, "There is no such upload here.")


def test_a_file_over_the_limit_is_refused_while_it_arrives(live_url: str, owner: Any, settings: Any) -> None:
    settings.MAX_UPLOAD_BYTES = 100_000
    _, key = create_key(owner.pk, label="k", scopes=["ingest"], now=NOW)
    head = b'--b\r\nContent-Disposition: form-data; name="files"; filename="big.jsonl"\r\n\r\n'
    connection = HTTPConnection(live_url.removeprefix("http://"), timeout=20)
    connection.putrequest("POST", UPLOADS)
    for name, value in (
        ("Authorization", f"Bearer {key}"),
        ("Content-Type", "multipart/form-data; boundary=b"),
        ("Content-Length", str(10**9)),
    ):
        connection.putheader(name, value)
    connection.endheaders(head)
    for _ in range(20):
        connection.send(b"{}\n" * 10_000)

    answer = connection.getresponse()  # although nearly all of it is still to come

    assert answer.status == 413
    assert json.loads(answer.read())["error"]["code"] == "too_large"
    connection.close()


def test_nothing_is_read_of_a_body_without_a_key(live_url: str) -> None:
    connection = HTTPConnection(live_url.removeprefix("http://"), timeout=20)
    connection.putrequest("POST", UPLOADS)
    connection.putheader("Content-Type", "multipart/form-data; boundary=b")
    connection.putheader("Content-Length", str(10**9))
    connection.endheaders()

    answer = connection.getresponse()

    assert answer.status == 401
    connection.close()
