"""A Celery application on the embedded broker, for the tests' own workers: it notes in files what it did.

While there is a file `full` in its folder no message can be removed, as on a full disk. `BROKER_TEST_SETTLE_SECONDS` is
how long a worker puts up with that.
"""

from __future__ import annotations

import os
import sqlite3
import time
from pathlib import Path

from celery import Celery
from kombu.transport import TRANSPORT_ALIASES

from contextviz import broker

TRANSPORT_ALIASES["ctxsqlite"] = "contextviz.broker:Transport"
FOLDER = Path(os.environ["BROKER_TEST_FOLDER"])

broker.SETTLE_SECONDS = float(os.environ.get("BROKER_TEST_SETTLE_SECONDS", broker.SETTLE_SECONDS))
_done = broker.MessageFile.done


def _done_unless_full(messages: broker.MessageFile, tag: str) -> None:
    if (FOLDER / "full").exists():
        (FOLDER / "refused").touch()
        raise sqlite3.OperationalError("database or disk is full")
    _done(messages, tag)


broker.MessageFile.done = _done_unless_full  # type: ignore[method-assign, assignment]

app = Celery("broker_test", broker="ctxsqlite://localhost")
app.conf.update(
    broker_transport_options={"path": str(FOLDER / "broker.sqlite3")},
    task_ignore_result=True,
    task_acks_late=True,
    task_reject_on_worker_lost=True,
    worker_prefetch_multiplier=1,
    worker_enable_remote_control=False,
    broker_connection_retry_on_startup=True,
)


@app.task
def note(number: int, seconds: float = 0) -> None:
    for name in ("started", "done"):
        with (FOLDER / name).open("a") as stream:
            stream.write(f"{number}\n")
        time.sleep(seconds)
