"""A client's own log of its requests joins the session it speaks of, together with it or after it."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from contextviz.store.models import SessionArtifactRecord, SessionRecord
from contextviz.store.queries import snapshots
from contextviz.store.viewing import viewer_of_id, viewing
from tests.accounts.cast import person
from tests.services.building import upload
from tests.services.test_export import json_copy
from tests.sources.openclaw.test_cache_trace import conversation, second_request
from tests.sources.openclaw.tracing import CONTEXT, CacheTrace, carrier, dated, user

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]
TRACE = "cache-trace.jsonl"


def lines(rows: list[dict[str, object]]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def session_file() -> tuple[str, str]:
    return "s-1.jsonl", lines(conversation().lines())


def trace_file(*, session: str = "s-1", more: int = 0) -> tuple[str, str]:
    """A trace of two calls; the second has `more` cut messages that were not rebuilt."""
    trace = CacheTrace(session)
    trace.row("session:loaded", 0.2)
    trace.request(1.0, [user(dated("first question"), 0.4), carrier(0.3)])
    request = second_request(conversation())
    unseen = [{"role": "assistant", "content": f"unseen {number}"} for number in range(more)]
    cut = range(1, 1 + more)
    trace.request(3.0, [request[0], *unseen, *request[1:]], cut=cut)
    return TRACE, lines(trace.rows)


def only() -> int:
    return SessionRecord.objects.get().pk


def verdicts() -> list[str | None]:
    checks = [row.check for row in snapshots.snapshots(only())]
    return [None if check is None else check.verdict for check in checks]


def test_a_log_that_comes_with_its_session_checks_its_windows() -> None:
    upload(session_file(), trace_file())
    assert verdicts() == ["confirmed", "confirmed", None]
    assert {link.name for link in SessionArtifactRecord.objects.all()} == {"s-1.jsonl", TRACE}


def test_a_log_that_comes_after_its_session_joins_it_and_twice_changes_nothing() -> None:
    upload(session_file())
    assert verdicts() == [None, None, None]
    job = upload(trace_file())
    assert job.state == "done"
    assert verdicts() == ["confirmed", "confirmed", None]
    window = snapshots.window_of_call(only(), 0)
    assert window is not None
    assert window.items[-1].item.kind == "injected"
    revision = SessionRecord.objects.get().revision
    upload(trace_file())
    assert SessionRecord.objects.get().revision == revision


def test_a_session_that_grows_keeps_its_log() -> None:
    upload(session_file())
    upload(trace_file())
    made = conversation()
    made.user("u9", "and more")
    made.answer("a9")
    upload(("s-1.jsonl", lines(made.lines())))
    assert verdicts() == ["confirmed", "confirmed", None, None]
    assert {link.name for link in SessionArtifactRecord.objects.all()} == {"s-1.jsonl", TRACE}


def test_a_log_of_a_session_that_is_not_here_says_what_to_do() -> None:
    upload(session_file())
    job = upload(trace_file(session="s-9"))
    assert SessionRecord.objects.count() == 1
    assert verdicts() == [None, None, None]
    assert job.state == "done"
    assert "this is a log of the requests of s-9, and no transcript of that is here" in job.outcome
    said = [one["message"] for one in job.result["problems"]]
    assert said == [
        f"{TRACE} is a log of the requests of session s-9, which is not among these files; it checks that session's "
        "windows once they are read together"
    ]


def test_a_log_is_not_joined_to_a_session_that_its_sender_may_not_see() -> None:
    ann, bob = person("ann", "editor"), person("bob", "editor")
    upload(session_file())
    SessionRecord.objects.update(is_private=True, owner=ann)
    with viewing(viewer_of_id(bob.pk)):
        upload(trace_file())
    assert verdicts() == [None, None, None]
    with viewing(viewer_of_id(ann.pk)):
        upload(trace_file())
    assert verdicts() == ["confirmed", "confirmed", None]


def test_joining_a_log_costs_no_query_for_each_of_its_rows() -> None:
    upload(session_file())
    trace = CacheTrace()
    for number in range(200):
        trace.request(1.0 + number / 100, [user(dated("first question"), 0.4), carrier(0.3)])
    with CaptureQueriesContext(connection) as seen:
        upload((TRACE, lines(trace.rows)))
    assert len(seen) <= 120


def test_a_disagreement_is_shown_with_its_numbers(client: Client) -> None:
    upload(session_file(), trace_file(more=2))
    key = only()
    for address in (f"/sessions/{key}/?b=2", f"/sessions/{key}/calls/2/", f"/sessions/{key}/problems/"):
        html = client.get(address).content.decode()
        assert "The cache trace has 6 messages, 3 were rebuilt" in html, address
    html = client.get(f"/sessions/{key}/calls/2/").content.decode()
    assert "the cache trace disagrees" in html
    assert "confirmed by the cache trace" in client.get(f"/sessions/{key}/calls/1/").content.decode()
    assert "cache trace" not in client.get(f"/sessions/{key}/calls/3/").content.decode()


def test_the_api_has_the_check(client: Client) -> None:
    upload(session_file(), trace_file(more=2))
    key = only()
    body = client.get(f"/api/v1/sessions/{key}/calls/2/snapshot").json()
    check = body["snapshot"]["check"]
    assert (check["verdict"], check["traced"], check["rebuilt"], check["missing"]) == ("refuted", 6, 3, 2)
    assert body["snapshot"]["basis"] == "partial"
    assert check["sentence"].startswith("The cache trace has 6 messages, 3 were rebuilt")
    assert client.get(f"/api/v1/sessions/{key}/calls/3/snapshot").json()["snapshot"]["check"] is None


def test_the_runtime_context_of_a_request_is_on_the_page_of_the_call(client: Client, data_dir: Path) -> None:
    upload(session_file(), trace_file())
    html = client.get(f"/sessions/{only()}/calls/1/").content.decode()
    assert CONTEXT.splitlines()[1] in html
    assert "runtime context at the end of the request, from the cache trace" in html


def test_an_exported_copy_has_the_check() -> None:
    upload(session_file(), trace_file(more=2))
    document = json_copy(only())
    checks = [one["check"] and one["check"]["verdict"] for one in document["snapshots"]]
    assert checks == ["confirmed", "refuted", None]
    jsonschema.validate(document, json.loads((Path(__file__).parents[2] / "docs" / "export.schema.json").read_text()))
