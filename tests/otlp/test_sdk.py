"""A program with the real SDK, in a process of its own, against a server that listens."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from contextviz.services.ingest import digest
from contextviz.store.models import CallRecord, JobRecord, MessageRecord, SessionRecord, SnapshotRecord

PROGRAM = Path(__file__).with_name("instrumented.py")


@pytest.mark.django_db(transaction=True)
@pytest.mark.slow  # another Python starts, and exports over a socket
def test_a_program_with_the_real_sdk_shows_up_as_a_session(live_server: Any) -> None:
    done = subprocess.run(
        [sys.executable, str(PROGRAM), live_server.url, ""], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    for job_id in JobRecord.objects.filter(state="queued").values_list("pk", flat=True):
        digest(job_id)
    session = SessionRecord.objects.get()
    assert (session.source_id, session.format, session.model) == ("talk-of-the-weather", "otlp", "small-1")
    calls = CallRecord.objects.filter(session=session).order_by("index")
    assert [(c.input_tokens, c.cache_read_tokens, c.output_tokens) for c in calls] == [(100, 0, 7), (60, 90, 7)]
    assert MessageRecord.objects.filter(session=session).count() == 4
    assert SnapshotRecord.objects.filter(session=session).count() == 2
