from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

from contextviz.sources.opencode import OpenCodeReader
from tests.sources.plain.reading import read, write

T0 = 1_772_359_200_000
Json = dict[str, Any]


def tokens(given: int, made: int = 4) -> Json:
    return {"input": given, "output": made, "reasoning": 1, "cache": {"read": 10, "write": 2}}


def user(number: int, text: str, *more: Json) -> Json:
    info = {"id": f"msg_{number}", "role": "user", "time": {"created": T0 + number * 1000}}
    return {"info": info, "parts": [{"type": "text", "text": text}, *more] if text else list(more)}


def answer(number: int, parts: list[Json], used: Json | None = None, **more: Any) -> Json:
    info = {"id": f"msg_{number}", "role": "assistant", "modelID": "m-1", "cost": 0.5,
            "time": {"created": T0 + number * 1000}, "tokens": used or {"input": 0, "output": 0}, **more}  # fmt: skip
    return {"info": info, "parts": parts}


def text(value: str) -> Json:
    return {"type": "text", "text": value}


def step(used: Json) -> Json:
    return {"type": "step-finish", "reason": "stop", "tokens": used, "cost": 0.25}


def tool(call: str, output: str, cleared: int | None = None) -> Json:
    time = {"start": 1, "end": 2} | ({} if cleared is None else {"compacted": T0 + cleared * 1000})
    state = {"status": "completed", "input": {"path": "a"}, "output": output, "time": time}
    return {"type": "tool", "callID": call, "tool": "read", "state": state}


def export(folder: Path, name: str, messages: list[Json], **info: Any) -> None:
    about = {"id": name, "title": "demo", "version": "1.2", "directory": "/srv", "time": {"created": T0}, **info}
    write(folder / f"{name}.json", {"info": about, "messages": messages})


def test_each_step_is_a_call_and_message_tokens_are_not_added(tmp_path: Path) -> None:
    parts = [{"type": "step-start"}, text("looking"), tool("c1", "A"), step(tokens(100)),
             {"type": "step-start"}, text("it is A"), step(tokens(120))]  # fmt: skip
    export(tmp_path, "ses_1", [user(1, "look"), answer(2, parts, tokens(120))])
    result = read(OpenCodeReader(), tmp_path)
    found = result.one

    assert [(call.id, call.usage.prompt_tokens, call.usage.output_tokens) for call in found.calls] == [
        ("msg_2#1", 112, 5),
        ("msg_2#2", 132, 5),
    ]
    assert found.calls[0].usage.cache_write_tokens == 2 and found.calls[0].usage.cost_usd == 0.25
    assert result.windows()[0] == [("user", "text", "look")]
    assert [kind for _, kind, _ in result.windows()[1]] == ["text", "text", "tool_call", "tool_result"]
    assert [message.call_index for message in found.messages] == [None, 1]
    assert (found.session.title, found.session.cwd) == ("demo", "/srv")
    assert found.problems == []


def test_an_answer_without_steps_counts_its_own_tokens(tmp_path: Path) -> None:
    export(tmp_path, "ses_1", [user(1, "hi"), answer(2, [text("hello")], tokens(50)), user(3, "again"),
                               answer(4, [text("yes")], tokens(70))])  # fmt: skip
    result = read(OpenCodeReader(), tmp_path)

    assert [call.usage.input_tokens for call in result.one.calls] == [50, 70]
    assert [value for _, _, value in result.windows()[1]] == ["hi", "hello", "again"]


def test_a_compaction_leaves_its_summary(tmp_path: Path) -> None:
    messages = [
        user(1, "long story"),
        answer(2, [text("long answer")], tokens(900)),
        user(3, "", {"type": "compaction", "auto": True}),
        answer(4, [text("in short")], tokens(950), summary=True, agent="compaction"),
        user(5, "go on"),
        answer(6, [text("ok")], tokens(80)),
    ]
    export(tmp_path, "ses_1", messages)
    result = read(OpenCodeReader(), tmp_path)
    found, compaction = result.one, result.one.compactions[0]

    assert (compaction.kind, compaction.trigger, compaction.before_call, compaction.after_call) == (
        "summary", "auto", 0, 2,
    )  # fmt: skip
    assert compaction.summary is not None and result.pool.get(compaction.summary) == "in short"
    assert [call.purpose for call in found.calls] == ["turn", "summary", "turn"]
    assert [(kind, value) for _, kind, value in result.windows()[2]] == [
        ("injected", "What did we do so far?"),
        ("summary", "in short"),
        ("text", "go on"),
    ]
    assert found.context_at_end == ["msg_3", "summary msg_4", "msg_5", "msg_6"]


