"""What real exporters sent, byte for byte."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from django.test import Client

from contextviz.services.ingest import digest
from contextviz.store.models import CallRecord, InboxCountRecord, InboxStreamRecord, JobRecord, SessionRecord

SHARED = Path(__file__).parents[3] / "shared" / "samples"
pytestmark = [
    pytest.mark.django_db,
    pytest.mark.skipif(not SHARED.is_dir(), reason="the samples (../shared) are not here"),
]


def send_all(folder: Path) -> None:
    """Every request of a folder as it was sent: its body, and those of its headers that say something of it."""
    for body in sorted(folder.glob("*.bin")):
        told = json.loads(body.with_name(body.name.replace(".bin", ".headers.json")).read_text())
        headers = {name.lower(): value for name, value in told["headers"].items()}
        signal = told["path"].rsplit("/", 1)[-1]
        response = Client().post(f"/v1/{signal}", body.read_bytes(), content_type=headers["content-type"])
        assert response.status_code == 200, response.content
        assert response["Content-Type"] == "application/x-protobuf"
        assert response.content == b""  # all of it was taken: an empty message


def digest_all() -> None:
    """What the worker does."""
    for job_id in JobRecord.objects.filter(state="queued").order_by("created_at").values_list("pk", flat=True):
        digest(job_id)
    assert not JobRecord.objects.filter(state="failed").exists()


def test_codex_is_five_calls_and_no_compaction_however_often_it_is_sent() -> None:
    for _ in range(2):
        send_all(SHARED / "codex-main" / "otlp")
        digest_all()
        session = SessionRecord.objects.get()
        assert (session.call_count, session.compaction_count) == (5, 0)
        calls = CallRecord.objects.filter(session=session)
        sums = [
            sum(getattr(call, name) or 0 for call in calls)
            for name in ("input_tokens", "cache_read_tokens", "output_tokens")
        ]
        assert sums == [54_272 - 42_545, 42_545, 1_270]
        assert session.source_id == "01a22a14-39d5-7e42-b116-663380f4f2a7"
        assert (session.window, session.compaction_threshold) == (24_000, 15_000)


def test_openclaw_is_two_calls_whose_usage_is_of_the_run() -> None:
    for _ in range(2):
        send_all(SHARED / "oc-otel-chat-2026.4.29" / "otlp")
        digest_all()
        session = SessionRecord.objects.get()
        assert (session.call_count, session.compaction_count, session.window) == (2, 0, 24_000)
        assert session.spend_total_tokens is None  # written for both calls together
    from_metrics = InboxCountRecord.objects.get(what="metric openclaw.queue.depth")
    assert from_metrics.count == 2 * 7
    assert InboxStreamRecord.objects.count() == 1
