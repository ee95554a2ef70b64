from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from contextviz.services.access import issue_token, local_owner, redeem_token
from contextviz.store.models import SignInTokenRecord

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)


def test_a_token_works_once() -> None:
    token = issue_token(now=NOW)

    assert redeem_token(token, now=NOW + timedelta(minutes=1))
    assert not redeem_token(token, now=NOW + timedelta(minutes=1))


def test_a_token_ends_after_15_minutes() -> None:
    token = issue_token(now=NOW)

    assert not redeem_token(token, now=NOW + timedelta(minutes=15))


@pytest.mark.parametrize("token", ["", "wrong", "\x00", "ü" * 5000])
def test_an_unknown_token_is_refused(token: str) -> None:
    issue_token(now=NOW)

    assert not redeem_token(token, now=NOW)


def test_the_token_itself_is_not_kept() -> None:
    token = issue_token(now=NOW)

    assert token not in str(list(SignInTokenRecord.objects.values()))


def test_issuing_removes_used_and_old_tokens_but_no_valid_one() -> None:
    issue_token(now=NOW - timedelta(hours=1))
    used, valid = issue_token(now=NOW), issue_token(now=NOW)
    redeem_token(used, now=NOW)

    issue_token(now=NOW + timedelta(minutes=1))

    assert SignInTokenRecord.objects.count() == 2
    assert redeem_token(valid, now=NOW + timedelta(minutes=2))


def test_the_owner_is_made_once_and_has_no_password() -> None:
    owner = local_owner()

    assert local_owner() == owner
    assert not owner.has_usable_password()