def test_pruned_tool_results_are_stubs_from_then_on(tmp_path: Path) -> None:
    messages = [
        user(1, "look"),
        answer(2, [tool("c1", "a long text", cleared=5), tool("c2", "kept")], tokens(100)),
        user(3, "and"),
        answer(4, [text("so")], tokens(200)),
        user(6, "then"),
        answer(7, [text("this")], tokens(90)),
    ]
    export(tmp_path, "ses_1", messages)
    result = read(OpenCodeReader(), tmp_path)

    results = [[value for _, kind, value in window if kind == "tool_result"] for window in result.windows()]
    assert results[1:] == [["a long text", "kept"], ["[Old tool result content cleared]", "kept"]]
    assert [(one.kind, one.before_call, one.after_call) for one in result.one.compactions] == [("clear", 1, 2)]


def test_a_subagents_export_is_part_of_its_parents_session(tmp_path: Path) -> None:
    task = {"type": "tool", "callID": "t1", "tool": "task",
            "state": {"status": "completed", "input": {}, "output": "done, task_id: ses_2"}}  # fmt: skip
    export(tmp_path, "ses_1", [user(1, "delegate"), answer(2, [task], tokens(100))])
    export(tmp_path, "ses_2", [user(1, "task"), answer(2, [text("done")], tokens(30))], parentID="ses_1")
    found = read(OpenCodeReader(), tmp_path).one

    assert [(call.agent, call.usage.input_tokens) for call in found.calls] == [(None, 100), ("ses_2", 30)]
    assert [(one.id, one.spawned_by_entry, one.message_count) for one in found.subagents] == [("ses_2", "msg_2", 2)]


def test_a_subagents_export_alone_is_a_session_with_a_parent(tmp_path: Path) -> None:
    export(tmp_path, "ses_2", [user(1, "task"), answer(2, [text("done")], tokens(30))], parentID="ses_1")

    assert read(OpenCodeReader(), tmp_path).one.session.parent == "ses_1"


def test_redacted_ids_are_missing_ids(tmp_path: Path) -> None:
    messages = [user(1, "a"), answer(2, [text("b")], tokens(10)), user(3, "c")]
    for message in messages:
        message["info"]["id"] = "REDACTED"
    export(tmp_path, "ses_1", messages)

    assert [message.id for message in read(OpenCodeReader(), tmp_path).one.messages] == ["m1", "m2", "m3"]


def test_errors_are_no_calls_and_unknown_parts_are_kept(tmp_path: Path) -> None:
    messages = [user(1, "a"), answer(2, [{"type": "hologram", "x": 1}], error={"name": "APIError"}),
                answer(3, [{"type": "retry", "attempt": 1}, text("late")], tokens(10))]  # fmt: skip
    export(tmp_path, "ses_1", messages)
    result = read(OpenCodeReader(), tmp_path)

    assert (len(result.one.calls), result.one.failed_calls) == (1, 2)
    assert result.texts()[1] == ['{"type": "hologram", "x": 1}']
    assert result.codes() == ["unknown_type"]


def test_of_two_exports_of_a_session_the_longer_counts(tmp_path: Path) -> None:
    messages = [user(1, "a"), answer(2, [text("b")], tokens(10))]
    export(tmp_path / "old", "ses_1", messages[:1])
    export(tmp_path, "ses_1", messages)
    result = read(OpenCodeReader(), tmp_path)

    assert sorted(one.role for one in result.files) == ["duplicate", "session"]
    assert len(result.one.calls) == 1


def test_other_json_is_not_ours(tmp_path: Path) -> None:
    write(tmp_path / "a.json", {"info": {"id": "x"}, "messages": [{"role": "user", "content": "a"}]})
    write(tmp_path / "b.json", {"info": {"id": "x"}, "messages": []})

    assert read(OpenCodeReader(), tmp_path).files == []


PARTS = [{"type": "step-start"}, text("looking"), tool("c1", "A"), step(tokens(100))]
INFO = {
    "id": "ses_1",
    "projectID": "p",
    "directory": "/srv",
    "title": "demo",
    "version": "1.2",
    "time": {"created": T0},
}


def one_session() -> list[Json]:
    return [user(1, "look"), answer(2, PARTS, tokens(100)), user(3, "thanks")]


