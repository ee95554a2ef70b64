from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from celery.exceptions import WorkerShutdown

from contextviz import broker
from contextviz.broker import MessageFile, process_identity


@pytest.fixture
def messages(tmp_path: Path) -> Iterator[MessageFile]:
    opened = MessageFile(str(tmp_path / "broker.sqlite3"))
    yield opened
    opened.close()


def test_messages_are_claimed_once_and_in_order(messages: MessageFile) -> None:
    for tag in ("a", "b"):
        messages.put("jobs", tag, f"body {tag}")

    assert [messages.claim("jobs") for _ in range(3)] == ["body a", "body b", None]


def test_queues_do_not_see_each_other(messages: MessageFile) -> None:
    messages.put("jobs", "a", "body")

    assert messages.claim("other") is None


def test_the_same_tag_is_kept_once(messages: MessageFile) -> None:
    messages.put("jobs", "a", "body")
    messages.put("jobs", "a", "body")

    assert messages.size("jobs") == 1


def test_a_released_message_waits_at_its_old_place(messages: MessageFile) -> None:
    for tag in ("a", "b"):
        messages.put("jobs", tag, tag)
    messages.claim("jobs")

    messages.release("a")

    assert messages.claim("jobs") == "a"


def test_a_message_that_is_done_is_gone(messages: MessageFile) -> None:
    messages.put("jobs", "a", "body")
    messages.claim("jobs")

    messages.done("a")

    assert messages.size("jobs") == 0


def test_purging_spares_what_is_being_worked_on(messages: MessageFile) -> None:
    for tag in ("a", "b", "c"):
        messages.put("jobs", tag, tag)
    messages.claim("jobs")

    assert messages.purge("jobs") == 2
    assert messages.size("jobs") == 1


def test_the_message_of_a_living_process_stays_claimed(messages: MessageFile) -> None:
    messages.put("jobs", "a", "body")
    messages.claim("jobs")

    assert messages.free_dead() == 0
    assert messages.claim("jobs") is None


def test_the_message_of_a_dead_process_is_free_again(messages: MessageFile) -> None:
    messages.put("jobs", "a", "body")
    code = "import sys; from contextviz.broker import MessageFile; print(MessageFile(sys.argv[1]).claim('jobs'))"
    root = str(Path(__file__).resolve().parent.parent.parent)
    claimed = subprocess.run(
        [sys.executable, "-c", code, messages.path], capture_output=True, text=True, check=True, cwd=root
    )
    assert claimed.stdout.strip() == "body"
    assert messages.claim("jobs") is None

    assert messages.free_dead() == 1
    assert messages.claim("jobs") == "body"


def test_a_later_process_with_the_same_id_has_another_identity(messages: MessageFile) -> None:
    identity = process_identity(os.getpid())
    assert identity is not None
    assert identity.startswith(f"{os.getpid()}:")
    messages.put("jobs", "a", "body")
    messages.claim("jobs")
    messages._connection().execute("UPDATE message SET owner = ?", (f"{os.getpid()}:1",))

    assert messages.free_dead() == 1


def test_a_process_that_does_not_run_has_no_identity() -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()

    assert process_identity(ended.pid) is None


def test_threads_that_claim_together_get_each_message_once(messages: MessageFile) -> None:
    for number in range(100):
        messages.put("jobs", str(number), str(number))
    taken: list[str] = []

    def take() -> None:
        while (body := messages.claim("jobs")) is not None:
            taken.append(body)
        messages.close()

    threads = [threading.Thread(target=take) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(taken, key=int) == [str(number) for number in range(100)]


@pytest.mark.parametrize("removed", ["broker.sqlite3", "broker.sqlite3*"])
def test_a_file_that_was_removed_is_made_again(messages: MessageFile, tmp_path: Path, removed: str) -> None:
    messages.put("jobs", "a", "body")
    for path in tmp_path.glob(removed):
        path.unlink()

    assert messages.claim("jobs") is None
    messages.put("jobs", "b", "made again")
    assert messages.claim("jobs") == "made again"


def test_a_file_that_was_replaced_is_opened_anew(messages: MessageFile, tmp_path: Path) -> None:
    messages.put("jobs", "a", "body")
    other = MessageFile(str(tmp_path / "other.sqlite3"))
    other.put("jobs", "b", "replaced")
    other.close()

    for path in tmp_path.glob("broker.sqlite3*"):
        path.unlink()
    (tmp_path / "other.sqlite3").rename(messages.path)

    assert messages.claim("jobs") == "replaced"


def test_a_full_disk_leaves_no_transaction_open(messages: MessageFile) -> None:
    messages.put("jobs", "a", "body")
    connection = messages._connection()
    (pages,) = connection.execute("PRAGMA page_count").fetchone()
    connection.execute(f"PRAGMA max_page_count = {pages}")

    with pytest.raises(sqlite3.OperationalError, match="full"):
        messages.put("jobs", "b", "x" * 100_000)

    messages.put("jobs", "c", "x" * 100_000)
    assert messages.size("jobs") == 2


def test_what_cannot_be_settled_is_tried_again_and_ends_the_worker_at_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(broker, "PAUSE_SECONDS", 0.0)
    settling = broker.Settling(str(tmp_path / "broker.sqlite3"))
    asked: list[str] = []

    def full(_: MessageFile, tag: str) -> None:
        asked.append(tag)
        raise sqlite3.OperationalError("database or disk is full")

    with monkeypatch.context() as broken:
        broken.setattr(MessageFile, "done", full)
        settling.settle("a", goes_back=False)
        settling.again()
        assert asked == ["a", "a"]
        broken.setattr(broker, "SETTLE_SECONDS", 0.0)
        with pytest.raises(WorkerShutdown):
            settling.again()
    assert "this worker ends" in caplog.text

    settling.again()
    settling.again()
    assert asked == ["a"] * 3
