"""Telemetry and events of a conversation whose transcript is here too: one session, nothing counted twice."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest
from django.db import transaction

from contextviz.services.inbox.posting import Posted, accept
from contextviz.services.ingest import digest, import_paths
from contextviz.store.models import CallRecord, EngineEventRecord, JobRecord, SessionRecord
from contextviz.store.queries.calls import problems
from tests.otlp.test_samples import SHARED, digest_all, send_all
from tests.services.building import claude_lines
from tests.sources.context_events.talk import talk
from tests.store.building import NOW

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]
SESSION = "0b1c2d3e-0000-4000-8000-000000000001"


def bring(path: Path) -> None:
    digest(import_paths([path], now=NOW))
    assert not JobRecord.objects.filter(state="failed").exists()


@pytest.mark.skipif(not SHARED.is_dir(), reason="the samples (../shared) are not here")
@pytest.mark.parametrize("is_rollout_first", [True, False])
def test_codex_with_its_rollout_whichever_comes_first(is_rollout_first: bool) -> None:
    rollouts = SHARED / "codex-main" / "sessions"
    if is_rollout_first:
        bring(rollouts)
    send_all(SHARED / "codex-main" / "otlp")
    digest_all()
    if not is_rollout_first:
        bring(rollouts)
    session = SessionRecord.objects.get()
    assert (session.format, session.call_count, session.compaction_count) == ("codex", 61, 7)
    assert CallRecord.objects.filter(session=session).count() == 61
    (told,) = [one for one in problems(session.pk) if one.code == "telemetry_beside"]
    assert "it tells 5 calls with 55,542 tokens" in told.message
    send_all(SHARED / "codex-main" / "otlp")
    digest_all()
    assert SessionRecord.objects.get().call_count == 61


@pytest.mark.parametrize("is_transcript_first", [True, False])
def test_posted_events_join_the_transcript_that_they_are_of(tmp_path: Path, is_transcript_first: bool) -> None:
    transcript = tmp_path / f"{SESSION}.jsonl"
    transcript.write_text(claude_lines(3))
    if is_transcript_first:
        bring(transcript)
    rows = [Posted(f"seq {one['seq']}", orjson.dumps({**one, "session": SESSION})) for one in talk()]
    with transaction.atomic():
        accept("events", SESSION, rows, now=NOW)
    digest_all()
    if not is_transcript_first:
        bring(transcript)
    session = SessionRecord.objects.get()
    assert (session.format, session.call_count, session.compaction_count) == ("claude-code", 3, 1)
    kinds = set(EngineEventRecord.objects.filter(session=session).values_list("type", flat=True))
    assert {"compaction.evaluated", "engine.error"} <= kinds