def storage(folder: Path, messages: list[Json], info: Json = INFO) -> None:
    """The same session as OpenCode keeps it: a file for each session, message and part."""
    name = info["id"]
    write(folder / "session" / "p" / f"{name}.json", info)
    for message in messages:
        entry = message["info"]["id"]
        write(folder / "message" / name / f"{entry}.json", {**message["info"], "sessionID": name})
        for number, part in enumerate(message["parts"]):
            own = {"id": f"prt_{entry}_{number}", "sessionID": name, "messageID": entry}
            write(folder / "part" / entry / f"{own['id']}.json", {**part, **own})


def database(path: Path, messages: list[Json], name: str = "ses_1", parent: str | None = None) -> None:
    """The same session as rows, whose data is the JSON without its ids."""
    connection = sqlite3.connect(path)
    connection.executescript(
        "CREATE TABLE IF NOT EXISTS session (id TEXT PRIMARY KEY, project_id TEXT, parent_id TEXT, directory TEXT,"
        " title TEXT, version TEXT, time_created INTEGER, time_updated INTEGER, revert TEXT);"
        "CREATE TABLE IF NOT EXISTS message (id TEXT PRIMARY KEY, session_id TEXT, time_created INTEGER, data TEXT);"
        "CREATE TABLE IF NOT EXISTS part (id TEXT PRIMARY KEY, message_id TEXT, session_id TEXT, data TEXT);"
        "CREATE TABLE IF NOT EXISTS account (access_token TEXT);"
    )
    row = (name, "p", parent, "/srv", "demo", "1.2", T0, T0, None)
    connection.execute("INSERT INTO session VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
    for message in reversed(messages):
        info = dict(message["info"])
        entry = f"{name}-{info.pop('id')}"
        connection.execute("INSERT INTO message VALUES (?, ?, ?, ?)", (entry, name, T0, json.dumps(info)))
        for number, part in enumerate(message["parts"]):
            own = f"prt_{entry}_{number}"
            connection.execute("INSERT INTO part VALUES (?, ?, ?, ?)", (own, entry, name, json.dumps(part)))
    connection.execute("INSERT INTO account VALUES ('not for anybody')")
    connection.commit()
    connection.close()


def test_an_export_the_storage_and_the_database_say_the_same(tmp_path: Path) -> None:
    export(tmp_path / "a", "ses_1", one_session())
    storage(tmp_path / "b" / "storage", one_session())
    (tmp_path / "c").mkdir()
    database(tmp_path / "c" / "opencode.db", one_session())
    results = [read(OpenCodeReader(), tmp_path / name) for name in "abc"]

    for result in results:
        session = result.one.session
        assert (session.id, session.title, session.format_version) == ("ses_1", "demo", "1.2")
        assert session.cwd == "/srv"
        assert result.windows() == results[0].windows()
        assert result.texts() == results[0].texts()
        (call,) = result.one.calls
        assert (call.usage.prompt_tokens, call.usage.cache_write_tokens) == (112, 2)
    assert {one.role for one in results[1].files} == {"session"} and len(results[1].files) == 1 + 3 + 6
    assert [one.role for one in results[2].files] == ["store"] and results[2].files[0].session == "ses_1"


def test_a_sub_agent_in_the_database_is_part_of_its_parent(tmp_path: Path) -> None:
    database(tmp_path / "opencode.db", one_session())
    database(
        tmp_path / "opencode.db", [user(1, "find"), answer(2, [text("found"), step(tokens(30))])], "ses_2", "ses_1"
    )
    result = read(OpenCodeReader(), tmp_path)

    assert [(one.id, one.task, one.message_count) for one in result.one.subagents] == [("ses_2", "demo", 2)]
    assert [call.agent for call in result.one.calls] == [None, "ses_2"]


def test_a_session_in_both_is_counted_once(tmp_path: Path) -> None:
    database(tmp_path / "opencode.db", one_session())
    storage(tmp_path / "storage", one_session()[:2])
    result = read(OpenCodeReader(), tmp_path)

    assert len(result.one.calls) == 1 and len(result.one.messages) == 3
    assert {one.role for one in result.files} == {"store", "duplicate"}


def test_messages_whose_session_file_is_missing_are_read_all_the_same(tmp_path: Path) -> None:
    storage(tmp_path, one_session())
    (tmp_path / "session" / "p" / "ses_1.json").unlink()
    found = read(OpenCodeReader(), tmp_path).one

    assert found.session.id == "ses_1" and found.session.title is None and len(found.messages) == 3


def test_another_database_with_those_tables_is_not_taken(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "opencode.db")
    connection.executescript(
        "CREATE TABLE session (id TEXT); CREATE TABLE message (id TEXT); CREATE TABLE part (id TEXT);"
    )
    connection.commit()
    connection.close()

    assert read(OpenCodeReader(), tmp_path).files == []
