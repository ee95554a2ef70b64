from __future__ import annotations

import json
from pathlib import Path

import pytest

from contextviz.sources.openvole import OpenVoleReader
from tests.sources.plain.reading import Result, read, write, write_lines

DAY = "2026-03-01T10:00:"


def entry(second: int, role: str, content: str) -> dict[str, str]:
    return {"ts": f"{DAY}{second:02d}.000Z", "role": role, "content": content}


def log(second: int, tag: str, text: str, level: str = "INFO") -> str:
    return f"{DAY}{second:02d}.500Z [{level}] [{tag}] {text}"


def budget(second: int, before: int, after: int, *between: str) -> list[str]:
    head = "systemPrompt: 10 | tools: 5 | session: 0 | reserve: 50 | userMsgs: 1"
    return [
        log(second, "loop", f"BUDGET PRE-COMPACT — {head} | total: {before}/1000"),
        *(log(second, "loop" if "running" in one or "trimming" in one else "paw-registry", one) for one in between),
        log(second, "loop", f"BUDGET FINAL — {head} | total: {after}/1000 (OK)"),
    ]


def cost(second: int, given: int, made: int) -> str:
    text = f"LLM cost: $0.001000 (in: {given} × $2/M = $0.000500, out: {made} × $8/M = $0.000500) [vole-1]"
    return log(second, "cost-tracker", text)


def think(second: int, messages: int) -> str:
    return log(second, "paw-loader", f"[@openvole/paw-brain] think — model: vole-1, messages: {messages}, tools: 2")


def tool(second: int, name: str, **arguments: str) -> str:
    return log(second, "loop", f"Tool call: {name}({json.dumps(arguments)})")


def start(second: int, text: str) -> str:
    return log(second, "loop", f'Agent loop started for task t{second}: "{text}"')


def session(folder: Path, name: str, entries: list[object]) -> None:
    home = folder / ".openvole" / "paws" / "paw-session" / name
    write_lines(home / "transcript.md", entries)
    write(home / "meta.json", {"createdAt": f"{DAY}00.000Z", "lastActive": f"{DAY}59.000Z", "source": "",
                               "messageCount": 9})  # fmt: skip


def three_calls(folder: Path) -> Result:
    session(
        folder,
        "s1",
        [
            entry(0, "user", "look at both files"),
            entry(2, "tool:fs_read", "a" * 300 + "..."),
            entry(4, "tool:fs_read", "short"),
            entry(9, "brain", "both are fine"),
        ],
    )
    hook = 'Compact hook from "@openvole/paw-compact" reduced messages from 5 to 4'
    lines = [
        start(0, "look at both files"),
        *budget(0, 100, 100), think(0, 1), cost(1, 40, 3), tool(1, "fs_read", path="one.md"),
        *budget(2, 500, 500), think(2, 3), cost(3, 90, 4), tool(3, "fs_read", path="two.md"),
        *budget(4, 800, 300, "Context at 80% — running compact", hook), think(4, 4), cost(8, 60, 5),
    ]  # fmt: skip
    (folder / "vole.log").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return read(OpenVoleReader(), folder)


def test_the_log_gives_the_calls_and_the_transcript_the_messages(tmp_path: Path) -> None:
    result = three_calls(tmp_path)
    found = result.one

    assert [(call.usage.prompt_tokens, call.usage.output_tokens, call.window) for call in found.calls] == [
        (40, 3, 1000), (90, 4, 1000), (60, 5, 1000),
    ]  # fmt: skip
    assert [message.native_role for message in found.messages] == ["user", "tool:fs_read", "tool:fs_read", "brain"]
    assert found.messages[-1].call_index == 2
    assert found.session.id == "s1"
    assert found.session.hints["message_count"] == 9
    assert found.orphan_results == []


def test_a_compaction_is_rebuilt_by_the_clients_rule(tmp_path: Path) -> None:
    result = three_calls(tmp_path)
    compaction = result.one.compactions[0]

    assert (compaction.kind, compaction.before_call, compaction.after_call) == ("summary", 1, 2)
    assert (compaction.tokens_before, compaction.tokens_after) == (800, 300)
    assert compaction.summary is not None
    assert result.pool.get(compaction.summary) == (
        '[Context Summary — 2 messages compacted]\n- Called fs_read(path: "one.md")\n- Called fs_read() -> success'
    )
    assert compaction.context_items == ["line-1", "summary compaction-1", "line-3"]
    kinds = [kind for _, kind, _ in result.windows()[2]]
    assert kinds == ["text", "summary", "tool_call", "tool_result"]
    assert {one.basis for one in result.one.log.snapshots} == {"partial"}


def test_a_shrink_in_place_is_a_microcompaction_and_a_trim_is_a_trim(tmp_path: Path) -> None:
    session(tmp_path, "s1", [entry(0, "user", "go"), entry(9, "brain", "done")])
    same = 'Compact hook from "@openvole/paw-compact" reduced messages from 3 to 3'
    lines = [
        start(0, "go"),
        *budget(1, 800, 700, "Context at 80% — running compact", same), cost(2, 70, 1),
        *budget(3, 1100, 900, "Context over budget by 100 tokens — trimming messages"), cost(4, 90, 1),
        *budget(5, 800, 800, "Context has 60 messages (threshold: 50), running compact"), cost(6, 80, 1),
    ]  # fmt: skip
    (tmp_path / "vole.log").write_text("\n".join(lines) + "\n", encoding="utf-8")
    found = read(OpenVoleReader(), tmp_path).one

    assert [(one.kind, one.before_call, one.after_call) for one in found.compactions] == [
        ("microcompact", None, 0),
        ("trim", 0, 1),
    ]
    assert found.session.counters == {"compactions_without_effect": 1}


