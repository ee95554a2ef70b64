"""Sessions of agents that show everything that their readers declare, written by us."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

from tests.sources.claude_code.help import OTHER, SESSION, Writer, call
from tests.sources.claude_code.test_threads import _hash as hash_of
from tests.sources.codex.building import THREAD, Rollout
from tests.sources.context_events.talk import talk
from tests.sources.conversation_map.test_reader import KITE, SWITCH
from tests.sources.cortext.test_reader import anchor
from tests.sources.engine_log.test_reader import own
from tests.sources.flowctx.test_reader import SCHEMA as FLOWCTX
from tests.sources.flowctx.test_reader import handle, node
from tests.sources.gemini_cli.test_reader import HEADER, TOOL, gemini, user
from tests.sources.lossless_claw.building import Lcm
from tests.sources.openclaw.build import Script, script
from tests.sources.openclaw.test_store import SCHEMA, fill
from tests.sources.openvole.test_reader import three_calls
from tests.sources.plain.reading import write, write_lines

IMAGE = {"type": "image", "data": "QUJDRA==", "mimeType": "image/png"}


def _tree(session: str, **header: object) -> Script:
    """Everything that pi and OpenClaw write alike."""
    made = script(session, **header)
    made.add("session_info", "n0", name="demo")
    made.user("u1", [{"type": "text", "text": "see"}, IMAGE])
    usage = {"input": 90, "output": 9, "cacheRead": 8, "cacheWrite": 7, "reasoning": 3, "cost": {"total": 0.1}}
    thought = {"type": "thinking", "thinking": "hm"}
    tool = {"type": "toolCall", "id": "c1", "name": "read", "arguments": {"path": "a"}}
    made.answer("a1", [thought, tool], usage=usage)
    made.result("t1", "c1")
    made.answer("x1", stopReason="error", usage={})
    made.user("b1", parent="t1")
    made.answer("b2")
    made.add("custom_message", "i1", customType="openclaw.sessions_yield", content="by the client", display=False)
    made.add("compaction", "k1", summary="the gist", firstKeptEntryId="b1", tokensBefore=110)
    made.user("u2")
    made.answer("a2")
    return made


def openclaw(folder: Path) -> None:
    sessions = folder / "agents" / "main" / "sessions"
    _tree("s-1").save(sessions / "s-1.jsonl")
    _tree("s-2", parentSession="s-1.jsonl").save(sessions / "s-2.jsonl")
    checkpoint = {"reason": "auto-threshold", "postCompaction": {"entryId": "k1"}, "firstKeptEntryId": "b1"}
    index = {
        "agent:main:main": {"sessionId": "s-1", "contextTokens": 32000, "compactionCheckpoints": [checkpoint]},
        "agent:main:subagent:1": {"sessionId": "s-2", "spawnedBy": "agent:main:main"},
    }
    write(sessions / "sessions.json", index)


def openclaw_sqlite(folder: Path) -> None:
    with closing(sqlite3.connect(folder / "openclaw-agent.sqlite")) as store:
        store.executescript(SCHEMA)
        fill(store, _tree("s-1", version=4))
        fill(store, _tree("s-2", version=4))
        checkpoint = {"reason": "auto-threshold", "postCompaction": {"entryId": "k1"}, "firstKeptEntryId": "b1"}
        entry = {"sessionId": "s-1", "contextTokens": 32000, "compactionCheckpoints": [checkpoint]}
        row = "INSERT INTO session_nodes VALUES (?, ?, ?, ?, ?)"
        store.execute(row, ("agent:main:main", "s-1", json.dumps(entry), None, None))
        store.execute(row, ("agent:main:subagent:1", "s-2", '{"sessionId": "s-2"}', "agent:main:main", "s-1"))
        store.commit()


def pi(folder: Path) -> None:
    def made(session: str, **header: object) -> Script:
        talk = _tree(session, **header)
        system = {"role": "system", "sections": {"main": "be brief"}, "toolsAdded": [{"name": "read"}]}
        first = {"type": "message", "id": "y1", "parentId": None, "timestamp": "2026-03-02T10:00:00.000Z"}
        talk.entries.insert(0, first | {"message": system})
        talk.entries[1]["parentId"] = "y1"
        return talk

    made("s-1").save(folder / "2026-03-02T10-00-00-000Z_s-1.jsonl")
    fork = made("s-2", parentSession="2026-03-02T10-00-00-000Z_s-1.jsonl")
    fork.user("f1")
    fork.answer("f2")
    fork.save(folder / "2026-03-02T10-30-00-000Z_s-2.jsonl")


def claude_code(folder: Path) -> None:
    talk = Writer(folder / f"{SESSION}.jsonl")
    talk.flat({"type": "custom-title", "customTitle": "demo", "sessionId": SESSION})
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "QUJDRA=="}}
    talk.user(
        "u1",
        [{"type": "text", "text": "see"}, picture, {"type": "text", "text": "<system-reminder>x</system-reminder>"}],
    )
    usage = {"input_tokens": 9, "cache_read_input_tokens": 8, "cache_creation_input_tokens": 7, "output_tokens": 5,
             "output_tokens_details": {"thinking_tokens": 2}}  # fmt: skip
    thought = {"type": "thinking", "thinking": "hm", "signature": "s"}
    talk.row(
        "a1", "assistant", message={"id": "m1", "role": "assistant", "model": "m", "content": [thought], "usage": usage}
    )
    talk.row(
        "a2",
        "assistant",
        message={"id": "m1", "role": "assistant", "model": "m", "content": [call("t1")], "usage": usage},
    )
    talk.result("r1", "t1", "found")
    talk.answer("e1", "API Error", None, (0, 0, 0, 0), model="<synthetic>", isApiErrorMessage=True)
    talk.user("b1", "one way", parent="r1")
    talk.answer("b2", "done so", "m2")
    talk.boundary("k1", trigger="auto", preTokens=100)
    talk.summary("k2", "the gist")
    talk.answer("a3", "on", "m3")
    talk.save()
    agent = Writer(folder / SESSION / "subagents" / "agent-x1.jsonl", isSidechain=True, agentId="x1")
    agent.user("s1", "task", parent=None)
    agent.answer("s2", "done", "m9")
    agent.save()
    fork = Writer(folder / f"{OTHER}.jsonl", OTHER)
    fork.user("o1", "branched", forkedFrom={"sessionId": SESSION, "messageUuid": "u1"})
    fork.answer("o2", "yes", "m8")
    fork.save()
    _with_requests(folder)


def _with_requests(folder: Path) -> None:
    session = SESSION.replace("6666", "8888")
    sent = {"role": "user", "content": "hello"}
    shape = {"system": [{"type": "text", "text": "be exact"}], "tools": [{"name": "Read", "input_schema": {}}]}
    rows = [
        {"type": "api-request-shape", "sessionId": session, "shapeHash": "s", "shape": shape},
        {"type": "api-request-blob", "sessionId": session, "hash": hash_of(sent), "message": sent},
        {"type": "api-request", "sessionId": session, "id": "q1", "keep": 0, "tail": [hash_of(sent)], "shapeHash": "s"},
    ]  # fmt: skip
    talk = Writer(folder / f"{session}.jsonl", session)
    talk.user("w1", "hello")
    for row in rows:
        talk.flat(row)
    talk.answer("w2", "hi", "m7", requestRef="q1")
    talk.save()


def codex(folder: Path) -> None:
    made = Rollout(base_instructions={"text": "be exact"}, dynamic_tools=[{"name": "look", "inputSchema": {}}])
    made.event("task_started", model_context_window=24000)
    made.turn()
    made.message("user", "<environment_context>\n<cwd>/srv</cwd>\n</environment_context>")
    picture = {"type": "input_image", "image_url": "data:image/png;base64,QUJDRA=="}
    content = [{"type": "input_text", "text": "see"}, picture]
    made.add("response_item", {"type": "message", "role": "user", "content": content})
    made.item("reasoning", summary=[{"type": "summary_text", "text": "hm"}])
    made.item("function_call", name="shell", arguments="{}", call_id="c1")
    made.usage(100, 40, 5)
    made.item("function_call_output", call_id="c1", output="ok")
    made.event("turn_aborted", reason="interrupted")
    made.message("assistant", "done")
    made.add("token_usage_record", {"response_id": "r-2", "usage": {"input_tokens": 50, "cached_input_tokens": 10,
             "cache_write_input_tokens": 5, "output_tokens": 4, "reasoning_output_tokens": 1}})  # fmt: skip
    made.add("compacted", {"message": "the gist", "replacement_history": []})
    made.message("user", "not so")
    made.message("assistant", "hm")
    made.usage(60, 0, 4)
    made.event("thread_rolled_back", num_turns=1)
    made.write(folder / "rollout-a.jsonl")
    spawn = {"subagent": {"thread_spawn": {"parent_thread_id": THREAD, "depth": 1}}}
    child = Rollout(thread=THREAD.replace("0001-7", "0002-7"), source=spawn, forked_from_id=THREAD)
    child.turn()
    child.message("assistant", "done")
    child.usage(20, 0, 2)
    child.write(folder / "rollout-b.jsonl")


def lossless_claw(folder: Path) -> None:
    lcm = Lcm(folder / "lcm.db")
    lcm.conversation(title="demo")
    for number in range(1, 5):
        lcm.message(number, "user" if number % 2 else "assistant", f"text {number}", f"2026-11-30 08:00:{number:02d}")
    lcm.message(5, "tool", "found", "2026-11-30 08:00:05")
    lcm.db.execute("ALTER TABLE message_parts ADD COLUMN file_mime TEXT")
    parts = (
        "INSERT INTO message_parts (part_id, message_id, part_type, ordinal, text_content, tool_call_id, tool_name, "
    )
    parts += "tool_input, metadata, file_mime) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
    call_raw = {"originalRole": "assistant", "rawType": "toolCall",
                "raw": {"type": "toolCall", "id": "c1", "name": "read", "arguments": {}}}  # fmt: skip
    result_raw = {"originalRole": "toolResult", "rawType": "tool_result", "toolCallId": "c1"}
    lcm.db.executemany(
        parts,
        [
            ("p0", 4, "reasoning", 0, "hm", None, None, None, '{"rawType": "thinking"}', None),
            ("p1", 4, "tool", 1, None, "c1", "read", "{}", json.dumps(call_raw), None),
            ("p2", 5, "tool", 0, "found", "c1", "read", None, json.dumps(result_raw), None),
            ("p3", 3, "file", 0, None, None, None, None, '{"rawType": "image"}', "image/png"),
        ],
    )
    lcm.leaf("a", [1, 2], "2026-11-30 08:00:06", depth=0)
    lcm.context("a", 3, 4, 5)
    lcm.batch("batch-1", "2026-11-30 08:00:06", "a")
    lcm.db.execute("CREATE TABLE large_files (file_id TEXT, conversation_id INTEGER, byte_size INTEGER)")
    lcm.add("large_files", file_id="file_00aa", conversation_id=1, byte_size=90_000)
    lcm.db.commit()
    lcm.db.close()


def flowctx(folder: Path) -> None:
    text = "line\n" * 40
    rows = [("summary-nodes", "s-1", json.dumps([node("d0-1-3", 0, 1, 3)])), ("refs", handle(text), text),
            ("scratchpad", "s-1", "todo")]  # fmt: skip
    with closing(sqlite3.connect(folder / "flowctx.sqlite")) as store:
        store.execute(FLOWCTX)
        store.executemany("INSERT INTO flowctx_kv VALUES (?, ?, ?, NULL, 1772359200000)", rows)
        store.commit()


def flowctx_dump(folder: Path) -> None:
    usage = {"prompt_tokens": 900, "completion_tokens": 60, "prompt_tokens_details": {"cached_tokens": 30}}
    request = {"model": "m", "messages": [{"role": "user", "content": "fold this"}]}
    record = {"sessionId": "s-1", "ts": "2026-03-01T10:00:00Z", "request": request, "assembled": "seen",
              "response": {"content": "short", "usage": usage}}  # fmt: skip
    write_lines(folder / "dump.jsonl", [record])


def conversation_map(folder: Path) -> None:
    document = {"version": 1, "contexts": {"kite": KITE}, "events": [SWITCH]}
    write(folder / "ws" / "memory" / "conversation-map.json", document)


def openvole(folder: Path) -> None:
    three_calls(folder)


def gemini_cli(folder: Path) -> None:
    kept = user("u2", "go on", 5)
    picture = [{"text": "see"}, {"inlineData": {"mimeType": "image/png", "data": "QUJDRA=="}}]
    lines = [
        {**HEADER, "summary": "demo"}, user("u1", picture),
        gemini("a1", "looking", 50, thoughts=[{"subject": "Plan", "description": "look"}], toolCalls=[TOOL]), kept,
        {"$set": {"messages": [user("s1", "what was said", 6), kept]}}, gemini("a2", "c", 30, 7),
    ]  # fmt: skip
    write_lines(folder / "chats" / "session-1.jsonl", lines)
    child = {**HEADER, "sessionId": "sub-1", "kind": "subagent"}
    write_lines(folder / "chats" / "g-1" / "sub-1.jsonl", [child, user("u9", "task"), gemini("a9", "done", 20)])


def cortext(folder: Path) -> None:
    write(folder / "compaction.json", {"s-1": anchor("about", 4)})


def engine_log(folder: Path) -> None:
    session = "35745d9f-0000-4000-8000-000000000001"
    lines = [
        own(0, f"[lcm] compact: decision conversation=1 session={session} storedTokens=900 currentTokens=950"
               " observedTokens=950 rawTokensOutsideTail=40 tokenBudget=2000 shouldCompact=true"),
        own(1, "[lcm] LCM compaction leaf pass (normal): 1870 -> 1292 conversation=1 summary=sum_aa"),
    ]  # fmt: skip
    write_lines(folder / "lossless-claw-2026-03-01.log", lines)


def events(folder: Path) -> None:
    write_lines(folder / "talk.ndjson", list(talk()))
