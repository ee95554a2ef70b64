"""The shared reading cases 063, 065 and 073, through the reader."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest

from contextviz.analysis.summary_graph import integrity
from contextviz.events.session import Transcript
from contextviz.events.times import iso
from tests.sources.lossless_claw.building import SHARED, transcripts

pytestmark = pytest.mark.skipif(not (SHARED / "cases" / "reading").is_dir(), reason="the shared cases are not here")


def case(number: str) -> tuple[Transcript, dict[str, Any]]:
    folder = next((SHARED / "cases" / "reading").glob(f"{number}-*"))
    path = folder / "input" / "lcm.db"
    before = hashlib.sha256(path.read_bytes()).digest()
    (transcript,) = transcripts(path)
    assert hashlib.sha256(path.read_bytes()).digest() == before
    return transcript, json.loads((folder / "expect.json").read_text("utf-8"))


def test_overlaps_and_wrong_depths_are_found_exactly() -> None:
    transcript, expected = case("063")
    assert transcript.store is not None
    found = integrity(transcript.store).as_json()
    for key in ("context_tokens_stored", "overlap_tokens", "context_tokens_without_overlap", "stored_depth_wrong",
                "condensed_without_sources", "cycles", "unreachable_summaries", "messages"):  # fmt: skip
        assert found[key] == expected[key], key
    overlap = expected["overlapping"]
    assert found["overlapping"] == {
        "messages": overlap["messages_also_covered_by_a_summary_in_context"],
        "summaries": overlap["summaries_also_covered_by_a_summary_in_context"],
    }


def test_a_reingested_block_is_told_from_genuine_repeats() -> None:
    transcript, expected = case("065")
    assert transcript.store is not None
    found = integrity(transcript.store)
    told = found.as_json()
    for key in ("suspected_reingested_rows", "genuine_repeats_kept", "distinct_messages", "tokens_rows",
                "tokens_distinct", "duplicate_context_messages", "redundant_summary_pairs"):  # fmt: skip
        assert told[key] == expected[key], key
    assert found.depths == expected["depth"]
    assert [problem.code for problem in found.findings] == ["reingested_block"]


def test_times_with_and_without_zones_are_instants() -> None:
    transcript, expected = case("073")
    assert [iso(message.at) for message in transcript.messages] == expected["lcm_instants_utc"]
    late = [problem.entry for problem in transcript.problems if problem.code == "out_of_order"]
    assert late == [str(row) for row in expected["lcm_out_of_order"]]
