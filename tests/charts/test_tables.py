"""The tables of the analysis become figures that plotly accepts."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import plotly.graph_objects as go

from contextviz.analysis import summary_graph
from contextviz.analysis.strip import StripTable, strip
from contextviz.analysis.topics import swim_lanes
from contextviz.charts import graph, tables, topics
from contextviz.charts import strip as strip_chart
from contextviz.events.compaction import ContextRef, StoreMessage, SummaryNode, SummaryStore
from contextviz.events.text import TextRef
from contextviz.events.topic import Topic, TopicEvent

START = datetime(2026, 11, 30, 9, 0, tzinfo=UTC)
TEXT = TextRef("0" * 64, 0, 0, 0)


def at(minutes: int) -> datetime:
    return START + timedelta(minutes=minutes)


def test_a_conversation_map_becomes_lanes_switches_and_spawns():
    events = [
        TopicEvent("1", "context_switch", "a", at(0), summary="s"),
        TopicEvent("2", "agent_spawn", "a", at(5), task="look", duration_ms=60_000, result="error: no"),
        TopicEvent("3", "context_switch", "b", at(20), summary="s"),
        TopicEvent("4", "compaction", None, at(25), active_topics=["b"]),
        TopicEvent("5", "context_switch", "a", None, summary="s"),
    ]
    drawn = tables.topic_table(swim_lanes([Topic("a", "A"), Topic("b", "B")], events), events)
    assert [lane.spans for lane in drawn.lanes] == [[(at(0), at(20))], [(at(20), at(25))]]
    assert [(switch.from_lane, switch.to_lane) for switch in drawn.switches] == [(None, 0), (0, 1)]
    assert [(spawn.name, spawn.failed, spawn.until) for spawn in drawn.spawns] == [("look", True, at(6))]
    assert [mark.number for mark in drawn.compactions] == [1]
    go.Figure(topics.figure(drawn))


def test_a_store_becomes_bars_over_the_messages_that_each_summary_covers():
    messages = [StoreMessage(str(place), "c", place, "user", TEXT, 5, None) for place in range(4)]
    nodes = [
        SummaryNode("s1", "leaf", 0, 0, 3, TEXT, covers=["0", "1"], consumers=["s3"]),
        SummaryNode("s2", "leaf", 0, 0, 3, TEXT, covers=["2", "3"], consumers=["s3"]),
        SummaryNode("s3", "condensed", 1, 1, 3, TEXT, made_from=["s1", "s2"], in_context=True),
    ]
    store = SummaryStore("lossless-claw", "f", ["c"], nodes, messages, [ContextRef("summary", "s3")])
    drawn = tables.graph_table(summary_graph.graph(store), lambda name: f"/node/{name}/")
    assert [(node.id, node.start, node.end, node.in_window) for node in drawn.nodes] == [
        ("s1", 1, 3, False),
        ("s2", 3, 5, False),
        ("s3", 1, 5, True),
    ]
    figure = graph.figure(drawn)
    go.Figure(figure)
    assert figure["layout"]["xaxis"]["range"] == [1, 5]


def test_the_strip_of_a_session_without_calls_has_a_sentence():
    table: StripTable = strip([], [], [])
    assert strip_chart.figure(table)["layout"]["meta"]["summary"] == "No model call is known."
