"""A Celery application on the embedded broker, for the tests' own workers: it notes in files what it did."""

from __future__ import annotations

import os
import time
from pathlib import Path

from celery import Celery
from kombu.transport import TRANSPORT_ALIASES

TRANSPORT_ALIASES["ctxsqlite"] = "contextviz.broker:Transport"
FOLDER = Path(os.environ["BROKER_TEST_FOLDER"])

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
