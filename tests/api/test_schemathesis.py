"""The OpenAPI document is true: whatever is sent, no server error, and no status or shape that it does not name.

A few random requests an operation by default; `make schemathesis` sends 200, and every case at a bound.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from itertools import islice
from typing import Any

import pytest
import schemathesis
from django.core import signals
from django.core.handlers.wsgi import WSGIHandler
from django.db import close_old_connections
from django.test import Client
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import Case, GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
    unsupported_method,
)

from contextviz.api.api import api
from contextviz.services.api_keys import SCOPES
from contextviz.services.ingest import open_batch
from contextviz.services.retrieve import open_retrieve
from contextviz.store.models import TextRecord
from tests.accounts.cast import person
from tests.store.building import NOW

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]
EXAMPLES = int(os.environ.get("SCHEMATHESIS_EXAMPLES", "4"))
IS_FULL = EXAMPLES >= 200
# Who may call what is test_cast.py's; here a caller is one more way through the code.
ALL_SCOPES = " ".join(SCOPES)
CALLERS = ["nobody", "read", ALL_SCOPES, "viewer", "admin"] if IS_FULL else [ALL_SCOPES]
SCHEMA = schemathesis.openapi.from_dict(json.loads(json.dumps(api.get_openapi_schema())))
SCHEMA.app = WSGIHandler()
OPERATIONS = [
    pytest.param(result.ok(), id=result.ok().definition.raw["operationId"]) for result in SCHEMA.get_all_operations()
]
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    unsupported_method,
]


@schemathesis.serializer("application/x-ndjson")
def as_lines(context: Any, value: Any) -> bytes:
    """Lines as they are; what is no text (a request that is wrong on purpose) as its JSON."""
    return value.encode("utf-8", "surrogatepass") if isinstance(value, str) else json.dumps(value).encode()


@pytest.fixture(autouse=True)
def one_connection(db: None) -> Iterator[None]:
    """The test's own transaction serves every request, as with Django's test client."""
    signals.request_started.disconnect(close_old_connections)
    signals.request_finished.disconnect(close_old_connections)
    yield
    signals.request_started.connect(close_old_connections)
    signals.request_finished.connect(close_old_connections)


@pytest.fixture
def there(save: Any, replayed: Any) -> dict[str, Any]:
    """Things that are there, by the names of path parameters: else most requests would only be 404s."""
    session_id = save(3)
    return {
        "session_id": session_id,
        "run_id": replayed(session_id),
        "handle": "h",
        "number": 1,
        "index": 0,
        "node_id": "s1",
        "sha256": bytes(TextRecord.objects.values_list("digest", flat=True)[0]).hex(),
        "job_id": str(open_retrieve("abcdef", now=NOW)),
        "upload_id": str(open_batch(now=NOW)),
        "key": "talk-1",
    }


def headers_of(who: str, key: Any, owner: Any) -> dict[str, str]:
    if who == "nobody":
        return {}
    if who in ("viewer", "admin"):
        client = Client()
        client.force_login(owner if who == "admin" else person("vera", "viewer"))
        return {"Cookie": f"contextviz_session={client.cookies['contextviz_session'].value}"}
    return {"Authorization": f"Bearer {key(*who.split())}"}


def send(case: Case, headers: dict[str, str]) -> None:
    case.call_and_validate(base_url="http://127.0.0.1", headers=headers, checks=CHECKS)


def on_what_is_there(case: Case, there: dict[str, Any]) -> Case:
    known = {name: there[name] for name in case.path_parameters or {} if name in there}
    return case.operation.Case(
        method=case.method, path_parameters=known, query=case.query, headers=case.headers, body=case.body,
        media_type=case.media_type,
    )  # fmt: skip


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("who", CALLERS)
def test_any_request_gets_a_documented_answer(
    operation: Any, who: str, there: dict[str, Any], key: Any, owner: Any
) -> None:
    headers = headers_of(who, key, owner)

    for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):

        @settings(
            max_examples=EXAMPLES // 2,  # of each mode
            database=None,
            deadline=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
            derandomize=not IS_FULL,
        )
        @given(case=operation.as_strategy(generation_mode=mode))
        def check(case: Case) -> None:
            send(case, headers)
            send(on_what_is_there(case, there), headers)

        check()


@pytest.mark.parametrize("operation", OPERATIONS)
def test_every_bound_and_method_gets_a_documented_answer(
    operation: Any, there: dict[str, Any], key: Any, owner: Any
) -> None:
    headers = headers_of(ALL_SCOPES, key, owner)
    cases = SCHEMA.iter_coverage_cases(
        operation, generation_modes=list(GenerationMode), generation_config=SCHEMA.config.generation_for()
    )

    for case in islice(cases, None if IS_FULL else 8):
        send(case, headers)
