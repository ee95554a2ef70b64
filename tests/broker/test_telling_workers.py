"""The product's own way to its broker: a broker that is locked holds no request up and loses no message."""

from __future__ import annotations

import json
import os

import pytest

from tests.stack import Stack

pytestmark = [
    pytest.mark.worker,
    pytest.mark.slow,
    pytest.mark.skipif(bool(os.environ.get("CONTEXTVIZ_REDIS_URL")), reason="is about the embedded broker"),
]
OPEN_AND_TELL = """
import json, sqlite3, time
from django.conf import settings
from django.utils import timezone
from contextviz import tasks
from contextviz.broker import MessageFile
from contextviz.services import retrieve

waiting = MessageFile(settings.CELERY_BROKER_TRANSPORT_OPTIONS["path"])
waiting.size("celery")
other = sqlite3.connect(waiting.path, isolation_level=None)
other.execute("BEGIN IMMEDIATE")
began = time.monotonic()
for _ in range(3):
    tasks.enqueue(retrieve.open_retrieve("f" * 24, now=timezone.now()))
seconds = time.monotonic() - began
other.execute("ROLLBACK")
while waiting.size("celery") < 3 and time.monotonic() < began + 30:
    time.sleep(0.05)
print(json.dumps({"seconds": seconds, "messages": waiting.size("celery")}))
"""


def test_a_locked_broker_holds_nobody_up_and_gets_the_messages_later(made_stack: Stack) -> None:
    told = json.loads(made_stack.python(OPEN_AND_TELL))

    assert 0.9 < told["seconds"] < 4, "the first waits for a second, the others do not"
    assert told["messages"] == 3
