"""The cache trace: what it confirms of the rebuilt windows, what it refutes, and what it fills."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from contextviz.events.snapshot import WindowCheck
from tests.sources.openclaw.build import Script, codes, script
from tests.sources.openclaw.tracing import (
    CONTEXT,
    CUT,
    START,
    CacheTrace,
    carrier,
    check_of,
    clean,
    dated,
    print_of,
    read_all,
    user,
)

Json = dict[str, Any]


def said(made: Script, entry: str, text: str, **more: Any) -> None:
    """A person's message, stamped as the client does (a second before its entry is written)."""
    stamp = START + made.clock * 1000
    made.add("message", entry, message={"role": "user", "content": text, "timestamp": stamp, **more})


def conversation() -> Script:
    """Ask, read a file, answer; ask again, answer: three calls with their own run."""
    made = script(version=4)
    said(made, "u1", "first question", idempotencyKey="run-1:user", __openclaw={"senderIsOwner": True})
    made.call("a1", "call_1_x", __openclaw={"runId": "run-1"})
    made.result("r1", "call_1_x", "what the file says", details={"kind": "text"})
    made.answer("a2", __openclaw={"runId": "run-1"})
    said(made, "u2", "second question", idempotencyKey="run-2:user")
    made.answer("a3", __openclaw={"runId": "run-2"})
    return made


def message_of(made: Script, entry: str) -> Json:
    found: Json = next(one for one in made.entries if one["id"] == entry)["message"]
    return found


def plain(message: Json) -> Json:
    """As the run itself has it: tool ids cleaned, the client's own fields not yet there."""
    kept = {key: value for key, value in clean(message).items() if key != "__openclaw"}
    if "toolCallId" in kept:
        kept["toolCallId"] = kept["toolCallId"].replace("_", "")
    if isinstance(kept["content"], list):
        kept["content"] = [
            {**part, "id": part["id"].replace("_", "")} if part.get("type") == "toolCall" else part
            for part in kept["content"]
        ]
    return kept


def second_request(made: Script) -> list[Json]:
    """The request of the call `a2`: its own run's messages, with the time at which the run took the prompt up."""
    return [
        user(dated("first question"), 0.4), plain(message_of(made, "a1")), plain(message_of(made, "r1")), carrier(0.3),
    ]  # fmt: skip


def test_a_cut_window_is_confirmed_by_fingerprints_alone(tmp_path: Path) -> None:
    made, trace = conversation(), CacheTrace()
    trace.row("session:loaded", 0.2)
    trace.request(1.0, [user(dated("first question"), 0.4), carrier(0.3)], cut=[0])
    trace.request(3.0, second_request(made), cut=[0, 1, 2, 3])
    made.save(tmp_path / "s-1.jsonl")
    trace.save(tmp_path)
    result = read_all(tmp_path)
    file = "logs/cache-trace.jsonl"
    assert check_of(result, 1) == WindowCheck(
        "cache_trace", "confirmed", file, 3, traced=4, rebuilt=3, client=1, proven=3
    )
    assert result.only.log.snapshots[1].basis == "rules"
    assert result.only.session.counters == {"trace_confirmed": 2}
    assert result.only.log.snapshots[2].check is None


def test_the_runtime_context_at_the_end_is_filled_in_also_where_this_row_cut_it(tmp_path: Path) -> None:
    made, trace = conversation(), CacheTrace()
    trace.row("session:loaded", 0.2)
    trace.request(1.0, [user(dated("first question"), 0.4), carrier(0.3)])
    trace.request(3.0, [*second_request(made)[:3], carrier(0.9)], cut=[0, 1, 2, 3])
    made.save(tmp_path / "s-1.jsonl")
    trace.save(tmp_path)
    result = read_all(tmp_path)
    last = result.only.log.window(1)[-1]
    assert result.pool.get(last.text) == CONTEXT
    assert (last.role, last.kind, last.state, last.basis, last.entry) == (
        "user",
        "injected",
        "injected",
        "recorded",
        None,
    )


