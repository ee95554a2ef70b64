"""Logs of requests are hostile text: whatever stands in them, reading goes on and the numbers of a check add up."""

from __future__ import annotations

import copy
import json
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from contextviz.sources.openclaw.traces.cache_trace import MOST_BEYOND
from tests.sources.openclaw.build import Result
from tests.sources.openclaw.test_cache_trace import conversation, message_of, second_request
from tests.sources.openclaw.tracing import CacheTrace, carrier, check_of, dated, event, read_all, user

Json = dict[str, Any]
scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.just("[Truncated]")
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)  # fmt: skip


def logs() -> tuple[list[Json], list[Json]]:
    """A cache trace and a trajectory of one small session, both right."""
    made, trace = conversation(), CacheTrace()
    trace.row("session:loaded", 0.2)
    trace.row("cache:state", 0.9, options={"snapshot": {"toolNames": ["exec"], "toolDigest": "d"}})
    trace.request(1.0, [user(dated("first question"), 0.4), carrier(0.3)], system="Be exact.")
    trace.row("cache:result", 1.5, options={"input": 100, "cacheRead": 0, "cacheWrite": 0})
    trace.request(3.0, second_request(made), cut=[1])
    earlier = [message_of(made, entry) for entry in ("u1", "a1", "r1", "a2")]
    events = [
        event("session.started", 4.4, "run-2", toolCount=1),
        event("context.compiled", 4.5, "run-2", messages=earlier, prompt="second question", tools=[{"name": "exec"}]),
        event("session.ended", 9.0, "run-2"),
    ]
    return trace.rows, events


def changed(rows: list[Json], where: list[int], value: Any) -> list[Json]:
    """`rows` with the value at one path replaced; `where` picks a way down."""
    result = copy.deepcopy(rows)
    at: Any = result
    for step, number in enumerate(where):
        keys = list(at) if isinstance(at, dict) else list(range(len(at)))
        if not keys:
            break
        key = keys[number % len(keys)]
        if step == len(where) - 1 or not isinstance(at[key], dict | list):
            at[key] = value
            break
        at = at[key]
    return result


def read_logs(trace: bytes, trajectory: bytes) -> Result:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        conversation().save(folder / "s-1.jsonl")
        (folder / "cache-trace.jsonl").write_bytes(trace)
        (folder / "s-1.trajectory.jsonl").write_bytes(trajectory)
        return read_all(folder)


def packed(rows: list[Any]) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def assert_adds_up(result: Result) -> None:
    one = next(one for one in result.transcripts if one.session.id == "s-1")
    assert [call.index for call in one.calls] == [0, 1, 2]
    assert [snapshot.call_index for snapshot in one.log.snapshots] == [0, 1, 2]
    assert one.traced == []
    for snapshot in one.log.snapshots:
        check = snapshot.check
        if check is not None:
            assert check.traced == check.proven + check.by_role + check.missing + check.client
            assert check.rebuilt == check.proven + check.by_role + check.extra
            assert check.filled <= check.missing
            assert (check.verdict == "confirmed") == (check.missing + check.extra == 0)
    for position in range(3):
        texts = result.window(position, one)
        # What the transcript holds whole stays: the answer's own words are in no log that was changed.
        assert all(isinstance(text, str) for text in texts)


def test_the_logs_that_are_changed_here_are_right() -> None:
    result = read_logs(*map(packed, logs()))
    assert_adds_up(result)
    assert [check_of(result, call).verdict for call in range(3)] == ["confirmed"] * 3


@settings(max_examples=60, deadline=None)
@given(st.booleans(), st.lists(st.integers(0, 50), min_size=1, max_size=6), values)
def test_any_value_anywhere_in_a_log_is_survived(is_trace: bool, where: list[int], value: Any) -> None:
    trace, events = logs()
    trace = changed(trace, where, value) if is_trace else trace
    events = events if is_trace else changed(events, where, value)
    assert_adds_up(read_logs(packed(trace), packed(events)))


@settings(max_examples=40, deadline=None)
@given(st.floats(0, 1), st.binary(max_size=12))
def test_a_log_cut_anywhere_is_survived(share: float, rest: bytes) -> None:
    trace, events = map(packed, logs())
    assert_adds_up(read_logs(trace[: round(len(trace) * share)] + rest, events[: round(len(events) * share)] + rest))


@settings(max_examples=40, deadline=None)
@given(st.lists(st.sampled_from(["user", "assistant", "toolResult", "compactionSummary", None, 7]), max_size=12),
       st.lists(values, max_size=12), st.lists(st.text(max_size=64) | st.none(), max_size=12), values)  # fmt: skip
def test_any_list_of_messages_gives_numbers_that_add_up(
    roles: list[Any], messages: list[Any], prints: list[Any], count: Any
) -> None:
    trace, events = logs()
    trace[4] |= {"messageRoles": roles, "messages": messages, "messageFingerprints": prints, "messageCount": count}
    assert_adds_up(read_logs(packed(trace), packed(events)))


def test_a_count_beyond_all_lists_costs_nothing() -> None:
    trace, events = logs()
    trace[4]["messageCount"] = 10**12
    result = read_logs(packed(trace), packed(events))
    assert_adds_up(result)
    assert (check_of(result, 1).verdict, check_of(result, 1).traced) == ("refuted", 4 + MOST_BEYOND)


def test_a_deeply_nested_row_is_listed_and_the_rest_used() -> None:
    trace, events = logs()
    deep = (
        b'{"runId":"r","seq":1,"stage":"stream:context","sessionId":"s-1","messages":'
        + b"[" * 5000
        + b"]" * 5000
        + b"}\n"
    )
    result = read_logs(packed(trace) + deep, packed(events))
    assert_adds_up(result)
    assert "malformed_line" in [problem.code for problem in result.problems]
