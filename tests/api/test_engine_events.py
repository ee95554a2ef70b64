"""What context engines did or decided, over the API."""

from __future__ import annotations

from typing import Any, get_args

import pytest
from django.db import connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext

from contextviz.events.engine_event import EngineEvent, EventType
from contextviz.services.figures import derive
from contextviz.store.texts import StoreTextPool
from contextviz.store.writes import save_transcript
from tests.store.building import NOW, at, transcript

pytestmark = pytest.mark.django_db
KEY = "sk-ant-" + "api03-" + "Qm7" * 12


def saved(events: list[EngineEvent], key: str = "session-1") -> int:
    pool = StoreTextPool(count=len, estimator="characters")
    made = transcript(pool, key=key)
    made.engine_events = events
    values = derive(made, pool)
    pool.flush()
    with transaction.atomic():
        return save_transcript(made, values, now=NOW).session_id


def evaluation(minute: int, *, should: bool) -> EngineEvent:
    data: dict[str, Any] = {"current": 100 * minute, "threshold": 750, "should": should, "reason": None}
    return EngineEvent("compaction.evaluated", "lossless-claw", at(minute), "lcm.log", minute + 1, data=data)


def many() -> list[EngineEvent]:
    told = [evaluation(number, should=number % 3 == 0) for number in range(7)]
    failed = EngineEvent("engine.error", "flowctx", None, "flowctx.log", None, "replay", "derived",
                         {"message": f"refused {KEY}", "share": 0.5})  # fmt: skip
    return [*told, failed]


def get(client: Client, address: str, status: int = 200) -> Any:
    answer = client.get(f"/api/v1{address}")
    assert answer.status_code == status, answer.content[:500]
    return answer.json()


def test_events_come_in_the_order_of_time_with_what_the_engine_wrote(reader: Client) -> None:
    session = saved(many())
    found = get(reader, f"/sessions/{session}/engine-events")

    assert found["next"] is None
    assert [one["index"] for one in found["items"]] == list(range(8))
    assert found["items"][1] == {
        "index": 1, "type": "compaction.evaluated", "engine": "lossless-claw",
        "at": at(1).isoformat().replace("+00:00", "Z"),
        "file": "lcm.log", "line": 2, "origin": "log", "quality": "exact", "did_not_fire": True,
        "data": {"current": 100, "threshold": 750, "should": False, "reason": None},
    }  # fmt: skip
    assert [one["did_not_fire"] for one in found["items"]] == [False, True, True, False, True, True, False, False]


def test_secrets_in_what_an_engine_wrote_are_masked(reader: Client) -> None:
    session = saved(many())
    data = get(reader, f"/sessions/{session}/engine-events?type=engine.error")["items"][0]["data"]

    assert data["share"] == 0.5
    assert KEY not in data["message"] and data["message"].startswith("refused [")


def test_a_cursor_goes_on_where_the_page_ended_whatever_the_type(reader: Client) -> None:
    session = saved(many())
    found: list[int] = []
    cursor = ""
    for _ in range(9):
        body = get(reader, f"/sessions/{session}/engine-events?limit=3&type=compaction.evaluated{cursor}")
        found += [one["index"] for one in body["items"]]
        if body["next"] is None:
            break
        cursor = f"&cursor={body['next']}"
    assert found == list(range(7))


def test_what_is_not_there_is_answered_as_everywhere(reader: Client) -> None:
    session = saved([])

    assert get(reader, f"/sessions/{session}/engine-events") == {"items": [], "next": None}
    for address, status in (
        ("/sessions/99999/engine-events", 404),
        (f"/sessions/{session}/engine-events?type=nothing", 422),
        (f"/sessions/{session}/engine-events?cursor=x", 422),
        (f"/sessions/{session}/engine-events?limit=0", 422),
    ):
        error = get(reader, address, status)["error"]
        assert error["status"] == status and error["sentence"], address


def test_a_type_that_is_none_is_answered_with_every_type_and_a_sentence_that_ends(reader: Client) -> None:
    error = get(reader, f"/sessions/{saved([])}/engine-events?type=x", 422)["error"]

    whole = error["fields"][0]["sentence"]
    assert all(f"'{one}'" in whole for one in get_args(EventType))
    assert len(error["sentence"]) <= 300 and error["sentence"].endswith("' …")
    assert f"type: {whole}".startswith(error["sentence"].removesuffix(" …"))


def test_a_page_costs_the_same_queries_at_any_length(reader: Client) -> None:
    counts = []
    for number in (3, 60):
        session = saved([evaluation(one, should=False) for one in range(number)], f"s-{number}")
        get(reader, f"/sessions/{session}/engine-events")
        with CaptureQueriesContext(connection) as seen:
            get(reader, f"/sessions/{session}/engine-events?limit=500")
        counts.append(len(seen))
    assert counts[0] == counts[1]


def test_the_description_names_every_type(reader: Client) -> None:
    paths = get(reader, "/openapi.json")["paths"]
    operation = paths["/api/v1/sessions/{session_id}/engine-events"]["get"]

    assert operation["x-scopes"] == ["read"] and operation["operationId"] == "list_engine_events"
    named = {one["name"]: one["schema"] for one in operation["parameters"]}
    assert "compaction.evaluated" in str(named["type"]) and {"limit", "cursor", "session_id"} <= named.keys()