def test_a_cut_body_never_replaces_a_whole_one(tmp_path: Path) -> None:
    made, trace = conversation(), CacheTrace()
    request = second_request(made)
    trace.row("session:loaded", 0.2)
    row = trace.request(3.0, request)
    row["messages"][1] = {**request[1], "content": [{"type": "toolCall", "name": "read", "arguments": CUT}]}
    row["messages"][2] = {**request[2], "content": [{"type": "text", "text": CUT}]}
    made.save(tmp_path / "s-1.jsonl")
    trace.save(tmp_path)
    result = read_all(tmp_path)
    assert '{"name": "read", "arguments": {"path": "a1"}}' in result.window(1)
    assert "what the file says" in result.window(1)
    assert CUT not in "".join(result.window(1))
    assert check_of(result, 1).proven == 3


def test_a_missing_message_whose_body_is_cut_refutes_the_window_with_both_numbers(tmp_path: Path) -> None:
    made, trace = conversation(), CacheTrace()
    request = second_request(made)
    unseen = [user("not in the transcript", 0.1), {"role": "assistant", "content": "nor this"}]
    trace.row("session:loaded", 0.2)
    trace.request(3.0, [request[0], *unseen, *request[1:]], cut=[1, 2])
    made.save(tmp_path / "s-1.jsonl")
    trace.save(tmp_path)
    result = read_all(tmp_path)
    found = check_of(result, 1)
    assert (found.verdict, found.traced, found.rebuilt, found.missing, found.extra) == ("refuted", 6, 3, 2, 0)
    assert result.only.log.snapshots[1].basis == "partial"
    problem = next(one for one in result.only.problems if one.code == "trace_disagrees")
    assert (problem.severity, problem.entry, problem.value, problem.line) == ("warning", "a2", 2, 2)
    assert problem.message == (
        "call 2: The cache trace has 6 messages, 3 were rebuilt, and 1 message that the client adds to this request"
        " alone: they disagree, 2 missing here; the log is cut where they differ, so the rebuilt window is shown."
    )


def test_a_whole_trace_that_disagrees_is_what_is_shown(tmp_path: Path) -> None:
    made, trace = conversation(), CacheTrace()
    request = second_request(made)
    trace.row("session:loaded", 0.2)
    trace.request(3.0, [user("recalled by the client", 0.1), *request[1:]])
    made.save(tmp_path / "s-1.jsonl")
    trace.save(tmp_path)
    result = read_all(tmp_path)
    found = check_of(result, 1)
    assert (found.verdict, found.missing, found.extra, found.filled) == ("corrected", 1, 1, 1)
    assert result.only.log.snapshots[1].basis == "request"
    window = result.window(1)
    assert window[0] == "recalled by the client"
    assert "first question" not in window
    assert window[1:] == ['{"name": "read", "arguments": {"path": "a1"}}', "what the file says", CONTEXT]


def test_what_is_whole_is_filled_in_also_where_the_rest_is_refuted(tmp_path: Path) -> None:
    made, trace = conversation(), CacheTrace()
    request = second_request(made)
    unseen = [user("a notice", 0.1), {"role": "assistant", "content": [{"type": "text", "text": "lost"}]}]
    trace.row("session:loaded", 0.2)
    trace.request(3.0, [request[0], *unseen, *request[1:]], cut=[2])
    made.save(tmp_path / "s-1.jsonl")
    trace.save(tmp_path)
    result = read_all(tmp_path)
    assert (check_of(result, 1).verdict, check_of(result, 1).filled, check_of(result, 1).missing) == ("refuted", 1, 2)
    assert result.window(1)[2] == "a notice"


def test_a_row_whose_usage_is_another_is_not_taken_for_the_call(tmp_path: Path) -> None:
    made, trace = conversation(), CacheTrace()
    trace.request(1.0, [user(dated("first question"), 0.4), carrier(0.3)])
    trace.row("cache:result", 1.5, options={"requestIndex": 1, "input": 99, "cacheRead": 0, "cacheWrite": 0})
    made.save(tmp_path / "s-1.jsonl")
    trace.save(tmp_path)
    result = read_all(tmp_path)
    assert all(one.check is None for one in result.only.log.snapshots)
    problem = next(one for one in result.only.problems if one.code == "trace_unmatched")
    assert (problem.severity, problem.value) == ("info", 1)


