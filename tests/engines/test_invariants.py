"""What every engine has to hold, whatever the session and whatever it is set to (metrics.md section 6)."""

from __future__ import annotations

import hashlib
import re
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contextviz.engines.engine import Engine
from contextviz.engines.placing import CALL_IS_GONE
from contextviz.engines.registry import engines
from contextviz.engines.replay import replay
from contextviz.engines.summaries import RuleSummariser, SummariserFailed, SummaryRequest
from contextviz.engines.summarising.notes import Notes
from contextviz.events.run import Run
from contextviz.events.snapshot import ContextItem, common_prefix
from contextviz.events.text import storable
from contextviz.tokens.estimators import ESTIMATORS
from contextviz.tokens.pool import MemoryPool
from tests.engines.drawing import Drawn, drawn

FEW = settings(max_examples=60, deadline=None, derandomize=True)
# Rules that are not ours and let a result stand without its call: the run has to say so, and the others must not.
BY_RULE = {"recorded", "pi", "openclaw", "claude-code", "codex", "openvole", "flowctx@port-0.1.0", "lossless",
           "cortext", "openbrain", "context-memory"}  # fmt: skip


def fallible() -> RuleSummariser:
    """Hand-off notes, of which every third fails and every fifth is refused."""
    notes, asked = Notes(), Counter[str]()

    def rule(request: SummaryRequest) -> str:
        asked["all"] += 1
        if asked["all"] % 3 == 0:
            raise SummariserFailed("no answer came", is_refused=asked["all"] % 5 == 0)
        return notes(request)

    return RuleSummariser("fallible", rule)


def replayed(engine: type[Engine], given: Drawn, pool: MemoryPool) -> Run:
    summarise = fallible() if given.fails else Notes()
    return replay(given.material, engine, given.request, pool=pool, summarise=summarise)


@pytest.mark.parametrize("engine", engines(), ids=lambda engine: engine.spec.key)
@FEW
@given(data=st.data())
def test_whatever_comes_every_engine_holds_what_it_has_to(engine: type[Engine], data: st.DataObject) -> None:
    holds(engine, data.draw(drawn(engine)))


def holds(engine: type[Engine], given: Drawn) -> None:
    """All of it, for one session and one request; raises AssertionError."""
    pool = MemoryPool()
    made = replayed(engine, given, pool)

    windows = [made.log.window(call.index) for call in made.calls]
    assert len(made.calls) == len(given.material.points)
    within_budget_or_flagged(made)
    numbers_add_up(made, windows, pool)
    prefixes_are_prefixes(made)
    no_result_without_its_call(made, windows, given)
    summaries_cover_what_left(made)
    originals_are_the_bytes(made, given, pool)
    again = replayed(engine, given, MemoryPool())
    assert again.hash == made.hash
    assert (again.boundaries, again.nodes, again.events) == (made.boundaries, made.nodes, made.events)


def within_budget_or_flagged(made: Run) -> None:
    measured = made.measured
    budget = max(0, measured.window - measured.system_tokens - measured.reserve)
    for call in made.calls:
        assert call.tokens <= budget or call.is_over or not budget, f"call {call.index}: {call.tokens} of {budget}"


def numbers_add_up(made: Run, windows: list[list[ContextItem]], pool: MemoryPool) -> None:
    count = ESTIMATORS[made.measured.estimator]
    for call, window in zip(made.calls, windows, strict=True):
        sizes = [count(pool.get(item.text)) for item in window]
        assert (call.items, call.tokens) == (len(window), sum(sizes))
        assert call.kept_tokens == sum(sizes[: call.kept_items])
    by_hash = {call.hash: [(one.role, one.kind, one.text) for one in windows[call.index]] for call in made.calls}
    for call, window in zip(made.calls, windows, strict=True):
        assert by_hash[call.hash] == [(one.role, one.kind, one.text) for one in window]
    assert len({tuple(window) for window in by_hash.values()}) == len(by_hash)


def prefixes_are_prefixes(made: Run) -> None:
    before: list[tuple[str, str, bytes]] = []
    for call in made.calls:
        window = [(item.role, item.kind, item.text.digest) for item in made.log.window(call.index)]
        assert call.kept_items == common_prefix(before, window)
        assert (call.broken_by is None) == (call.kept_items == len(before))
        before = window


def no_result_without_its_call(made: Run, windows: list[list[ContextItem]], given: Drawn) -> None:
    """Or it is said: in the reason of the item, or in an event at the first window that has it."""
    places = {name: message.seq for message in given.material.messages for name in message.calls}
    told = {
        name
        for event in made.events
        if event.type == "engine.error" and event.data.get("phase") == "pairs"
        for name in re.findall(r"[\w-]+-\d+", str(event.data["message"]))
    }
    alone: set[str] = set()
    for call, window in zip(made.calls, windows, strict=True):
        inside = {item.tool_call_id for item in window if item.kind == "tool_call"}
        for item in window:
            name = item.tool_call_id
            if item.kind != "tool_result" or name is None or name in inside:
                continue
            came = places.get(name, len(made.messages)) < call.messages
            assert not came or {made.engine, made.key} & BY_RULE, (
                f"call {call.index}: {name} stands alone: {item.reason}"
            )
            if CALL_IS_GONE not in item.reason:
                assert name in told, f"call {call.index}: {name} stands alone, and nothing says so"
                alone.add(name)
    assert told == alone, "said without being so"


def summaries_cover_what_left(made: Run) -> None:
    nodes = {node.id: node for node in made.nodes}
    assert len(nodes) == len(made.nodes)
    consumed = Counter(source for node in made.nodes for source in node.made_from)
    assert all(number == 1 for number in consumed.values())
    order = {node.id: place for place, node in enumerate(made.nodes)}
    for node in made.nodes:
        assert all(order[source] < order[node.id] for source in node.made_from), "made from what is not there yet"
    covers = Counter((node.kind == "rolling", int(seq)) for node in made.nodes for seq in node.covers)
    # The port's layered summaries stand in front of a history that stays, which the engine beneath it folds as well.
    both = covers if made.key == "flowctx@port-0.1.0" else Counter(seq for _, seq in covers.elements())
    assert all(number == 1 for number in both.values()), both.most_common(1)
    covered = {seq for _, seq in covers}
    for boundary in made.boundaries:
        assert len(set(boundary.dropped)) == len(boundary.dropped)
        assert set(boundary.nodes) <= set(nodes)
        assert boundary.compaction.summary_note, "a boundary without a reason"
        if boundary.compaction.kind == "summary":
            assert boundary.nodes
            assert set(boundary.dropped) <= covered


def originals_are_the_bytes(made: Run, given: Drawn, pool: MemoryPool) -> None:
    messages = {message.seq: message for message in given.material.messages}
    for original in made.originals:
        text = pool.get(original.text)
        if original.seq is not None:
            message = messages[original.seq]
            known = {storable(one)[0] for one in (message.text, *(piece.text for piece in message.pieces))}
            assert text in known
        is_whole = "\ufffd" not in text
        if is_whole and len(original.handle) == 24:
            assert hashlib.sha256(text.encode()).hexdigest().startswith(original.handle)
