from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contextviz.analysis.composition import CATEGORIES, category_of, category_sums, compositions, scaled
from contextviz.events.message import Kind, Role
from contextviz.events.snapshot import ContextItem, SnapshotLog
from contextviz.events.text import TextRef
from tests.analysis.building import Builder, words

REF = TextRef(b"x", 1, 1, 1)


@pytest.mark.parametrize(
    ("item", "category"),
    [
        (ContextItem("system", "system", REF), "system"),
        (ContextItem("developer", "text", REF), "system"),
        (ContextItem("system", "tools", REF), "tools"),
        (ContextItem("user", "injected", REF), "memory"),
        (ContextItem("system", "injected", REF), "memory"),
        (ContextItem("user", "text", REF, state="injected"), "memory"),
        (ContextItem("user", "summary", REF), "summary"),
        (ContextItem("user", "text", REF), "user"),
        (ContextItem("assistant", "text", REF), "assistant"),
        (ContextItem("assistant", "thinking", REF), "thinking"),
        (ContextItem("assistant", "tool_call", REF), "call"),
        (ContextItem("tool", "tool_result", REF), "result"),
        (ContextItem("tool", "tool_result", REF, is_error=True), "error"),
        (ContextItem("tool", "tool_result", REF, is_error=True, state="stub"), "stub"),
        (ContextItem("tool", "image", REF), "result"),
        (ContextItem("user", "image", REF), "user"),
    ],
)
def test_each_item_counts_in_one_category(item: ContextItem, category: str) -> None:
    assert category_of(item) == category


def _growing(builder: Builder, reported: list[int]) -> None:
    window: list[ContextItem] = []
    for number, prompt in enumerate(reported):
        window.append(builder.item("user", "text", words(100, f"u{number}-")))
        builder.call(list(window), prompt)


def test_what_is_not_logged_is_the_first_prompts_remainder_and_growth_gives_the_scale(builder: Builder) -> None:
    # Each 100 estimated tokens grow the prompt by 120, so the scale is 1.2 and the first remainder 5,000.
    _growing(builder, [5120, 5240, 5360, 5490])
    first, *_, last = compositions(builder.transcript)
    assert first.parts["system"] == 5000
    assert first.bases["system"] == "derived"
    assert first.parts["tools"] is None
    assert first.bases["tools"] == "unknown"
    assert (first.parts["user"], first.bases["user"], first.residual) == (120, "derived", 0)
    assert (last.parts["user"], last.reported, last.residual) == (480, 5490, 10)


def test_with_the_system_prompt_logged_only_the_tools_are_the_remainder(builder: Builder) -> None:
    system = builder.item("system", "system", words(50, "s"))
    builder.call([system, builder.item("user", "text", words(10))], 1000)
    (only,) = compositions(builder.transcript)
    assert (only.parts["system"], only.parts["tools"], only.parts["user"], only.residual) == (50, 940, 10, 0)
    assert (only.bases["system"], only.bases["tools"]) == ("estimated", "derived")


def test_with_everything_logged_nothing_is_made_up_and_the_rest_is_shown(builder: Builder) -> None:
    prefix = [builder.item("system", "system", words(50, "s")), builder.item("system", "tools", words(50, "t"))]
    builder.call(prefix, 130)
    (only,) = compositions(builder.transcript)
    assert (only.parts["system"], only.parts["tools"], only.residual) == (50, 50, 30)


def test_a_call_without_reported_usage_has_estimates_and_no_residual(builder: Builder) -> None:
    builder.call([builder.item("user", "text", words(7))])
    (only,) = compositions(builder.transcript)
    assert (only.parts["user"], only.reported, only.residual, only.total) == (7, None, None, 7)
    assert only.parts["system"] is None
    assert only.bases["user"] == "estimated"


def test_a_call_whose_window_is_not_known_is_all_residual(builder: Builder) -> None:
    builder.call([], 900)
    builder.transcript.log = SnapshotLog()
    (only,) = compositions(builder.transcript)
    assert (only.known, only.residual, only.has_snapshot) == (0, 900, False)
    assert set(only.bases.values()) == {"unknown"}


def test_a_scale_out_of_reason_is_held_and_said(builder: Builder) -> None:
    _growing(builder, [1000, 2000, 3000, 4000])
    only = compositions(builder.transcript)[0]
    assert only.parts["user"] == 250
    assert only.note is not None
    assert "held at 2.5" in only.note


def test_a_compaction_does_not_bend_the_scale_and_a_sub_agent_has_its_own_remainder(builder: Builder) -> None:
    _growing(builder, [2100, 2200, 2300, 2400])
    builder.call([builder.item("user", "summary", words(60, "sum"))], 9999)
    builder.call([builder.item("user", "text", words(50, "task"))], 350, agent="sub")
    *_, folded, sub = compositions(builder.transcript)
    assert (folded.parts["system"], folded.parts["summary"], folded.residual) == (2000, 60, 9999 - 2060)
    assert (sub.parts["system"], sub.parts["user"], sub.residual) == (300, 50, 0)


def test_a_system_prompt_that_shrinks_in_mid_session_shows_as_residual_and_bends_no_scale(builder: Builder) -> None:
    _growing(builder, [5120, 5240, 5360, 3480, 3600])
    *_, last = compositions(builder.transcript)
    assert (last.parts["system"], last.parts["user"], last.residual) == (5000, 600, -2000)


