"""The demo's sessions of every format, read through the API: the same numbers as the pages, each with its basis."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from contextviz.services.demo.loading import open_demo
from contextviz.services.ingest import digest
from contextviz.store.queries import sessions
from tests.services.building import NOW

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]


def get(client: Client, path: str) -> Any:
    answer = client.get(f"/api/v1{path}")
    assert answer.status_code == 200, (path, answer.content[:300])
    assert len(answer.content) < 1_000_000
    return answer.json()


def whole(client: Client, path: str) -> list[Any]:
    items, cursor = [], ""
    while True:
        body = get(client, f"{path}{'&' if '?' in path else '?'}limit=200{cursor}")
        items += body["items"]
        if body["next"] is None:
            return items
        cursor = f"&cursor={body['next']}"


def without_basis(value: Any) -> list[Any]:
    """Numbers of tokens or money that say no basis, or are null and do not say unknown."""
    if isinstance(value, list):
        return [one for part in value for one in without_basis(part)]
    if not isinstance(value, dict):
        return []
    number = value.get("tokens", value.get("usd", 0)) if "basis" in value else 0
    here = [value] if not isinstance(number, dict) and (number is None) != (value.get("basis") == "unknown") else []
    return here + [one for part in value.values() for one in without_basis(part)]


def test_everything_that_was_read_comes_out_again(reader: Client) -> None:
    assert digest(open_demo(now=NOW))

    for row in sessions.recent_sessions(50):
        here = f"/sessions/{row.id}"
        lists = {name: whole(reader, f"{here}/{name}") for name in (
            "calls", "messages", "snapshots", "compactions", "summaries", "topics", "topic-events", "problems"
        )}  # fmt: skip
        counts = get(reader, here)["counts"]
        for name in ("calls", "messages", "snapshots", "compactions", "summaries", "topics", "problems"):
            assert len(lists[name]) == counts[name], (row.format, name)
        assert without_basis([lists, get(reader, here)]) == []
        for number in {1, row.call_count} if row.call_count else ():
            found = get(reader, f"{here}/calls/{number}/snapshot")
            known = sum(part["tokens"] or 0 for part in found["parts"])
            if found["reported"]["tokens"] is not None:
                assert known + found["residual"]["tokens"] == found["reported"]["tokens"]
            if found["snapshot"]:
                items = whole(reader, f"{here}/calls/{number}/snapshot/items?text=1")
                assert len(items) == found["snapshot"]["items"]
                estimated = sum(item["text"]["tokens"]["tokens"] for item in items)
                assert estimated == found["snapshot"]["estimated"]["tokens"]
        for one in lists["compactions"]:
            get(reader, f"{here}/compactions/{one['number']}?text=1")
        for node in lists["summaries"]:
            assert get(reader, f"{here}/summaries/{node['id']}?text=1")["text"]["body"]
