"""Runs saved and read back: any part of one, in queries that no size changes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.contrib.auth.models import User
from django.db import transaction

from contextviz.engines.baselines import KeepTail
from contextviz.engines.engine import AssembleRequest, EngineSpec, Host, ReplayEngine
from contextviz.engines.material import ReplayMessage
from contextviz.engines.window import Assembly, CompactionMade, NodeMade, Part, altered, made
from contextviz.events.message import Role
from contextviz.events.run import Run
from contextviz.store import runs as writes
from contextviz.store.models import RunChunkRecord, RunRecord, RunTextRecord, SessionRecord
from contextviz.store.queries import runs
from contextviz.store.rows import run as rows
from contextviz.store.texts import StoreTextPool, TextReader
from contextviz.store.values import NotFound
from contextviz.store.viewing import Viewer, viewing
from contextviz.store.writes import MissingTexts, save_transcript
from tests.engines.building import run as replayed
from tests.engines.building import session
from tests.store.building import NOW, derived, transcript

pytestmark = pytest.mark.django_db
TALK: list[tuple[Role, str]] = [
    (role, f"{role} says {number}") for number in range(60) for role in ("user", "assistant", "tool")
]  # fmt: skip


class Folding(ReplayEngine):
    """Folds everything but the last four messages into one summary more at each fifth call, and keeps originals."""

    spec = EngineSpec("folding", "1", "Folding", "For tests.", "8", qualities={"cut": "exact"}, uses_summariser=True)

    def __init__(self, host: Host, settings: object) -> None:
        super().__init__(host, {})
        self._parts: list[Part] = []
        self._seen: list[ReplayMessage] = []

    def ingest(self, message: ReplayMessage) -> None:
        """Tool results are cut to their first word."""
        self._seen.append(message)
        if message.role == "tool":
            self.host.keep(f"handle{message.seq}", message, message.text)
            self._parts.append(altered(message, message.text.split()[0], state="truncated", reason="cut", handle="h"))
        else:
            self._parts.append(Part(message.role, message))

    def assemble(self, request: AssembleRequest) -> Assembly:
        """See Engine."""
        if request.call % 5 == 4:
            number = request.call // 5
            gone = [message.seq for message in self._seen[:-4]]
            earlier = (f"n{number - 1}",) if number else ()
            text = f"summary {number} of {len(gone)} messages"
            self.host.node(NodeMade(f"n{number}", number, text, 7, "rolling", earlier, tuple(gone), given=f"<{text}>"))
            self.host.compacted(CompactionMade("summary", "count", 90, 9, tuple(gone), (f"n{number}",), text, "enough"))
            summary = made("user", f"<{text}>", segment="summary", reason="summary", kind="summary", node=f"n{number}")
            self._parts = [summary, *self._parts[-4:]]
            self._seen = self._seen[-4:]
        return Assembly(self._parts.copy(), len(self._parts))


def saved_session(pool: StoreTextPool, key: str = "session-1") -> int:
    read = transcript(pool, key=key)
    pool.flush()
    with transaction.atomic():
        return save_transcript(read, derived(read), now=NOW).session_id


def row_of(session_id: int, config: str = "a") -> UUID:
    record = RunRecord.objects.create(
        session_id=session_id, config_hash=config, session_revision=1, engine="folding", version="1", label="Folding",
        created_at=NOW,
    )  # fmt: skip
    return record.pk


def put_texts(run: Run, pool: StoreTextPool, talk: list[tuple[Role, str]]) -> None:
    """What a replay in memory has made, and the messages it was given."""
    for _, text in talk:
        pool.put(text)
        pool.put(text.split()[0])
    for node in run.nodes:
        number = node.id[1:]
        text = f"summary {number} of {len(node.covers)} messages"
        pool.put(text)
        pool.put(f"<{text}>")
    pool.flush()


def save(session_id: int, run: Run, *, run_id: UUID | None = None, revision: int = 1) -> UUID:
    found = run_id or row_of(session_id, uuid4().hex)
    categories = ["user"] * len(run.log.table.items)
    with transaction.atomic():
        writes.save_run(found, run, categories, revision=revision, scorecard={"metrics": {}}, now=NOW)
    return found


@pytest.fixture
def folded() -> Run:
    return replayed(Folding, session(TALK, window=50_000))


@pytest.fixture
def run_id(pool: StoreTextPool, folded: Run) -> UUID:
    put_texts(folded, pool, TALK)
    return save(saved_session(pool), folded)


def test_a_run_comes_back_as_it_was(run_id: UUID, folded: Run) -> None:
    row = runs.get_run(run_id)

    back = runs.load_run(row)

    assert (len(folded.boundaries), len(folded.nodes), len(folded.originals)) == (12, 12, 60)
    assert back.calls == folded.calls
    assert back.hash == folded.hash == row.hash
    assert back.log.edits == folded.log.edits
    assert back.log.table.items == folded.log.table.items
    assert back.messages == folded.messages
    assert back.boundaries == folded.boundaries
    assert back.nodes == folded.nodes
    assert [node.given for node in back.nodes] == [node.given for node in folded.nodes]
    assert back.events == folded.events
    assert back.originals == folded.originals
    assert back.measured == folded.measured
    assert (row.state, row.is_done, row.key, row.is_stale) == ("done", True, "folding@1", False)
    assert (row.call_count, row.boundary_count, row.summariser_calls) == (60, 12, 0)


def test_every_window_is_read_from_its_chunk(run_id: UUID, folded: Run) -> None:
    row = runs.get_run(run_id)

    for index in range(len(folded.calls)):
        found = runs.window(row, index)
        assert [one.item for one in found.items] == folded.log.window(index)
        assert found.call == folded.calls[index]
    part = runs.window(row, 59, start=2, stop=4)
    assert [one.place for one in part.items] == [2, 3]
    assert [one.item for one in part.items] == folded.log.window(59)[2:4]
    for wrong in (-1, 60):
        with pytest.raises(NotFound):
            runs.window(row, wrong)


def test_parts_are_found_by_place_number_id_and_handle(run_id: UUID, folded: Run) -> None:
    row = runs.get_run(run_id)

    assert runs.calls(row, 10, 13) == folded.calls[10:13]
    assert runs.boundaries(row, 3, 5) == folded.boundaries[3:5]
    assert runs.get_boundary(row, 12) == folded.boundaries[11]
    assert runs.get_node(row, "n3") == folded.nodes[3]
    assert runs.get_original(row, "handle2") == folded.originals[0]
    dropped = runs.get_boundary(row, 1).dropped
    found = runs.messages_at(row, dropped)
    assert [found[seq] for seq in dropped] == folded.messages[: len(dropped)]
    assert runs.messages_at(row, [10**9, -1]) == {}
    for wrong in (lambda: runs.get_node(row, "n99"), lambda: runs.get_original(row, "x"),
                  lambda: runs.get_boundary(row, 13), lambda: runs.get_boundary(row, 0)):  # fmt: skip
        with pytest.raises(NotFound):
            wrong()


def test_the_series_has_a_number_a_call_and_a_mark_a_boundary(run_id: UUID, folded: Run) -> None:
    found = runs.series(runs.get_run(run_id))

    assert found.tokens == [call.tokens for call in folded.calls]
    assert found.engine_tokens == [call.engine_tokens for call in folded.calls]
    assert found.kept_tokens == [call.kept_tokens for call in folded.calls]
    assert found.items == [call.items for call in folded.calls]
    assert set(found.is_over) == {0}
    assert [(mark.number, mark.call) for mark in found.boundaries] == [(n + 1, 5 * n + 4) for n in range(12)]


def test_only_texts_that_the_session_has_not_are_the_runs_own(run_id: UUID) -> None:
    own = RunTextRecord.objects.filter(run_id=run_id)

    texts = set(TextReader().get_many(bytes(digest) for digest in own.values_list("text__digest", flat=True)).values())

    assert "<summary 0 of 9 messages>" in texts
    assert "user says 7" in texts
    assert not texts & {"question number 1", "answer number 1"}


def test_saving_again_replaces_what_was_there(run_id: UUID, pool: StoreTextPool, folded: Run) -> None:
    before = RunChunkRecord.objects.filter(run_id=run_id).count()
    row = runs.get_run(run_id)

    save(row.session_id, folded, run_id=run_id)
    assert RunChunkRecord.objects.filter(run_id=run_id).count() == before

    small = replayed(KeepTail, session(TALK[:6], window=50_000))
    save(row.session_id, small, run_id=run_id)
    row = runs.get_run(run_id)
    assert (row.call_count, row.boundary_count, row.original_count) == (2, 0, 0)
    assert runs.load_run(row).calls == small.calls


def test_a_run_whose_texts_are_not_there_is_not_saved(pool: StoreTextPool, folded: Run) -> None:
    session_id = saved_session(pool)
    run_id = row_of(session_id)

    with pytest.raises(MissingTexts):
        save(session_id, folded, run_id=run_id)
    assert not runs.get_run(run_id).is_done
    assert not RunChunkRecord.objects.exists()


def test_a_run_of_another_state_or_of_nothing_is_not_saved(run_id: UUID, folded: Run) -> None:
    session_id = runs.get_run(run_id).session_id

    with pytest.raises(writes.SessionChanged):
        save(session_id, folded, run_id=run_id, revision=2)
    with pytest.raises(writes.RunGone):
        save(session_id, folded, run_id=uuid4())
    SessionRecord.objects.filter(pk=session_id).update(status="deleting")
    with pytest.raises(writes.RunGone):
        save(session_id, folded, run_id=run_id)


def test_the_newest_run_is_listed_first_and_a_changed_session_makes_runs_stale(run_id: UUID) -> None:
    session_id = runs.get_run(run_id).session_id
    later = RunRecord.objects.get(pk=row_of(session_id, "later"))
    RunRecord.objects.filter(pk=later.pk).update(created_at=datetime(2026, 4, 1, tzinfo=UTC))
    SessionRecord.objects.filter(pk=session_id).update(revision=2)

    listed = runs.runs_of(session_id)

    assert [one.id for one in listed] == [later.pk, run_id]
    assert [one.is_stale for one in listed] == [True, True]
    assert [one.state for one in listed] == ["failed", "done"], "without a job's row it will never be done"
    with pytest.raises(NotFound):
        runs.series(listed[0])
    with pytest.raises(NotFound):
        runs.load_run(listed[0])


def test_a_private_sessions_runs_are_its_owners(run_id: UUID, django_user_model: type[User]) -> None:
    owner, other = (django_user_model.objects.create_user(name) for name in ("owner", "other"))
    session_id = runs.get_run(run_id).session_id
    SessionRecord.objects.filter(pk=session_id).update(is_private=True, owner=owner)

    with viewing(Viewer(owner.pk, "viewer")):
        assert [one.id for one in runs.runs_of(session_id)] == [runs.get_run(run_id).id]
    with viewing(Viewer(other.pk, "operator")):
        assert runs.runs_of(session_id) == []
        with pytest.raises(NotFound):
            runs.get_run(run_id)


@pytest.mark.parametrize("wrong", ["", "x", "00000000-0000-0000-0000-000000000000"])
def test_an_id_that_is_none_is_not_found(db: None, wrong: str) -> None:
    with pytest.raises(NotFound):
        runs.get_run(wrong)


READS: list[tuple[int, Callable[[runs.RunRow], object]]] = [
    (1, lambda row: runs.runs_of(row.session_id)),
    (1, lambda row: runs.get_run(row.id)),
    (1, runs.series),
    (3, lambda row: runs.window(row, row.call_count - 1)),
    (1, runs.calls),
    (1, runs.boundaries),
    (2, lambda row: runs.get_node(row, "n0")),
    (2, lambda row: runs.get_original(row, "handle2")),
    (1, lambda row: runs.messages_at(row, range(row.message_count))),
]


def test_queries_do_not_follow_the_size(pool: StoreTextPool, django_assert_num_queries: Any) -> None:
    session_id = saved_session(pool)
    for turns in (8, 400):
        talk: list[tuple[Role, str]] = [
            (role, f"{role} of {turn}") for turn in range(turns) for role in ("user", "assistant", "tool")
        ]  # fmt: skip
        folded = replayed(Folding, session(talk, window=50_000))
        put_texts(folded, pool, talk)
        run_id = save(session_id, folded)
        row = runs.get_run(run_id)
        for number, read in READS:
            with django_assert_num_queries(number):
                read(row)


def test_hostile_words_are_kept_within_bounds(pool: StoreTextPool) -> None:
    talk: list[tuple[Role, str]] = [("user", "whole"), ("assistant", "fine")]
    made_run = replayed(KeepTail, session(talk))
    made_run.notes.append("a note with \x00 and \udc00")
    made_run.boundaries = []
    item = made_run.log.table.items[0]
    made_run.log.table.items[0] = replace(item, tool_name="\udfff" * 10, reason="why \x00", entry="e" * 5_000)
    pool.put("whole")
    pool.put("fine")
    session_id = saved_session(pool)

    row = runs.get_run(save(session_id, made_run))

    assert row.notes[-1] == "a note with � and �"
    assert runs.window(row, 0).items[0].item.tool_name == "�" * 10


def test_positions_are_packed_as_runs() -> None:
    for positions in ([], [5], [1, 2, 3, 7, 8, 2, 3], list(range(1000))):
        assert rows.positions_of(rows.runs_of(positions)) == positions
    assert rows.runs_of(range(1000)) == [0, 1000]
