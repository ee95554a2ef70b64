"""Keys of the API from the command line."""

from __future__ import annotations

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from contextviz.services.api_keys import list_keys

pytestmark = pytest.mark.django_db


def test_a_key_is_printed_alone_listed_and_revoked(
    capsys: pytest.CaptureFixture[str], anonymous_client: Client
) -> None:
    call_command("api_key", "create", "nightly report", "--scope", "read", "--scope", "operate", "--days", "0")
    key = capsys.readouterr().out.strip()
    header = {"authorization": f"Bearer {key}"}
    assert anonymous_client.get("/api/v1/", headers=header).json()["scopes"] == ["operate", "read"]

    call_command("api_key", "list")
    line = capsys.readouterr().out
    assert key[:12] in line and key not in line
    assert "active" in line and "nightly report" in line and "never ends" in line

    call_command("api_key", "revoke", key[:12])
    assert "is revoked" in capsys.readouterr().out
    assert anonymous_client.get("/api/v1/", headers=header).status_code == 401


def test_a_key_reads_and_ends_after_90_days_unless_told_otherwise() -> None:
    call_command("api_key", "create", "plain")

    (row,) = list_keys()
    assert row.scopes == ("read",)
    assert row.expires_at is not None and (row.expires_at - row.created_at).days == 90


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["revoke", "cvz_nothing"], "No key begins with 'cvz_nothing'"),
        (["create", " "], "Give the key a name"),
        (["create", "k", "--days", "-1"], "Write the days"),
    ],
)
def test_what_cannot_be_done_is_one_sentence(arguments: list[str], sentence: str) -> None:
    with pytest.raises(CommandError, match=sentence):
        call_command("api_key", *arguments)


def test_no_key_yet_says_how_to_make_one(capsys: pytest.CaptureFixture[str]) -> None:
    call_command("api_key", "list")

    assert "api-key create" in capsys.readouterr().err
