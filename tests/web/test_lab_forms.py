"""The form of every engine: sent as it stands it starts a run, and each kind of setting is drawn and taken as what it
is."""

from __future__ import annotations

import html
import re
from typing import Any

import pytest
from django.test import Client

from contextviz.engines.engine import EngineSpec
from contextviz.engines.replay import MOST_TOKENS
from contextviz.engines.settings import Setting
from contextviz.services import replay
from contextviz.store.models import RunRecord
from contextviz.store.queries import runs, sessions
from contextviz.store.values import SessionRow
from contextviz.web.pages.lab.forms import BadForm, asked_of, run_form
from tests.services.building import NOW, upload
from tests.web.folded import chat

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]
INPUT = re.compile(r'<input type="(\w+)" id="f-(s-[^"]+)" name="[^"]+" value="([^"]*)"([^>]*)>')
SELECT = re.compile(r'<select id="f-(s-[^"]+)".*?</select>', re.DOTALL)
OF_EACH_KIND = EngineSpec(
    "kinds", "1", "Kinds", "For tests.", "8",
    (
        Setting("count", 3, "A number.", least=1, most=9),
        Setting("share", 0.25, "A share.", "float", least=0, most=1),
        Setting("isOn", True, "A box.", "bool"),
        Setting("mode", "fast", "A choice.", "choice", choices=("fast", "slow")),
        Setting("name", "plain", "A text.", "text", most=12),
    ),
)  # fmt: skip


def brought() -> SessionRow:
    return sessions.get_session(int(upload(("chat.jsonl", chat(1))).result["sessions"][0]))


def as_it_stands(form: str) -> dict[str, str]:
    """What a browser sends of a form that nobody has touched."""
    sent = {}
    for kind, name, value, rest in INPUT.findall(form):
        if kind != "checkbox" or "checked" in rest:
            sent[name] = html.unescape(value)
        if kind == "checkbox":
            sent[f"{name}-shown"] = "1"
    for found in SELECT.finditer(form):
        chosen = re.search(r'<option value="([^"]*)" selected', found.group())
        sent[found.group(1)] = html.unescape(chosen.group(1)) if chosen else ""
    return sent


def test_every_engine_s_form_starts_a_run_with_its_own_defaults(client: Client) -> None:
    row = brought()
    for spec in replay.catalogue():
        form = client.get(f"/sessions/{row.id}/lab/form/?engine={spec.key}").content.decode()
        sent = as_it_stands(form)
        assert {name.removeprefix("s-").removesuffix("-shown") for name in sent} == {one.key for one in spec.settings}

        answer = client.post(f"/sessions/{row.id}/lab/run/", {"engine": spec.key, **sent})

        assert answer.status_code == 303, (spec.key, answer.content[-2_000:])
        (made,) = [run for run in runs.runs_of(row.id) if (run.engine, run.version) == (spec.id, spec.version)]
        assert made.settings == {one.key: one.default for one in spec.settings}, spec.key
    assert RunRecord.objects.count() == len(replay.catalogue())


def test_a_what_if_of_an_engine_with_a_text_is_shown(client: Client) -> None:
    row = brought()
    started = replay.start_run(row.id, "openbrain", {"source": "my own"}, now=NOW)
    assert started.job_id is not None and replay.execute_run(started.job_id)
    key = started.run_id.hex[-8:]

    page = client.get(f"/sessions/{row.id}/lab/tried/?runs={key}&slot=1&window=3000").content.decode()

    assert "is a number" not in page
    assert "The largest window is" in page
    assert 'name="s-source" value="my own"' in page


def test_each_kind_of_setting_is_drawn_and_taken_as_what_it_is() -> None:
    form = run_form([OF_EACH_KIND], OF_EACH_KIND, {})
    fields = {field.label: field for field in form.settings}
    kinds = {label: field.kind for label, field in fields.items()}
    assert kinds == {"count": "number", "share": "number", "isOn": "bool", "mode": "choice", "name": "text"}
    assert (fields["share"].step, fields["count"].step) == ("any", "1")
    assert (fields["name"].value, fields["name"].most, fields["name"].range) == ("plain", "12", "Up to 12 characters")

    typed = {"s-count": "4", "s-share": "0.5", "s-isOn-shown": "1", "s-mode": "slow", "s-name": " a b "}

    assert asked_of(OF_EACH_KIND, typed).settings == {
        "count": 4, "share": 0.5, "isOn": False, "mode": "slow", "name": "a b"
    }  # fmt: skip
    assert asked_of(OF_EACH_KIND, {"s-name": "  ", "s-count": ""}).settings == {}


@pytest.mark.parametrize(
    ("typed", "says"),
    [
        ({"s-name": "x" * 13}, "name may have 12 characters; these are 13."),
        ({"s-name": "a\x00b"}, "without control characters"),
        ({"s-mode": "sideways"}, "mode is one of fast, slow"),
        ({"s-share": "1.5"}, "share may be 0 to 1"),
        ({"s-count": "1e300"}, "count may be 1 to 9"),
        ({"window": "100000001"}, f"a number of tokens up to {MOST_TOKENS:,}"),
    ],
)
def test_what_is_none_of_its_kind_is_refused(typed: dict[str, str], says: str) -> None:
    with pytest.raises(BadForm) as caught:
        asked_of(OF_EACH_KIND, typed)

    assert says in str(caught.value)
    assert caught.value.field == next(iter(typed))


def test_the_largest_window_is_taken() -> None:
    found: Any = asked_of(OF_EACH_KIND, {"window": "100,000,000"}).measure.window
    assert found == MOST_TOKENS == 100_000_000
