"""The second generation of OpenCode's database: one row for each step, compactions as rows of their own."""

from __future__ import annotations

import base64
import json
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from contextviz.sources.files import probe
from contextviz.sources.opencode import OpenCodeReader
from tests.sources.opencode.test_reader import T0, tokens
from tests.sources.plain.reading import Result, read

Json = dict[str, Any]
SESSIONS = (
    "(id TEXT PRIMARY KEY, parent_id TEXT, fork_session_id TEXT, directory TEXT, title TEXT, version TEXT,"
    " revert TEXT, agent TEXT, time_created INTEGER, time_updated INTEGER)"
)
ROWS = "session_message (id TEXT PRIMARY KEY, session_id TEXT, type TEXT, seq INTEGER, time_created INTEGER, data TEXT)"
SECRET = "credential (id TEXT, value TEXT)"
Row = tuple[str, Json]


def at(number: int) -> Json:
    return {"time": {"created": T0 + number * 1000}}


def user(number: int, text: str, **more: Any) -> Row:
    return "user", {"text": text, **at(number), **more}


def step(number: int, content: list[Json], used: Json | None = None, **more: Any) -> Row:
    model = {"id": "m-1", "providerID": "demo"}
    done = {"agent": "build", "model": model, "content": content, "tokens": used, "cost": 0.25, **at(number), **more}
    return "assistant", {key: value for key, value in done.items() if value is not None}


def said(text: str) -> Json:
    return {"type": "text", "text": text}


def tool(call: str, result: str, **state: Any) -> Json:
    made = {"status": "completed", "input": {"path": "a"}, "content": [said(result)], **state}
    return {"type": "tool", "id": call, "name": "read", "state": made, "time": {"created": T0}}


def compaction(number: int, summary: str, **more: Any) -> Row:
    done = {"status": "completed", "reason": "auto", "summary": summary, "recent": "the last words",
            "tokens": tokens(900), "cost": 0.5, **at(number), **more}  # fmt: skip
    return "compaction", done


def database(path: Path, sessions: dict[str, Sequence[Row]], *, table: str = "session_v2", **about: Json) -> Path:
    """A database of this generation; `about` are columns of sessions by their id."""
    connection = sqlite3.connect(path)
    for made in (f"{table} {SESSIONS}", ROWS, SECRET):
        connection.execute(f"CREATE TABLE IF NOT EXISTS {made}")
    connection.execute("INSERT INTO credential VALUES ('x', 'sk-never-read')")
    for order, (name, rows) in enumerate(sessions.items()):
        columns = {"directory": "/srv", "title": f"about {name}", "version": "2.0", "time_created": T0 + order,
                   "time_updated": T0 + order, **about.get(name, {})}  # fmt: skip
        names = ", ".join(["id", *columns])
        marks = ", ".join("?" * (1 + len(columns)))
        connection.execute(f"INSERT INTO {table} ({names}) VALUES ({marks})", (name, *columns.values()))
        for seq, (kind, data) in enumerate(rows, start=1):
            own = data.pop("id", f"msg_{name}{seq:03d}")
            connection.execute(
                "INSERT INTO session_message VALUES (?, ?, ?, ?, ?, ?)",
                (own, name, kind, seq, data["time"]["created"], json.dumps(data)),
            )
    connection.commit()
    connection.close()
    return path


def first(path: Path, name: str, questions: int) -> None:
    """The tables of the first generation, with so many questions and answers of a session."""
    connection = sqlite3.connect(path)
    connection.execute(f"CREATE TABLE session {SESSIONS}")
    connection.execute("CREATE TABLE message (id TEXT, session_id TEXT, data TEXT)")
    connection.execute("CREATE TABLE part (id TEXT, message_id TEXT, data TEXT)")
    connection.execute(
        "INSERT INTO session (id, directory, title, time_created) VALUES (?, '/old', 'old', ?)", (name, T0)
    )
    for number in range(questions):
        for role, text in (("user", "asked before"), ("assistant", "said before")):
            message = f"msg_{name}{number}{role[0]}"
            info = {"role": role, **at(number), **({"tokens": tokens(10)} if role == "assistant" else {})}
            connection.execute("INSERT INTO message VALUES (?, ?, ?)", (message, name, json.dumps(info)))
            connection.execute("INSERT INTO part VALUES (?, ?, ?)", (f"prt{message}", message, json.dumps(said(text))))
    connection.commit()
    connection.close()


def rows() -> list[Row]:
    return [
        user(1, "look"),
        step(2, [{"type": "reasoning", "text": "hm"}, said("looking"), tool("c1", "A")], tokens(100)),
        ("idle", {"outcome": "succeeded", **at(3)}),
        step(4, [said("it is A")], tokens(120)),
    ]


def found(folder: Path) -> Result:
    return read(OpenCodeReader(), folder)


