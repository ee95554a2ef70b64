"""Lists, pages and lookups."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import transaction

from contextviz.store.queries import calls, messages, sessions, summaries, topics
from contextviz.store.texts import StoreTextPool
from contextviz.store.values import LibraryFilter, NotFound
from contextviz.store.writes import save_transcript
from tests.store.building import NOW, derived, transcript


@pytest.fixture
def session_id(pool: StoreTextPool) -> int:
    made = transcript(pool, turns=30)
    pool.flush()
    with transaction.atomic():
        return save_transcript(made, derived(made), now=NOW).session_id


def test_messages_are_paged_forwards_and_backwards(session_id: int) -> None:
    first = messages.messages(session_id, limit=25)
    second = messages.messages(session_id, after=first.after, limit=25)
    back = messages.messages(session_id, before=second.before, limit=25)

    assert [one.index for one in first.messages] == list(range(25))
    assert (first.before, first.after, second.before) == (None, 24, 25)
    assert back.messages == first.messages
    assert messages.messages(session_id, after=second.after, limit=25).after is None


def test_messages_are_found_by_any_of_their_entries(session_id: int) -> None:
    found = messages.by_entries(session_id, ["q3", "a3b", "unknown"])
    assert {entry: one.index for entry, one in found.items()} == {"q3": 6, "a3b": 7}


def test_the_pairs_of_a_page_are_found_from_either_side(session_id: int) -> None:
    assert len(messages.tool_pairs(session_id, [2])) == 1
    assert len(messages.tool_pairs(session_id, [1])) == 2
    assert messages.tool_pairs(session_id, [50]) == []


@pytest.mark.parametrize("index", [-1, 30, 10**9])
def test_a_call_that_is_not_there_is_named(session_id: int, index: int) -> None:
    with pytest.raises(NotFound, match="has no call"):
        calls.get_call(session_id, index)


def test_a_session_that_is_not_there_is_named(db: None) -> None:
    for ask in (sessions.get_session, sessions.session_detail, sessions.strips):
        with pytest.raises(NotFound, match="no session 99"):
            ask(99)


def test_a_compaction_is_found_by_its_number(session_id: int) -> None:
    assert calls.get_compaction(session_id, 1).id == "c1"
    with pytest.raises(NotFound):
        calls.get_compaction(session_id, 2)


def test_a_summary_store_comes_back_in_its_order(session_id: int) -> None:
    store = summaries.find_summary_store(session_id)
    assert store is not None
    assert [ref.id for ref in store.context] == ["s2", "3"]
    assert list(summaries.store_messages(session_id, ["3", "1", "9"])) == ["1", "3"]
    assert summaries.get_node(session_id, "s2").made_from == ["s1"]


def test_topics_come_back(session_id: int) -> None:
    assert [one.slug for one in topics.topics(session_id)] == ["work"]
    assert [one.kind for one in topics.topic_events(session_id)] == ["context_switch"]


@pytest.fixture
def library(pool: StoreTextPool) -> None:
    for number in range(12):
        made = transcript(pool, turns=1 + number, key=f"key-{number}")
        made.session.agent = "odd" if number % 2 else "even"
        made.session.title = f"Session {number} 100%"
        pool.flush()
        numbers = derived(made)
        with transaction.atomic():
            save_transcript(made, numbers, now=NOW)


def test_the_library_is_sorted_filtered_and_paged(library: None, django_assert_num_queries: Any) -> None:
    with django_assert_num_queries(2):
        page = sessions.library(sort="calls", page=2, size=5)
    assert ([row.call_count for row in page.items], page.total, page.pages) == ([7, 6, 5, 4, 3], 12, 3)

    odd = sessions.library(LibraryFilter(agent="odd"), sort="calls", descending=False)
    assert [row.call_count for row in odd.items] == [2, 4, 6, 8, 10, 12]
    assert sessions.library(LibraryFilter(search="session 3")).items[0].source_id == "key-3"
    assert sessions.library(LibraryFilter(search="100%")).total == 12
    assert sessions.library(LibraryFilter(search="_ey")).total == 0, "wildcards of LIKE are ordinary characters"
    assert sessions.library(page=99, size=5).number == 3


def test_an_unknown_sort_falls_back_to_time(library: None) -> None:
    assert sessions.library(sort="nonsense; DROP TABLE").items[0].source_id == "key-11"


def test_facets_count_sessions(library: None) -> None:
    assert {facet.value: facet.count for facet in sessions.facets()["agent"]} == {"even": 6, "odd": 6}
