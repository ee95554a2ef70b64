"""Signing in with a one-time token, and out."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from contextviz.commands import command
from contextviz.services.access import issue_token

pytestmark = pytest.mark.django_db


def a_token(minutes_ago: int = 0) -> str:
    return issue_token(now=timezone.now() - timedelta(minutes=minutes_ago))


def test_the_printed_address_signs_in_once(anonymous_client: Client) -> None:
    token = a_token()

    answer = anonymous_client.get("/sign-in/", {"token": token})

    assert answer.status_code == 303
    assert answer.headers["Location"] == "/"
    assert answer.headers["Referrer-Policy"] == "no-referrer"
    assert anonymous_client.get("/jobs/").status_code == 200
    other = Client(headers={"host": "127.0.0.1"})
    assert other.get("/sign-in/", {"token": token}).status_code == 403


@pytest.mark.parametrize("kind", ["old", "invented", "used"])
def test_an_expired_used_or_unknown_token_is_403_and_says_what_to_do(anonymous_client: Client, kind: str) -> None:
    token = a_token(minutes_ago=16) if kind == "old" else a_token()
    if kind == "used":
        Client(headers={"host": "127.0.0.1"}).get("/sign-in/", {"token": token})

    answer = anonymous_client.get("/sign-in/", {"token": "invented" if kind == "invented" else token})

    assert answer.status_code == 403
    page = answer.content.decode()
    assert f"<code>{command('sign-in')}</code>" in page
    assert token not in page
    assert anonymous_client.get("/").status_code == 302


@pytest.mark.parametrize(
    "headers",
    [
        {"sec-purpose": "prefetch"},
        {"sec-purpose": "prefetch;prerender"},
        {"purpose": "prefetch"},
        {"x-moz": "prefetch"},
        {"sec-fetch-dest": "image"},
        {"sec-fetch-dest": "empty"},
    ],
)
def test_looking_ahead_uses_no_token_up(anonymous_client: Client, headers: dict[str, str]) -> None:
    token = a_token()

    ahead = anonymous_client.get("/sign-in/", {"token": token}, headers=headers)

    assert ahead.status_code == 204
    assert anonymous_client.head("/sign-in/", {"token": token}).status_code == 204
    assert anonymous_client.get("/sign-in/", {"token": token}).status_code == 303


def test_a_token_may_be_pasted(anonymous_client: Client) -> None:
    answer = anonymous_client.post("/sign-in/", {"token": f" {a_token()} ", "next": "/jobs/"})

    assert answer.status_code == 303
    assert answer.headers["Location"] == "/jobs/"


@pytest.mark.parametrize("target", ["https://evil.example/", "//evil.example/", "javascript:alert(1)", "/\\evil"])
def test_signing_in_leads_nowhere_else(anonymous_client: Client, target: str) -> None:
    answer = anonymous_client.get("/sign-in/", {"token": a_token(), "next": target})

    assert answer.headers["Location"] == "/"


def test_the_same_address_again_in_the_same_browser_just_opens_the_library(client: Client) -> None:
    assert client.get("/sign-in/", {"token": "used long ago"}).headers["Location"] == "/"


def test_without_a_token_the_page_says_where_to_get_one(anonymous_client: Client) -> None:
    answer = anonymous_client.get("/sign-in/?next=/jobs/")

    assert answer.status_code == 200
    assert command("sign-in") in answer.content.decode()
    assert 'value="/jobs/"' in answer.content.decode()
    assert "no-store" in answer.headers["Cache-Control"]


def test_signing_out_ends_the_session(client: Client) -> None:
    assert client.get("/sign-out/").status_code == 405
    assert client.post("/sign-out/").headers["Location"] == "/sign-in/"
    assert client.get("/").status_code == 302
