"""The leaf boundaries of a real store: what lossless-claw itself cut, against the engine's rule."""

from __future__ import annotations

from pathlib import Path

import pytest

from contextviz.engines.lossless import Conversation, Row, Sweeper, config_of, leaf_chunk
from contextviz.engines.summarising.stubs import TINY
from contextviz.sources.lossless_claw.rows import TABLES, StoreRows
from contextviz.sources.sqlite import open_store

Stored = tuple[list[Row], list[tuple[int, ...]]]


@pytest.fixture
def store_rows(shared: Path) -> Stored:
    """The sample's stored messages, and the seqs of its leaves."""
    path = shared / "samples" / "oc-lossless1" / "lcm.db"
    if not path.is_file():
        pytest.skip("the sample oc-lossless1 is not on this machine")
    with open_store(path, TABLES) as connection:
        store = StoreRows(connection)
        number = store.conversations()[0]["conversation_id"]
        messages = list(store.messages(number))
        seqs = {row["message_id"]: row["seq"] for row in messages}
        leaves: dict[str, list[int]] = {}
        for link in store.covered(number):
            leaves.setdefault(link["summary_id"], []).append(seqs[link["target"]])
    rows = [Row(row["seq"], row["role"], row["content"], row["token_count"], 0) for row in messages]
    # A tool call's row has no text of its own.
    rows = [row if row.content else Row(row.seq, row.role, "a call", row.tokens, 0) for row in rows]
    return rows, sorted(map(tuple, leaves.values()))


SAMPLE = {"contextThreshold": 0.62, "freshTailCount": 8, "freshTailMaxTokens": 3000, "leafMinFanout": 4,
          "condensedMinFanout": 2, "sweepMaxDepth": 2, "leafChunkTokens": 1200, "leafTargetTokens": 300,
          "condensedTargetTokens": 400, "summaryPrefixTargetTokens": 1200}  # fmt: skip


def test_the_newer_release_cuts_the_samples_leaves_where_its_store_did(
    store_rows: Stored,
) -> None:
    rows, leaves = store_rows
    config = config_of({**SAMPLE, "freshTailCount": 0, "maxSweepIterations": 1000}, takes_reaching=True)
    conversation = Conversation(rows)
    found: list[tuple[int, ...]] = []
    after = -1
    while len(found) < len(leaves):
        start, last = leaf_chunk(conversation, config, after=after)
        assert start <= last
        found.append(tuple(row.seq for row in rows[start : last + 1]))
        after = last
    assert len(leaves) == 22 and found == leaves

    swept = Conversation()
    sweeper = Sweeper(swept, config_of({**SAMPLE, "maxSweepIterations": 1000}, takes_reaching=True), TINY)
    for row in rows:
        swept.append(row)
        if row.role == "user":
            sweeper.sweep(14_150)
    sweeper.sweep(1)
    made = sorted(summary.seqs for summary in swept.summaries.values() if summary.kind == "leaf")
    assert made[:22] == leaves


def test_the_older_release_cuts_them_elsewhere(store_rows: Stored) -> None:
    rows, leaves = store_rows
    config = config_of({**SAMPLE, "freshTailCount": 0})
    start, last = leaf_chunk(Conversation(rows), config)
    assert tuple(row.seq for row in rows[start : last + 1]) != leaves[0]
