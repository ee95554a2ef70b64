"""Run inside a stack (Stack.python): uploads a folder as one batch, and shows what the store holds."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

from django.db.models import Count
from django.utils import timezone

from contextviz import tasks
from contextviz.services import ingest
from contextviz.store import models
from contextviz.store.artifacts import incoming_dir, path_of
from contextviz.store.queries import jobs
from contextviz.store.texts import TextReader

TABLES = ("MessageRecord", "CallRecord", "SnapshotRecord", "TextUseRecord")


def upload(folder: str, *, messages: int = 1) -> None:
    """Upload every file of the folder, send `messages` to the workers, print the job's id."""
    now = timezone.now()
    batch = ingest.open_batch(now=now)
    for path in sorted(Path(folder).iterdir()):
        ingest.receive([path.read_bytes()], path.name, batch_id=batch, now=now)
    job_id = ingest.finish_batch(batch, now=now)
    for _ in range(messages):
        tasks.enqueue(str(job_id))
    print(job_id)


def show() -> None:
    """Print sessions, row counts, every block's words, texts without a use, and jobs as JSON."""
    sessions = models.SessionRecord.objects.order_by("source_id")
    all_jobs = models.JobRecord.objects.values("id", "state", "attempts", "outcome", "result")
    held = {
        "sessions": list(sessions.values_list("call_count", "message_count")),
        "rows": {name: getattr(models, name).objects.count() for name in TABLES},
        "words": _words(),
        "unused": models.TextRecord.objects.annotate(n=Count("uses")).filter(n=0).count(),
        "jobs": {str(job["id"]): job for job in all_jobs},
    }
    print(json.dumps(held, default=str))


def _words() -> list[str]:
    blocks = [block for one in models.MessageRecord.objects.all() for block in one.blocks]
    digests = [bytes.fromhex(block["t"][0]) for block in blocks]
    found = TextReader().get_many(digests)
    return [found[digest] for digest in digests]


def receive_without_end(mark: str) -> None:
    """Receive one whole file and then one whose bytes stop coming; `mark` is written once half of it is here."""
    now = timezone.now()
    batch = ingest.open_batch(now=now)
    ingest.receive([b'{"type":"user"}\n'], "whole.jsonl", batch_id=batch, now=now)

    def chunks() -> Iterator[bytes]:
        for _ in range(64):
            yield b'{"type":"user"}\n' * 4096
        Path(mark).write_text("")
        time.sleep(3600)

    ingest.receive(chunks(), "half.jsonl", batch_id=batch, now=now)


def show_uploads() -> None:
    """Start as a server does, and print what a person is told and which files are there."""
    ingest.sweep_incoming(now=timezone.now(), is_sole_server=True)
    told = [row.sentence for row in jobs.uploads_to_tell()]
    incoming = [path.name for path in incoming_dir().iterdir()]
    kept = list(models.ArtifactRecord.objects.values_list("name", flat=True))
    files = [path.name for path in path_of("00").parent.parent.rglob("*") if path.is_file()]
    print(json.dumps({"told": told, "incoming": incoming, "kept": kept, "files": len(files)}))
