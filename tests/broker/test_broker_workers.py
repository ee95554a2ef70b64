"""The broker under real workers, which are killed without notice. Seconds each: processes start and end."""

from __future__ import annotations

import contextlib
import os
import signal
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from contextviz.broker import MessageFile
from tests.stack import ROOT, wait_until

pytestmark = [pytest.mark.worker, pytest.mark.slow]
StartWorker = Callable[[], "subprocess.Popen[bytes]"]


def _log_of(folder: Path) -> str:
    return "".join(path.read_text() for path in sorted(folder.glob("worker-*.log")))


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    return {**os.environ, "BROKER_TEST_FOLDER": str(tmp_path), "PYTHONPATH": str(ROOT)}


@pytest.fixture
def start_worker(environment: dict[str, str], tmp_path: Path) -> Iterator[StartWorker]:
    workers: list[subprocess.Popen[bytes]] = []
    quiet = ["--without-gossip", "--without-mingle", "--without-heartbeat", "-l", "ERROR", "-c", "1"]

    def start() -> subprocess.Popen[bytes]:
        name = f"w{len(workers)}@localhost"
        command = [sys.executable, "-m", "celery", "-q", "-A", "tests.broker.worker_app", "worker", "-n", name, *quiet]
        with (tmp_path / f"worker-{len(workers)}.log").open("w") as log:
            worker = subprocess.Popen(
                command, env=environment, start_new_session=True, stdout=log, stderr=subprocess.STDOUT
            )
        workers.append(worker)
        return worker

    yield start
    for worker in workers:
        kill(worker)


@pytest.fixture
def waiting(tmp_path: Path) -> Iterator[MessageFile]:
    opened = MessageFile(str(tmp_path / "broker.sqlite3"))
    yield opened
    opened.close()


def kill(worker: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(worker.pid, signal.SIGKILL)
    worker.wait()


def enqueue(environment: dict[str, str], numbers: range, seconds: float = 0) -> None:
    code = f"from tests.broker.worker_app import note\nfor n in {numbers!r}: note.delay(n, {seconds})"
    subprocess.run([sys.executable, "-c", code], env=environment, check=True)


def noted(folder: Path, name: str) -> Counter[int]:
    path = folder / name
    return Counter(int(line) for line in path.read_text().split()) if path.exists() else Counter()


def test_two_workers_do_200_waiting_tasks_once_each(
    tmp_path: Path, environment: dict[str, str], start_worker: StartWorker, waiting: MessageFile
) -> None:
    enqueue(environment, range(200))
    assert waiting.size("celery") == 200, "what is sent while no worker runs must be kept"

    start_worker()
    start_worker()

    wait_until(lambda: waiting.size("celery") == 0, what="an empty queue")
    assert noted(tmp_path, "done") == Counter(range(200))


def test_tasks_survive_the_sudden_death_of_their_worker(
    tmp_path: Path, environment: dict[str, str], start_worker: StartWorker, waiting: MessageFile
) -> None:
    enqueue(environment, range(4), seconds=0.3)
    first = start_worker()
    wait_until(lambda: noted(tmp_path, "started"), what="the first task's start")

    kill(first)
    start_worker()

    wait_until(lambda: set(noted(tmp_path, "done")) == set(range(4)), what="all tasks")
    wait_until(lambda: waiting.size("celery") == 0, what="an empty queue")
    assert all(count == 1 for count in noted(tmp_path, "done").values())
    assert noted(tmp_path, "started")[0] == 2, "the task that was under way is delivered again"


def test_a_worker_told_to_stop_gives_back_what_it_did_not_begin(
    tmp_path: Path, environment: dict[str, str], start_worker: StartWorker, waiting: MessageFile
) -> None:
    enqueue(environment, range(3), seconds=0.3)
    worker = start_worker()
    wait_until(lambda: noted(tmp_path, "started"), what="the first task's start")

    worker.terminate()
    worker.wait(10)
    assert 0 < waiting.size("celery") < 3
    start_worker()

    wait_until(lambda: waiting.size("celery") == 0, what="an empty queue")
    assert noted(tmp_path, "done") == Counter(range(3))


def test_a_disk_that_is_full_for_a_moment_does_not_stop_a_worker(
    tmp_path: Path, environment: dict[str, str], start_worker: StartWorker, waiting: MessageFile
) -> None:
    (tmp_path / "full").touch()
    enqueue(environment, range(1))
    start_worker()
    wait_until((tmp_path / "refused").exists, what="a message that could not be removed")
    assert waiting.size("celery") == 1

    enqueue(environment, range(1, 3))
    wait_until(lambda: set(noted(tmp_path, "done")) == {0, 1, 2}, what="the tasks after it")
    (tmp_path / "full").unlink()

    wait_until(lambda: waiting.size("celery") == 0, what="an empty queue")
    assert noted(tmp_path, "started") == Counter(range(3))


def test_a_worker_that_cannot_settle_its_messages_ends_and_the_next_one_can(
    tmp_path: Path, environment: dict[str, str], start_worker: StartWorker, waiting: MessageFile
) -> None:
    environment["BROKER_TEST_SETTLE_SECONDS"] = "2"
    (tmp_path / "full").touch()
    enqueue(environment, range(1))
    worker = start_worker()

    assert worker.wait(30) == 1
    log = _log_of(tmp_path)
    assert "this worker ends: the broker's file could not be written" in log
    assert "Unrecoverable error" not in log

    (tmp_path / "full").unlink()
    start_worker()
    wait_until(lambda: waiting.size("celery") == 0, what="an empty queue")


def test_a_file_that_is_removed_under_a_worker_is_opened_anew(
    tmp_path: Path, environment: dict[str, str], start_worker: StartWorker, waiting: MessageFile
) -> None:
    enqueue(environment, range(1))
    start_worker()
    wait_until(lambda: noted(tmp_path, "done"), what="a worker that works")

    for path in sorted(tmp_path.glob("broker.sqlite3*"), reverse=True):
        path.unlink()  # the file itself last: the worker makes it again at once, with new ones beside it
    enqueue(environment, range(1, 3))

    wait_until(lambda: set(noted(tmp_path, "done")) == {0, 1, 2}, what="the tasks of the new file")
    wait_until(lambda: waiting.size("celery") == 0, what="an empty queue")


def test_a_worker_waits_for_a_locked_file(
    tmp_path: Path, environment: dict[str, str], start_worker: StartWorker, waiting: MessageFile
) -> None:
    enqueue(environment, range(1), seconds=2)  # long enough to lock the file before it ends
    worker = start_worker()
    wait_until(lambda: noted(tmp_path, "started"), what="a task that runs")

    with contextlib.closing(sqlite3.connect(waiting.path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        wait_until(lambda: "could not be settled" in _log_of(tmp_path), what="an acknowledgement that failed")
        other.execute("ROLLBACK")
    enqueue(environment, range(1, 2))

    wait_until(lambda: waiting.size("celery") == 0, what="an empty queue")
    assert noted(tmp_path, "done") == Counter(range(2))
    assert worker.poll() is None
