"""An engine's store, state or log joins its host's session, whichever came first; twice changes nothing."""

from __future__ import annotations

import itertools
import json
import sqlite3
from pathlib import Path

import pytest

from contextviz.services import digest, ingest
from contextviz.store.models import CompactionRecord, EngineEventRecord, SessionRecord
from contextviz.store.queries import engine_events, sessions, transcripts
from tests.services.building import NOW, upload

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]
S = "5e551017-0000-4000-8000-000000000001"
SCOPE = f"s-agent_main_{S}"
T0 = 1_772_359_200_000  # 2026-03-01T10:00:00Z
Upload = tuple[str, bytes | str]


def host(turns: int = 4) -> Upload:
    """An OpenClaw session: a question and an answer each ten seconds."""
    header = {"type": "session", "version": 3, "id": S, "timestamp": "2026-03-01T10:00:00.000Z", "cwd": "/w"}
    rows, parent = [json.dumps(header)], None
    for turn in range(turns):
        for step, role in enumerate(("user", "assistant")):
            entry = f"{turn:04x}{step:04x}"
            at = f"2026-03-01T10:00:{turn * 10 + step * 5:02d}.000Z"
            message = {"role": role, "content": [{"type": "text", "text": f"{role} {turn}"}], "timestamp": T0}
            if role == "assistant":
                message |= {"provider": "p", "model": "m", "stopReason": "stop", "usage": {"input": 10, "output": 2}}
            row = {"type": "message", "id": entry, "parentId": parent, "timestamp": at, "message": message}
            rows.append(json.dumps(row))
            parent = entry
    return f"{S}.jsonl", "\n".join(rows) + "\n"


def state(dropped: int, second: int, **more: object) -> Upload:
    anchor = {"role": "user", "textPrefix": f"user {dropped // 2}", "dropped": dropped, "ts": T0 + 1000 * second}
    return "compaction.json", json.dumps({SCOPE: anchor} | more)


def lossless_log() -> Upload:
    line = {"time": "2026-03-01T10:00:22.000Z", "level": "info", "plugin": "lossless-claw"}
    said = f"[lcm] compact: decision conversation=1 session={S} currentTokens=9 tokenBudget=20 shouldCompact=false"
    return "lossless-claw.log", json.dumps(line | {"message": said}) + "\n"


def cortext_log() -> Upload:
    said = f"cortext compaction: Archived 2 message(s) to X (hybrid mode; y) ~90 -> ~40 tokens (scope {SCOPE})"
    return "gateway.log", f"2026-03-01T10:00:12.500Z [INFO] {said}\n"


def flowctx(tmp_path: Path) -> Upload:
    path = tmp_path / "flowctx.sqlite"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE flowctx_kv (ns TEXT, key TEXT, value TEXT, expires_at_ms INTEGER,"
                       " updated_at_ms INTEGER, PRIMARY KEY (ns, key))")  # fmt: skip
    node = {"id": "d0-1-1", "depth": 0, "coverStartTurn": 1, "coverEndTurn": 1, "content": "early", "estTokens": 3,
            "createdAtMs": T0}  # fmt: skip
    connection.execute("INSERT INTO flowctx_kv VALUES ('summary-nodes', ?, ?, NULL, ?)", (S, json.dumps([node]), T0))
    connection.commit()
    connection.close()
    return path.name, path.read_bytes()


def numbers() -> tuple[object, ...]:
    """What the only session holds."""
    row = sessions.get_session(SessionRecord.objects.get().pk)
    events = [(event.type, event.engine, event.file) for event in engine_events.engine_events(row.id)]
    compactions = CompactionRecord.objects.order_by("index").values_list("producer", "tokens_before", "after_call")
    return row.format, row.source_id, row.call_count, row.node_count, sorted(events), list(compactions)


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_host_state_and_logs_are_one_session_in_whichever_order_they_come(order: tuple[int, ...]) -> None:
    uploads: list[list[Upload]] = [[host()], [state(2, 12)], [lossless_log(), cortext_log()]]
    for place in order:
        job = upload(*uploads[place])
        assert job.state == "done", job.outcome

    found = numbers()
    assert found[:4] == ("openclaw", S, 4, 0)
    assert found[4] == [
        ("compaction.evaluated", "lossless-claw", "lossless-claw.log"),
        ("compaction.finished", "cortext", "gateway.log"),
        ("window.moved", "cortext", "compaction.json"),
    ]
    assert found[5] == [("cortext", 90, 1)], "the state's anchor with the log's numbers, before the second call"
    log = transcripts.load_transcript(SessionRecord.objects.get().pk).log
    assert [len(log.window(call)) for call in range(4)] == [1, 2, 4, 6], "the bridge in place of two messages"


