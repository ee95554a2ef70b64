"""Who may call what: every operation of the OpenAPI document, every kind of caller. A new operation is covered."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.middleware.csrf import _get_new_csrf_string
from django.test import Client

from contextviz.api.api import api
from contextviz.services.api_keys import SCOPES, create_key, revoke_key
from contextviz.services.ingest import open_batch
from contextviz.services.retrieve import open_retrieve
from contextviz.store.models import (
    JobRecord,
    RunChunkRecord,
    RunRecord,
    SessionRecord,
    TextRecord,
    UploadBatchRecord,
)
from contextviz.store.rows.run import pack_body
from tests.api.conftest import caller
from tests.store.building import NOW

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]
OPERATIONS = [
    pytest.param(method, path, operation, id=operation["operationId"])
    for path, methods in api.get_openapi_schema()["paths"].items()
    for method, operation in methods.items()
]
every_operation = pytest.mark.parametrize(("method", "path", "operation"), OPERATIONS)
SAFE = {"get"}
BODY = b'{"query": "abcdef"}'
REPLAY = b'{"engine": "keep-all"}'
REF = ["00" * 32, 1, 1, 1]
FORM = b'--b\r\nContent-Disposition: form-data; name="files"; filename="a.jsonl"\r\n\r\n{}\n\r\n--b--\r\n'


@pytest.fixture
def call(save: Callable[..., int], replayed: Callable[[int], str]) -> Callable[..., Any]:
    """Call an operation on things that are there."""
    session_id = save(2)
    run_id = replayed(session_id)
    RunChunkRecord.objects.create(run_id=run_id, kind="handles", number=0, body=pack_body({"h": 0}))
    RunChunkRecord.objects.create(run_id=run_id, kind="originals", number=0, body=pack_body([["h", REF, None]]))
    RunRecord.objects.update(original_count=1)
    there = {
        "session_id": session_id,
        "run_id": run_id,
        "handle": "h",
        "number": 1,
        "index": 0,
        "node_id": "s1",
        "sha256": bytes(TextRecord.objects.values_list("digest", flat=True)[0]).hex(),
        "job_id": open_retrieve("abcdef", now=NOW),
        "upload_id": open_batch(now=NOW),
        "key": "talk-1",
    }

    def called(client: Client, method: str, path: str, **more: Any) -> Any:
        address = path.format(**there)
        if path.endswith(("/originals", "/search")):
            address += "?q=abcdef"
        if path.endswith("/uploads"):
            return client.post(address, FORM, "multipart/form-data; boundary=b", **more)
        body = REPLAY if path.endswith("/runs") else BODY
        return client.generic(method.upper(), address, body, "application/json", **more)

    return called


def is_refused(answer: Any, status: int) -> bool:
    error = answer.json()["error"]
    assert set(error) >= {"status", "code", "sentence"}
    return bool(answer.status_code == status == error["status"])


def is_served(answer: Any, operation: dict[str, Any]) -> bool:
    assert answer.status_code in operation["responses"], answer.content[:300]
    return answer.status_code in (200, 202, 409)  # 409: a queued job cannot be tried again


@every_operation
def test_nobody_comes_in_without_a_key_that_counts(
    method: str, path: str, operation: dict[str, Any], call: Any, anonymous_client: Client, owner: Any
) -> None:
    row, revoked = create_key(owner.pk, label="old", scopes=SCOPES, now=NOW)
    revoke_key(row.id, now=NOW)
    _, expired = create_key(owner.pk, label="e", scopes=SCOPES, now=NOW, expires_at=NOW + timedelta(days=1))
    _, stopped = create_key(owner.pk, label="s", scopes=SCOPES, now=NOW)

    answer = call(anonymous_client, method, path)
    assert is_refused(answer, 401)
    assert answer.headers["WWW-Authenticate"].startswith("Bearer")
    for wrong in ("cvz_wrong", revoked, expired, f"{stopped}x", stopped[4:]):
        assert is_refused(call(caller(wrong), method, path), 401)
    assert is_refused(call(anonymous_client, method, path, headers={"authorization": f"Basic {stopped}"}), 401)
    assert is_refused(call(anonymous_client, method, f"{path}?key={stopped}"), 401)
    owner.is_active = False
    owner.save()
    assert is_refused(call(caller(stopped), method, path), 401)


@every_operation
def test_a_key_may_do_what_its_scope_says(
    method: str, path: str, operation: dict[str, Any], call: Any, key: Any
) -> None:
    for scope in SCOPES:
        answer = call(caller(key(scope)), method, path)
        if scope in operation["x-scopes"]:
            assert is_served(answer, operation)
        else:
            assert is_refused(answer, 403)
            assert operation["x-scopes"][0] in answer.json()["error"]["sentence"]


@every_operation
def test_a_signed_in_person_may_do_everything_and_changes_need_the_csrf_token(
    method: str, path: str, operation: dict[str, Any], call: Any, owner: Any
) -> None:
    client = Client(enforce_csrf_checks=True, headers={"host": "127.0.0.1"})
    client.force_login(owner)
    token = _get_new_csrf_string()
    client.cookies["contextviz_csrf"] = token

    if method not in SAFE:
        assert is_refused(call(client, method, path), 403)
        assert is_refused(call(client, method, path, headers={"x-csrftoken": "x" * 32}), 403)
    assert is_served(call(client, method, path, headers={"x-csrftoken": token}), operation)


@every_operation
def test_a_role_bounds_what_its_person_and_their_keys_may_do(
    method: str, path: str, operation: dict[str, Any], call: Any, person: Any
) -> None:
    for role, may in (("viewer", "read" in operation["x-scopes"]), ("operator", True)):
        who = person(f"the {role}", role)
        browser = Client(headers={"host": "127.0.0.1"})
        browser.force_login(who)
        _, key = create_key(who.pk, label="k", scopes=SCOPES, now=NOW)
        SessionRecord.objects.update(owner=who)
        for client in (browser, caller(key)):
            answer = call(client, method, path)
            assert answer.status_code not in (401, 403) if may else is_refused(answer, 403)


@every_operation
def test_a_private_session_is_there_for_its_owner_and_admins_alone(
    method: str, path: str, operation: dict[str, Any], call: Any, person: Any, owner: Any
) -> None:
    mine = person("mine", "operator")
    SessionRecord.objects.update(owner=mine, is_private=True)
    JobRecord.objects.update(person=mine, is_private=True)
    UploadBatchRecord.objects.update(person=mine, is_private=True)
    is_of_somebody = "{" in path and "{key}" not in path  # a name that its sender chooses is nobody's

    for who in (person("colleague", "operator"), person("stranger", "viewer")):
        _, key = create_key(who.pk, label="k", scopes=SCOPES, now=NOW)
        answer = call(caller(key), method, path)
        if who.username == "stranger" and "read" not in operation["x-scopes"]:
            assert is_refused(answer, 403)
        elif is_of_somebody:
            assert is_refused(answer, 404)
        elif answer.headers["Content-Type"] == "application/json" and "items" in answer.json():
            assert answer.json()["items"] == []
    for who in (mine, owner):
        _, key = create_key(who.pk, label="k", scopes=SCOPES, now=NOW)
        if method in SAFE or who == owner:
            assert is_served(call(caller(key), method, path), operation)


@every_operation
def test_a_wrong_key_is_not_mended_by_a_sign_in(
    method: str, path: str, operation: dict[str, Any], call: Any, client: Client
) -> None:
    assert is_refused(call(client, method, path, headers={"authorization": "Bearer cvz_wrong"}), 401)


def test_changes_are_never_done_by_a_get() -> None:
    assert {name for param in OPERATIONS for name in [param.values[0]]} == {"get", "post", "delete"}
    assert all(param.values[2]["x-scopes"] != ["operate"] for param in OPERATIONS if param.values[0] in SAFE)


def test_a_session_is_deleted_by_its_owner_or_an_admin_alone(save: Any, person: Any, owner: Any) -> None:
    session_id = save(2)
    mine, other = person("mine", "operator"), person("other", "operator")
    SessionRecord.objects.update(owner=mine)

    for who, status in ((other, 403), (mine, 202)):
        _, key = create_key(who.pk, label="k", scopes=["operate"], now=NOW)
        assert caller(key).delete(f"/api/v1/sessions/{session_id}").status_code == status
