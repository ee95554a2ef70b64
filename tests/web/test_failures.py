"""Every refusal has its status and one sentence, as a page and as JSON."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.exceptions import RequestDataTooBig
from django.test import Client, RequestFactory

from contextviz.web.views import failures

pytestmark = pytest.mark.django_db


def test_an_unknown_address_is_404_with_a_sentence(client: Client) -> None:
    answer = client.get("/no/such/page/")

    assert answer.status_code == 404
    assert "There is no page at this address" in answer.content.decode()
    as_json = client.get("/no/such/page/", headers={"accept": "application/json"})
    assert as_json.json()["error"]["status"] == 404


def test_another_host_name_is_400_and_says_what_to_do(client: Client) -> None:
    answer = client.get("/", headers={"host": "rebound.example"})

    assert answer.status_code == 400
    page = answer.content.decode()
    assert "does not answer to this host name" in page
    assert "CONTEXTVIZ_ALLOWED_HOSTS" in page
    assert "rebound.example" not in page


def test_a_form_without_the_sites_token_is_403_and_says_what_to_do(owner: Any) -> None:
    strict = Client(enforce_csrf_checks=True, headers={"host": "127.0.0.1"})
    strict.force_login(owner)

    answer = strict.post("/settings/", {"theme": "dark"})

    assert answer.status_code == 403
    assert "Reload the page" in answer.content.decode()


def test_a_form_that_is_too_large_is_413(client: Client, settings: Any) -> None:
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 100

    answer = client.post("/settings/", "time_zone=" + "x" * 200, content_type="application/x-www-form-urlencoded")

    assert answer.status_code == 413
    assert "larger than this page takes" in answer.content.decode()
    assert failures.bad_request(RequestFactory().get("/"), RequestDataTooBig()).status_code == 413


def test_a_fault_is_500_with_a_reference_and_no_trace(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("the secret of the fault")

    monkeypatch.setattr("contextviz.web.views.jobs.jobs_page", broken)
    client.raise_request_exception = False

    answer = client.get("/jobs/")

    page = answer.content.decode()
    assert answer.status_code == 500
    assert "What was imported is safe" in page
    assert "reference" in page
    assert "secret of the fault" not in page
