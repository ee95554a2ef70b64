"""What protects every page, whatever it shows."""

from __future__ import annotations

import re
from uuid import UUID

import pytest
from django.conf import settings
from django.test import Client
from django.urls import URLResolver, get_resolver

pytestmark = pytest.mark.django_db


def test_every_page_carries_the_content_policy(anonymous_client: Client) -> None:
    policy = anonymous_client.get("/healthz").headers["Content-Security-Policy"]

    rules = {rule.split()[0]: rule.split()[1:] for rule in policy.split("; ")}
    assert rules["script-src"] == ["'self'"], "no inline script, no eval"
    assert rules["form-action"] == ["'self'"]
    assert rules["default-src"] == ["'self'"]
    assert rules["object-src"] == rules["base-uri"] == rules["frame-ancestors"] == ["'none'"]


def test_nothing_is_shown_before_signing_in(anonymous_client: Client) -> None:
    answer = anonymous_client.get("/")

    assert answer.status_code == 302
    assert answer.headers["Location"].startswith(settings.LOGIN_URL)


def test_another_host_is_refused(client: Client) -> None:
    assert client.get("/healthz", headers={"host": "rebound.example"}).status_code == 400


def numbered_addresses() -> list[str]:
    """Every address with a number in it, each of its numbers beyond what a database takes."""
    found, waiting = [], [("", get_resolver())]
    for prefix, resolver in waiting:  # grows while it is walked
        for part in resolver.url_patterns:
            route = prefix + str(part.pattern)
            if isinstance(part, URLResolver):
                waiting.append((route, part))
            elif "<int:" in route and not route.startswith("api/"):
                found.append(re.sub(r"<(?:\w+:)?\w+>", "{}", re.sub(r"<uuid:\w+>", str(UUID(int=1)), route)))
    return found


@pytest.mark.parametrize("number", [2**31, 2**63 - 1, 2**63, 10**40])
def test_an_address_with_an_impossible_number_is_a_sentence(client: Client, number: int) -> None:
    addresses = numbered_addresses()
    assert len(addresses) > 12

    for address in addresses:
        for numbers in (number, 1) if address.count("{}") > 1 else (number,):
            answer = client.get("/" + address.replace("{}", str(numbers), 1).replace("{}", str(number)))
            assert answer.status_code in (404, 405), f"{address}: {answer.status_code}"


@pytest.mark.parametrize(
    "target", ["//evil.example", "https://evil.example", "/\\evil.example", "javascript:alert(1)", "/\t/evil.example",
               "/\r\nSet-Cookie: x=1", "/\n/evil.example", "///evil.example", "evil", "/\x00", "/\u2028x"],
)  # fmt: skip
def test_nobody_is_sent_elsewhere_by_a_next_address(client: Client, target: str) -> None:
    signing_in = client.get("/sign-in/", {"next": target})
    saving = client.post("/settings/", {"theme": "dark", "next": target})

    assert (signing_in.status_code, signing_in.headers["Location"]) == (303, "/")
    assert (saving.status_code, saving.headers["Location"]) == (303, "/settings/")


def test_cookies_stay_on_this_site() -> None:
    assert settings.SESSION_COOKIE_SAMESITE == settings.CSRF_COOKIE_SAMESITE == "Strict"
    assert settings.SESSION_COOKIE_HTTPONLY
    assert settings.CSRF_COOKIE_HTTPONLY


def test_static_files_come_as_one_body_without_a_sign_in(anonymous_client: Client) -> None:
    answer = anonymous_client.get("/static/vendor/SHA256SUMS")

    assert answer.status_code == 200
    assert not answer.streaming
    assert answer.content
    assert "max-age" in answer.headers["Cache-Control"]


def test_a_static_file_cannot_be_left_by_its_path(anonymous_client: Client) -> None:
    assert anonymous_client.get("/static/../manage.py").status_code != 200
    assert anonymous_client.get("/static/%2e%2e/manage.py").status_code != 200