def test_each_row_of_the_assistant_is_a_call(tmp_path: Path) -> None:
    database(tmp_path / "opencode.db", {"ses_1": rows()})
    result = found(tmp_path)
    one = result.one

    assert [(call.usage.prompt_tokens, call.usage.output_tokens, call.usage.cost_usd) for call in one.calls] == [
        (112, 5, 0.25), (132, 5, 0.25),
    ]  # fmt: skip
    assert result.windows()[0] == [("user", "text", "look")]
    assert [kind for _, kind, _ in result.windows()[1]] == ["text", "thinking", "text", "tool_call", "tool_result"]
    assert [message.native_role for message in one.messages] == ["user", "assistant", "assistant"]
    assert (one.session.id, one.session.title, one.session.cwd, one.session.model) == (
        "ses_1",
        "about ses_1",
        "/srv",
        "m-1",
    )
    assert (len(one.pairs), one.problems, one.failed_calls) == (1, [], 0)
    assert {file.role for file in result.files} == {"store"}


def test_what_the_client_adds_is_told_from_what_was_said(tmp_path: Path) -> None:
    note = base64.b64encode(b"a note").decode()
    files = [{"data": note, "mime": "text/plain", "name": "n"}, {"data": "AAAA", "mime": "image/png"}]
    told: list[Row] = [
        ("system", {"text": "rules changed", **at(1)}),
        ("synthetic", {"text": "a notice", **at(2)}),
        ("skill", {"skill": "s", "name": "S", "text": "how to", **at(3)}),
        ("shell", {"command": "ls", "status": "exited", "output": {"output": "a b"}, **at(4)}),
        user(5, "go on", files=files),
        ("model-switched", {"model": {"id": "m-2", "providerID": "demo"}, **at(6)}),
        ("brand-new", {"what": 1, **at(7)}),
        step(8, [said("yes")], tokens(50)),
    ]
    database(tmp_path / "opencode.db", {"ses_1": told})
    result = found(tmp_path)
    one = result.one

    assert [(message.role, message.native_role, message.is_human) for message in one.messages[:5]] == [
        ("system", "system", False), ("user", "synthetic", False), ("user", "skill", False), ("user", "shell", False),
        ("user", "user", True),
    ]  # fmt: skip
    window = [(role, kind, text) for role, kind, text in result.windows()[0]]
    assert window[:4] == [
        ("system", "text", "rules changed"), ("user", "injected", "a notice"), ("user", "injected", "how to"),
        ("user", "injected", "Shell command: ls\n\na b"),
    ]  # fmt: skip
    assert [(kind, text) for _, kind, text in window[4:7]] == [("text", "go on"), ("injected", "a note"), ("image", "")]
    assert [problem.code for problem in one.problems] == ["unknown_type"]


def test_a_compaction_leaves_its_summary_and_the_recent_words(tmp_path: Path) -> None:
    told = [*rows(), compaction(5, "we looked"), user(6, "and now"), step(7, [said("done")], tokens(60))]
    database(tmp_path / "opencode.db", {"ses_1": told})
    result = found(tmp_path)
    one = result.one

    assert [(call.purpose, call.usage.input_tokens) for call in one.calls] == [
        ("turn", 100), ("turn", 120), ("summary", 900), ("turn", 60),
    ]  # fmt: skip
    event = one.compactions[0]
    assert (event.kind, event.trigger, event.before_call, event.after_call) == ("summary", "auto", 1, 3)
    assert event.summary is not None and result.pool.get(event.summary) == "we looked"
    assert result.windows()[3] == [
        ("user", "summary", "we looked"), ("user", "injected", "the last words"), ("user", "text", "and now"),
    ]  # fmt: skip
    assert [kind for _, kind, _ in result.windows()[2]] == [
        "text", "thinking", "text", "tool_call", "tool_result", "text",
    ]  # fmt: skip
    assert one.context_at_end[0].startswith("summary ")


@pytest.mark.parametrize("status", ["failed", "running"])
def test_a_compaction_that_did_not_happen_changes_no_window(tmp_path: Path, status: str) -> None:
    told = [
        *rows(),
        compaction(5, "", status=status, tokens=None),
        user(6, "and now"),
        step(7, [said("done")], tokens(60)),
    ]
    database(tmp_path / "opencode.db", {"ses_1": told})
    one = found(tmp_path).one

    assert one.compactions == [] and one.failed_calls == (status == "failed")
    assert len(found(tmp_path).windows()[2]) == 7


def test_what_a_failed_compaction_used_is_spent(tmp_path: Path) -> None:
    told = [*rows(), compaction(5, "", status="failed", error={"message": "x"})]
    database(tmp_path / "opencode.db", {"ses_1": told})
    one = found(tmp_path).one

    assert [(call.purpose, call.usage.input_tokens) for call in one.calls][2:] == [("summary", 900)]
    assert one.compactions == [] and one.failed_calls == 1


