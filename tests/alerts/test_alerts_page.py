"""The Alerts page: what it lists; rules made, tried, changed, removed; who may what; what browsers and programs get."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from contextviz.services.alerts import save_rule
from contextviz.services.alerts.webhook import signature
from contextviz.services.jobs import open_job
from contextviz.store.models import AlertRecord, AlertRuleRecord, SessionRecord
from contextviz.web.pages.live.alerts import PAGE_SIZE
from tests.accounts.cast import Cast
from tests.alerts.test_alerts import rule, save
from tests.store.building import NOW

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]
SECRET = "sk-ant-api03-" + "Ab1" * 20


def told(rule_id: int, session_id: int, number: int = 0, **more: Any) -> AlertRecord:
    """One alert, as evaluate writes it."""
    values = {
        "at": timezone.now(), "sentence": f"the window is {number} % full", "data": {"call": 2, "compaction": None},
        **more,
    }  # fmt: skip
    return AlertRecord.objects.create(rule_id=rule_id, session_id=session_id, key=f"k{number}", **values)


def text_of(answer: Any) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", answer.content.decode()))


def posted(**more: str) -> dict[str, str]:
    return {"name": "Nearly full", "kind": "fill_above", "fill_above-percent": "85", "webhook": "", **more}


def test_alerts_are_listed_newest_first_and_lead_to_their_call_or_compaction(client: Client) -> None:
    session_id, rule_id = save(3), rule("fill_above")
    told(rule_id, session_id, 1)
    told(rule_id, session_id, 2, data={"call": 2, "compaction": 1})
    page = client.get(reverse("alerts")).content.decode()
    assert page.index("The window is 2 % full") < page.index("The window is 1 % full")
    assert f'href="/sessions/{session_id}/calls/2/" data-open' in page
    assert f'href="/sessions/{session_id}/compactions/1/" data-open' in page


def test_the_list_goes_on_by_key(client: Client) -> None:
    session_id, rule_id = save(3), rule("fill_above")
    for number in range(PAGE_SIZE + 1):
        told(rule_id, session_id, number)
    first = client.get(reverse("alerts")).content.decode()
    assert len(re.findall(r'id="alert-\d', first)) == PAGE_SIZE
    (older,) = re.findall(r'href="(/alerts/\?before=\d+)"', first)
    second = client.get(older).content.decode()
    assert len(re.findall(r'id="alert-\d', second)) == 1
    assert "The window is 0 % full" in second and "Older" not in second


def test_what_a_session_is_called_is_masked_and_escaped(client: Client) -> None:
    session_id, rule_id = save(3), rule("fill_above")
    SessionRecord.objects.update(title=f"<b>x</b> {SECRET}")
    told(rule_id, session_id)
    answer = client.get(reverse("alerts"))
    assert "<b>x</b>" not in answer.content.decode() and "&lt;b&gt;x&lt;/b&gt;" in answer.content.decode()
    for one in (answer, client.get(f"{reverse('alerts_new')}?after=0"), client.get("/api/v1/alerts")):
        assert SECRET not in one.content.decode()


def test_a_rule_is_made_and_its_secret_shown_once(client: Client) -> None:
    made = client.post(reverse("alerts"), posted(webhook="https://example.org/hook/T0KEN"))
    record = AlertRuleRecord.objects.get()
    assert made.status_code == 200 and record.secret in made.content.decode()
    assert "no-store" in made.headers["Cache-Control"]
    assert (record.params, record.person_id) == ({"percent": 85.0}, int(client.session["_auth_user_id"]))
    page = client.get(reverse("alerts")).content.decode()
    assert record.secret not in page
    assert "example.org" in page and "T0KEN" not in page


def test_a_rule_without_a_webhook_leads_back_to_the_list(client: Client) -> None:
    made = client.post(reverse("alerts"), posted())
    assert (made.status_code, made.headers["Location"]) == (303, "/alerts/")
    assert "The window is fuller than: 85 % of the window" in text_of(client.get("/alerts/"))


def test_a_rule_that_cannot_be_kept_says_why_and_keeps_what_was_typed(client: Client) -> None:
    answer = client.post(reverse("alerts"), posted(**{"fill_above-percent": "900", "webhook": "https://x.org/"}))
    page = answer.content.decode()
    assert answer.status_code == 422
    assert "% of the window: from 1 to 100." in page
    assert 'name="fill_above-percent" value="900" min="1" max="100" step="any" aria-invalid="true"' in page
    assert 'value="https://x.org/"' in page and not AlertRuleRecord.objects.exists()


def test_a_rule_is_changed_switched_and_removed(client: Client) -> None:
    rule_id = rule("fill_above")
    told(rule_id, save(3))
    url = reverse("alert_rule", args=[rule_id])
    assert 'value="fill_above" checked' in client.get(url).content.decode()
    assert client.post(url, posted(kind="compactions_within", name="Loop")).status_code == 303
    assert client.post(reverse("alert_switch", args=[rule_id]), {"on": "0"}).status_code == 303
    record = AlertRuleRecord.objects.get()
    assert (record.name, record.kind, record.is_on) == ("Loop", "compactions_within", False)
    assert record.params == {"count": 3.0, "minutes": 30.0}
    assert "switched off" in text_of(client.get("/alerts/"))
    client.post(reverse("alert_switch", args=[rule_id]), {"on": "1"})
    assert AlertRuleRecord.objects.get().is_on

    gone = reverse("alert_remove", args=[rule_id])
    assert "Remove this rule?" in client.get(gone).content.decode()
    assert client.post(gone).status_code == 422
    assert AlertRuleRecord.objects.exists()
    assert client.post(gone, {"confirm": "yes"}).status_code == 303
    assert not AlertRuleRecord.objects.exists() and not AlertRecord.objects.exists()
    assert client.get(url).status_code == 404


def test_a_preview_says_what_it_would_have_told_before_it_is_kept(client: Client) -> None:
    save(6)
    SessionRecord.objects.update(sorted_at=timezone.now())
    typed = posted(**{"fill_above-percent": "3.85"})
    page = client.post(reverse("alert_preview"), typed)
    assert "It would have told 1 alert in 1 session, of the 1 session of the last 30 days." in text_of(page)
    assert "<html" in page.content.decode() and 'value="3.85"' in page.content.decode()
    part = client.post(reverse("alert_preview"), typed, headers={"HX-Request": "true"}).content.decode()
    assert "<html" not in part and "the window is 4 % full" in part.replace("The", "the")
    none = client.post(reverse("alert_preview"), posted(**{"fill_above-percent": "99"}))
    assert "It would have told nothing of the 1 session" in text_of(none)
    assert "has no preview" in text_of(client.post(reverse("alert_preview"), posted(kind="stuck")))
    wrong = client.post(reverse("alert_preview"), posted(**{"fill_above-percent": "x"}), headers={"HX-Request": "true"})
    assert (wrong.status_code, "Write a number" in wrong.content.decode()) == (422, True)
    assert not AlertRuleRecord.objects.exists()


def test_a_preview_tells_of_no_private_session_that_the_rule_would_not(cast: Cast) -> None:
    save(6)
    SessionRecord.objects.update(sorted_at=timezone.now(), is_private=True, owner=cast.alice)
    people = cast.clients()
    said = {
        who: text_of(people[who].post(reverse("alert_preview"), posted(**{"fill_above-percent": "3.85"})))
        for who in ("alice", "bob", "adam")
    }
    assert "1 alert in 1 session" in said["alice"]
    assert "told nothing" in said["bob"] and "told nothing" in said["adam"]


def test_a_viewer_looks_and_an_operator_changes_own_rules_alone(cast: Cast) -> None:
    made, _ = save_rule(
        name="Alice's", kind="compaction", params={}, webhook="https://hooks.example/T0KEN", person_id=cast.alice.pk,
        now=NOW,
    )  # fmt: skip
    people = cast.clients()
    url, switch = reverse("alert_rule", args=[made.id]), reverse("alert_switch", args=[made.id])
    for who in ("vera", "bob"):
        page = people[who].get(url).content.decode()
        assert "hooks.example" in page and "T0KEN" not in page and '<form class="form' not in page
        for path in (url, switch, reverse("alert_remove", args=[made.id])):
            assert people[who].post(path, posted(confirm="yes")).status_code == 403
        assert people[who].post(reverse("alert_preview"), {"rule": made.id, **posted()}).status_code == 403
    assert "Make a rule" not in people["vera"].get("/alerts/").content.decode()
    assert "Make a rule" in people["bob"].get("/alerts/").content.decode()
    for who in ("alice", "adam"):
        assert "T0KEN" in people[who].get(url).content.decode()
        assert people[who].post(switch, {"on": "0"}).status_code == 303
    assert not AlertRuleRecord.objects.get().is_on


def test_alerts_of_a_private_session_are_its_owners(cast: Cast) -> None:
    session_id, rule_id = save(3), rule("fill_above", person_id=cast.alice.pk)
    SessionRecord.objects.update(is_private=True, owner=cast.alice)
    told(rule_id, session_id)
    for who, client in cast.clients().items():
        is_seen = who in ("alice", "adam")
        assert ("the window is 0 % full" in client.get("/alerts/new?after=0").content.decode()) is is_seen, who
        assert ("The window is 0 % full" in client.get("/alerts/").content.decode()) is is_seen, who
        assert bool(client.get("/api/v1/alerts").json()["items"]) is is_seen, who
        assert client.get("/alerts/new").json()["last"] == (AlertRecord.objects.get().pk if is_seen else 0)


def test_the_badge_counts_a_day_and_costs_one_query(client: Client) -> None:
    session_id, rule_id = save(3), rule("fill_above")
    told(rule_id, session_id, 1)
    told(rule_id, session_id, 2, at=timezone.now() - timedelta(hours=25))
    nav = r'title="Alerts"[^>]*>.*?<span class="count">(\d+)</span>'
    assert re.findall(nav, client.get("/settings/").content.decode())[0] == "1"
    with CaptureQueriesContext(connection) as captured:
        client.get("/settings/")
    asked = [one["sql"] for one in captured if "store_alertrecord" in one["sql"]]
    assert len(asked) == 1 and "LIMIT 1000" in asked[0]


def test_the_page_asks_as_often_however_much_it_lists(client: Client) -> None:
    session_id, rule_id = save(3), rule("fill_above")
    counts = []
    for first, last in ((0, 2), (2, 40)):
        for number in range(first, last):
            told(rule_id, session_id, number)
        client.get("/alerts/")
        with CaptureQueriesContext(connection) as captured:
            client.get("/alerts/")
        counts.append(len(captured))
    assert counts[0] == counts[1]


def test_a_webhook_s_state_leads_to_its_job(client: Client) -> None:
    session_id, rule_id = save(3), rule("fill_above", webhook="https://example.org/")
    made = told(rule_id, session_id)
    job_id = open_job("send_webhook", now=NOW, params={"alert": made.pk}, session_id=session_id)
    AlertRecord.objects.update(webhook_state="failed", job_id=job_id)
    page = client.get("/alerts/").content.decode()
    assert re.search(rf'<a class="link lost" href="/jobs/{job_id}/">webhook failed</a>', page)
    assert f"Alert {made.pk}" in client.get("/jobs/").content.decode()
    assert f"Alert {made.pk}" in client.get(f"/jobs/{job_id}/").content.decode()


def test_a_browser_gets_what_is_new_in_order(client: Client) -> None:
    session_id, rule_id = save(3), rule("fill_above")
    assert client.get("/alerts/new").json() == {"last": 0, "alerts": []}
    first, second = told(rule_id, session_id, 1), told(rule_id, session_id, 2)
    answer = client.get(f"/alerts/new?after={first.pk - 1}")
    assert [one["id"] for one in answer.json()["alerts"]] == [first.pk, second.pk]
    assert answer.json()["alerts"][0] == {
        "id": first.pk, "rule": "r", "title": "A title", "sentence": "the window is 1 % full",
        "url": f"/sessions/{session_id}/calls/2/",
    }  # fmt: skip
    assert client.get(f"/alerts/new?after={second.pk}").json() == {"last": second.pk, "alerts": []}
    assert client.get("/alerts/new?after=-1").json() == {"last": second.pk, "alerts": []}
    assert answer.headers["Cache-Control"] == "no-store"


def test_programs_page_through_alerts(client: Client) -> None:
    session_id, rule_id = save(3), rule("fill_above")
    made = [told(rule_id, session_id, number).pk for number in range(3)]
    first = client.get("/api/v1/alerts?limit=2").json()
    assert [one["id"] for one in first["items"]] == [made[2], made[1]]
    assert first["items"][0] | {"at": ""} == {
        "id": made[2], "rule": "r", "kind": "fill_above", "session": session_id, "title": "A title", "at": "",
        "sentence": "the window is 2 % full", "call": 2, "compaction": None, "happened_at": None, "webhook": "none",
        "job": None,
    }  # fmt: skip
    second = client.get(f"/api/v1/alerts?limit=2&cursor={first['next']}").json()
    assert ([one["id"] for one in second["items"]], second["next"]) == ([made[0]], None)
    assert client.get("/api/v1/alerts?cursor=x").status_code == 422


def test_the_documents_check_of_a_signature_holds(repository: Path) -> None:
    text = (repository / "docs" / "alerts.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert len([line for line in code.splitlines() if line]) <= 10
    names: dict[str, Any] = {}
    exec(code, names)  # the document's own lines
    stamp = str(int(timezone.now().timestamp()))
    body = b'{"alert":1}'
    headers = {"X-Contextviz-Timestamp": stamp, "X-Contextviz-Signature": signature("s3", stamp, body)}
    assert names["is_genuine"]("s3", headers, body)
    assert not names["is_genuine"]("s4", headers, body)
    assert not names["is_genuine"]("s3", headers, body + b" ")
    old = str(int(stamp) - 1000)
    late = {"X-Contextviz-Timestamp": old, "X-Contextviz-Signature": signature("s3", old, body)}
    assert not names["is_genuine"]("s3", late, body)
