"""The search index beside imports, behind them, and after an upgrade."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from django.db import connection
from django.utils import timezone

from contextviz.events.search import parse_query
from contextviz.services import indexing
from contextviz.store import search
from contextviz.store.models import PlaceRecord, SessionDetailRecord
from contextviz.store.queries import jobs
from contextviz.store.tables import pack_hashes, unpack_hashes
from tests.services.building import claude_lines, upload


def found(typed: str) -> int:
    return len(search.search(parse_query(typed)).hits)


def test_an_import_can_be_searched_when_it_is_done(db: None, data_dir: Path) -> None:
    upload(("a.jsonl", claude_lines(3, word="zebra")))

    assert found("zebra question") == 3
    assert indexing.open_if_waiting(now=timezone.now()) is None


def test_a_large_import_is_indexed_beside_its_analysis(
    transactional_db: None, data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if connection.vendor == "postgresql":
        pytest.skip("there it is left to a job")
    waiting: list[int] = []
    monkeypatch.setattr(indexing, "BESIDE_BYTES", 1)
    fresh = indexing.index_fresh

    def watched(after: int, beat: Callable[[], None]) -> None:
        waiting.append(search.waiting().packs)
        fresh(after, beat)

    monkeypatch.setattr("contextviz.services.digest.reading.index_fresh", watched)
    upload(("a.jsonl", claude_lines(30, word="zebra")))

    assert waiting == [0], "nothing is left for afterwards"
    assert found("zebra question") == 30


def test_a_little_is_indexed_where_there_is_enough(
    transactional_db: None, data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if connection.vendor == "postgresql":
        pytest.skip("there it is left to a job")
    upload(("a.jsonl", claude_lines(3, word="zebra")))
    search.empty()

    indexing.index_some(0)
    assert found("zebra") == 0, "too little for a transaction of its own"

    monkeypatch.setattr(indexing, "STEP_BYTES", 1)
    indexing.index_some(search.last_pack())
    assert found("zebra") == 0, "what was there before is somebody else's"
    indexing.index_some(0)
    assert found("zebra") == 6


def test_a_grown_file_brings_its_new_texts_only(db: None, data_dir: Path) -> None:
    upload(("a.jsonl", claude_lines(3, word="zebra")))
    before = dict(PlaceRecord.objects.values_list("text_id", "pk"))
    upload(("a.jsonl", claude_lines(90, word="zebra")))

    assert found("zebra answer") == 90
    assert set(before) <= set(PlaceRecord.objects.values_list("text_id", flat=True))


def test_what_was_left_is_done_by_one_job_that_people_see(db: None, data_dir: Path) -> None:
    upload(("a.jsonl", claude_lines(3, word="zebra")))
    search.empty()
    assert found("zebra") == 0

    job_id = indexing.open_if_waiting(now=timezone.now())
    assert job_id is not None
    assert indexing.open_if_waiting(now=timezone.now()) is None, "one is enough"
    assert indexing.index_texts(job_id)

    row = jobs.get_job(job_id)
    assert (row.kind, row.state, row.outcome) == ("index_texts", "done", "All texts can be found by search.")
    assert row.total == row.progress > 0
    assert found("zebra") == 6


def test_sessions_from_before_there_was_a_search_get_their_places(db: None, data_dir: Path) -> None:
    upload(("a.jsonl", claude_lines(3, word="zebra")))
    whole = list(PlaceRecord.objects.order_by("index").values_list("text_id", "kind", "message_index", "is_in_window"))
    PlaceRecord.objects.all().delete()
    search.empty()
    _forget_hashes()

    job_id = indexing.open_if_waiting(now=timezone.now(), with_sessions=True)
    assert job_id is not None
    indexing.index_texts(job_id)

    rows = PlaceRecord.objects.order_by("index").values_list("text_id", "kind", "message_index", "is_in_window")
    assert list(rows) == whole
    assert indexing.open_if_waiting(now=timezone.now(), with_sessions=True) is None


def _forget_hashes() -> None:
    detail = SessionDetailRecord.objects.get()
    hashes = unpack_hashes(detail.row_hashes)
    assert hashes.pop("placerecord")
    SessionDetailRecord.objects.update(row_hashes=pack_hashes(hashes))


def test_a_large_import_leaves_its_index_to_a_job_on_postgresql(
    db: None, data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(indexing, "AT_ONCE_BYTES", 10)
    monkeypatch.setattr(indexing, "_is_slow", lambda: True)
    job = upload(("a.jsonl", claude_lines(3, word="zebra")))

    assert (job.state, search.waiting().packs, found("zebra")) == ("done", 1, 0)
    job_id = indexing.open_if_waiting(now=timezone.now())
    assert job_id is not None
    indexing.index_texts(job_id)
    assert found("zebra") == 6
