"""Summarisers: notes within their bound that keep identifiers, recorded summaries by place, and their registry."""

from __future__ import annotations

from pathlib import Path

import pytest

from contextviz.engines.hosts.folding import told
from contextviz.engines.material import Material, RecordedSummary
from contextviz.engines.summaries import SummariserFailed, SummaryRequest
from contextviz.engines.summarising.notes import MOST_TOKENS, NONE, SECTIONS, Notes
from contextviz.engines.summarising.recorded import RecordedSummaries
from contextviz.engines.summarising.registry import NoSuchSummariser, summariser, summarisers
from contextviz.tokens.estimate import estimate
from contextviz.tokens.estimators import cp_weighted
from tests.engines import samples

STORY = "\n\n".join([
    "[User]: Please repair the importer in src/importer/reader.py. Never touch tests/fixtures.",
    "[Assistant]: I decided to read rows in blocks because the file is 40 GB.",
    '[Assistant]: {"name": "run", "arguments": {"command": "pytest tests/test_reader.py -x"}}',
    "[Tool result]: ValueError: bad header in row 17\nfailed: tests/test_reader.py",
    "[Assistant]: The header is skipped now and tests/test_reader.py passed.",
    "[User]: Also set IMPORT_BLOCK_SIZE=4096 in config/settings.toml.",
    "[Assistant]: TODO: set it for the worker, too. Next I look at src/worker.py.",
    *[f"[Tool result]: nothing of note came in line {number} of this long and dull listing" for number in range(60)],
])  # fmt: skip


def section(text: str, name: str) -> str:
    return text.split(f"## {name}\n")[1].split("\n\n## ")[0]


def size(text: str) -> int:
    return max(estimate(text), cp_weighted(text))


def test_notes_have_the_six_sections_and_keep_what_was_named() -> None:
    text = Notes()(SummaryRequest(STORY))
    assert [line[3:] for line in text.split("\n") if line.startswith("## ")] == list(SECTIONS)
    assert "repair the importer" in section(text, "TASK / GOAL")
    assert "Never touch" in section(text, "TASK / GOAL")
    assert "passed" in section(text, "WORKING APPROACHES")
    assert "bad header in row 17" in section(text, "FAILED APPROACHES")
    assert "IMPORT_BLOCK_SIZE" in section(text, "KEY IDENTIFIERS")
    assert {"src/importer/reader.py", "config/settings.toml"} <= set(
        section(text, "FILE ARTIFACTS").replace("- ", "").split("\n")
    )
    assert "TODO" in section(text, "OPEN STATE")


def test_a_section_with_nothing_in_it_says_so() -> None:
    text = Notes()(SummaryRequest("[User]: please go on with it as before, in the same way\n\n" * 40))
    assert section(text, "FAILED APPROACHES") == NONE


@pytest.mark.parametrize("target", [0, 1, 10, 60, 150, 400, 100_000])
@pytest.mark.parametrize("is_aggressive", [False, True])
def test_they_stay_within_what_is_asked_and_shorter_than_the_source(target: int, is_aggressive: bool) -> None:
    request = SummaryRequest(STORY, target_tokens=target, is_aggressive=is_aggressive)
    text = Notes()(request)
    assert 0 < len(text) < len(STORY)
    assert size(text) <= max(1, (target or MOST_TOKENS) // (2 if is_aggressive else 1))


@pytest.mark.parametrize(
    "source", ["xy", "a b", "日本語の文章です。", "[User]: fix src/app.py", "\n\n- \n\n word", "🙂🙂🙂"]
)
def test_short_sources_give_something_shorter(source: str) -> None:
    text = Notes()(SummaryRequest(source))
    assert 0 < len(text) < len(source)


@pytest.mark.parametrize("source", ["", "   \n\n ", "x"])
def test_nothing_is_no_summary(source: str) -> None:
    with pytest.raises(SummariserFailed, match="nothing to summarise"):
        Notes()(SummaryRequest(source))


def test_the_same_request_gives_the_same_notes() -> None:
    notes = Notes()
    first = notes(SummaryRequest(STORY, target_tokens=300))
    assert notes(SummaryRequest(STORY, target_tokens=300)) == first == Notes()(SummaryRequest(STORY, target_tokens=300))


def test_earlier_notes_are_carried_over() -> None:
    notes = Notes()
    before = notes(SummaryRequest(STORY))
    later = "\n\n".join(f"[Tool result]: listing of docs/page{number}.md" for number in range(60))
    after = notes(SummaryRequest(later, previous=before))
    assert "repair the importer" in section(after, "TASK / GOAL")
    assert "src/importer/reader.py" in section(after, "FILE ARTIFACTS")
    assert after.count("## TASK / GOAL") == 1
    other = notes(SummaryRequest(later, previous="It was about src/older.py and nothing else."))
    assert "src/older.py" in section(other, "FILE ARTIFACTS")


def test_what_was_named_often_and_lately_comes_first() -> None:
    source = "\n\n".join(
        ["[User]: see a/rare.py", *["[User]: see b/often.py"] * 5, *["[User]: and that is all of it"] * 30]
    )
    assert section(Notes()(SummaryRequest(source)), "FILE ARTIFACTS").split("\n")[0] == "- b/often.py"


def test_every_line_is_of_the_source() -> None:
    text = Notes()(SummaryRequest(STORY))
    flat = " ".join(STORY.split())
    for line in text.split("\n"):
        if line.startswith("- "):
            assert line[2:].rstrip("…") in flat


def test_real_conversations_lose_fewer_files_than_half(shared: Path) -> None:
    material = samples.material(shared / "samples" / "oc-legacy")
    text = Notes()(SummaryRequest(told(material.messages[:50])))
    assert {"notes/bravo.md", "notes/echo.md", "notes/hotel.md"} <= set(
        section(text, "FILE ARTIFACTS").replace("- ", "").split("\n")
    )
    assert size(text) <= MOST_TOKENS


def test_the_nearest_recorded_summary_is_given() -> None:
    made = RecordedSummaries([RecordedSummary(40, "second"), RecordedSummary(10, "first"), RecordedSummary(60, " ")])
    given = [made(SummaryRequest("x", messages=at)) for at in (0, 10, 24, 25, 26, 900)]
    assert given == ["first", "first", "first", "first", "second", "second"]
    assert made.fallbacks == 0


def test_without_recorded_summaries_notes_stand_in_and_are_counted() -> None:
    made = RecordedSummaries([])
    assert made(SummaryRequest(STORY)) == Notes()(SummaryRequest(STORY))
    assert (made.fallbacks, made.settings) == (1, {"recorded": 0, "otherwise": "notes"})


def test_the_registry() -> None:
    ids = [one.id for one in summarisers()]
    assert ids[:2] == ["notes", "recorded"]
    assert "stub-quarter" in ids and len(set(ids)) == len(ids)
    assert summariser().id == "notes"
    assert summariser("recorded", Material(summaries=[RecordedSummary(1, "own")]))(SummaryRequest("x")) == "own"
    assert summariser("stub-quarter")(SummaryRequest("x" * 400)).count("x") == 100
    assert summariser() is not summariser()
    with pytest.raises(NoSuchSummariser, match="Did you mean recorded"):
        summariser("recordet")
