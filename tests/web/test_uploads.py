"""Bringing files in through the pages: good ones, bad ones, and those that never arrive."""

from __future__ import annotations

import json
import socket
import sqlite3
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from contextviz.commands import command
from contextviz.store.models import ArtifactRecord, UploadRecord
from contextviz.store.queries import jobs, sessions
from tests.services.building import claude_lines
from tests.stack import wait_until

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]
Capture = Callable[..., AbstractContextManager[Any]]
JSON = {"accept": "application/json"}


def send(client: Client, *files: tuple[str, bytes | str], headers: dict[str, str] | None = None) -> Any:
    # Written by hand: the test client would cut a folder's relative names.
    body = b"".join(
        b'--b\r\nContent-Disposition: form-data; name="files"; filename="%b"\r\n\r\n%b\r\n'
        % (name.encode(), content.encode() if isinstance(content, str) else content)
        for name, content in files
    )
    kind = "multipart/form-data; boundary=b"
    return client.post("/upload/", body + b"--b--\r\n", kind, headers=JSON if headers is None else headers)


def nothing_is_kept(data_dir: Path) -> bool:
    incoming = list((data_dir / "incoming").iterdir())
    kept = [path for path in (data_dir / "artifacts").rglob("*") if path.is_file()]
    return not incoming and not kept and ArtifactRecord.objects.count() == 0 and jobs.jobs().total == 0


def test_a_transcript_is_received_read_and_shown(client: Client, django_capture_on_commit_callbacks: Capture) -> None:
    with django_capture_on_commit_callbacks(execute=True):
        answer = send(client, ("one.jsonl", claude_lines(2)))

    assert answer.status_code == 200
    told = answer.json()["files"][0]
    assert told["ok"]
    assert told["sentence"] == "one.jsonl has arrived and is being read."
    assert client.get(told["job_url"]).status_code == 200
    assert sessions.session_count() == 1


def test_a_plain_form_leads_to_the_library_and_says_what_arrived(
    client: Client, django_capture_on_commit_callbacks: Capture
) -> None:
    with django_capture_on_commit_callbacks(execute=True):
        answer = send(client, ("one.jsonl", claude_lines(2)), ("empty.jsonl", ""), headers={"accept": "text/html"})

    assert answer.status_code == 303
    page = client.get(answer.headers["Location"]).content.decode()
    assert "one.jsonl has arrived" in page
    assert "empty.jsonl is empty" in page


def test_a_folder_keeps_its_relative_names(client: Client) -> None:
    answer = send(client, ("projects/shop/one.jsonl", claude_lines(1)))

    assert answer.json()["files"][0]["name"] == "projects/shop/one.jsonl"
    assert UploadRecord.objects.get().name == "projects/shop/one.jsonl"


def test_a_name_cannot_climb_out_of_the_data_folder(client: Client, data_dir: Path) -> None:
    send(client, ("../../../evil.jsonl", claude_lines(1)))

    assert UploadRecord.objects.get().name == "evil.jsonl"
    assert not list(data_dir.parent.glob("evil*"))


BAD = [
    ("empty.jsonl", b"", 400, "is empty"),
    ("picture.jsonl", b"\x89PNG\r\n\x1a\n" + b"\x00" * 64, 415, "is a PNG picture, not a transcript"),
    ("program", b"\x7fELF" + bytes(range(200)), 415, "is a program, not a transcript"),
    ("noise.jsonl", bytes(range(1, 32)) * 40, 415, "is a binary file, not a transcript"),
    ("page.html", b"\n<!DOCTYPE html><html><body>x</body></html>", 415, "is a web page, not a transcript"),
]


@pytest.mark.parametrize(("name", "content", "status", "sentence"), BAD, ids=[one[0] for one in BAD])
def test_what_is_no_transcript_is_refused_with_a_sentence_and_leaves_nothing(
    client: Client, data_dir: Path, name: str, content: bytes, status: int, sentence: str
) -> None:
    answer = send(client, (name, content))

    assert answer.status_code == status
    told = answer.json()["files"][0]
    assert not told["ok"]
    assert sentence in told["sentence"]
    assert told["sentence"].startswith(name)
    assert nothing_is_kept(data_dir)
    page = send(client, (name, content), headers={"accept": "text/html"})
    assert page.status_code == status
    assert sentence in page.content.decode()


def test_a_file_over_the_limit_is_413_and_leaves_nothing(client: Client, data_dir: Path, settings: Any) -> None:
    settings.MAX_UPLOAD_BYTES = 1024 * 1024

    answer = send(client, ("big.jsonl", b"x" * (1024 * 1024 + 1)))

    assert answer.status_code == 413
    assert "big.jsonl is larger than 1 MB" in answer.json()["files"][0]["sentence"]
    assert nothing_is_kept(data_dir)


