from __future__ import annotations

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
