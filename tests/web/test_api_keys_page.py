"""The page of API keys: made, shown once, revoked."""

from __future__ import annotations

import re

import pytest
from django.contrib.auth.models import User
from django.test import Client

from contextviz.services.api_keys import create_key, list_keys
from tests.services.building import NOW

pytestmark = pytest.mark.django_db
KEYS = "/settings/keys/"


def test_a_key_is_shown_once_and_works(client: Client, anonymous_client: Client) -> None:
    answer = client.post(KEYS, {"label": "my <b>script</b>", "scope": ["read", "ingest"], "days": "30"})
    page = answer.content.decode()
    key = re.search(r"cvz_[\w-]{30,}", page)

    assert answer.status_code == 200
    assert key is not None
    assert "no-store" in answer.headers["Cache-Control"]
    assert "my &lt;b&gt;script" in page and "<b>script" not in page
    again = client.get(KEYS).content.decode()
    assert key[0] not in again and key[0][:12] in again
    assert anonymous_client.get("/api/v1/", headers={"authorization": f"Bearer {key[0]}"}).status_code == 200
    assert [(one.scopes, one.expires_at is None) for one in list_keys()] == [(("read", "ingest"), False)]


def test_a_form_that_makes_no_key_keeps_what_was_typed(client: Client) -> None:
    answer = client.post(KEYS, {"label": "typed", "days": "30"})
    page = answer.content.decode()

    assert answer.status_code == 422
    assert "Choose what the key may do" in page
    assert 'value="typed"' in page
    assert client.post(KEYS, {"label": "typed", "scope": "read", "days": "-5"}).status_code == 422
    assert list_keys() == []


def test_a_revoked_key_opens_nothing(client: Client, anonymous_client: Client, owner: User) -> None:
    row, key = create_key(owner.pk, label="k", scopes=["read"], now=NOW)

    answer = client.post(f"{KEYS}{row.id}/revoke/")

    assert (answer.status_code, answer.headers["Location"]) == (303, KEYS)
    assert "revoked" in client.get(KEYS).content.decode()
    assert anonymous_client.get("/api/v1/", headers={"authorization": f"Bearer {key}"}).status_code == 401


def test_nobody_but_an_admin_sees_or_revokes_the_keys_of_another(client: Client, owner: User) -> None:
    User.objects.filter(pk=owner.pk).update(is_superuser=False)
    other = User.objects.create_user("other")
    row, _ = create_key(other.pk, label="theirs", scopes=["read"], now=NOW)

    assert "theirs" not in client.get(KEYS).content.decode()
    assert client.post(f"{KEYS}{row.id}/revoke/").status_code == 404
    assert list_keys()[0].revoked_at is None


def test_the_page_needs_a_sign_in_and_is_reached_from_the_settings(client: Client, anonymous_client: Client) -> None:
    assert anonymous_client.get(KEYS).status_code == 302
    assert anonymous_client.post(KEYS, {"label": "k", "scope": "read", "days": "0"}).status_code == 302
    assert f'href="{KEYS}"' in client.get("/settings/").content.decode()
    assert list_keys() == []
