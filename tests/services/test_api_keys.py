"""Keys of the API: shown once, kept as a hash, good until they end."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from contextviz.services.api_keys import (
    KeyRefused,
    authenticate,
    create_key,
    find_key,
    list_keys,
    revoke_key,
)
from contextviz.store.models import ApiKeyRecord
from contextviz.store.values import NotFound
from tests.services.building import NOW

pytestmark = pytest.mark.django_db


def test_a_key_opens_what_it_was_made_for_and_is_not_kept(owner: Any) -> None:
    row, key = create_key(owner.pk, label=" my\nscript ", scopes=["operate", "read"], now=NOW)
    holder = authenticate(key, now=NOW)

    assert holder is not None
    assert (holder.label, holder.scopes, holder.user) == ("my script", {"read", "operate"}, owner)
    assert key.startswith(row.prefix) and len(key) > 40
    record = ApiKeyRecord.objects.get()
    assert key not in {str(getattr(record, field.attname)) for field in record._meta.fields}
    assert authenticate(key[:-1], now=NOW) is None
    assert authenticate("\ud800", now=NOW) is None
    assert authenticate("cvz_\ud800\x00", now=NOW) is None


def test_a_key_ends_by_itself_or_when_it_is_revoked(owner: Any) -> None:
    _, short = create_key(owner.pk, label="short", scopes=["read"], now=NOW, expires_at=NOW + timedelta(days=1))
    row, key = create_key(owner.pk, label="long", scopes=["read"], now=NOW)

    assert authenticate(short, now=NOW + timedelta(hours=23)) is not None
    assert authenticate(short, now=NOW + timedelta(days=1)) is None
    assert revoke_key(row.id, now=NOW).revoked_at == NOW
    assert revoke_key(row.id, now=NOW + timedelta(days=1)).revoked_at == NOW, "the first time counts"
    assert authenticate(key, now=NOW) is None
    assert [one.state(NOW + timedelta(days=2)) for one in list_keys(owner.pk)] == ["revoked", "expired"]


def test_a_use_is_written_down_once_a_minute(owner: Any, django_assert_num_queries: Any) -> None:
    _, key = create_key(owner.pk, label="k", scopes=["read"], now=NOW)

    with django_assert_num_queries(3):  # looked up, written down, and noted as the first use of the day
        authenticate(key, now=NOW)
    with django_assert_num_queries(1):
        authenticate(key, now=NOW + timedelta(seconds=59))
    assert list_keys()[0].last_used_at == NOW
    with django_assert_num_queries(2):
        authenticate(key, now=NOW + timedelta(seconds=60))


def test_a_key_of_another_person_is_not_there(owner: Any) -> None:
    row, _ = create_key(owner.pk, label="k", scopes=["read"], now=NOW)

    assert list_keys(owner.pk + 1) == []
    with pytest.raises(NotFound):
        revoke_key(row.id, now=NOW, user_id=owner.pk + 1)


@pytest.mark.parametrize(
    ("label", "scopes", "days", "reason"),
    [
        ("  ", ["read"], 1, "name"),
        ("x" * 121, ["read"], 1, "too long"),
        ("k", [], 1, "Choose what"),
        ("k", ["read", "everything"], 1, "Choose what"),
        ("k", ["read"], 0, "expired"),
    ],
)
def test_what_makes_no_key_is_said(owner: Any, label: str, scopes: list[str], days: int, reason: str) -> None:
    with pytest.raises(KeyRefused, match=reason):
        create_key(owner.pk, label=label, scopes=scopes, now=NOW, expires_at=NOW + timedelta(days=days))
    assert list_keys() == []


def test_a_key_is_found_by_its_beginning(owner: Any) -> None:
    row, key = create_key(owner.pk, label="k", scopes=["read"], now=NOW)

    assert find_key(row.prefix).id == find_key(key).id == row.id
    with pytest.raises(KeyRefused, match="No key begins"):
        find_key("cvz_")
    ApiKeyRecord.objects.create(
        digest="0" * 64, prefix=row.prefix, label="twin", scopes=["read"], user=owner, created_at=NOW
    )
    with pytest.raises(KeyRefused, match="Several"):
        find_key(row.prefix)
