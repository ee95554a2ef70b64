"""Errors of one shape, whoever raises them."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from contextviz.api.api import api
from contextviz.api.errors import CODES
from contextviz.api.resources import calls

pytestmark = pytest.mark.django_db


def shape(answer: Any) -> dict[str, Any]:
    body = answer.json()
    assert set(body) == {"error"}
    assert set(body["error"]) - {"fields"} == {"status", "code", "sentence"}
    assert body["error"]["status"] == answer.status_code
    assert body["error"]["sentence"].endswith((".", ",")) or answer.status_code == 422
    return dict(body["error"])


@pytest.mark.parametrize("path", ["/api/v1/nothing", "/api/v1/sessions/1/nothing", "/api/v1/sessions/"])
def test_an_address_that_is_none_is_named_in_the_one_shape(anonymous_client: Client, path: str) -> None:
    assert shape(anonymous_client.get(path))["code"] == "not_found"


def test_a_method_that_is_not_taken_is_named(anonymous_client: Client) -> None:
    answer = anonymous_client.put("/api/v1/sessions")

    assert shape(answer)["code"] == "method_not_allowed"
    assert answer.headers["Allow"] == "GET"


def test_head_is_get_without_a_body_and_options_is_not_taken(reader: Client) -> None:
    whole, head = reader.get("/api/v1/sessions"), reader.head("/api/v1/sessions")

    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["Content-Length"] == whole.headers["Content-Length"]
    assert head.headers["Cache-Control"] == "private, no-store"
    assert reader.head("/api/v1/sessions/99").status_code == 404
    assert reader.head("/api/v1/uploads").status_code == reader.get("/api/v1/uploads").status_code
    assert reader.options("/api/v1/sessions").status_code == 405


def test_a_foreign_host_is_refused_in_the_one_shape(anonymous_client: Client) -> None:
    assert shape(anonymous_client.get("/api/v1/sessions", headers={"host": "evil.example"}))["code"] == "bad_request"


def test_a_session_that_is_not_there_is_named(reader: Client) -> None:
    assert "no session 99" in shape(reader.get("/api/v1/sessions/99"))["sentence"]


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("limit=0", "limit"),
        ("limit=501", "limit"),
        ("limit=many", "limit"),
        ("cursor=nonsense", "cursor"),
        ("cursor=%C3%A9", "cursor"),
        ("cursor=W10", "cursor"),
        ("cursor=WyJjYWxscyIsM10", "cursor"),  # of the list of calls
        ("cursor=WyJzZXNzaW9ucyIsMSwyXQ", "cursor"),  # ["sessions",1,2]
        ("since=yesterday", "since"),
        ("since=0001-01-01T00:00:00%2B23:00", "since"),
        ("search=%00", "search"),
    ],
)
def test_a_bad_parameter_is_named(reader: Client, query: str, field: str) -> None:
    error = shape(reader.get(f"/api/v1/sessions?{query}"))

    assert error["status"] == 422
    assert [one["field"] for one in error["fields"]] == [field]
    assert error["sentence"]


@pytest.mark.parametrize("place", ["-1", "9223372036854775807", "99999999999999999999", '"1"', "1.5", "true", "[]"])
def test_a_forged_cursor_is_refused(reader: Client, session_id: int, place: str) -> None:
    cursor = base64.urlsafe_b64encode(f'["calls",{place}]'.encode()).decode().rstrip("=")

    assert shape(reader.get(f"/api/v1/sessions/{session_id}/calls?cursor={cursor}"))["status"] == 422


def test_a_number_beyond_64_bits_is_a_bad_parameter(reader: Client) -> None:
    assert shape(reader.get(f"/api/v1/sessions/{2**64}"))["status"] == 422


def test_a_body_that_is_no_json_is_refused(operator: Client) -> None:
    answer = operator.post("/api/v1/originals/retrieve", b"{", "application/json")

    assert shape(answer)["status"] == 400


def test_a_body_over_the_limit_is_too_large(operator: Client, settings: Any) -> None:
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 100

    answer = operator.post("/api/v1/originals/retrieve", {"query": "a" * 200}, "application/json")

    assert shape(answer)["status"] == 413


def test_an_unexpected_error_is_logged_and_says_its_reference(
    reader: Client, session_id: int, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("secret detail")

    monkeypatch.setattr(calls.calls, "calls", broken)
    error = shape(reader.get(f"/api/v1/sessions/{session_id}/calls"))

    assert error["status"] == 500
    assert "secret" not in error["sentence"]
    assert error["sentence"].split()[-1].rstrip(".") in caplog.text


def test_the_description_is_served_and_no_page_of_another_host(anonymous_client: Client) -> None:
    answer = anonymous_client.get("/api/v1/openapi.json")

    assert answer.status_code == 200
    assert set(answer.json()["components"]["securitySchemes"]) == {"ApiKey", "SignedIn"}
    assert anonymous_client.get("/api/v1/docs").status_code == 404


def test_every_address_is_on_the_page_about_the_api(repository: Path) -> None:
    page = (repository / "docs" / "api.md").read_text(encoding="utf-8")
    last_parts = {
        part
        for path in api.get_openapi_schema()["paths"]
        for part in path.removeprefix("/api/v1/").split("/")
        if part and not part.startswith("{")
    }

    assert {part for part in last_parts if part not in page} == set()
    assert {code for code in CODES.values() if f"`{code}`" not in page} == set()
