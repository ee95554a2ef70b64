"""Replays over the API: asked for, listed, read in parts, masked, deleted."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from django.db import transaction
from django.test import Client

from contextviz.api.schemas.runs import ReplayWanted
from contextviz.engines import registry
from contextviz.engines.engine import AssembleRequest, EngineSpec, Host, ReplayEngine
from contextviz.engines.material import ReplayMessage
from contextviz.engines.settings import Setting, Value, resolve
from contextviz.engines.summaries import SummaryRequest
from contextviz.engines.window import Assembly, CompactionMade, NodeMade, Part, made
from contextviz.services import replay
from contextviz.services.figures import derive
from contextviz.services.replay import starting
from contextviz.store.models import JobRecord, RunRecord, SessionRecord
from contextviz.store.queries import runs
from contextviz.store.texts import StoreTextPool
from contextviz.store.writes import save_transcript
from tests.api.conftest import caller
from tests.store.building import NOW, transcript

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]
FOLDER = '{"engine": "folder", "settings": {"every": 4}}'
SECRET = "AKIAIOSFODNN7EXAMPLE"


class Folder(ReplayEngine):
    """Folds everything but the newest message into a summary at each third call."""

    spec = EngineSpec(
        "folder", "1", "Folder", "For tests.", "8", (Setting("every", 3, "Calls between folds.", least=1, most=9),),
        qualities={"cut": "exact"}, uses_summariser=True,
    )  # fmt: skip

    def __init__(self, host: Host, settings: Mapping[str, Value]) -> None:
        super().__init__(host, settings)
        self._read: list[ReplayMessage] = []
        self._parts: list[Part] = []

    def ingest(self, message: ReplayMessage) -> None:
        """See Engine."""
        self._read.append(message)
        self._parts.append(Part(message.role, message))
        self.host.keep(f"o{message.seq}", message, message.text)

    def assemble(self, request: AssembleRequest) -> Assembly:
        """See Engine."""
        if request.call % self.whole("every") == 2:
            gone = [message.seq for message in self._read[:-1]]
            self.host.summarise(SummaryRequest("\n".join(part.text for part in self._parts)))
            text = f"folded {len(gone)} with {SECRET}"
            node = f"n{request.call}"
            self.host.node(NodeMade(node, 0, text, 5, covers=tuple(gone)))
            self.host.compacted(CompactionMade("summary", "count", 90, 9, tuple(gone), (node,), text, "full"))
            self._read = self._read[-1:]
            summary = made("user", text, segment="summary", reason="folded", kind="summary", node=node)
            self._parts = [summary, self._parts[-1]]
        return Assembly(self._parts.copy(), 7)


@pytest.fixture(autouse=True)
def folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(registry, "OWN", (*registry.OWN, Folder))
    registry._found.cache_clear()
    yield
    registry._found.cache_clear()


def ask(client: Client, method: str, address: str, body: str = "", status: int = 200) -> Any:
    answer = client.generic(method, f"/api/v1{address}", body, "application/json")
    assert answer.status_code == status, answer.content[:500]
    return answer.json()


@pytest.fixture
def run_id(session_id: int) -> str:
    """A finished run of 30 calls."""
    asked = replay.start_run(session_id, "folder", now=NOW)
    assert asked.job_id is not None
    replay.execute_run(asked.job_id)
    found = runs.get_run(asked.run_id)
    assert found.is_done, found.outcome
    return str(asked.run_id)


def test_a_replay_is_asked_for_done_and_found_again(operator: Client, session_id: int) -> None:
    opened = ask(operator, "POST", f"/sessions/{session_id}/runs", FOLDER, 202)
    assert opened["is_new"] is True

    job = ask(operator, "GET", f"/jobs/{opened['job']}")
    assert (job["kind"], job["state"], job["session"]) == ("replay", "queued", session_id)
    waiting = ask(operator, "GET", f"/runs/{opened['run']}")
    assert (waiting["state"], waiting["calls"], waiting["hash"], waiting["metrics"]) == ("queued", None, None, {})
    assert ask(operator, "GET", f"/runs/{opened['run']}/calls")["items"] == []
    again = ask(operator, "POST", f"/sessions/{session_id}/runs", FOLDER.replace("folder", "folder@1"), 202)
    assert again == opened | {"is_new": False}

    replay.execute_run(opened["job"])

    done = ask(operator, "GET", f"/runs/{opened['run']}")
    assert (done["state"], done["calls"], done["settings"]) == ("done", 30, {"every": 4})
    assert done["metrics"]["boundaries"] == done["boundaries"] == done["summariser_calls"]
    assert done["scorecard"]["metrics"]["boundaries"]["value"] == done["boundaries"]
    assert done["measured"]["window"] > 0
    assert done["qualities"] == {"cut": "exact"}
    third = ask(operator, "POST", f"/sessions/{session_id}/runs", FOLDER)
    assert third == again


def test_the_recorded_run_comes_first_and_then_the_replays(reader: Client, session_id: int, run_id: str) -> None:
    listed = ask(reader, "GET", f"/sessions/{session_id}/runs")

    assert [one["kind"] for one in listed["items"]] == ["recorded", "replay"]
    assert listed["next"] is None
    found = listed["items"][1]
    assert found["id"] == run_id
    assert set(found) < set(ask(reader, "GET", f"/runs/{run_id}"))


def test_a_window_is_what_the_engine_made_with_secrets_masked(reader: Client, run_id: str, key: Any) -> None:
    call = ask(reader, "GET", f"/runs/{run_id}/calls/3")
    assert (call["number"], call["model_call"], call["items"], call["is_over"]) == (3, 3, 2, False)
    assert call["engine_tokens"] == {"tokens": 7, "basis": "estimated"}

    items = ask(reader, "GET", f"/runs/{run_id}/calls/3/items?text=1")["items"]

    assert [(one["category"], one["state"], one["reason"]) for one in items] == [
        ("summary", "summary", "folded"), ("user", "verbatim", "kept verbatim"),
    ]  # fmt: skip
    assert SECRET not in items[0]["text"]["body"]
    assert items[0]["text"]["body"].startswith("folded 4 with [")
    assert items[0]["text"]["masked"] == 1
    assert items[1]["text"]["body"] == "question number 2"
    assert items[1]["message"] == 4
    assert ask(reader, "GET", f"/runs/{run_id}/calls/3/items")["items"][1]["text"]["body"] is None
    ask(reader, "GET", f"/runs/{run_id}/calls/3/items?text=1&unmasked=1", status=403)
    whole = ask(caller(key("read", "unmask")), "GET", f"/runs/{run_id}/calls/3/items?text=1&unmasked=1")
    assert whole["items"][0]["text"]["body"] == f"folded 4 with {SECRET}"
    assert ask(reader, "GET", f"/runs/{run_id}/calls/31", status=404)["error"]["sentence"] == "This run has no call 31."
    ask(reader, "GET", f"/runs/{run_id}/calls/31/items", status=404)


def test_boundaries_summaries_and_originals(reader: Client, run_id: str) -> None:
    boundaries = ask(reader, "GET", f"/runs/{run_id}/boundaries?text=1")["items"]
    assert [one["number"] for one in boundaries] == list(range(1, 11))
    first = boundaries[0]
    assert (first["before_call"], first["after_call"], first["trigger"], first["reason"]) == (2, 3, "count", "full")
    assert (first["dropped"], first["dropped_count"], first["nodes"]) == ([0, 1, 2, 3], 4, ["n2"])
    assert first["tokens_before"] == {"tokens": 90, "basis": "estimated"}
    assert SECRET not in str(boundaries)

    nodes = ask(reader, "GET", f"/runs/{run_id}/nodes?text=1")["items"]
    assert [one["id"] for one in nodes][:2] == ["n2", "n5"]
    assert (nodes[0]["covers_count"], nodes[0]["tokens"]) == (4, {"tokens": 5, "basis": "estimated"})
    assert SECRET not in str(nodes)

    original = ask(reader, "GET", f"/runs/{run_id}/originals/o4?text=1")
    assert (original["message"], original["text"]["body"]) == (4, "question number 2")
    assert ask(reader, "GET", f"/runs/{run_id}/originals/nothing", status=404)["error"]["code"] == "not_found"


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        ('{"engine": "fodler"}', 422, "Did you mean folder?"),
        ('{"engine": "folder", "summariser": "x"}', 422, "There is no summariser 'x'"),
        ('{"engine": "openbrain", "scorer": "bm52"}', 422, "Did you mean bm25?"),
        ('{"engine": "folder", "estimator": "x"}', 422, "There is no estimator 'x'"),
        ('{"engine": "folder", "settings": {"every": NaN}}', 422, "every"),
        ('{"engine": "folder", "settings": {"every": [1]}}', 422, "'settings.every: it must be a number, a word, or"),
        ('{"engine": "folder", "window": -1}', 422, "window: it must be 0 or more"),
        ('{"engine": "folder", "window": "x"}', 422, "'sentence': 'window: it must be a whole number'"),
        ('{"engine": "folder", "window": "x"}', 422, "{'field': 'window', 'sentence': 'it must be a whole number'}"),
        ('{"engine": "folder", "windw": 9}', 422, "'windw: there is no such key here'"),
        ('{"engine": "folder", "settings": [1]}', 422, "'settings: it must be an object of values by name'"),
        ("[]", 422, "'body: it must be an object'"),
        ("9", 422, "'body: it must be an object'"),
        ('{"engine": "\\u0000"}', 422, "engine"),
        ('{"engine": "\\ud800"}', 422, "engine"),
        ("{}", 422, "'engine: it must be given'"),
        ("{", 400, "cannot be read"),
    ],
)
def test_what_cannot_be_replayed_is_said(operator: Client, session_id: int, body: str, status: int, words: str) -> None:
    error = ask(operator, "POST", f"/sessions/{session_id}/runs", body, status)["error"]

    assert words in str(error)
    assert not RunRecord.objects.exists()


def test_the_documents_example_is_of_settings_that_there_are(repository: Path) -> None:
    page = (repository / "docs" / "api.md").read_text(encoding="utf-8")
    [example] = re.findall(r'^    (\{"engine": .*\})$', page, re.MULTILINE)
    wanted = ReplayWanted.model_validate_json(example)
    spec = registry.named(wanted.engine).spec

    assert wanted.settings
    assert resolve(spec.settings, wanted.settings)[1] == []
    assert wanted.summariser in replay.summariser_choices()


def test_a_session_with_too_many_runs_is_a_conflict(
    operator: Client, session_id: int, run_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(starting, "MOST_RUNS", 1)

    error = ask(operator, "POST", f"/sessions/{session_id}/runs", '{"engine": "keep-all"}', 409)["error"]
    assert "Delete one first" in error["sentence"]

    assert ask(operator, "DELETE", f"/runs/{run_id}") == {"run": run_id}
    ask(operator, "GET", f"/runs/{run_id}", status=404)
    ask(operator, "POST", f"/sessions/{session_id}/runs", '{"engine": "keep-all"}', 202)


def test_a_run_is_not_deleted_while_it_is_replayed(operator: Client, run_id: str) -> None:
    RunRecord.objects.update(finished_at=None)
    JobRecord.objects.update(state="running", heartbeat_at=NOW)

    assert "Stop its job first" in ask(operator, "DELETE", f"/runs/{run_id}", status=409)["error"]["sentence"]


def test_a_run_of_a_session_that_changed_says_so(reader: Client, run_id: str) -> None:
    assert ask(reader, "GET", f"/runs/{run_id}")["is_stale"] is False
    SessionRecord.objects.update(revision=5)
    assert ask(reader, "GET", f"/runs/{run_id}")["is_stale"] is True


def test_engines_say_what_they_take(reader: Client) -> None:
    found = ask(reader, "GET", "/engines")

    engines = {one["id"]: one for one in found["engines"]}
    assert engines["folder"]["settings"] == [
        {"key": "every", "kind": "int", "default": 3, "least": 1.0, "most": 9.0, "choices": [], "unit": "",
         "help": "Calls between folds.", "is_what_if": False}
    ]  # fmt: skip
    assert engines["keep-all"]["is_baseline"] is True
    assert engines["keep-tail"]["qualities"] == {"window": "exact"}
    assert [one["id"] for one in found["summarisers"]] == replay.summariser_choices()
    assert [one["id"] for one in found["scorers"]] == [one.id for one in replay.scorer_specs()]
    assert (engines["openbrain"]["uses_scorer"], engines["folder"]["uses_scorer"]) == (True, False)


def test_a_secret_in_a_need_that_was_missed_is_masked(reader: Client, run_id: str) -> None:
    RunRecord.objects.update(scorecard={"missed": [{"call": 1, "text": f"key {SECRET}"}]}, notes=[f"at {SECRET}"])

    assert SECRET not in str(ask(reader, "GET", f"/runs/{run_id}"))


def test_replies_stay_below_a_megabyte(reader: Client, db: None) -> None:
    pool = StoreTextPool(count=len, estimator="characters")
    long = transcript(pool, turns=3)
    for turn in range(3):
        message = long.messages[2 * turn]
        message.blocks = (type(message.blocks[0])("text", pool.put(f"{turn} " + "é" * 300_000)),)
    values = derive(long, pool)
    pool.flush()
    with transaction.atomic():
        session_id = save_transcript(long, values, now=NOW).session_id
    asked = replay.start_run(session_id, "keep-all", now=NOW)
    assert asked.job_id is not None
    replay.execute_run(asked.job_id)
    found: list[Any] = []
    cursor = ""
    while True:
        answer = reader.get(f"/api/v1/runs/{asked.run_id}/calls/3/items?text=1&limit=500{cursor}")
        assert len(answer.content) < 1_000_000
        found += answer.json()["items"]
        if answer.json()["next"] is None:
            break
        cursor = f"&cursor={answer.json()['next']}"
    assert [one["place"] for one in found] == list(range(len(found)))
    assert len(found) == 7
