"""Accounts: made, given roles, stopped; passwords; the first one."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone

from contextviz.services.access import issue_token
from contextviz.services.accounts import people
from contextviz.services.accounts.people import AccountRefused
from contextviz.services.accounts.signing_in import SignInRefused, sign_in_with_password
from contextviz.store.models import AuditRecord
from contextviz.store.viewing import role_of
from tests.accounts.cast import PASSWORD, Cast, client_of, person
from tests.services.building import NOW


def sign_in(client: Client, name: str, password: str = PASSWORD, **more: Any) -> Any:
    return client.post("/sign-in/", {"name": name, "password": password}, **more)


def test_a_name_and_its_password_sign_in(cast: Cast, anonymous_client: Client) -> None:
    answer = sign_in(anonymous_client, "alice")

    assert (answer.status_code, answer.headers["Location"]) == (303, "/")
    assert anonymous_client.get("/jobs/").status_code == 200


@pytest.mark.parametrize("name", ["alice", "nobody", "", "x" * 5000, "a\x00b", "owner"])
def test_what_is_wrong_is_the_same_sentence_whoever_it_is(cast: Cast, anonymous_client: Client, name: str) -> None:
    answer = sign_in(anonymous_client, name, "not the password")

    assert answer.status_code == 403
    assert "The name or the password is not right." in answer.content.decode()
    assert "not the password" not in answer.content.decode()


def test_a_stopped_account_does_not_come_in(cast: Cast, anonymous_client: Client) -> None:
    people.set_active(cast.alice.pk, is_active=False)

    assert sign_in(anonymous_client, "alice").status_code == 403


def test_after_some_wrong_tries_the_next_has_to_wait_ever_longer(cast: Cast, anonymous_client: Client) -> None:
    answers = [sign_in(anonymous_client, "alice", "wrong").status_code for _ in range(6)]

    assert answers == [403] * 5 + [429]
    refused = sign_in(anonymous_client, "alice")
    assert refused.status_code == 429, "the right password has to wait too"
    assert int(refused.headers["Retry-After"]) >= 1
    assert "Wait 1 seconds" in refused.content.decode()
    waits = []
    at = timezone.now() + timedelta(minutes=1)
    for _ in range(12):
        with pytest.raises(SignInRefused):
            sign_in_with_password("alice", "wrong", address="10.0.0.1", now=at)
        with pytest.raises(SignInRefused) as early:
            sign_in_with_password("alice", PASSWORD, address="10.0.0.2", now=at)
        waits.append(early.value.wait)
        at += timedelta(seconds=early.value.wait)
    assert waits == sorted(waits)
    assert waits[-1] == 300, "five minutes at most: nobody is locked out for good by a stranger"


def test_one_address_that_tries_many_names_has_to_wait_too(cast: Cast) -> None:
    for number in range(30):
        with pytest.raises(SignInRefused):
            sign_in_with_password(f"name{number}", "wrong", address="10.0.0.9", now=NOW)

    with pytest.raises(SignInRefused) as refused:
        sign_in_with_password("alice", PASSWORD, address="10.0.0.9", now=NOW)

    assert refused.value.wait >= 1
    assert sign_in_with_password("alice", PASSWORD, address="10.0.0.1", now=NOW) == cast.alice


def test_a_right_password_forgets_the_wrong_ones(cast: Cast) -> None:
    for _ in range(2):
        for _ in range(4):
            with pytest.raises(SignInRefused):
                sign_in_with_password("alice", "wrong", address="10.0.0.1", now=NOW)
        assert sign_in_with_password("Alice".lower(), PASSWORD, address="10.0.0.1", now=NOW) == cast.alice


def test_the_form_for_passwords_is_there_only_where_there_are_any(anonymous_client: Client) -> None:
    assert 'name="password"' not in anonymous_client.get("/sign-in/").content.decode()

    person("alice", "viewer")

    assert 'name="password"' in anonymous_client.get("/sign-in/").content.decode()


def test_sign_in_addresses_work_on_this_machine_alone_once_an_admin_has_a_password(anonymous_client: Client) -> None:
    first, second, third = (issue_token(now=timezone.now()) for _ in range(3))
    assert anonymous_client.get("/sign-in/", {"token": first}, REMOTE_ADDR="10.0.0.7").status_code == 303
    person("root", "admin")
    other = Client(headers={"host": "127.0.0.1"})

    afar = other.get("/sign-in/", {"token": second}, REMOTE_ADDR="10.0.0.7")

    assert afar.status_code == 403
    assert "on the server" in afar.content.decode()
    assert other.get("/sign-in/", {"token": second}, REMOTE_ADDR="::ffff:127.0.0.1").status_code == 303
    assert other.get("/sign-in/", {"token": third}, REMOTE_ADDR="").status_code == 403


@pytest.mark.parametrize("password", ["short", "1234567890123", "password123"])
def test_weak_passwords_are_refused_with_a_sentence(db: None, password: str) -> None:
    with pytest.raises(AccountRefused, match="password"):
        people.create_account("alice", role="viewer", password=password)
    assert not User.objects.exists()


@pytest.mark.parametrize("name", ["", "a b", "<b>", "x" * 61, "a/b"])
def test_names_that_could_be_mistaken_are_refused(db: None, name: str) -> None:
    with pytest.raises(AccountRefused, match="A name has"):
        people.create_account(name, role="viewer", password=PASSWORD)


def test_a_name_is_there_once_however_it_is_written(db: None) -> None:
    people.create_account("alice", role="viewer", password=PASSWORD)

    with pytest.raises(AccountRefused, match="already"):
        people.create_account("Alice", role="viewer", password=PASSWORD)


def test_an_admin_makes_changes_and_stops_accounts_on_the_pages(cast: Cast) -> None:
    admin = client_of(cast.adam)

    made = admin.post("/settings/accounts/", {"name": "carol", "role": "viewer", "password": PASSWORD})
    weak = admin.post("/settings/accounts/", {"name": "dave", "role": "viewer", "password": "x"})
    carol = User.objects.get(username="carol")
    browser = client_of(carol)
    admin.post(f"/settings/accounts/{carol.pk}/", {"action": "role", "role": "operator"})

    assert (made.status_code, weak.status_code) == (303, 422)
    assert role_of(User.objects.get(username="carol")) == "operator"
    assert browser.get("/").status_code == 200
    admin.post(f"/settings/accounts/{carol.pk}/", {"action": "stop"})
    assert browser.get("/").status_code == 302
    admin.post(f"/settings/accounts/{carol.pk}/", {"action": "start"})
    admin.post(f"/settings/accounts/{carol.pk}/", {"action": "password", "password": PASSWORD + "x"})
    assert sign_in(browser, "carol", PASSWORD + "x").status_code == 303
    assert admin.post(f"/settings/accounts/{carol.pk}/", {"action": "dance"}).status_code == 422
    assert admin.get("/settings/accounts/999/").status_code == 404


def test_the_last_admin_stays_one(cast: Cast) -> None:
    with pytest.raises(AccountRefused, match="only admin"):
        people.change_role(cast.adam.pk, "viewer")
    with pytest.raises(AccountRefused, match="only admin"):
        people.set_active(cast.adam.pk, is_active=False)

    people.change_role(cast.bob.pk, "admin")

    assert people.change_role(cast.adam.pk, "viewer").role == "viewer"


def test_a_person_changes_the_own_password_and_stays_in_while_others_go(cast: Cast) -> None:
    here, elsewhere = client_of(cast.alice), client_of(cast.alice)
    fresh = "another long one 8"

    wrong = here.post("/settings/password/", {"old": "no", "new": fresh, "again": fresh})
    differs = here.post("/settings/password/", {"old": PASSWORD, "new": fresh, "again": "x"})
    changed = here.post("/settings/password/", {"old": PASSWORD, "new": fresh, "again": fresh})

    assert (wrong.status_code, differs.status_code, changed.status_code) == (422, 422, 303)
    assert here.get("/").status_code == 200
    assert elsewhere.get("/").status_code == 302


def test_the_first_account_is_made_from_the_setting_once(db: None, settings: Any) -> None:
    settings.ADMIN_PASSWORD = PASSWORD
    assert people.first_account()

    settings.ADMIN_PASSWORD = PASSWORD + "changed later"
    assert not people.first_account()

    assert people.has_admin_with_password()
    assert sign_in(Client(headers={"host": "127.0.0.1"}), "admin").status_code == 303


def test_a_weak_first_password_is_a_sentence(db: None, settings: Any) -> None:
    settings.ADMIN_PASSWORD = "admin"

    with pytest.raises(CommandError, match="CONTEXTVIZ_ADMIN_PASSWORD_FILE cannot be used"):
        call_command("migrate", verbosity=0)


@pytest.mark.django_db(transaction=True)
def test_createuser_reads_the_password_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "password"
    file.write_text(PASSWORD + "\n")

    call_command("createuser", "root", "--role", "admin", "--password-file", str(file), verbosity=0)

    assert people.has_admin_with_password()
    with pytest.raises(CommandError, match="cannot be read"):
        call_command("createuser", "x", "--password-file", str(tmp_path / "none"))
    with pytest.raises(CommandError, match="no terminal"):
        call_command("createuser", "x")


def test_what_people_do_is_written_down(cast: Cast, anonymous_client: Client) -> None:
    sign_in(anonymous_client, "alice", "wrong", REMOTE_ADDR="10.1.2.3")
    sign_in(anonymous_client, "alice", REMOTE_ADDR="10.1.2.3")
    anonymous_client.post("/settings/keys/", {"label": "ci", "scope": "read", "days": "30"})
    anonymous_client.post("/sign-out/")

    rows = list(AuditRecord.objects.order_by("id").values_list("kind", "name", "address"))
    assert [row[0] for row in rows] == ["sign_in_failed", "sign_in", "key_created", "sign_out"]
    assert rows[0][1:] == ("alice", "10.1.2.3")
    assert {row[1] for row in rows} == {"alice"}
    page = client_of(cast.adam).get("/settings/audit/").content.decode()
    assert 'class="pager"' not in page  # there is one page
    assert "failed to sign in" in page
    assert "10.1.2.3" in page


def test_the_audit_is_paged_by_key_and_filtered(cast: Cast) -> None:
    for number in range(150):
        AuditRecord.objects.create(at=NOW, kind="key_used", name=f"n{number}", target="<script>")
    AuditRecord.objects.create(at=NOW, kind="sign_out", name="zoe")
    admin = client_of(cast.adam)

    page = admin.get("/settings/audit/?kind=key_used").content.decode()
    older = page.split('rel="next"')[0].rpartition('href="')[2].split('"')[0].replace("&amp;", "&")

    assert "zoe" not in page
    assert "<script>" not in page.replace('<script src="', "").replace('<script type="module" src="', "")
    second = admin.get(older).content.decode()
    assert "n0" in second
    assert "n149" not in second
    assert admin.get("/settings/audit/?before=x&kind=y").status_code == 200