def test_tools_that_failed_or_still_run_and_answers_with_errors(tmp_path: Path) -> None:
    failed = tool("c1", "half", status="error", error={"type": "x", "message": "no such file"})
    running = {"type": "tool", "id": "c2", "name": "read", "state": {"status": "streaming", "input": '{"path": "b"}'}}
    old = tool("c3", "", content=[], structured={"lines": 3})
    broken = step(3, [], None, error={"type": "provider", "message": "overloaded"}, cost=None)
    told = [user(1, "go"), step(2, [failed, running, old], tokens(20)), broken]
    database(tmp_path / "opencode.db", {"ses_1": told})
    result = found(tmp_path)
    one = result.one

    results = [block for block in one.messages[1].blocks if block.kind == "tool_result"]
    assert [(block.is_error, result.pool.get(block.text)) for block in results] == [
        (True, "no such file"), (True, "half"), (False, '{"lines": 3}'),
    ]  # fmt: skip
    assert (len(one.calls), one.failed_calls) == (1, 1)


def test_a_fork_counts_its_own_calls(tmp_path: Path) -> None:
    own = [user(5, "another way"), step(6, [said("so")], tokens(70))]
    copies = [(kind, {**data, "id": f"msg_fork_{seq}"}) for seq, (kind, data) in enumerate(rows(), start=1)]
    whole: dict[str, Sequence[Row]] = {"ses_1": rows(), "ses_2": [*copies, *own]}
    database(tmp_path / "opencode.db", whole, ses_2={"fork_session_id": "ses_1"})
    result = found(tmp_path)

    calls = {one.session.id: [call.usage.input_tokens for call in one.calls] for one in result.transcripts}
    assert calls == {"ses_1": [100, 120], "ses_2": [70]}
    fork = result.transcripts[1]
    assert fork.session.forked_from == "ses_1" and len(fork.messages) == 5 and fork.problems == []
    assert len(fork.log.window(0)) == 7


def test_a_sub_agent_is_in_its_parents_session(tmp_path: Path) -> None:
    spawn = {**tool("c1", "started ses_2"), "name": "subagent"}
    whole: dict[str, Sequence[Row]] = {
        "ses_1": [user(1, "go"), step(2, [spawn], tokens(10))],
        "ses_2": [user(3, "sub"), step(4, [said("x")], tokens(20))],
    }
    database(tmp_path / "opencode.db", whole, ses_2={"parent_id": "ses_1", "agent": "explore"})
    one = found(tmp_path).one

    assert [(agent.id, agent.kind, agent.spawned_by_entry) for agent in one.subagents] == [
        ("ses_2", "explore", "msg_ses_1002")
    ]
    assert [(call.agent, call.usage.input_tokens) for call in one.calls] == [(None, 10), ("ses_2", 20)]


@pytest.mark.parametrize(("questions", "expected"), [(1, [100, 120]), (2, [10, 10])])
def test_of_two_generations_of_a_session_the_one_that_has_all_of_it_counts(
    tmp_path: Path, questions: int, expected: list[int]
) -> None:
    path = tmp_path / "opencode.db"
    first(path, "ses_1", questions)
    database(path, {"ses_1": rows()})
    one = found(tmp_path).one

    assert [call.usage.input_tokens for call in one.calls] == expected


def test_sessions_of_both_generations_are_read_beside_each_other(tmp_path: Path) -> None:
    path = tmp_path / "opencode.db"
    first(path, "ses_0", 1)
    database(path, {"ses_1": rows()})
    ids = [one.session.id for one in found(tmp_path).transcripts]

    assert sorted(ids) == ["ses_0", "ses_1"]


def test_a_beta_that_has_the_rows_and_calls_its_sessions_as_before_is_read(tmp_path: Path) -> None:
    database(tmp_path / "opencode.db", {"ses_1": rows()}, table="session")

    assert len(found(tmp_path).one.calls) == 2


def test_hostile_rows_are_survived_and_nothing_else_is_read(tmp_path: Path) -> None:
    path = database(tmp_path / "opencode.db", {"ses_1": rows()})
    connection = sqlite3.connect(path)
    bad = [
        "",
        "[]",
        "{",
        '{"content": 3, "time": "x"}',
        '{"files": [{"data": 5, "mime": "text/plain"}], "text": 7}',
        None,
    ]
    for number, data in enumerate(bad):
        for kind in ("user", "assistant", "compaction", "shell", "odd"):
            connection.execute("INSERT INTO session_message VALUES (?, 'ses_1', ?, ?, 0, ?)",
                               (f"bad{number}{kind}", kind, 100 + number, data))  # fmt: skip
    connection.commit()
    connection.close()
    one = found(tmp_path).one

    assert [call.usage.input_tokens for call in one.calls] == [100, 120]
    assert OpenCodeReader().detect(probe(path)) is not None
