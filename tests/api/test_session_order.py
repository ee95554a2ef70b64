"""The list of sessions is in the Library's order: the newest first, those without a time last, a place once."""

from __future__ import annotations

import base64
import json
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from contextviz.store.models import SessionRecord
from contextviz.store.queries import sessions
from contextviz.store.values import LibraryFilter
from tests.api.conftest import Save
from tests.api.test_paging import walk
from tests.store.building import NOW

pytestmark = pytest.mark.django_db


def placed(save: Save, name: str, hours: int, *, is_dated: bool) -> int:
    """A session whose time, or reading where it has none, was so many hours ago."""
    number = save(2, name)
    at = NOW - timedelta(hours=hours)
    own = at if is_dated else None
    SessionRecord.objects.filter(pk=number).update(sorted_at=at, started_at=own, ended_at=own)
    return number


def mixed(save: Save) -> list[int]:
    """Sessions with and without a time, some at the same time, in the order in which they are to stand."""
    undated = [placed(save, f"u-{hours}-{number}", hours, is_dated=False) for hours in (0, 1) for number in range(2)]
    dated = [placed(save, f"d-{hours}-{number}", hours, is_dated=True) for hours in (1, 5) for number in range(2)]
    half = len(dated) // 2
    return [one for part in (dated, undated) for at in (part[:half], part[half:]) for one in reversed(at)]


def numbers(items: list[Any]) -> list[int]:
    return [one["id"] for one in items]


@pytest.mark.parametrize("limit", [1, 2, 3, 4, 5, 7, 8, 500])
def test_sessions_without_a_time_stand_last_on_every_page(reader: Client, save: Save, limit: int) -> None:
    wanted = mixed(save)

    assert numbers(walk(reader, "/sessions?", limit)) == wanted
    assert [row.id for row in sessions.library().items] == wanted


def test_sessions_that_come_meanwhile_move_no_other(reader: Client, save: Save) -> None:
    wanted = mixed(save)
    first = reader.get("/api/v1/sessions?limit=3").json()
    placed(save, "newer", -1, is_dated=True)
    late = placed(save, "older", 9, is_dated=True)
    placed(save, "read-now", -1, is_dated=False)
    second = reader.get(f"/api/v1/sessions?limit=4&cursor={first['next']}").json()
    placed(save, "older-yet", 10, is_dated=True)
    third = reader.get(f"/api/v1/sessions?limit=9&cursor={second['next']}").json()

    found = numbers(first["items"] + second["items"] + third["items"])
    assert [one for one in found if one in wanted] == wanted and found.index(late) == 4


def test_a_cursor_without_the_kind_of_its_place_is_refused(reader: Client, save: Save) -> None:
    mixed(save)

    for place in (["sessions", NOW.isoformat(), 3], ["sessions", 1, NOW.isoformat(), 3]):
        answer = reader.get("/api/v1/sessions", {"cursor": encoded(place)})
        assert answer.status_code == 422 and "`next`" in answer.content.decode()


def encoded(place: list[Any]) -> str:
    return base64.urlsafe_b64encode(json.dumps(place).encode()).rstrip(b"=").decode()


@pytest.mark.skipif(connection.vendor != "sqlite", reason="the plan is worded by SQLite")
def test_an_index_serves_every_page(save: Save) -> None:
    mixed(save)
    everything = LibraryFilter()
    listed = [place for _, place in sessions.sessions_after(everything, after=None, limit=99)]

    for after in (None, listed[1], listed[5]):
        with CaptureQueriesContext(connection) as queries:
            sessions.sessions_after(everything, after=after, limit=99)
        plans = [plan_of(one["sql"]) for one in queries.captured_queries]
        assert len(plans) == (1 if after == listed[5] else 2)
        assert all("USING INDEX session_by_time" in plan and "B-TREE" not in plan for plan in plans), plans
        assert after is None or "(sorted_at<?)" in plans[0]


def plan_of(sql: str) -> str:
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN QUERY PLAN {sql}")
        return "; ".join(str(row[-1]) for row in cursor.fetchall())