def test_a_row_of_another_run_is_not_taken_for_the_call(tmp_path: Path) -> None:
    made, trace = conversation(), CacheTrace()
    trace.request(1.0, [user(dated("first question"), 0.4), carrier(0.3)])["runId"] = "run-9"
    made.save(tmp_path / "s-1.jsonl")
    trace.save(tmp_path)
    assert all(one.check is None for one in read_all(tmp_path).only.log.snapshots)


def test_memory_flushes_are_told_apart_and_their_prompts_added_up(tmp_path: Path) -> None:
    made, trace = conversation(), CacheTrace()
    for number, tokens in ((1.2, 1000), (1.3, 300)):
        request = trace.request(number, [user("flush", number)])
        result_row = trace.row("cache:result", number, options={"input": tokens, "cacheRead": 20, "cacheWrite": 3})
        for row in (request, result_row):
            row["sessionKey"] = "agent:main:internal-session-effects:0-1"
    made.save(tmp_path / "s-1.jsonl")
    trace.save(tmp_path)
    result = read_all(tmp_path)
    problem = next(one for one in result.only.problems if one.code == "trace_apart")
    assert problem.value == 2
    assert problem.message.endswith("their prompts report 1346 tokens")
    assert all(one.check is None for one in result.only.log.snapshots)


def test_a_whole_system_prompt_is_filled_in_and_a_redacted_one_is_not(tmp_path: Path) -> None:
    made, trace = conversation(), CacheTrace()
    first = [user(dated("first question"), 0.4), carrier(0.3)]
    trace.request(1.0, first, system="You are a careful helper.")
    trace.request(3.0, second_request(made), system="[Oversized diagnostic JSON redacted]")
    made.save(tmp_path / "s-1.jsonl")
    trace.save(tmp_path)
    result = read_all(tmp_path)
    head = result.only.log.window(0)[0]
    assert (head.role, head.kind, result.pool.get(head.text)) == ("system", "system", "You are a careful helper.")
    assert result.only.log.snapshots[0].note == "the tool definitions are not in the transcript"
    assert result.only.log.window(1)[0].role == "user"
    assert result.only.log.snapshots[1].note == "the system prompt and the tool definitions are not in the transcript"


def test_tools_are_named_where_their_definitions_are_nowhere(tmp_path: Path) -> None:
    made, trace = conversation(), CacheTrace()
    snapshot = {"toolDigest": "d1", "toolCount": 2, "toolNames": ["exec", "read"]}
    trace.row("cache:state", 0.9, options={"snapshot": snapshot})
    trace.request(1.0, [user(dated("first question"), 0.4), carrier(0.3)])
    made.save(tmp_path / "s-1.jsonl")
    trace.save(tmp_path)
    result = read_all(tmp_path)
    assert not any(one.kind == "tools" for one in result.only.log.window(0))
    assert result.only.log.snapshots[0].note == (
        "the system prompt and the tool definitions are not in the transcript;"
        " the cache trace names 2 tools: exec, read"
    )


def test_a_date_in_the_zone_of_the_gateway_is_taken_from_the_trace(tmp_path: Path) -> None:
    made, trace = conversation(), CacheTrace()
    trace.request(1.0, [user(dated("first question", "GMT+2", "12:00"), 0.4), carrier(0.3)])
    made.save(tmp_path / "s-1.jsonl")
    trace.save(tmp_path)
    result = read_all(tmp_path)
    first = result.only.log.window(0)[0]
    assert (result.pool.get(first.text), first.basis) == ("[Mon 2026-03-02 12:00 GMT+2] ", "recorded")
    assert check_of(result).verdict == "confirmed"


