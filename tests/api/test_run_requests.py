"""What a replay may be asked for over the API: wrong values refused in our words, clamped ones told of each time."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client

from contextviz.store.models import RunRecord

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]
WHOLE = "it must be a whole number"
NUL = "it holds the character NUL, which no text here may have"
A_VALUE = "it must be a number, a word, or true or false"


def asked(client: Client, session_id: int, body: str, status: int) -> Any:
    answer = client.generic("POST", f"/api/v1/sessions/{session_id}/runs", body, "application/json")
    assert answer.status_code == status, answer.content[:500]
    return answer.json()


@pytest.mark.parametrize(
    ("more", "fields"),
    [
        ({"window": True}, {"window": WHOLE}),
        ({"window": "10"}, {"window": WHOLE}),
        ({"window": 1e300}, {"window": WHOLE}),
        ({"reserve": 1.5, "system_tokens": False}, {"reserve": WHOLE, "system_tokens": WHOLE}),
        ({"window": 100_000_001}, {"window": "it must be 100,000,000 or less"}),
        ({"settings": {"a": [1], "b": {}}}, {"settings.a": A_VALUE, "settings.b": A_VALUE}),
        ({"settings": {"a": "\x00"}}, {"settings.a": NUL}),
        ({"settings": {"\x00": 1}}, {"settings.\x00": NUL}),
        ({"settings": {"a": "x" * 201}}, {"settings.a": "it must have 200 characters or fewer"}),
        ({"engine": "keep-all\x00"}, {"engine": NUL}),
        ({"settings": None}, {"settings": "it must be an object of values by name"}),
    ],
)
def test_a_value_of_another_kind_is_refused_once_and_in_our_words(
    operator: Client, session_id: int, more: dict[str, Any], fields: dict[str, str]
) -> None:
    error = asked(operator, session_id, json.dumps({"engine": "keep-all", **more}), 422)["error"]

    assert [(one["field"], one["sentence"]) for one in error["fields"]] == list(fields.items())
    assert not RunRecord.objects.exists()


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("", "body: it must be given"),
        ("null", "body: it must be an object"),
        ('{"engine": "keep-all", "settings": {"a": 1e300}}', "The setting 'a' is a number that nothing counts in."),
        ('{"engine": "keep-all", "summariser": "nope"}', "There is no summariser 'nope'"),
        ('{"engine": "keep-all", "scorer": "nope"}', "There is no scorer 'nope'"),
        ('{"engine": "keep-all", "summariser": "endpoint"}', "No endpoint is set for summaries"),
    ],
)
def test_what_means_nothing_is_refused_whatever_the_engine(
    operator: Client, session_id: int, body: str, says: str
) -> None:
    assert says in asked(operator, session_id, body, 422)["error"]["sentence"]
    assert not RunRecord.objects.exists()


def test_the_largest_window_is_taken(operator: Client, session_id: int) -> None:
    body = '{"engine": "keep-all", "window": 100000000, "summariser": "notes", "scorer": "bm25"}'

    assert asked(operator, session_id, body, 202)["notes"] == []


def test_each_request_is_told_what_became_of_its_settings(operator: Client, session_id: int) -> None:
    plain = asked(operator, session_id, '{"engine": "keep-tail", "settings": {"keepTokens": 10000000}}', 202)
    clamped = '{"engine": "keep-tail", "settings": {"keepTokens": 99999999, "keepTokns": 5}}'

    again = asked(operator, session_id, clamped, 202)

    assert plain["notes"] == []
    assert (again["run"], again["is_new"]) == (plain["run"], False)
    assert len(again["notes"]) == 2
    assert "became 10000000" in again["notes"][0]
    assert again["notes"][1] == "There is no setting 'keepTokns' here; it was left out. Did you mean keepTokens?"
