"""Previews of summaries in the transcript: without the fixed words that a client begins all of them with."""

from __future__ import annotations

from pathlib import Path

import pytest

from contextviz.web.pages.session.boundaries import CompactionRow
from contextviz.web.pages.session.fresh import fresh
from contextviz.web.pages.session.page import session_page, transcript_part
from contextviz.web.pages.session.place import Place
from tests.services.building import upload
from tests.web.talking import SESSION, Talk

pytestmark = pytest.mark.django_db
FIXED = "The earlier part of this talk is gone, and what follows is all that was kept of it:\n"
WORDS = ("Parser done.", "Tests run.", "Docs are next.")


@pytest.fixture
def session_id(data_dir: Path) -> int:
    """A session that was compacted three times, so far apart that no page of its transcript has two."""
    talk = Talk()
    for words in WORDS:
        for turn in range(60):
            talk.user(f"step {turn}")
            talk.answer({"type": "text", "text": "done"})
        talk.compact(FIXED + words)
    talk.user("go on")
    talk.answer({"type": "text", "text": "done"})
    return int(upload((f"{SESSION}.jsonl", talk.text)).result["sessions"][0])


def previews(entries: tuple[object, ...]) -> list[str]:
    return [str(one.summary) for one in entries if isinstance(one, CompactionRow)]


def test_a_page_with_one_compaction_leaves_out_what_all_summaries_begin_with(session_id: int) -> None:
    pages = [transcript_part(session_id, Place(session_id, call=60 * number)).entries for number in (1, 2, 3)]

    assert [previews(entries) for entries in pages] == [[f"… {words}"] for words in WORDS]
    shown = session_page(session_id, Place(session_id))
    assert [str(row.summary) for row in shown.compactions] == [f"… {words}" for words in WORDS]


def test_so_do_rows_that_come_later(session_id: int) -> None:
    found = fresh(session_id, Place(session_id, after=360 - 1), is_following=False)

    assert previews(found.entries) == [f"… {WORDS[-1]}"]


def test_the_summary_itself_stays_whole(session_id: int) -> None:
    entries = transcript_part(session_id, Place(session_id, call=60)).entries

    assert any(FIXED.strip() in str(one) for one in entries if not isinstance(one, CompactionRow))
