"""What protects every page, whatever it shows."""

from __future__ import annotations

import pytest
from django.conf import settings
from django.test import Client

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