def test_one_trace_speaks_of_two_sessions_and_counts_nothing(tmp_path: Path) -> None:
    made, other, trace = conversation(), script("s-2", version=4), CacheTrace()
    said(other, "v1", "elsewhere")
    other.answer("b1")
    trace.request(1.0, [user(dated("first question"), 0.4), carrier(0.3)])
    trace.request(1.0, [user(dated("elsewhere"), 0.4), carrier(0.3)])["sessionId"] = "s-2"
    made.save(tmp_path / "s-1.jsonl")
    other.save(tmp_path / "s-2.jsonl")
    trace.save(tmp_path)
    result = read_all(tmp_path)
    source = result.files["logs/cache-trace.jsonl"]
    assert (source.role, source.is_counted, source.session, source.sessions) == ("trace", False, None, ("s-1", "s-2"))
    for one in result.transcripts:
        assert one.log.snapshots[0].check is not None
        assert "logs/cache-trace.jsonl" in one.files
    assert sum(len(one.calls) for one in result.transcripts) == 4


def test_a_trace_without_its_session_says_so(tmp_path: Path) -> None:
    trace = CacheTrace("s-77")
    trace.request(1.0, [user("hello", 0.4)])
    trace.save(tmp_path)
    result = read_all(tmp_path)
    assert result.transcripts == []
    assert [(one.code, one.value) for one in result.problems] == [("trace_alone", "s-77")]
    assert "it checks that session's windows once they are read together" in " ".join(
        result.problems[0].message.split()
    )


def test_malformed_rows_are_listed_and_the_others_used(tmp_path: Path) -> None:
    made, trace = conversation(), CacheTrace()
    trace.row("session:loaded", 0.2)
    trace.request(1.0, [user(dated("first question"), 0.4), carrier(0.3)])
    trace.row("no such stage", 1.1)
    path = trace.save(tmp_path)
    path.write_text(path.read_text() + '{"runId": "run-1", "stage": "stream:con\n')
    made.save(tmp_path / "s-1.jsonl")
    result = read_all(tmp_path)
    assert check_of(result).verdict == "confirmed"
    assert [(one.code, one.line) for one in result.problems] == [("malformed_line", 4), ("unknown_type", None)]


def test_without_fingerprints_whole_bodies_are_compared(tmp_path: Path) -> None:
    made, trace = conversation(), CacheTrace()
    row = trace.request(3.0, second_request(made))
    del row["messageFingerprints"], row["messageRoles"]
    made.save(tmp_path / "s-1.jsonl")
    trace.save(tmp_path)
    found = check_of(read_all(tmp_path), 1)
    assert (found.verdict, found.proven, found.client) == ("confirmed", 3, 1)


def test_a_body_that_is_not_what_its_fingerprint_says_is_cut(tmp_path: Path) -> None:
    made, trace = conversation(), CacheTrace()
    row = trace.request(1.0, [user(dated("first question"), 0.4), user("one more", 0.5), carrier(0.3)])
    row["messages"][1] = {**row["messages"][1], "content": "shortened by the cli…"}
    assert row["messageFingerprints"][1] != print_of(row["messages"][1])
    made.save(tmp_path / "s-1.jsonl")
    trace.save(tmp_path)
    result = read_all(tmp_path)
    assert (check_of(result).verdict, check_of(result).filled) == ("refuted", 0)
    assert "trace_disagrees" in codes(result.only)
    assert not any("shortened" in text for text in result.window(0))


def test_disagreements_of_a_long_session_are_summed_up_after_twenty(tmp_path: Path) -> None:
    made, trace = script(version=4), CacheTrace()
    for number in range(25):
        said(made, f"u{number}", f"question {number}")
        made.answer(f"a{number}")
        trace.request(made.clock - 0.5, [user("other", 0), user("words", 0), carrier(0)], cut=[0, 1])
    made.save(tmp_path / "s-1.jsonl")
    trace.save(tmp_path)
    result = read_all(tmp_path)
    found = [one for one in result.only.problems if one.code == "trace_disagrees"]
    assert {one.basis for one in result.only.log.snapshots} == {"partial"}
    assert len(found) == 21
    assert (found[-1].value, result.only.session.counters["trace_refuted"]) == (5, 25)
