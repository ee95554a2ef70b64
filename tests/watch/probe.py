"""Run inside a stack (Stack.python): what is known of followed sessions, and how to be let in."""

from __future__ import annotations

import json

from django.conf import settings
from django.test import Client

from contextviz.services.access import local_owner
from contextviz.store import models
from contextviz.store.queries.transcripts import load_transcript


def show() -> None:
    """Print sessions, rows, the feed's keys in order and the jobs' states as JSON."""
    sessions = list(models.SessionRecord.objects.values_list("call_count", "message_count", "compaction_count"))
    words = []
    for record in models.SessionRecord.objects.order_by("source_id"):
        words.append([block.text.chars for one in load_transcript(record.pk).messages for block in one.blocks
                      if block.text])  # fmt: skip
    held = {
        "sessions": sessions,
        "messages": models.MessageRecord.objects.count(),
        "words": words,
        "feed": list(models.LiveEventRecord.objects.order_by("pk").values_list("pk", "kind", "key")),
        "states": sorted(set(models.JobRecord.objects.values_list("state", flat=True))),
    }
    print(json.dumps(held, default=str))


def cookie() -> None:
    """Print the cookie of the signed-in owner."""
    client = Client(headers={"host": "127.0.0.1"})
    client.force_login(local_owner())
    print(f"{settings.SESSION_COOKIE_NAME}={client.cookies[settings.SESSION_COOKIE_NAME].value}")