def test_every_evaluation_is_told_those_too_after_which_nothing_was_done(tmp_path: Path) -> None:
    session(tmp_path, "s1", [entry(0, "user", "go"), entry(9, "brain", "done")])
    same = 'Compact hook from "@openvole/paw-compact" reduced messages from 3 to 3'
    lines = [start(0, "go"), *budget(1, 500, 500), cost(2, 50, 1),
             *budget(3, 800, 700, "Context at 80% — running compact", same), cost(4, 70, 1)]  # fmt: skip
    (tmp_path / "vole.log").write_text("\n".join(lines) + "\n", encoding="utf-8")
    events = read(OpenVoleReader(), tmp_path).one.engine_events

    told = [(event.data["current"], event.data["should"], event.data["trigger"]) for event in events
            if event.type == "compaction.evaluated"]  # fmt: skip
    assert told == [(500, False, "none"), (800, True, "ratio")]
    assert [event.did_not_fire for event in events] == [True, False, False, False]
    shown = [
        (event.data["total"], event.data["budget"], event.line) for event in events if event.type[0:8] == "context."
    ]
    assert shown == [(500, 1000, 3), (700, 1000, 8)]


def test_lines_of_the_older_form_are_read_and_have_no_day(tmp_path: Path) -> None:
    session(tmp_path, "old", ["[10:00:00] user: hello there", "[10:00:05] tool:web_fetch: {}", "",
                              entry(6, "brain", "hi")])  # fmt: skip
    result = read(OpenVoleReader(), tmp_path)

    assert result.texts() == [["hello there"], ["{}"], ["hi"]]
    assert [message.at is None for message in result.one.messages] == [True, True, False]
    assert result.one.lines.blank == 1
    assert result.codes() == ["unreadable_time"]


def test_a_transcript_of_only_older_lines_is_known(tmp_path: Path) -> None:
    session(tmp_path, "old", ["[10:00:00] user: hello", "[10:00:05] brain: hi: there"])

    assert read(OpenVoleReader(), tmp_path).texts() == [["hello"], ["hi: there"]]


def test_tasks_go_to_the_session_that_holds_their_text(tmp_path: Path) -> None:
    session(tmp_path, "a", [entry(0, "user", "first"), entry(5, "brain", "one")])
    session(tmp_path, "b", [entry(10, "user", "second"), entry(15, "brain", "two")])
    lines = [start(0, "first"), cost(1, 10, 1), start(10, "second"), cost(11, 20, 2), start(20, "heartbeat"),
             cost(21, 30, 3)]  # fmt: skip
    (tmp_path / "vole.log").write_text("\n".join(lines) + "\n", encoding="utf-8")
    result = read(OpenVoleReader(), tmp_path)

    spent = {one.session.id[:8]: [call.usage.prompt_tokens for call in one.calls] for one in result.transcripts}
    assert spent == {"a": [10], "b": [20], "openvole": [30]}


def test_damaged_lines_are_listed_and_reading_goes_on(tmp_path: Path) -> None:
    session(tmp_path, "s", [entry(0, "user", "a"), '{"ts": broken', entry(2, "narrator", "?"), entry(3, "brain", "b")])
    found = read(OpenVoleReader(), tmp_path).one

    assert found.lines.malformed == [2]
    assert found.lines.unknown_types == {"narrator": 1}
    assert [message.native_role for message in found.messages] == ["user", "brain"]


def test_a_price_by_default_is_no_cost(tmp_path: Path) -> None:
    session(tmp_path, "s", [entry(0, "user", "go"), entry(5, "brain", "ok")])
    guess = 'No pricing for model "vole-1", using default ($2/$8 per 1M tokens)'
    lines = [start(0, "go"), log(1, "cost-tracker", guess, "DEBUG"), cost(1, 10, 1), cost(2, 20, 1)]
    (tmp_path / "vole.log").write_text("\n".join(lines) + "\n", encoding="utf-8")

    assert [call.usage.cost_usd for call in read(OpenVoleReader(), tmp_path).one.calls] == [None, 0.001]


def test_other_logs_and_json_are_not_ours(tmp_path: Path) -> None:
    (tmp_path / "app.log").write_text("2026-03-01T10:00:00Z [INFO] [web] started\n")
    write(tmp_path / "meta.json", {"createdAt": "x", "messageCount": 1})
    write_lines(tmp_path / "chat.jsonl", [{"role": "user", "content": "hi"}])

    assert read(OpenVoleReader(), tmp_path).files == []


def test_the_real_session_reaches_its_numbers(shared: Path) -> None:
    folder = shared / "samples" / "openvole-main"
    if not folder.is_dir():
        pytest.skip("the samples are not here")
    result = read(OpenVoleReader(), folder)
    found = result.one

    assert len(found.calls) == 24
    assert sum(call.usage.prompt_tokens or 0 for call in found.calls) == 164_348
    assert sum(call.usage.output_tokens or 0 for call in found.calls) == 1_171
    folds = [(one.before_call, one.after_call) for one in found.compactions if one.kind == "summary"]
    truth = json.loads((folder / "truth.json").read_text())["heuristic_compactions"]
    assert [(one["before_call"] - 1, one["after_call"] - 1) for one in truth] == folds
    assert [one.kind for one in found.compactions].count("microcompact") == 1
    assert all("the log says" not in (one.note or "") for one in found.log.snapshots)
    checks = [event for event in found.engine_events if event.type == "compaction.evaluated"]
    assert len(checks) >= len(found.calls) and any(event.did_not_fire for event in checks)
