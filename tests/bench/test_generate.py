"""The bench's sessions: what the readers make of them is what was meant, at any size."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson
import pytest

from bench.generate import FORMATS, Format, Size, generate
from bench.plan import CALLS_PER_COMPACTION, KINDS, Kind
from contextviz.events.session import Transcript
from contextviz.sources.files import read_paths, walk
from contextviz.sources.source import ReadOptions
from contextviz.tokens.pool import MemoryPool

NOW = datetime(2027, 1, 1, tzinfo=UTC)


def transcripts_below(folder: Path) -> list[Transcript]:
    options = ReadOptions(MemoryPool(count=None), NOW)
    return [item for item in read_paths(list(walk(folder)), options) if isinstance(item, Transcript)]


def texts_of(transcript: Transcript, kind: str) -> list[bytes]:
    return [one.text.digest for message in transcript.messages for one in message.blocks if one.kind == kind]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("format", FORMATS)
def test_a_reader_finds_the_calls_that_were_asked_for_and_no_problem(
    tmp_path: Path, kind: Kind, format: Format
) -> None:
    made = generate(tmp_path, kind, Size(calls=40), format=format, scale=0.1)

    found = transcripts_below(tmp_path)

    assert len(found) == len(made.files)
    assert sum(len(one.calls) for one in found) == made.calls >= 40
    assert all(len(one.log.snapshots) == len(one.calls) for one in found)
    assert [problem.code for one in found for problem in one.problems] == []
    assert {one.lines.coverage for one in found} == {1.0}


@pytest.mark.parametrize("format", FORMATS)
def test_the_same_arguments_give_the_same_bytes_and_another_seed_others(tmp_path: Path, format: Format) -> None:
    one, two, other = (
        generate(tmp_path / name, "plain", Size(calls=5), format=format, seed=seed).files[0].read_bytes()
        for name, seed in (("one", 1), ("two", 1), ("other", 2))
    )

    assert one == two != other


def test_a_size_in_bytes_is_reached_and_not_passed_by_more_than_a_line(tmp_path: Path) -> None:
    made = generate(tmp_path, "plain", Size(bytes=300_000))

    data = made.files[0].read_bytes()
    assert made.bytes == len(data) >= 300_000
    assert len(data[: data.rstrip(b"\n").rfind(b"\n")]) < 300_000


@pytest.mark.parametrize("format", FORMATS)
def test_compacted_sessions_compact_at_every_75th_call(tmp_path: Path, format: Format) -> None:
    generate(tmp_path, "compacted", Size(calls=3 * CALLS_PER_COMPACTION + 1), format=format, scale=0.1)

    (found,) = transcripts_below(tmp_path)

    assert [one.before_call for one in found.compactions] == [74, 149, 224]
    assert all(one.tokens_before for one in found.compactions)


def test_half_the_blocks_of_repeats_are_there_before_and_none_of_plain(tmp_path: Path) -> None:
    shares = {}
    for kind in ("plain", "repeats"):
        generate(tmp_path / kind, kind, Size(calls=400), format="openclaw")  # type: ignore[arg-type]
        (found,) = transcripts_below(tmp_path / kind)
        texts = texts_of(found, "text") + texts_of(found, "tool_result")
        shares[kind] = 1 - len(set(texts)) / len(texts)

    assert shares["plain"] == 0
    assert shares["repeats"] == pytest.approx(0.5, abs=0.05)


def test_a_reported_prompt_grows_by_what_was_said_since(tmp_path: Path) -> None:
    made = generate(tmp_path, "plain", Size(calls=8))

    rows: list[dict[str, Any]] = [orjson.loads(line) for line in made.files[0].read_bytes().splitlines()]
    usages = {row["message"]["id"]: row["message"]["usage"] for row in rows if row["type"] == "assistant"}
    prompts = [one["cache_creation_input_tokens"] + one["cache_read_input_tokens"] for one in usages.values()]

    assert prompts == sorted(prompts)
    assert len(set(prompts)) == 8


def test_a_size_must_be_given(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="size in bytes or in calls"):
        generate(tmp_path, "plain", Size())
