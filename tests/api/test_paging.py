"""Lists: nothing skipped, nothing doubled, no reply too large, the same queries at any length."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext

from contextviz.api import replies
from contextviz.api.api import api
from contextviz.api.resources import originals
from contextviz.services import jobs
from contextviz.services.figures import derive
from contextviz.store.models import AlertRecord, AlertRuleRecord, TextRecord
from contextviz.store.texts import StoreTextPool, TextReader
from contextviz.store.writes import save_transcript
from tests.api.conftest import Save
from tests.store.building import NOW, transcript

pytestmark = pytest.mark.django_db
FEW = ("log?", "events?", "topics?", "compactions?", "problems?", "nodes?")
# Search is paged in test_resources, over texts that were indexed.
LISTS = [
    path.removeprefix("/api/v1")
    for path, methods in api.get_openapi_schema()["paths"].items()
    if any(parameter["name"] == "cursor" for parameter in methods.get("get", {}).get("parameters", []))
    and path != "/api/v1/search"
]


def addresses(session_id: int, job_id: Any, run_id: str) -> list[str]:
    return [
        path.format(session_id=session_id, job_id=job_id, run_id=run_id, number=9 if "/calls/" in path else 1)
        + ("?q=" if path == "/originals" else "?")
        for path in LISTS
    ]


def walk(client: Client, address: str, limit: int) -> list[Any]:
    items: list[Any] = []
    cursor = ""
    for _ in range(200):
        answer = client.get(f"/api/v1{address}&limit={limit}{cursor}")
        assert answer.status_code == 200, (address, answer.content[:300])
        body = answer.json()
        assert len(body["items"]) <= limit
        items += body["items"]
        if body["next"] is None:
            return items
        cursor = f"&cursor={body['next']}"
    raise AssertionError(f"{address} does not end")


def common_prefix() -> str:
    """Hex digits with which several texts begin are rare; two texts are made to share theirs."""
    first, second = TextRecord.objects.order_by("pk")[:2]
    TextRecord.objects.filter(pk=second.pk).update(digest=bytes(first.digest)[:6] + bytes(second.digest)[6:])
    return bytes(first.digest)[:4].hex()


def test_pages_put_together_are_the_whole_list(operator: Client, save: Save, replayed: Callable[[int], str]) -> None:
    session_id = save(10)
    for number in range(5):
        save(2, f"other-{number}")
    made = [jobs.open_job("retrieve_original", now=NOW - timedelta(hours=n // 2)) for n in range(5)]
    prefix = common_prefix()
    rule = AlertRuleRecord.objects.create(name="r", kind="compaction", created_at=NOW)
    for number in range(4):
        AlertRecord.objects.create(rule=rule, session_id=session_id, key=str(number), at=NOW, sentence="told")

    for address in addresses(session_id, made[0], replayed(session_id)):
        whole = walk(operator, address.replace("q=", f"q={prefix}"), 500)
        for limit in (1, 3):
            assert walk(operator, address.replace("q=", f"q={prefix}"), limit) == whole, address
        if not address.endswith(FEW) and "items" not in address:
            assert len(whole) > 1, address
    assert len(walk(operator, "/sessions?", 2)) == 6
    assert len(walk(operator, "/jobs?", 2)) == 6


def test_a_list_that_grows_meanwhile_skips_and_doubles_nothing(operator: Client, save: Save) -> None:
    for number in range(4):
        save(2, f"s-{number}")
    first = operator.get("/api/v1/sessions?limit=2").json()
    save(9, "newer")
    second = operator.get(f"/api/v1/sessions?limit=9&cursor={first['next']}").json()

    assert [one["source_id"] for one in first["items"] + second["items"]] == ["s-3", "s-2", "s-1", "s-0"]


def test_the_number_of_queries_does_not_grow(operator: Client, save: Save, replayed: Callable[[int], str]) -> None:
    def counted(session_id: int) -> dict[str, int]:
        job_id = jobs.open_job("retrieve_original", now=NOW)
        run_id = replayed(session_id)
        asked = [*addresses(session_id, job_id, run_id), f"/sessions/{session_id}?", f"/jobs/{job_id}?"]
        found = {}
        for name, address in zip([*LISTS, "a session", "a job"], asked, strict=True):
            replies.READER = originals.READER = TextReader()  # no pack is open yet
            with CaptureQueriesContext(connection) as queries:
                operator.get(f"/api/v1{address.replace('q=', 'q=abcdef')}&text=1&limit=500")
            found[name] = len(queries)
        return found

    operator.get("/api/v1/")  # the first use of a key in a minute is written down
    small = counted(save(10, "small"))
    for number in range(10):
        save(2, f"other-{number}")
    large = counted(save(60, "large"))

    assert large == small
    assert max(small.values()) <= 16


@pytest.fixture
def save_texts(db: None) -> Callable[[list[str]], int]:
    """A session whose first messages are these texts."""

    def saved(texts: list[str]) -> int:
        pool = StoreTextPool(count=len, estimator="characters")
        made = transcript(pool, turns=len(texts))
        for turn, text in enumerate(texts):
            message = made.messages[2 * turn]
            block = message.blocks[0]
            message.blocks = (type(block)("text", pool.put(text)),)
        values = derive(made, pool)
        pool.flush()
        with transaction.atomic():
            return save_transcript(made, values, now=NOW).session_id

    return saved


@pytest.mark.parametrize("letter", ["a", "é", "\u0001", '"'])
def test_no_reply_is_larger_than_a_megabyte_and_nothing_is_lost(
    reader: Client, save_texts: Callable[[list[str]], int], letter: str
) -> None:
    texts = [f"{number} " + letter * 40_000 for number in range(40)]
    session_id = save_texts(texts)
    found, cursor = [], ""

    while True:
        answer = reader.get(f"/api/v1/sessions/{session_id}/messages?text=1&limit=500{cursor}")
        assert len(answer.content) < 1_000_000
        body = answer.json()
        found += [one["blocks"][0]["text"] for one in body["items"] if one["role"] == "user"]
        if body["next"] is None:
            break
        cursor = f"&cursor={body['next']}"

    assert [one["body"] for one in found] == texts
    assert not any(one["is_cut"] for one in found)


def test_a_text_that_fits_no_reply_is_cut_and_says_so(reader: Client, save_texts: Callable[[list[str]], int]) -> None:
    session_id = save_texts(["é" * 3_000_000, "short"])

    answer = reader.get(f"/api/v1/sessions/{session_id}/messages?text=1")
    text = answer.json()["items"][0]["blocks"][0]["text"]

    assert len(answer.content) < 1_000_000
    assert text["is_cut"] and text["chars"] == 3_000_000
    assert text["body"] == "é" * len(text["body"]) and len(text["body"]) == 100_000
    raw = reader.get(f"/api/v1/originals/{text['sha256']}/raw")
    assert raw.content.decode() == "é" * 3_000_000
