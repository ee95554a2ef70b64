"""The measured sample: its windows against what was really sent, its graph against the store."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from contextviz.analysis.snapshots import snapshot_lines
from contextviz.analysis.summary_graph import graph, integrity
from contextviz.events.session import Transcript
from contextviz.sources.attach import attach
from contextviz.sources.openclaw import OpenClawReader
from contextviz.sources.source import Found, ReadOptions
from contextviz.tokens.pool import MemoryPool
from tests.sources.lossless_claw.building import NOW, SHARED, probe_of, transcripts

SAMPLE = SHARED / "samples" / "oc-lossless1"
pytestmark = pytest.mark.skipif(not SAMPLE.is_dir(), reason="the shared samples are not here")


def scorer() -> ModuleType:
    spec = importlib.util.spec_from_file_location("wire_score", SHARED / "tools" / "wire_score.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def hosted(path: Path, pool: MemoryPool) -> Transcript:
    reader, probe = OpenClawReader(), probe_of(path)
    detection = reader.detect(probe)
    assert detection is not None
    found = reader.read([Found(probe, detection)], ReadOptions(pool, NOW))
    return next(item for item in found if isinstance(item, Transcript) and item.calls)


def test_every_window_of_the_sample_is_what_was_sent() -> None:
    pool = MemoryPool()
    (store,) = transcripts(SAMPLE / "lcm.db", pool)
    session = hosted(SAMPLE / "agents" / "main" / "agent" / "openclaw-agent.sqlite", pool)
    attach(session, store)
    result = scorer().score(SAMPLE, list(snapshot_lines(session, pool)))
    assert (result["matched"], result["exact"], result["recall"], result["precision"]) == (77, 1.0, 1.0, 1.0)
    after = [session.calls[one.after_call].response_id for one in session.compactions if one.after_call is not None]
    assert [(name or "")[-4:] for name in after] == ["0041", "0069", "0095", "0123"]


def test_the_samples_graph_is_sound_but_for_one_row_stored_twice() -> None:
    (transcript,) = transcripts(SAMPLE / "lcm.db")
    store = transcript.store
    assert store is not None
    (finding,) = integrity(store).findings
    assert finding.message == "rows 3 and 5 answer the same tool call"
    drawn = graph(store)
    assert (len(drawn.nodes), drawn.max_depth, len(drawn.band)) == (38, 3, 24)
    assert [item.id for item in drawn.band] == [item.id for item in store.context]
    told = [name for item in drawn.band if item.kind == "summary" for name in drawn.covered_messages(item.id)]
    told += [item.id for item in drawn.band if item.kind == "message"]
    assert told == [message.id for message in store.messages]