def test_pictures_are_a_fixed_size_and_never_their_base64(builder: Builder) -> None:
    builder.call([builder.item("user", "image", "", media_bytes=4_000_000)])
    assert compositions(builder.transcript)[0].parts["user"] == 1500


KINDS: list[tuple[Role, Kind]] = [
    ("system", "system"), ("system", "tools"), ("user", "text"), ("user", "injected"), ("user", "summary"),
    ("assistant", "text"), ("assistant", "thinking"), ("assistant", "tool_call"), ("tool", "tool_result"),
]  # fmt: skip
WINDOWS = st.lists(
    st.tuples(
        st.integers(0, 30),
        st.lists(st.tuples(st.sampled_from(KINDS), st.integers(0, 300)), max_size=6),
        st.one_of(st.none(), st.integers(0, 5000)),
        st.sampled_from([None, "a"]),
    ),
    max_size=12,
)


@settings(max_examples=60, deadline=None)
@given(WINDOWS)
def test_parts_and_residual_are_the_reported_prompt_exactly(steps: list[tuple]) -> None:  # type: ignore[type-arg]
    builder = Builder()
    windows: dict[str | None, list[ContextItem]] = {None: [], "a": []}
    for number, (keep, added, reported, agent) in enumerate(steps):
        new = [
            builder.item(role, kind, words(size, f"{number}-{at}-")) for at, ((role, kind), size) in enumerate(added)
        ]
        windows[agent] = windows[agent][:keep] + new
        builder.call(windows[agent], reported, agent=agent)
    log = builder.transcript.log
    for position, (sums, composition) in enumerate(
        zip(category_sums(log), compositions(builder.transcript), strict=True)
    ):
        whole = log.window(position)
        assert sums == tuple(
            sum(item.text.estimated_tokens for item in whole if category_of(item) == name) for name in CATEGORIES
        )
        if composition.reported is None:
            assert composition.residual is None
        else:
            assert composition.residual is not None
            assert composition.known + composition.residual == composition.reported


def test_thirty_thousand_calls_cost_what_changed_and_not_their_windows(builder: Builder) -> None:
    item = builder.item("user", "text", "one two three")
    window: list[int] = []
    log = SnapshotLog()
    number = log.table.intern(item)
    for call in range(30_000):
        window = [number] * 10 if len(window) > 600 else [*window, number]
        log.add(call, window, basis="rules")
    started = time.perf_counter()
    assert len(category_sums(log)) == 30_000
    assert time.perf_counter() - started < 1.5


def test_a_request_for_a_summary_never_has_the_agents_baseline(builder: Builder) -> None:
    system = builder.item("system", "system", words(50, "s"))
    talk = builder.item("user", "text", words(10))
    builder.call([system, talk], 1000)
    builder.call([system, talk], 500, purpose="summary")
    builder.call([system, talk], 1000)
    told = builder.item("user", "summary", words(3, "k"))
    builder.compact(0, 2, summary=told.text)
    unknown = compositions(builder.transcript)[1]
    assert (unknown.parts["tools"], unknown.bases["tools"], unknown.residual) == (None, "unknown", 440)
    builder.transcript.session.format = "codex"
    turn, summary, later = compositions(builder.transcript)
    assert (turn.parts["tools"], summary.parts["tools"], later.parts["tools"]) == (940, 0, 940)
    assert (summary.parts["system"], summary.residual) == (50, 440)
    assert "not sent" in (summary.note or "")
    # A summary that its provider made, and only it can read: what it was sent is not known.
    builder.transcript.compactions[0].summary = None
    assert compositions(builder.transcript)[1].parts["tools"] is None


def test_a_summarisers_estimates_have_the_scale_of_the_turns(builder: Builder) -> None:
    _growing(builder, [5120, 5240, 5360, 5480])
    builder.call([builder.item("user", "text", words(100, "z"))], 300, purpose="summary")
    last = compositions(builder.transcript)[-1]
    assert (last.parts["user"], last.bases["user"], last.parts["system"], last.residual) == (120, "derived", None, 180)


def test_a_reported_prompt_of_a_partial_window_is_not_denied(builder: Builder) -> None:
    builder.call([builder.item("user", "text", words(7))], 500, snapshot_basis="partial")
    (only,) = compositions(builder.transcript)
    assert (only.reported, only.residual) == (500, 493)
    assert "not scaled to the reported prompt" in (only.note or "")
    assert "No reported prompt" not in (only.note or "")


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(["user", "assistant"]), st.integers(0, 40)), max_size=30), st.floats(0.5, 2.5)
)
def test_the_items_of_a_category_add_up_to_its_part(pairs: list[tuple[str, int]], scale: float) -> None:
    builder = Builder()
    items = [
        builder.item(role, "text", words(size, f"w{at}-"))  # type: ignore[arg-type]
        for at, (role, size) in enumerate(pairs)
    ]
    sums = {role: sum(size for name, size in pairs if name == role) for role in ("user", "assistant")}
    by_role = dict.fromkeys(sums, 0)
    for (role, _), tokens in zip(pairs, scaled(items, scale), strict=True):
        by_role[role] += tokens
    assert by_role == {role: round(total * scale) for role, total in sums.items()}