@pytest.mark.parametrize("host_first", [True, False])
def test_a_flowctx_store_joins_its_host(tmp_path: Path, host_first: bool) -> None:
    halves: list[Upload] = [host(), flowctx(tmp_path)]
    for one in halves if host_first else halves[::-1]:
        assert upload(one).state == "done"

    assert numbers()[:4] == ("openclaw", S, 4, 1)


@pytest.mark.parametrize("part", [state(2, 12), lossless_log(), cortext_log()], ids=["state", "lcm log", "cortext log"])
def test_the_same_part_twice_changes_nothing(part: Upload) -> None:
    upload(host())
    upload(part)
    before, revision = numbers(), SessionRecord.objects.get().revision

    job = upload(part)

    assert job.result["unchanged"] == 1 and numbers() == before
    assert SessionRecord.objects.get().revision == revision


def test_versions_of_a_state_become_events_over_time() -> None:
    upload(host())
    other = {"s-elsewhere": {"role": "user", "textPrefix": "x", "dropped": 1, "ts": T0 + 30_000}}
    upload(state(2, 12))
    upload(state(4, 22))
    upload(("compaction.json", json.dumps(other)))

    row = SessionRecord.objects.get(source_id=S)
    told = [(event.type, event.data["dropped"]) for event in engine_events.engine_events(row.pk)]
    assert told == [("window.moved", 2), ("window.moved", 4), ("window.cleared", 4)]
    assert row.compaction_count == 2
    assert SessionRecord.objects.filter(source_id="s-elsewhere", format="cortext").count() == 1

    upload(state(2, 12))
    again = [(event.type, event.data["dropped"]) for event in engine_events.engine_events(row.pk)]
    assert again == told, "an old version that comes again changes nothing"


def test_a_state_that_is_followed_keeps_its_history(tmp_path: Path) -> None:
    path = tmp_path / "compaction.json"
    for dropped, second in ((2, 12), (4, 22)):
        path.write_text(str(state(dropped, second)[1]))
        assert digest.digest(ingest.import_paths([path], now=NOW.replace(year=2100)))

    events = EngineEventRecord.objects.order_by("index").values_list("type", "data__dropped")
    assert list(events) == [("window.moved", 2), ("window.moved", 4)]
    row = SessionRecord.objects.get()
    assert (row.source_id, row.format) == (SCOPE, "cortext")
    assert ingest.refresh(row.pk, now=NOW) is None, "only the newest version is compared with the file"


def test_a_log_of_a_store_without_its_host_goes_to_the_store(tmp_path: Path) -> None:
    upload(flowctx(tmp_path))
    said = f"2026-03-01T10:00:12.500Z flowctx-dsh layered drain complete: session={S} leaves=1\n"
    upload(("out.log", said))

    row = SessionRecord.objects.get()
    assert (row.format, row.node_count) == ("flowctx", 1)
    assert [event.type for event in engine_events.engine_events(row.pk)] == ["consolidation"]
    assert engine_events.counts_by_type(row.pk) == {"consolidation": 1}


@pytest.mark.parametrize("store_first", [True, False])
def test_what_stands_beside_a_store_is_one_session_with_it(tmp_path: Path, store_first: bool) -> None:
    beside = ("flowctx-sessions.jsonl", json.dumps({"sessionId": S, "ts": T0, "turns": 2}) + "\n")
    for one in (flowctx(tmp_path), beside) if store_first else (beside, flowctx(tmp_path)):
        upload(one)

    row = SessionRecord.objects.get()
    assert (row.format, row.source_id, row.node_count) == ("flowctx", S, 1)
    assert engine_events.counts_by_type(row.pk) == {"session.bootstrap": 1}
    upload(host())
    assert numbers()[:4] == ("openclaw", S, 4, 1)
    assert engine_events.counts_by_type(SessionRecord.objects.get().pk) == {"session.bootstrap": 1}


def test_a_host_that_grows_keeps_what_joined_it() -> None:
    upload(host(2), state(2, 12), lossless_log())
    upload(host(4))

    found = numbers()
    assert found[2] == 4 and found[5] == [("cortext", None, 1)]
    assert [event[0] for event in found[4]] == ["compaction.evaluated", "window.moved"]  # type: ignore[index]
    log = transcripts.load_transcript(SessionRecord.objects.get().pk).log
    assert [len(log.window(call)) for call in range(4)] == [1, 2, 4, 6]
