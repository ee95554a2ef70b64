"""A reading that changes no message or call may still change a session: what stands in its row and detail alone."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest
from django.db import transaction

from contextviz.services.digest import digest
from contextviz.services.ingest import import_paths
from contextviz.store.models import SessionRecord
from contextviz.store.queries import jobs
from contextviz.store.texts import StoreTextPool
from contextviz.store.values import JobRow
from contextviz.store.writes import Saved, save_transcript
from tests.services.building import NOW
from tests.sources.openclaw.build import script
from tests.store.building import derived, transcript

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]


def bring_in(folder: Path) -> JobRow:
    job_id = import_paths([folder], now=NOW)
    digest(job_id)
    return jobs.get_job(job_id)


def written(folder: Path, **names: str) -> None:
    """Two sessions and their index, which names them as `names` says."""
    folder.mkdir(exist_ok=True)
    for session in names:
        talk = script(session)
        talk.user("u1")
        talk.answer("a1", prompt=70)
        talk.save(folder / f"{session}.jsonl")
    index = {f"agent:main:{one}": {"sessionId": one, "label": name} for one, name in names.items()}
    (folder / "sessions.json").write_bytes(orjson.dumps(index))


def test_a_session_that_an_index_names_anew_is_updated_and_the_other_is_not(tmp_path: Path) -> None:
    folder = tmp_path / "sessions"
    written(folder, s1="plans", s2="notes")
    assert bring_in(folder).outcome == "Read 3 files: 2 sessions (2 new)."

    written(folder, s1="plans", s2="better notes")
    job = bring_in(folder)

    titles = SessionRecord.objects.order_by("source_id").values_list("title", flat=True)
    assert list(titles) == ["plans", "better notes"]
    assert job.outcome == "Read 3 files: 2 sessions (1 updated, 1 unchanged)."
    assert bring_in(folder).outcome.startswith("Nothing new")


@pytest.fixture
def pool() -> StoreTextPool:
    """The store's pool, without a tokenizer."""
    return StoreTextPool(count=len, estimator="characters")


def save(pool: StoreTextPool, *, title: str = "t", hint: int = 1, names: tuple[str, ...] = ("a.jsonl",)) -> Saved:
    made = transcript(pool)
    made.session.title, made.session.hints, made.files[:] = title, {"total_tokens": hint}, names
    pool.flush()
    with transaction.atomic():
        return save_transcript(made, derived(made), now=NOW)


def test_what_only_the_row_or_the_detail_holds_counts_as_changed(pool: StoreTextPool) -> None:
    assert save(pool).is_changed

    assert not save(pool).is_changed
    titled, hinted = save(pool, title="u"), save(pool, title="u", hint=2)

    assert (titled.changed_rows, titled.is_changed) == (0, True)
    assert (hinted.changed_rows, hinted.is_changed) == (0, True)
    assert not save(pool, title="u", hint=2).is_changed


def test_another_version_or_another_name_of_a_file_changes_nothing_of_a_session(pool: StoreTextPool) -> None:
    first = save(pool)
    SessionRecord.objects.update(read_by="an earlier one", features=None)

    again, renamed = save(pool), save(pool, names=("folder/a.jsonl",))

    assert not again.is_changed and not renamed.is_changed
    assert renamed.revision > first.revision, "it is kept all the same"
