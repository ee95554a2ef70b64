"""The budget table, checked against sums done by hand. A token is a word."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from contextviz.analysis.budget import BudgetTable, bill, budget, cache_economics
from contextviz.analysis.budget.targets import command_name, short_path, target_of
from contextviz.analysis.composition import compositions
from contextviz.events.message import ToolPair
from contextviz.events.snapshot import ContextItem
from contextviz.events.usage import TokenUsage
from contextviz.tokens.prices import shipped
from tests.analysis.building import Builder, words

START = datetime(2026, 5, 4, 9, tzinfo=UTC)


def table_of(builder: Builder) -> BudgetTable:
    made = builder.transcript
    return budget(made, compositions(made), lambda refs: {ref.digest: builder.pool.get(ref) for ref in refs})


def fixed(builder: Builder, system: int = 100, tools: int = 50) -> list[ContextItem]:
    """A window that logs system prompt and tools, so that there is no baseline."""
    return [
        builder.item("system", "system", words(system, "s"), reason="system prompt"),
        builder.item("system", "tools", words(tools, "t"), reason="tools"),
    ]


def use(
    builder: Builder, tool: str, arguments: dict[str, Any], result: str, call: int | None = None
) -> list[ContextItem]:
    """One tool use in the transcript; its two items."""
    made = builder.transcript
    key = f"use{len(made.pairs)}"
    text = json.dumps({"name": tool, "arguments": arguments})
    asked = builder.say("assistant", ("tool_call", text), call_index=call)
    answered = builder.say("tool", ("tool_result", result))
    for message, name in ((asked, tool), (answered, None)):
        block = message.blocks[0]
        message.blocks = (type(block)(block.kind, block.text, tool_name=name, tool_call_id=key),)
    made.pairs.append(ToolPair(asked.id, asked.index, 0, answered.id, answered.index, 0))
    return [
        builder.item("assistant", "tool_call", text, message_index=asked.index, tool_name=tool, tool_call_id=key),
        builder.item("tool", "tool_result", result, message_index=answered.index, tool_call_id=key),
    ]


# ---- residency -------------------------------------------------------------------------------------------------------
def test_carry_is_tokens_times_calls_and_the_parts_and_residual_add_up(builder: Builder):
    first = fixed(builder)
    note = builder.item("user", "text", words(30, "u"), message_index=0)
    summary = builder.item("user", "summary", words(10, "k"), state="summary")
    builder.call([*first, note], 190)
    builder.call([*first, note], 190)
    builder.call([*first, summary], 165)

    table = table_of(builder)

    heavy = {item.category: item for item in table.heaviest}
    assert (heavy["system"].since, heavy["system"].last, heavy["system"].calls) == (1, 3, 3)
    assert (heavy["user"].since, heavy["user"].last, heavy["user"].calls, heavy["user"].is_now) == (1, 2, 2, False)
    assert heavy["summary"].is_now
    # Estimates are scaled to what was reported: each carry is (scaled tokens) × calls.
    assert heavy["user"].carry == pytest.approx(heavy["user"].tokens * 2, abs=2)
    assert table.prompt_tokens == 190 + 190 + 165
    assert sum(group.carry for group in table.groups) + table.carry_residual == table.prompt_tokens
    assert table.headroom is not None
    assert sum(group.now for group in table.groups) + table.now_residual == table.headroom.tokens == 165
    assert table.item_count == 4


def test_an_item_that_leaves_and_comes_back_is_paid_only_while_it_was_there(builder: Builder):
    first = fixed(builder)
    note = builder.item("user", "text", words(30, "u"))
    for window in ([*first, note], first, first, [*first, note]):
        builder.call(window)

    item = next(item for item in table_of(builder).heaviest if item.category == "user")

    assert (item.since, item.last, item.calls, item.carry, item.is_now) == (1, 4, 2, 60, True)


def test_what_no_record_holds_is_a_group_of_its_own(builder: Builder):
    said = [builder.item("user", "text", words(60, f"u{place}")) for place in range(5)]
    for count in range(1, 6):
        builder.call(said[:count], 1_000 + 60 * count)

    table = table_of(builder)

    missing = next(group for group in table.groups if group.note)
    assert (missing.category, missing.items, missing.now, missing.carry) == ("system", 0, 1_000, 5_000)
    assert table.carry_residual == 0
    assert table.scale_basis == "derived"


def test_sub_agents_and_summarisers_have_windows_of_their_own(builder: Builder):
    first = fixed(builder)
    builder.call(first, 150)
    builder.call([*first, builder.item("user", "text", words(500, "x"))], 650, purpose="summary")
    builder.call([builder.item("user", "text", words(70, "y"))], 70, agent="helper")
    builder.call(first, 150)

    table = table_of(builder)

    assert table.calls == 2
    assert table.prompt_tokens == 300
    assert sum(group.carry for group in table.groups) + table.carry_residual == 300
    assert {(group.scope, group.calls) for group in table.usage} == {("main", 2), ("summaries", 1), ("sub-agents", 1)}
    assert all(item.category in ("system", "tools") for item in table.heaviest if item.calls)


# ---- tools, files, repeats -------------------------------------------------------------------------------------------
def test_tools_and_files_are_counted_with_what_they_carried(builder: Builder):
    builder.transcript.session.cwd = "/home/me/shop"
    first = fixed(builder)
    read = use(builder, "Read", {"file_path": "/home/me/shop/src/cart.py"}, words(200, "c"), call=0)
    ran = use(builder, "Bash", {"command": "cd src && python -m pytest -x"}, words(40, "p"), call=1)
    builder.call(first)
    builder.call([*first, *read])
    builder.call([*first, *read, *ran])

    table = table_of(builder)

    tools = {row.tool: row for row in table.tools}
    call_words = len(json.dumps({"name": "Read", "arguments": {"file_path": "/home/me/shop/src/cart.py"}}).split())
    assert (tools["Read"].uses, tools["Read"].result_tokens, tools["Read"].call_tokens) == (1, 200, call_words)
    assert tools["Read"].carry == 2 * (200 + call_words)
    assert tools["Read"].now == 200 + call_words
    (file,) = table.files
    assert (file.path, file.reads, file.writes, file.result_tokens, file.last_call) == ("src/cart.py", 1, 0, 200, 1)
    groups = {(group.category, group.tool, group.target): group.carry for group in table.groups}
    assert groups["result", "Read", "src/cart.py"] == 400
    assert groups["result", "Bash", "pytest"] == 40


@pytest.mark.parametrize(
    ("between", "again", "repeated"),
    [
        (None, words(50, "r"), 1),
        (("Edit", {"file_path": "a.py", "new_string": "x"}), words(50, "r"), 0),
        (("Edit", {"file_path": "other.py"}), words(50, "r"), 1),
        (("apply_patch", {"input": "*** Begin Patch\n*** Update File: a.py\n@@"}), words(50, "r"), 0),
        (("Bash", {"command": "sed -i s/a/b/ a.py"}), words(50, "r"), 0),
        (("Bash", {"command": "cat a.py > /dev/null 2>&1"}), words(50, "r"), 1),
        (("Bash", {"command": "git checkout main"}), words(50, "r"), 0),
        (None, words(50, "changed"), 0),
    ],
)
def test_a_read_is_repeated_only_without_a_change_in_between(
    builder: Builder, between: tuple[str, dict[str, Any]] | None, again: str, repeated: int
):
    use(builder, "Read", {"file_path": "a.py"}, words(50, "r"), call=0)
    if between:
        use(builder, *between, "done", call=1)
    use(builder, "Read", {"file_path": "a.py"}, again, call=2)
    builder.call(fixed(builder))

    table = table_of(builder)

    assert table.repeat_count == repeated
    if repeated:
        (row,) = table.repeats
        assert (row.tool, row.target, row.times, row.tokens) == ("Read", "a.py", 1, 50)
        assert (row.first_call, row.last_call) == (1, 3)


def test_a_command_is_repeated_only_when_nothing_at_all_changed(builder: Builder):
    for _ in range(3):
        use(builder, "Bash", {"command": "pytest -q"}, words(20, "o"))
    use(builder, "Write", {"file_path": "b.py", "content": "x"}, "ok")
    use(builder, "Bash", {"command": "pytest -q"}, words(20, "o"))
    builder.call(fixed(builder))

    table = table_of(builder)

    assert (table.repeat_count, table.repeat_tokens) == (2, 40)


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("cd /x && FOO=1 timeout 60 pytest -x", "pytest"),
        ("git diff --stat", "git diff"),
        ("python3 -m pip install x", "pip"),
        ("/usr/bin/env ls", "env"),
        ("   ", ""),
        ("sudo npm run build", "npm run"),
    ],
)
def test_a_command_is_known_by_its_program(command: str, name: str):
    assert command_name(command) == name


def test_targets_are_files_commands_or_words():
    assert target_of("Read", {"file_path": "/w/a.py"}, "/w").text == "a.py"
    assert target_of("Grep", {"pattern": "def x", "path": "src"}).kind == "other"
    assert target_of("shell", {"command": ["bash", "-lc", "ls -l"]}).text == "ls"
    assert target_of("WebFetch", {"url": "http://x"}).text == "http://x"
    assert target_of("odd", None).kind == "none"
    assert target_of("odd", [1, {"a": 2}]).kind == "other"
    assert short_path("/elsewhere/b.py", "/w") == "/elsewhere/b.py"
    assert len(short_path("d/" * 500 + "end.py", None)) == 200


# ---- prefix breaks ---------------------------------------------------------------------------------------------------
def broken(builder: Builder) -> list[tuple[int, str, str, int]]:
    return [(row.call, row.kind, row.by, row.rewritten) for row in table_of(builder).prefix.breaks]


def big(builder: Builder, word: str, size: int = 5_000) -> ContextItem:
    return builder.item("user", "text", words(size, word))


def test_a_growing_prompt_that_is_read_from_the_cache_has_no_break(builder: Builder):
    first, one = fixed(builder), big(builder, "a")
    builder.call([*first, one], 5_150)
    builder.call([*first, one, big(builder, "b")], 10_150, cache_read=5_100)

    prefix = table_of(builder).prefix

    assert prefix.breaks == []
    assert (prefix.predicted, prefix.billed) == (5_150, 5_100)


def test_a_compaction_is_the_culprit_before_all_else(builder: Builder):
    first = fixed(builder)
    builder.call([*first, big(builder, "a"), big(builder, "b")], 10_150, cache_read=10)
    builder.compact(0, 1, trigger="manual")
    builder.call([*first, builder.item("user", "summary", words(4_000, "k"), state="summary")], 4_150, cache_read=150,
                 model="other")  # fmt: skip

    (row,) = table_of(builder).prefix.breaks

    assert (row.kind, row.by, row.compaction, row.why) == ("compaction", "user", 1, "manual")
    assert (row.predicted, row.billed, row.rewritten) == (150, 150, 4_000)


def test_what_differs_first_names_the_culprit(builder: Builder):
    first, rest = fixed(builder), [big(builder, "a"), big(builder, "b")]
    changed = [first[0], builder.item("system", "tools", words(60, "other"), reason="tools")]
    injected = builder.item("user", "injected", words(20, "i"), reason="reminder by the client")
    builder.call([*first, *rest], 10_150, cache_read=1)
    builder.call([*changed, *rest], 10_160, cache_read=100)
    builder.call([*changed, injected, *rest], 10_180, cache_read=160)
    builder.call([*changed, injected, rest[1]], 5_180, cache_read=180)

    assert broken(builder) == [
        (2, "tools", "client", 10_050),
        (3, "injection", "client", 10_000),
        (4, "edit", "client", 5_000),
    ]


def test_without_a_recorded_difference_it_is_the_model_the_clock_or_not_known(builder: Builder):
    window = [*fixed(builder), big(builder, "a")]
    for minutes, model, read in ((0, "m", 5_000), (1, "n", 0), (8, "n", 0), (9, "n", 0), (10, "n", 5_100)):
        call = builder.call(window, 5_150, cache_read=read, model=model)
        call.at = START + timedelta(minutes=minutes)

    assert broken(builder) == [
        (2, "model", "user", 5_150),
        (3, "expired", "time", 5_150),
        (4, "unknown", "unknown", 5_150),
    ]


def test_without_reported_caching_breaks_are_predicted(builder: Builder):
    first = fixed(builder)
    builder.call([*first, big(builder, "a"), big(builder, "b")], 10_150)
    builder.call([*first, big(builder, "b")], 5_150)

    prefix = table_of(builder).prefix

    assert not prefix.is_billed
    assert (prefix.billed, prefix.count, prefix.rewritten) == (None, 1, 5_000)
    assert prefix.breaks[0].item is not None


def test_a_summarisers_call_between_two_turns_hides_no_prefix(builder: Builder):
    window = [*fixed(builder), big(builder, "a")]
    builder.call(window, 5_150, cache_read=10)
    builder.call([*window, big(builder, "ask", 20)], 5_170, purpose="summary")
    builder.call([*window, big(builder, "b", 50)], 5_200, cache_read=5_140)

    prefix = table_of(builder).prefix

    assert (prefix.count, prefix.predicted, prefix.billed) == (0, 5_150, 5_140)


def test_the_chart_keeps_at_most_400_bars_and_the_lowest_of_each_stretch(builder: Builder):
    window = [*fixed(builder), big(builder, "a")]
    for index in range(1_001):
        builder.call(window, 5_150, cache_read=0 if index == 500 else 5_150)

    prefix = table_of(builder).prefix

    assert len(prefix.calls) == len(prefix.share) == len(prefix.broken) == 400
    assert 501 in prefix.calls
    assert prefix.broken[prefix.calls.index(501)]


# ---- headroom, money -------------------------------------------------------------------------------------------------
def test_headroom_counts_what_is_left_and_how_many_calls_fit(builder: Builder):
    builder.transcript.session.window = 2_000
    builder.transcript.session.compaction_threshold = 1_600
    window = fixed(builder)
    for count in range(1, 7):
        window = [*window, builder.item("user", "text", words(200, f"u{count}"))]
        builder.call(window, 150 + 200 * count)

    room = table_of(builder).headroom

    assert room is not None
    assert (room.tokens, room.limit, room.room, room.peak, room.peak_call) == (1_350, 1_600, 250, 1_350, 6)
    assert (room.growth_low, room.growth_high, room.calls_left) == (200, 200, (1, 1))
    assert (room.over_window, room.over_threshold) == (0, 0)


def test_an_unknown_window_leaves_the_headroom_unknown(builder: Builder):
    builder.call(fixed(builder), 150)

    room = table_of(builder).headroom

    assert room is not None
    assert (room.room, room.calls_left, room.over_window) == (None, (None, None), None)


def test_money_is_recorded_then_priced_and_what_has_no_price_is_counted(builder: Builder):
    for model, usage in (
        ("claude-sonnet-4-5", TokenUsage(1_000, 10_000, 2_000, 500)),
        ("claude-sonnet-4-5", TokenUsage(1_000, 10_000, 2_000, 500, cost_usd=0.25)),
        ("nobody", TokenUsage(1_000, 0, 0, 500)),
    ):
        call = builder.call(fixed(builder), 150, model=model)
        call.usage = usage

    groups = table_of(builder).usage
    found, cache = bill(groups, shipped()), cache_economics(groups, shipped())

    one = (1_000 * 3 + 10_000 * 0.3 + 2_000 * 3.75 + 500 * 15) / 1e6
    assert found.reported == pytest.approx(0.25)
    assert found.derived == pytest.approx(one)
    assert (found.calls, found.unpriced) == (3, 1)
    assert (cache.read, cache.written, cache.uncached, cache.priced) == (20_000, 4_000, 3_000, 2)
    assert cache.with_cache == pytest.approx(2 * one)
    assert cache.without_cache == pytest.approx(2 * (13_000 * 3 + 500 * 15) / 1e6)
    assert cache.saved is not None
    assert cache.saved > 0


def test_an_empty_session_has_an_empty_table(builder: Builder):
    table = table_of(builder)

    assert (table.calls, table.groups, table.headroom, table.prefix.count) == (0, [], None, 0)
    assert bill(table.usage, shipped()).usd is None


def test_the_groups_of_a_category_now_add_up_to_its_part_of_the_last_window(builder: Builder) -> None:
    window = fixed(builder)
    for at, size in enumerate((41, 43, 47, 53, 59, 61)):
        window = [*window, *use(builder, "Read", {"file_path": f"src/f{at}.py"}, words(size, f"r{at}-"))]
        builder.call(list(window), 190 + round(1.37 * sum(item.text.estimated_tokens for item in window)))
    last = compositions(builder.transcript)[-1]
    now = dict.fromkeys(last.parts, 0)
    for group in table_of(builder).groups:
        now[group.category] += group.now
    assert sum(part is not None and part > 0 for part in last.parts.values()) == 4
    assert now == {name: part or 0 for name, part in last.parts.items()}