def test_a_file_after_one_over_the_limit_is_still_taken(client: Client, settings: Any) -> None:
    settings.MAX_UPLOAD_BYTES = 1024 * 1024

    answer = send(client, ("big.jsonl", b"x" * (1024 * 1024 + 1)), ("one.jsonl", claude_lines(1)))

    assert answer.status_code == 200
    assert [one["ok"] for one in answer.json()["files"]] == [False, True]


def wrong_database(folder: Path) -> bytes:
    with sqlite3.connect(folder / "wrong.db") as database:
        database.execute("CREATE TABLE recipes (id INTEGER, name TEXT)")
    database.close()
    return (folder / "wrong.db").read_bytes()


@pytest.mark.parametrize("kind", ["truncated", "wrong database", "prose"])
def test_what_only_reading_can_tell_ends_as_a_failed_job_with_a_sentence(
    client: Client, tmp_path: Path, kind: str, django_capture_on_commit_callbacks: Capture
) -> None:
    contents: dict[str, bytes] = {
        "truncated": b'{"type": "user", "message": {"role": "us',
        "wrong database": wrong_database(tmp_path),
        "prose": b"Dear diary,\ntoday nothing was compacted.\n",
    }
    with django_capture_on_commit_callbacks(execute=True):
        answer = send(client, (f"{kind}.json", contents[kind]))

    job = jobs.jobs().items[0]
    assert answer.status_code == 200
    assert job.state == "failed"
    assert len(job.outcome) > 20
    assert f"{kind}.json" in job.outcome
    assert sessions.session_count() == 0
    page = client.get(f"/jobs/{job.id}/")
    assert "Nothing to show" in page.content.decode()


@pytest.mark.slow  # a hundred megabytes go through form, disk and reader
def test_a_hundred_megabytes_in_one_line_are_told_and_harm_nothing(
    client: Client, django_capture_on_commit_callbacks: Capture
) -> None:
    with django_capture_on_commit_callbacks(execute=True):
        send(client, ("line.jsonl", b'{"type":"user","text":"' + b"a" * 100_000_000))

    assert jobs.jobs().items[0].state == "failed"
    assert sessions.session_count() == 0


def test_the_same_file_twice_changes_nothing_and_says_so(
    client: Client, django_capture_on_commit_callbacks: Capture
) -> None:
    for _ in range(2):
        with django_capture_on_commit_callbacks(execute=True):
            answer = send(client, ("one.jsonl", claude_lines(2)))

    assert "was sent before" in answer.json()["files"][0]["sentence"]
    assert jobs.jobs().items[0].outcome.startswith("Nothing new")
    assert sessions.session_count() == 1
    assert ArtifactRecord.objects.count() == 1


def test_a_growing_file_sent_twice_is_one_session(client: Client, django_capture_on_commit_callbacks: Capture) -> None:
    for turns in (2, 4):
        with django_capture_on_commit_callbacks(execute=True):
            send(client, ("one.jsonl", claude_lines(turns)))

    assert sessions.session_count() == 1
    assert sessions.recent_sessions(1)[0].call_count == 4


@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        ("application/json", b"{}"),
        ("multipart/form-data", b"x"),
        ("multipart/form-data; boundary=b", b"no parts at all"),
        ("multipart/form-data; boundary=b", b"--b\r\ncontent-disposition: form-data; name=files\r\n\r\n\r\n--b--\r\n"),
    ],
)
def test_a_request_without_a_file_is_400_with_a_sentence(client: Client, content_type: str, body: bytes) -> None:
    answer = client.post("/upload/", body, content_type=content_type, headers=JSON)

    assert answer.status_code == 400
    assert "Choose" in answer.json()["sentence"]


def test_without_the_sites_token_no_byte_is_kept(owner: Any, data_dir: Path) -> None:
    strict = Client(enforce_csrf_checks=True, headers={"host": "127.0.0.1"})
    strict.force_login(owner)

    assert send(strict, ("one.jsonl", claude_lines(1))).status_code == 403
    foreign = send(strict, ("one.jsonl", claude_lines(1)), headers=JSON | {"origin": "https://evil.example"})

    assert foreign.status_code == 403
    assert nothing_is_kept(data_dir)
    assert UploadRecord.objects.count() == 0


@pytest.mark.parametrize("where", ["field", "header"])
def test_the_token_may_come_as_field_or_header(owner: Any, where: str) -> None:
    strict = Client(enforce_csrf_checks=True, headers={"host": "127.0.0.1"})
    strict.force_login(owner)
    page = strict.get("/settings/").content.decode()
    token = page.split('name="csrfmiddlewaretoken" value="')[1].split('"')[0]
    file = SimpleUploadedFile("one.jsonl", claude_lines(1).encode())
    fields = {"csrfmiddlewaretoken": token} if where == "field" else {}
    headers = JSON | ({"x-csrftoken": token} if where == "header" else {})

    assert strict.post("/upload/", {**fields, "files": file}, headers=headers).status_code == 200


