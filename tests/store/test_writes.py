"""Saving a session and having it back."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import transaction

from contextviz.events.session import Transcript
from contextviz.store.models import ItemRecord, MessageRecord, SessionRecord, SnapshotRecord, TextUseRecord
from contextviz.store.queries import sessions, snapshots, transcripts
from contextviz.store.texts import StoreTextPool
from contextviz.store.writes import MissingTexts, Saved, save_transcript, uses_of
from tests.store.building import NOW, add_turn, derived, transcript


def save(made: Transcript, pool: StoreTextPool) -> Saved:
    pool.flush()
    with transaction.atomic():
        return save_transcript(made, derived(made), now=NOW)


def ids_of(model: Any) -> list[int]:
    return list(model.objects.order_by("pk").values_list("pk", flat=True))


def test_a_session_comes_back_as_it_was_saved(pool: StoreTextPool) -> None:
    made = transcript(pool)

    again = transcripts.load_transcript(save(made, pool).session_id)

    assert again.session == made.session
    for name in ("messages", "calls", "pairs", "compactions", "problems", "topics", "topic_events", "store", "lines"):
        assert getattr(again, name) == getattr(made, name), name
    for name in ("files", "entries", "subagents", "tree", "context_at_end", "entry_times", "failed_calls"):
        assert getattr(again, name) == getattr(made, name), name
    assert again.log.table.items == made.log.table.items
    assert again.log.snapshots == made.log.snapshots


def test_the_same_session_twice_changes_no_row(pool: StoreTextPool) -> None:
    first = save(transcript(pool), pool)
    rows = {model: ids_of(model) for model in (MessageRecord, ItemRecord, SnapshotRecord, TextUseRecord)}

    second = save(transcript(pool), pool)

    assert second == Saved(first.session_id, is_new=False, changed_rows=0, revision=1)
    assert rows == {model: ids_of(model) for model in rows}


def test_a_longer_session_keeps_its_id_and_its_earlier_rows(pool: StoreTextPool) -> None:
    first = save(transcript(pool, turns=200), pool)
    before = ids_of(MessageRecord)

    second = save(transcript(pool, turns=210), pool)

    assert (second.session_id, second.is_new, second.revision) == (first.session_id, False, 2)
    kept = set(before) & set(ids_of(MessageRecord))
    assert len(kept) >= 384, "whole stretches of 64 that did not change are left alone"
    again = transcripts.load_transcript(first.session_id)
    assert [call.index for call in again.calls] == list(range(210))
    assert len(again.messages) == 420


def test_a_shorter_session_loses_the_rows_it_no_longer_has(pool: StoreTextPool) -> None:
    first = save(transcript(pool, turns=100), pool)

    save(transcript(pool, turns=5), pool)

    again = transcripts.load_transcript(first.session_id)
    assert (len(again.calls), len(again.messages), len(again.log.snapshots)) == (5, 10, 5)


def test_a_change_in_the_middle_rewrites_only_its_stretch(pool: StoreTextPool) -> None:
    made = transcript(pool, turns=200)
    save(made, pool)
    before = set(ids_of(MessageRecord))

    made.messages[130].on_active_path = False
    save(made, pool)

    assert len(before - set(ids_of(MessageRecord))) == 64
    assert not MessageRecord.objects.get(index=130).on_active_path


def test_sessions_with_another_agent_or_generation_are_sessions_of_their_own(pool: StoreTextPool) -> None:
    first = transcript(pool)
    second = transcript(pool)
    second.session.agent = "other"
    third = transcript(pool)
    third.session.generation = "reset"

    assert len({save(made, pool).session_id for made in (first, second, third)}) == 3


def test_a_text_that_was_dropped_meanwhile_is_noticed_and_nothing_is_saved(pool: StoreTextPool) -> None:
    made = transcript(pool)

    with pytest.raises(MissingTexts), transaction.atomic():
        save_transcript(made, derived(made), now=NOW)  # the pool was not flushed, so its texts are not there

    assert SessionRecord.objects.count() == 0


def test_every_text_of_a_session_is_marked_as_used(pool: StoreTextPool) -> None:
    made = transcript(pool)
    saved = save(made, pool)

    assert TextUseRecord.objects.filter(session_id=saved.session_id).count() == len(uses_of(made))


def test_hostile_words_are_cleaned_and_bounded(pool: StoreTextPool) -> None:
    made = transcript(pool, key="k\x00" + "x" * 3000)
    made.session.title = "nul \x00 and half \ud800 emoji"
    made.messages[0].id = "i" * 100_000
    made.messages[0].entry_ids = ("e\x00" * 1000,)
    made.calls[0].model = "m\x00" * 500

    made.session.window = 2**63 - 1
    saved = save(made, pool)

    row = sessions.get_session(saved.session_id)
    assert row.title == "nul \ufffd and half \ufffd emoji"
    assert len(row.source_id) == 255
    again = transcripts.load_transcript(saved.session_id)
    assert "\x00" not in (again.calls[0].model or "\x00")
    assert len(again.messages[0].id or "") == 255
    assert save(made, pool).changed_rows == 0


def test_a_window_is_read_with_few_queries_however_long_the_session(
    pool: StoreTextPool, django_assert_num_queries: Any
) -> None:
    made = transcript(pool, turns=120)
    saved = save(made, pool)

    for place in (0, 31, 32, 33, 119):
        with django_assert_num_queries(4):
            found = snapshots.window(saved.session_id, place)
        assert [one.position for one in found.items] == made.log.positions(place)
        assert [one.item for one in found.items] == made.log.window(place)


def test_windows_that_shrink_and_sub_agents_between_are_kept_apart(pool: StoreTextPool) -> None:
    made = transcript(pool, turns=2)
    for number in range(2, 80):
        add_turn(made, pool, number)
        if number % 7 == 0:
            made.log.add(number, made.log.window(number)[:3], basis="partial", agent="helper")
    order = [made.log.positions(place) for place in range(len(made.log.snapshots))]

    saved = save(made, pool)

    assert [snapshots.positions(saved.session_id, place) for place in range(len(order))] == order
