"""What the operations answer: the right things, each number with its basis, unknown as null."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from contextviz import tasks
from contextviz.services import jobs
from contextviz.services.ingest import import_paths
from contextviz.store.models import JobLogRecord, TextRecord
from contextviz.store.queries import sessions
from tests.api.conftest import Save
from tests.services.building import NOW, claude_lines, upload

pytestmark = pytest.mark.django_db
API = "/api/v1"


def get(client: Client, path: str, status: int = 200) -> Any:
    answer = client.get(API + path)
    assert answer.status_code == status, answer.content[:500]
    assert answer.headers["Content-Type"] == "application/json"
    return answer.json()


def every_tokens(value: Any) -> list[dict[str, Any]]:
    """Every {tokens, basis} in a reply, however deep."""
    if isinstance(value, list):
        return [found for one in value for found in every_tokens(one)]
    if not isinstance(value, dict):
        return []
    here = [value] if "basis" in value and ("tokens" in value or "usd" in value) else []
    return here + [found for one in value.values() for found in every_tokens(one)]


def test_the_index_says_who_calls(reader: Client, client: Client) -> None:
    assert get(reader, "/") | {"version": ""} == {
        "version": "",
        "openapi": "/api/v1/openapi.json",
        "caller": "read",
        "scopes": ["read"],
    }
    assert get(client, "/")["caller"] == "owner"


def test_a_session_has_its_numbers_and_its_files(reader: Client, session_id: int) -> None:
    one = get(reader, f"/sessions/{session_id}")
    (listed,) = get(reader, "/sessions")["items"]

    assert {name: one[name] for name in listed} == listed
    assert one["title"] == "A title"
    assert one["counts"]["calls"] == 30
    assert one["spend"]["cache_read"] == {"tokens": 600, "basis": "reported"}
    assert one["cost"] == {"usd": 7.5, "basis": "reported", "unpriced_calls": 0}
    assert one["sources"] == []


def test_sessions_are_filtered(reader: Client, save: Save) -> None:
    save(2, "one")
    save(3, "two")

    def names(query: str) -> list[str]:
        return [one["source_id"] for one in get(reader, f"/sessions?{query}")["items"]]

    assert names("") == ["two", "one"]
    assert names("search=one") == ["one"]
    assert names("format=test&agent=main&has_compactions=true&has_problems=1") == ["two", "one"]
    assert names("format=other") == names("agent=other") == []
    assert names("since=2026-02-01T09:02:30Z") == names("since=2026-02-01T09:02:30") == ["two"]
    assert names("until=2026-02-01T10:02:30%2B01:00") == ["one"]


def test_the_first_run_says_that_it_is_recorded(reader: Client, session_id: int) -> None:
    listed = get(reader, f"/sessions/{session_id}/runs")

    assert listed["next"] is None
    assert listed["items"] == [get(reader, f"/sessions/{session_id}/runs/0")]
    assert listed["items"][0]["kind"] == "recorded"
    assert listed["items"][0]["engine"] is None
    get(reader, f"/sessions/{session_id}/runs/1", 404)


def test_a_call_is_numbered_as_on_the_pages(reader: Client, session_id: int) -> None:
    call = get(reader, f"/sessions/{session_id}/calls/2")

    assert call["number"] == 2
    assert call["id"] == "msg1"
    assert call["usage"]["prompt"] == {"tokens": 36, "basis": "reported"}
    assert call["usage"]["input"] == {"tokens": 11, "basis": "reported"}
    assert get(reader, f"/sessions/{session_id}/messages/{call['message']}")["call"] == 2
    assert get(reader, f"/sessions/{session_id}/calls/31", 404)["error"]["sentence"].endswith("no call 31.")


def test_the_parts_of_a_window_add_up_to_the_reported_prompt(reader: Client, session_id: int) -> None:
    found = get(reader, f"/sessions/{session_id}/calls/5/snapshot")

    known = sum(part["tokens"] for part in found["parts"] if part["tokens"] is not None)
    assert known + found["residual"]["tokens"] == found["reported"]["tokens"] == found["total"]["tokens"]
    assert found["snapshot"]["call"] == 5
    assert found["snapshot"]["basis"] == "rules"
    assert all(one["basis"] == "estimated" for one in found["snapshot"]["categories"])


def test_a_window_is_given_item_by_item_with_the_words_where_asked_for(reader: Client, session_id: int) -> None:
    address = f"/sessions/{session_id}/calls/3/snapshot/items"
    plain = get(reader, address)["items"]
    told = get(reader, f"{address}?text=1")["items"]

    assert [one["place"] for one in plain] == list(range(len(plain)))
    assert {one["text"]["body"] for one in plain} == {None}
    assert told[0]["text"]["body"] == "be helpful"
    assert told[0]["reason"] == "system prompt"
    assert not any(one["text"]["is_cut"] for one in told)
    for one in told:
        assert hashlib.sha256(one["text"]["body"].encode()).hexdigest() == one["text"]["sha256"]


def test_messages_are_found_by_index_and_by_agent(reader: Client, session_id: int) -> None:
    address = f"/sessions/{session_id}/messages"
    listed = get(reader, f"{address}?limit=2&text=true")["items"]

    assert [one["index"] for one in listed] == [0, 1]
    assert listed[0]["blocks"][0]["text"]["body"] == "question number 0"
    assert listed[1] == get(reader, f"{address}/1?text=true")
    assert listed[1]["block_count"] == 2
    assert get(reader, f"{address}?agent=helper")["items"] == []
    assert len(get(reader, f"{address}?agent=main")["items"]) == 60
    assert "message 61" in get(reader, f"{address}/60", 404)["error"]["sentence"]


def test_a_compaction_says_what_it_dropped_kept_and_added(reader: Client, session_id: int) -> None:
    address = f"/sessions/{session_id}/compactions"
    (listed,) = get(reader, f"{address}?text=1")["items"]
    one = get(reader, f"{address}/1")

    assert listed["summary"]["body"] == "what was said before"
    assert one["client_before"] == {"tokens": 900, "basis": "reported"}
    assert (one["before_call"], one["after_call"]) == (1, 2)
    assert one["prompt_after"] == {"tokens": 36, "basis": "reported"}
    counted = dict.fromkeys(("dropped", "kept", "new"), 0)
    for change in one["changes"]:
        counted[change["fate"]] += change["items"]
    for fate, count in counted.items():
        assert len(get(reader, f"{address}/1/items?fate={fate}")["items"]) == count
    assert counted["kept"] > 0 and counted["new"] > 0
    before: dict[str, int] = {}
    for change in one["changes"]:
        if change["fate"] != "new":
            before[change["category"]] = before.get(change["category"], 0) + change["tokens"]["tokens"]
    made = get(reader, f"/sessions/{session_id}/calls/1/snapshot")
    unlogged = [part["category"] for part in made["parts"] if part["basis"] == "derived"]
    for part in made["parts"]:
        if part["category"] not in unlogged:
            assert before.get(part["category"], 0) == (part["tokens"] or 0)
    get(reader, f"{address}/2", 404)
    get(reader, f"{address}/1/items?fate=burnt", 422)


def test_a_summary_has_its_edges_and_is_expanded_by_a_job(
    reader: Client, operator: Client, session_id: int, django_capture_on_commit_callbacks: Any
) -> None:
    address = f"/sessions/{session_id}/summaries"
    listed = get(reader, address)["items"]
    one = get(reader, f"{address}/s2?text=1")
    with django_capture_on_commit_callbacks(execute=True):
        opened = operator.post(f"{API}{address}/s2/expand")

    assert [node["id"] for node in listed] == ["s1", "s2"]
    assert one["text"]["body"] == "top summary"
    assert one["made_from"] == ["s1"]
    assert one["tokens"] == {"tokens": 6, "basis": "reported"}
    assert opened.status_code == 202
    assert opened.headers["Location"] == f"{API}/jobs/{opened.json()['job']}"
    job = get(reader, f"/jobs/{opened.json()['job']}")
    assert job["state"] == "done"
    assert job["result"]["message_count"] == len(job["result"]["message_ids"])
    assert operator.post(f"{API}{address}/s9/expand").status_code == 404


def test_topics_and_problems_are_listed(reader: Client, session_id: int) -> None:
    (topic,) = get(reader, f"/sessions/{session_id}/topics?text=1")["items"]
    (event,) = get(reader, f"/sessions/{session_id}/topic-events")["items"]
    problems = get(reader, f"/sessions/{session_id}/problems")["items"]

    assert (topic["slug"], topic["thread"]["body"], topic["status_note"]) == ("work", "thread note", None)
    assert (event["index"], event["kind"], event["topic"]) == (0, "context_switch", "work")
    assert problems[0]["code"] == "malformed_line"
    assert problems[0]["value"] == 5


def test_an_original_is_found_by_its_hash_its_handle_or_a_marker(reader: Client, session_id: int) -> None:
    sha256 = hashlib.sha256(b"be helpful").hexdigest()
    marker = f'[flowctx: tool result compressed 900→90 chars. flowctx_retrieve(hash="{sha256[:24]}")]'

    for query in (sha256, sha256.upper(), sha256[:24], sha256[:8], f"sha256:{sha256}"):
        assert [one["sha256"] for one in get(reader, f"/originals?q={query}")["items"]] == [sha256]
    answer = reader.get(f"{API}/originals", {"q": marker})
    assert [one["handle"] for one in answer.json()["items"]] == [sha256[:24]]
    one = get(reader, f"/originals/{sha256}?text=1")
    assert one["text"]["body"] == "be helpful"
    assert [place["session"] for place in one["places"]] == [session_id]
    assert get(reader, "/originals?q=abcdef0123")["items"] == []
    assert "no hash" in get(reader, "/originals?q=nothing", 422)["error"]["sentence"]
    get(reader, f"/originals/{'0' * 64}", 404)


def test_an_original_is_downloaded_byte_for_byte_and_never_shown(reader: Client, session_id: int) -> None:
    answer = reader.get(f"{API}/originals/{hashlib.sha256(b'be helpful').hexdigest()}/raw")

    assert answer.content == b"be helpful"
    assert answer.headers["Content-Disposition"].startswith("attachment")
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Content-Type"] == "application/octet-stream"


def test_bytes_that_are_not_the_original_are_not_given_out(reader: Client, session_id: int) -> None:
    digest = hashlib.sha256(b"be helpful").digest()
    TextRecord.objects.filter(digest=digest).update(size=4)

    answer = reader.get(f"{API}/originals/{digest.hex()}/raw")

    assert answer.status_code == 409
    assert "not the original" in answer.json()["error"]["sentence"]


def test_originals_are_proved_by_a_job(
    operator: Client, session_id: int, django_capture_on_commit_callbacks: Any
) -> None:
    sha256 = hashlib.sha256(b"be helpful").hexdigest()
    with django_capture_on_commit_callbacks(execute=True):
        opened = operator.post(f"{API}/originals/retrieve", {"query": sha256[:12]}, "application/json")

    job = get(operator, f"/jobs/{opened.json()['job']}")
    assert job["result"]["originals"][0]["status"] == "verified"
    assert get(operator, f"/jobs/{job['id']}/result") == job["result"]


def test_a_session_is_deleted_by_a_job_and_gone_at_once(
    operator: Client, session_id: int, django_capture_on_commit_callbacks: Any
) -> None:
    with django_capture_on_commit_callbacks() as waiting:
        opened = operator.delete(f"{API}/sessions/{session_id}")

    assert opened.status_code == 202
    get(operator, f"/sessions/{session_id}", 404)
    assert get(operator, "/sessions")["items"] == []
    for callback in waiting:
        callback()
    assert get(operator, f"/jobs/{opened.json()['job']}")["state"] == "done"


def test_jobs_are_listed_retried_and_cancelled(operator: Client, data_dir: Any) -> None:
    first = jobs.open_job("retrieve_original", now=NOW, params={"query": "abcdef"})
    second = jobs.open_job("expand_summary", now=NOW, params={"node": "x" * 5000})

    assert len(get(operator, "/jobs")["items"]) == 2
    assert [one["id"] for one in get(operator, "/jobs?kind=expand_summary&state=queued")["items"]] == [str(second)]
    assert len(get(operator, f"/jobs/{second}")["params"]["node"]) == 1000
    assert "expand_summary" in get(operator, "/jobs?kind=dance", 422)["error"]["sentence"]
    get(operator, "/jobs?state=asleep", 422)
    assert operator.post(f"{API}/jobs/{first}/retry").status_code == 409
    cancelled = operator.post(f"{API}/jobs/{first}/cancel")
    assert (cancelled.status_code, cancelled.json()["state"]) == (202, "cancelled")
    assert operator.post(f"{API}/jobs/{first}/cancel").status_code == 409
    assert operator.post(f"{API}/jobs/{first}/retry").status_code == 202
    assert get(operator, f"/jobs/{first}")["state"] == "queued"
    get(operator, "/jobs/00000000-0000-0000-0000-000000000000", 404)


def test_the_log_of_a_job_is_read_on_from_where_one_was(reader: Client) -> None:
    job_id = jobs.open_job("retrieve_original", now=NOW, params={"query": "abcdef"})
    for text in ("one", "two", "three"):
        JobLogRecord.objects.create(job_id=job_id, at=NOW, text=text)

    first = get(reader, f"/jobs/{job_id}/log?limit=2")
    rest = get(reader, f"/jobs/{job_id}/log?cursor={first['next']}")

    assert [line["text"] for line in first["items"] + rest["items"]] == ["one", "two", "three"]
    assert rest["next"] is None


def test_every_number_of_tokens_has_a_basis_and_unknown_is_null(reader: Client, data_dir: Any, save: Save) -> None:
    save(2)
    upload(("one.jsonl", claude_lines(2)))

    for row in sessions.recent_sessions():
        here = f"/sessions/{row.id}"
        window = "/calls/1/snapshot"
        paths = ("", "/calls", window, f"{window}/items", "/snapshots", "/messages", "/compactions", "/summaries")
        found = [one for path in paths for one in every_tokens(get(reader, here + path))]
        assert len(found) > 20
        for one in found:
            value = one["tokens"] if "tokens" in one else one["usd"]
            assert (value is None) == (one["basis"] == "unknown"), one


def test_a_session_names_the_files_it_is_read_from(
    operator: Client, data_dir: Any, tmp_path: Any, django_capture_on_commit_callbacks: Callable[..., Any]
) -> None:
    path = tmp_path / "one.jsonl"
    path.write_text(claude_lines(2))
    with django_capture_on_commit_callbacks(execute=True):
        job_id = import_paths([path], now=NOW)
        tasks.run_digest(job_id=str(job_id))

    (row,) = sessions.recent_sessions()
    (source,) = get(operator, f"/sessions/{row.id}")["sources"]
    assert source["bytes"] == len(claude_lines(2))
    assert source["is_in_place"] is False


def test_search_finds_words_with_their_place_and_takes_any_text(reader: Client) -> None:
    upload(("one.jsonl", claude_lines(3, word="walnut")))
    found = get(reader, "/search?q=walnut&limit=2")
    assert len(found["items"]) == 2 and "walnut" in found["items"][0]["excerpt"]
    assert {"session", "kind", "in_window", "call", "message_index"} <= set(found["items"][0])
    rest = get(reader, f"/search?q=walnut&limit=2&cursor={found['next']}")
    assert rest["items"][0] not in found["items"]
    assert get(reader, "/search?q=walnut&role=nobody")["items"] == []
    for hostile in ('"', "NEAR(", "a OR", "-", "*", "((", "col:x", "\U0001f600" * 100):
        assert reader.get(f"{API}/search", {"q": hostile}).status_code == 200