def test_nobody_uploads_before_signing_in(anonymous_client: Client, data_dir: Path) -> None:
    assert send(anonymous_client, ("one.jsonl", claude_lines(1))).status_code == 302
    assert nothing_is_kept(data_dir)


def test_a_get_is_refused(client: Client) -> None:
    assert client.get("/upload/").status_code == 405


@pytest.mark.parametrize("end", [b"", b"\r\n", b"\r\n--c--\r\n"])
def test_a_form_that_ends_before_its_last_line_is_not_a_whole_file(client: Client, data_dir: Path, end: bytes) -> None:
    start = b'--b\r\nContent-Disposition: form-data; name="files"; filename="cut.jsonl"\r\n\r\n'

    answer = client.post(
        "/upload/", start + claude_lines(2).encode() + end, "multipart/form-data; boundary=b", headers=JSON
    )

    assert answer.status_code == 400
    assert nothing_is_kept(data_dir)
    assert "cut.jsonl did not arrive completely. Send it again." in client.get("/").content.decode()


class TestOverTheWire:
    """A real server: the body reaches the view while it arrives."""

    @pytest.fixture
    def wire(self, live_url: str, owner: Any) -> Callable[[int], socket.socket]:
        signed_in = Client(headers={"host": "127.0.0.1"})
        signed_in.force_login(owner)
        page = signed_in.get("/settings/").content.decode()
        token = page.split('name="csrfmiddlewaretoken" value="')[1].split('"')[0]
        cookies = "; ".join(f"{name}={morsel.value}" for name, morsel in signed_in.cookies.items())

        def opened(length: int) -> socket.socket:
            host = urlsplit(live_url).netloc
            connection = socket.create_connection((host.split(":")[0], int(host.split(":")[1])), timeout=10)
            head = (
                f"POST /upload/ HTTP/1.1\r\nHost: {host}\r\nCookie: {cookies}\r\nX-CSRFToken: {token}\r\n"
                f"Accept: application/json\r\nContent-Type: multipart/form-data; boundary=b\r\n"
                f"Content-Length: {length}\r\n\r\n"
            )
            connection.sendall(head.encode())
            return connection

        return opened

    def test_an_upload_is_known_before_it_is_complete_and_told_when_it_breaks(
        self, wire: Callable[[int], socket.socket], data_dir: Path, client: Client
    ) -> None:
        connection = wire(50_000_000)
        start = b'--b\r\nContent-Disposition: form-data; name="files"; filename="half.jsonl"\r\n\r\n'
        connection.sendall(start + b'{"type": "user"}\n' * 60_000)
        wait_until(lambda: UploadRecord.objects.filter(state="receiving").exists(), what="the upload's row")
        wait_until(lambda: any((data_dir / "incoming").iterdir()), what="its bytes")

        connection.close()

        wait_until(lambda: UploadRecord.objects.filter(state="interrupted").exists(), what="the end of the upload")
        assert not list((data_dir / "incoming").iterdir())
        assert ArtifactRecord.objects.count() == 0
        assert "half.jsonl did not arrive completely. Send it again." in client.get("/").content.decode()

    def test_a_file_over_the_limit_is_answered_before_its_end(
        self, wire: Callable[[int], socket.socket], data_dir: Path, settings: Any
    ) -> None:
        settings.MAX_UPLOAD_BYTES = 1024 * 1024
        connection = wire(1_000_000_000)
        connection.sendall(b'--b\r\nContent-Disposition: form-data; name="files"; filename="big.jsonl"\r\n\r\n')
        for _ in range(40):
            connection.sendall(b"x" * 100_000)

        answer = connection.recv(65536)
        connection.close()

        assert answer.startswith(b"HTTP/1.1 413")
        body = json.loads(answer.split(b"\r\n\r\n", 1)[1])
        assert "larger than 1 MB" in body["files"][0]["sentence"]
        assert not list((data_dir / "incoming").iterdir())


@pytest.mark.parametrize(
    ("name", "said"), [(b"\xff\xfe.jsonl", "is not UTF-8"), (b"a" * 1200, "longer than 1,000 bytes")]
)
def test_a_name_that_no_form_can_say_gets_a_sentence_with_a_way_on(client: Client, name: bytes, said: str) -> None:
    head = b'--b\r\ncontent-disposition: form-data; name="files"; filename="' + name + b'"\r\ncontent-type: text/plain'
    body = head + b"\r\n\r\n{}\r\n--b--\r\n"
    answer = client.post("/upload/", body, content_type="multipart/form-data; boundary=b", headers=JSON)

    assert answer.status_code == 400
    assert said in answer.json()["sentence"] and command("import PATH") in answer.json()["sentence"]
