"""The summary graph: depths, layout, expansion, the lit band, and what can be wrong."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from contextviz.analysis.summary_graph import Child, covered_messages, graph, graph_of, integrity
from contextviz.events.compaction import Compaction, ContextRef, NodeKind, StoreMessage, SummaryNode, SummaryStore
from contextviz.events.message import Block, Message
from contextviz.events.session import Session, Transcript
from contextviz.tokens.pool import MemoryPool

START = datetime(2026, 11, 30, 8, tzinfo=UTC)
POOL = MemoryPool()


def row(
    number: int, text: str | None = None, role: str = "user", at: int | None = None, call: str | None = None
) -> StoreMessage:
    when = START + timedelta(minutes=number if at is None else at)
    return StoreMessage(str(number), "1", number, role, POOL.put(text or f"text {number}"), 10, when, call)


def node(
    name: str, covers: list[int] | None = None, sources: list[str] | None = None, depth: int | None = None
) -> SummaryNode:
    kind: NodeKind = "leaf" if sources is None else "condensed"
    covered = [str(number) for number in covers or []]
    return SummaryNode(name, kind, depth or 0, depth, 5, POOL.put(name), sources or [], covers=covered)


def store(rows: list[StoreMessage], nodes: list[SummaryNode], context: list[int | str]) -> SummaryStore:
    found = SummaryStore("lossless-claw", "lcm.db", ["1"], nodes, rows)
    found.context = [ContextRef("summary" if isinstance(one, str) else "message", str(one)) for one in context]
    shown = {one for one in context if isinstance(one, str)}
    by_name = {one.id: one for one in nodes}
    for one in nodes:
        one.in_context = one.id in shown
        for source in one.made_from:
            if source in by_name:
                by_name[source].consumers.append(one.id)
    return found


def tree() -> SummaryStore:
    nodes = [node("a", [1, 2]), node("b", [3, 4]), node("c", None, ["a", "b"], 1), node("d", [5, 6])]
    return store([row(n) for n in range(1, 9)], nodes, ["c", "d", 7, 8])


def test_a_leaf_lies_over_its_messages_and_a_parent_over_the_mean_of_its_sources() -> None:
    drawn = graph(tree())
    assert [(one.id, one.x, one.y, one.width) for one in drawn.nodes] == [
        ("a", 1 / 8, 0, 2 / 8), ("b", 3 / 8, 0, 2 / 8), ("c", 2 / 8, 1, 4 / 8), ("d", 5 / 8, 0, 2 / 8),
    ]  # fmt: skip
    assert drawn.edges == [("a", "c"), ("b", "c")]
    assert [one.id for one in drawn.band] == ["c", "d", "7", "8"]
    assert drawn.findings == []


def test_every_node_expands_to_its_messages_in_order() -> None:
    drawn = graph(tree())
    assert drawn.expand("c") == [Child("summary", "a"), Child("summary", "b")]
    assert drawn.expand("b") == [Child("message", "3"), Child("message", "4")]
    assert drawn.expand("nobody") == []
    assert covered_messages(tree(), "c") == ["1", "2", "3", "4"]


def test_a_cycle_is_found_and_hangs_nothing() -> None:
    nodes = [node("a", [1]), node("x", None, ["a", "y"], 1), node("y", None, ["x"], 2)]
    broken = store([row(1)], nodes, ["y"])
    found = integrity(broken)
    assert found.cycles == [["x", "y"]]
    assert "cycle" in [one.code for one in found.findings]
    assert covered_messages(broken, "y") == ["1"]
    assert len(graph(broken).nodes) == 3


def test_lost_ends_are_listed() -> None:
    broken = store([row(1)], [node("a", [1, 9]), node("c", None, ["a", "gone"], 1)], ["c", "away", 4])
    assert integrity(broken).dangling == [("context_items", "away"), ("context_items", "4"), ("a", "9"), ("c", "gone")]
    assert len(graph(broken).band) == 1


def test_a_run_with_one_time_that_repeats_earlier_rows_was_stored_again() -> None:
    rows = [row(n, f"t{n}") for n in (1, 2, 3)] + [row(n, f"t{n - 3}", at=60) for n in (4, 5, 6)]
    assert integrity(store(rows, [], [])).suspected_reingested_rows == ["4", "5", "6"]
    slow = [row(n, f"t{n}") for n in (1, 2, 3)] + [row(n, f"t{n - 3}") for n in (4, 5, 6)]
    assert integrity(store(slow, [], [])).suspected_reingested_rows == []
    short = [row(n, f"t{n}") for n in (1, 2)] + [row(n, f"t{n - 2}", at=60) for n in (3, 4)]
    assert integrity(store(short, [], [])).genuine_repeats_kept == ["1", "2", "3", "4"]


def test_two_rows_for_one_call_are_found_but_an_id_used_anew_is_not() -> None:
    answer = row(2, "same", "tool", call="c1")
    doubled = [row(1, "go", "assistant", call="c1"), answer, row(3, "same", "tool", call="c1")]
    (finding,) = integrity(store(doubled, [], [])).findings
    assert finding.message == "rows 2 and 3 answer the same tool call"
    anew = [doubled[0], doubled[1], row(3, "go", "assistant", call="c1"), row(4, "same", "tool", call="c1")]
    assert integrity(store(anew, [], [])).findings == []


def test_the_json_has_the_contracts_fields() -> None:
    told = integrity(tree()).as_json()
    assert told["summaries"][2] == {  # type: ignore[index]
        "id": "c", "kind": "condensed", "depth": 1, "stored_depth": 1, "tokens": 5, "made_from": ["a", "b"],
        "consumers": [], "covers": 4, "in_context": True, "model": None,
    }  # fmt: skip
    assert told["context_items"] == ["summary c", "summary d", "7", "8"]
    assert told["context_tokens_stored"] == 30


def test_without_a_store_each_summary_is_made_from_the_last_and_what_its_compaction_dropped() -> None:
    transcript = Transcript(Session("s", "codex"), ["f"])
    for number in range(6):
        block = Block("text", POOL.put(f"m{number}"))
        transcript.messages.append(Message(number, f"e{number}", None, "user", "user", (block,), START, None, "f"))
    first = Compaction("k1", 1, None, "f", START, "summary", summary=POOL.put("one"), first_kept="e2", message_index=3)
    second = Compaction("k2", 2, None, "f", START, "summary", summary=POOL.put("two"), kept=["e4"], message_index=5)
    transcript.compactions = [first, second]
    drawn = graph_of(transcript)
    assert [one.made_from for one in drawn.nodes] == [(), ("k1",)]
    assert drawn.expand("k2") == [Child("summary", "k1"), Child("message", "e2"), Child("message", "e3")]
    assert drawn.covered_messages("k2") == ["e0", "e1", "e2", "e3"]
    assert [one.id for one in drawn.band] == ["k2", "e4", "e5"]
