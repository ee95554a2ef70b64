from __future__ import annotations

from datetime import UTC, datetime, timedelta

from contextviz.analysis.topics import swim_lanes
from contextviz.events.topic import Topic, TopicEvent


def at(hour: int, day: int = 8) -> datetime:
    return datetime(2026, 2, day, hour, tzinfo=UTC)


TOPICS = [
    Topic("atlas", "Atlas", "#3b82f6", "active", last_active_at=at(16)),
    Topic("shop", "Shop", None, "active", last_active_at=at(10)),
    Topic("idle", "Idle", "#000", last_active_at=at(1, 1)),
]
EVENTS = [
    TopicEvent("c1", "context_switch", "atlas", at(9), summary="back to it"),
    TopicEvent("c1-a1", "agent_spawn", None, None, "unknown", parent_id="c1", duration_ms=3_600_000),
    TopicEvent("c2", "context_switch", "shop", at(10), summary="cart"),
    TopicEvent("c3", "compaction", None, at(11), active_topics=["atlas", "gone"]),
    TopicEvent("c4", "context_switch", "shop", at(12), summary=None),
    TopicEvent("c5", "context_switch", "ghost", None, summary="?"),
    TopicEvent("x-a1", "agent_spawn", None, None, parent_id="x"),
]


def test_a_topic_is_active_from_a_switch_to_it_until_the_next_switch() -> None:
    lanes = {lane.topic: lane for lane in swim_lanes(TOPICS, EVENTS).lanes}
    assert list(lanes) == ["atlas", "shop", "idle", "ghost"]
    assert [(span.start, span.end) for span in lanes["atlas"].spans] == [(at(9), at(10))]
    assert [(span.start, span.end) for span in lanes["shop"].spans] == [(at(10), at(12)), (at(12), None)]
    assert lanes["ghost"].spans == []
    assert [mark.basis for mark in lanes["ghost"].switches] == ["unknown"]
    assert (lanes["ghost"].is_declared, lanes["atlas"].color, lanes["shop"].color) == (False, "#3b82f6", None)


def test_a_spawn_without_a_time_stands_at_its_parents_and_lasts_as_long_as_it_claims() -> None:
    (spawn,) = swim_lanes(TOPICS, EVENTS).lanes[0].spawns
    assert (spawn.at, spawn.end, spawn.basis) == (at(9), at(10), "inherited")


def test_ids_that_repeat_each_month_mean_the_nearest_switch_before() -> None:
    events = [
        TopicEvent("c1", "context_switch", "atlas", at(9, 1), summary="a"),
        TopicEvent("c1-a1", "agent_spawn", None, None, parent_id="c1"),
        TopicEvent("c1", "context_switch", "shop", at(9, 2), summary="b"),
        TopicEvent("c1-a1", "agent_spawn", None, None, parent_id="c1"),
    ]
    atlas, shop, _ = swim_lanes(TOPICS, events).lanes
    assert (atlas.spawns[0].at, shop.spawns[0].at) == (at(9, 1), at(9, 2))


def test_compactions_tell_their_active_topics_and_events_without_a_time_are_listed() -> None:
    table = swim_lanes(TOPICS, EVENTS)
    assert [(one.at, one.active_topics) for one in table.compactions] == [(at(11), ("atlas", "gone"))]
    assert table.unplaced == [5, 6]
    assert (table.first_at, table.last_at) == (at(9), at(12))


def test_what_is_not_as_it_should_be_is_a_finding() -> None:
    found = {(finding.code, finding.event, finding.topic) for finding in swim_lanes(TOPICS, EVENTS).findings}
    assert found == {
        ("unreadable_time", 5, "ghost"),
        ("unreadable_time", 6, None),
        ("undeclared_topic", 3, "gone"),
        ("undeclared_topic", 5, "ghost"),
        ("dangling_parent", 6, None),
        ("no_summary", 4, "shop"),
        ("repeated_switch", 4, "shop"),
        ("unused_topic", None, "idle"),
    }


def test_a_topic_rests_after_seven_days_and_an_empty_map_is_an_empty_table() -> None:
    now = at(2) + timedelta(days=5)
    assert [lane.is_dormant for lane in swim_lanes(TOPICS, [], now=now).lanes] == [False, False, True]
    table = swim_lanes([], [])
    assert (table.lanes, table.findings, table.first_at) == ([], [], None)
