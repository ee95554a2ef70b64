"""Appearance, time zone, and the deletion of a session."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import pytest
from django.test import Client

from contextviz.store.queries import sessions
from contextviz.store.queries.preferences import preferences
from tests.services.building import claude_lines, upload

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]


def test_theme_and_time_zone_are_kept_and_hold_on_every_page(client: Client, owner: Any) -> None:
    answer = client.post("/settings/", {"theme": "dark", "time_zone": "Asia/Tokyo"})

    assert answer.status_code == 303
    assert preferences(owner.pk).time_zone == "Asia/Tokyo"
    page = client.get("/settings/").content.decode()
    assert 'data-theme="dark"' in page
    assert 'value="Asia/Tokyo"' in page


def test_the_theme_button_keeps_the_time_zone_and_returns(client: Client, owner: Any) -> None:
    client.post("/settings/", {"theme": "light", "time_zone": "Europe/Berlin"})

    answer = client.post("/settings/", {"theme": "dark", "next": "/jobs/?state=done"})

    assert answer.headers["Location"] == "/jobs/?state=done"
    assert preferences(owner.pk).time_zone == "Europe/Berlin"
    assert answer.cookies["contextviz_theme"].value == "dark"


@pytest.mark.parametrize("target", ["https://evil.example/", "//evil.example", "javascript:alert(1)", "\\\\evil"])
def test_the_form_leads_nowhere_else(client: Client, target: str) -> None:
    answer = client.post("/settings/", {"theme": "dark", "next": target})

    assert answer.headers["Location"] == "/settings/"


@pytest.mark.parametrize("zone", ["Middle/Earth", "../../etc/passwd", "x" * 500])
def test_what_is_no_time_zone_is_422_with_a_sentence(client: Client, owner: Any, zone: str) -> None:
    answer = client.post("/settings/", {"theme": "system", "time_zone": zone})

    assert answer.status_code == 422
    assert "is not a time zone" in answer.content.decode()
    assert preferences(owner.pk).time_zone == "UTC"


def test_the_page_says_where_everything_lies(client: Client, settings: Any) -> None:
    page = client.get("/settings/").content.decode()

    assert str(settings.DATA_DIR) in page
    assert "Database" in page
    assert "Broker" in page


def test_deleting_asks_first_and_says_what_goes(client: Client) -> None:
    upload(("one.jsonl", claude_lines(2)))
    row = sessions.recent_sessions(1)[0]

    page = client.get(f"/sessions/{row.id}/delete/").content.decode()
    unsure = client.post(f"/sessions/{row.id}/delete/", {})

    assert "one.jsonl" in page
    assert "Model calls" in page
    assert unsure.status_code == 422
    assert "Nothing was deleted" in unsure.content.decode()
    assert sessions.session_count() == 1


def test_confirmed_it_is_gone_from_every_page_at_once(
    client: Client, django_capture_on_commit_callbacks: Callable[..., AbstractContextManager[Any]]
) -> None:
    upload(("one.jsonl", claude_lines(2)))
    row = sessions.recent_sessions(1)[0]

    with django_capture_on_commit_callbacks(execute=True):
        answer = client.post(f"/sessions/{row.id}/delete/", {"confirm": "yes"})

    assert answer.status_code == 303
    assert answer.headers["Location"] == "/"
    assert client.get(f"/sessions/{row.id}/delete/").status_code == 404
    assert "is being deleted" in client.get("/").content.decode()
    assert "Deleted “alpha question 0”" in client.get("/jobs/").content.decode()
