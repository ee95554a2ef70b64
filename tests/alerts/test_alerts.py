"""Rules kept, alerts written once, and which addresses a webhook may have."""

from __future__ import annotations

import ipaddress
import socket
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import transaction

from contextviz.services.alerts import (
    KINDS,
    RuleRefused,
    evaluate,
    look_for_stuck,
    preview,
    save_rule,
    switch_rule,
)
from contextviz.services.alerts.addresses import is_public
from contextviz.services.alerts.webhook import NotAllowed, target_of
from contextviz.services.figures import derive
from contextviz.services.live import earlier_of, tell
from contextviz.store.models import AlertRecord, LiveEventRecord, SessionRecord
from contextviz.store.queries.alerts import alert_count, alerts_newest
from contextviz.store.rows.session import key_of
from contextviz.store.texts import StoreTextPool
from contextviz.store.viewing import Viewer, viewing
from contextviz.store.writes import save_transcript
from tests.store.building import NOW, transcript

pytestmark = pytest.mark.django_db


def save(turns: int, **changes: Any) -> int:
    pool = StoreTextPool(count=lambda text: len(text.split()), estimator="words")
    made = transcript(pool, turns=turns)
    values = derive(made, pool)
    pool.flush()
    with transaction.atomic():
        earlier = earlier_of(key_of(made.session))
        saved = save_transcript(made, values, now=NOW)
        SessionRecord.objects.filter(pk=saved.session_id).update(**changes) if changes else None
        tell(saved.session_id, made, earlier, now=NOW)
        evaluate(saved.session_id, made, earlier, now=NOW)
    return saved.session_id


def rule(kind: str = "fill_above", webhook: str = "", person_id: int | None = None, **params: float) -> int:
    made, _ = save_rule(name="r", kind=kind, params=params, webhook=webhook, person_id=person_id, now=NOW)
    return made.id


def test_what_is_new_is_told_once_and_what_is_old_is_not() -> None:
    rule("fill_above", percent=3.85)  # the prompts are 35, 36, … of 1,000
    save(3)
    assert alerts_newest() == []
    session_id = save(6)
    save(6)
    (told,) = alerts_newest()
    assert (told.session_id, told.data["call"], told.webhook_state) == (session_id, 5, "none")
    assert told.sentence == "the window is 4 % full: 39 of 1,000 tokens"
    assert alert_count(now=NOW + timedelta(hours=1)) == 1


def test_a_rule_that_is_off_tells_nothing() -> None:
    switch_rule(rule("fill_above", percent=3.85), is_on=False)
    save(3)
    save(6)
    assert alerts_newest() == []


def test_of_a_private_session_only_its_owners_rules_tell() -> None:
    owner, other = User.objects.create(username="o"), User.objects.create(username="x")
    rule("fill_above", percent=3.85, person_id=other.pk)
    own = rule("fill_above", percent=3.85, person_id=owner.pk)
    save(3, is_private=True, owner_id=owner.pk)
    save(6)
    assert [row.rule_id for row in alerts_newest()] == [own]
    with viewing(Viewer(other.pk, "operator")):
        assert alerts_newest() == []


def test_a_session_that_waits_too_long_is_stuck_once() -> None:
    rule("stuck", minutes=10)
    save(3)
    save(4)
    LiveEventRecord.objects.filter(kind="call").delete()  # its last row is a tool call without an answer
    assert look_for_stuck(now=NOW + timedelta(minutes=9)) == 0
    assert look_for_stuck(now=NOW + timedelta(minutes=11)) == 1
    assert look_for_stuck(now=NOW + timedelta(minutes=12)) == 0
    assert alerts_newest()[0].sentence == "waiting for a tool for 11 minutes"


def test_a_preview_says_what_a_rule_would_have_told() -> None:
    session_id = save(6)
    SessionRecord.objects.update(sorted_at=NOW)
    found = preview("fill_above", {"percent": "3.85"}, now=NOW)
    assert (found.count, found.sessions, found.looked_at) == (1, 1, 1)
    assert (found.shown[0].session_id, found.shown[0].alarm.call_index) == (session_id, 4)
    assert preview("stuck", {}, now=NOW).note
    assert not AlertRecord.objects.exists()


@pytest.mark.parametrize(("change", "field"), [
    ({"name": " "}, "name"), ({"name": "x" * 121}, "name"), ({"kind": "tea"}, "kind"),
    ({"params": {"percent": "many"}}, "percent"), ({"params": {"percent": "0"}}, "percent"),
    ({"params": {"percent": "nan"}}, "percent"), ({"webhook": "ftp://x.org"}, "webhook"),
    ({"webhook": "https://a:b@x.org"}, "webhook"), ({"webhook": "https://"}, "webhook"),
    ({"webhook": "http://x.org:99999/"}, "webhook"), ({"webhook": "http://127.0.0.1/"}, "webhook"),
    ({"webhook": "http://localhost:8080/"}, "webhook"),
    ({"webhook": "http://[::ffff:10.0.0.1]/"}, "webhook"), ({"webhook": "http://\u2025/"}, "webhook"),
    ({"webhook": "http://xn--/"}, "webhook"), ({"webhook": "http://a..b/"}, "webhook"),
    ({"webhook": f"http://{'a' * 64}.org/"}, "webhook"),
    ({"webhook": "http://[2606:2800::1%25lo]/"}, "webhook")])  # fmt: skip
def test_a_rule_that_cannot_be_kept_says_why(change: dict[str, Any], field: str) -> None:
    values = {"name": "r", "kind": "fill_above", "params": {}, "webhook": "", **change}
    with pytest.raises(RuleRefused) as refused:
        save_rule(**values, person_id=None, now=NOW)
    assert refused.value.field == field


def test_every_kind_can_be_kept_with_its_usual_numbers() -> None:
    for kind, told in KINDS.items():
        made, _ = save_rule(name=kind, kind=kind, params={}, webhook="", person_id=None, now=NOW)
        assert made.params == {name: number.usual for name, number in told.numbers.items()}


@pytest.mark.parametrize("address", [
    "127.0.0.1", "10.0.0.1", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "0.0.0.0", "224.0.0.1",
    "255.255.255.255", "192.0.2.1", "::1", "::", "fe80::1", "fc00::1", "ff02::1", "::ffff:127.0.0.1",
    "::ffff:10.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::", "2001:db8::1", "fec0::1", "feff::1", "192.0.0.192",
    "192.0.0.9", "192.88.99.1", "::ffff:192.88.99.1", "2002:c058:6301::"])  # fmt: skip
def test_every_kind_of_address_inside(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    found = [
        (family, socket.SOCK_STREAM, 6, "", ("93.184.216.34", 443)),
        (family, socket.SOCK_STREAM, 6, "", (address, 443)),
    ]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_args, **_more: found)
    with pytest.raises(NotAllowed):
        target_of("https://rebinding.example/")


def test_an_open_address_is_called_by_the_address_that_was_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    found = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("93.184.216.34", 443))]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_args, **_more: found)
    target = target_of("https://example.org/hook?x=1")
    assert str(target.url) == "https://93.184.216.34/hook?x=1"
    assert (target.host, target.host_header) == ("example.org", "example.org")

    assert is_public(ipaddress.ip_address("2606:2800:220:1::1"))
