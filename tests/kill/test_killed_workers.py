"""A worker killed without notice in the middle of each job; another one ends it: once, with nothing lost.

Real processes on the stack that is set (SQLite and its broker, or PostgreSQL and Redis): seconds each.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from tests.services.building import claude_lines
from tests.stack import ROOT, Stack, stack_in, wait_until

pytestmark = [pytest.mark.kill, pytest.mark.worker, pytest.mark.slow]
OTHER = "0b1c2d3e-0000-4000-8000-000000000002"


@pytest.fixture
def stack(tmp_path: Path) -> Iterator[Stack]:
    with stack_in(tmp_path / "data", migrated=True) as opened:
        yield opened


@pytest.fixture
def uploads(tmp_path: Path) -> Path:
    folder = tmp_path / "uploads"
    folder.mkdir()
    # More than one pack of text in the first, so that reading is halted with one written.
    (folder / "a.jsonl").write_text(claude_lines(150, word="alpha" * 600))
    (folder / "b.jsonl").write_text(claude_lines(20, session=OTHER))
    return folder


def start(stack: Stack, where: str, folder: Path) -> subprocess.Popen[str]:
    script = str(ROOT / "tests" / "kill" / "slow_worker.py")
    command = [sys.executable, script, where, str(folder), "--concurrency", "1", "--loglevel", "WARNING"]
    command += ["--hostname", f"w{len(stack.processes)}@localhost"]
    log = (stack.data_dir / f"worker-{len(stack.processes)}.log").open("w")
    worker = subprocess.Popen(
        command, env=stack.environment, stdout=log, stderr=subprocess.STDOUT, text=True, start_new_session=True
    )
    log.close()
    stack.processes.append(worker)
    return worker


def state(stack: Stack) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(stack.python("from tests.kill.probe import show; show()"))
    return found


def upload(stack: Stack, folder: Path, *, messages: int = 1) -> str:
    """Upload a folder and send that many messages for its job; the job's id."""
    return stack.python(f"from tests.kill.probe import upload; upload({str(folder)!r}, messages={messages})").strip()


def state_of_job(stack: Stack, job_id: str) -> dict[str, Any]:
    found: dict[str, Any] = state(stack)["jobs"][job_id]
    return found


def ended(stack: Stack, job_id: str) -> bool:
    found = stack.rows(f"SELECT state FROM store_jobrecord WHERE id = '{UUID(job_id).hex}'")
    return found[0][0] not in ("queued", "running")


def kill_in_the_middle(stack: Stack, folder: Path, where: str, job_id: str) -> None:
    """Start a worker, kill it and its pool where it halts, start another, and wait until the job has ended."""
    worker = start(stack, where, folder)
    wait_until((folder / "halted").exists, seconds=30, what=f"a halt in {where}")
    assert state_of_job(stack, job_id)["state"] == "running"
    stack.kill_group(worker)
    start(stack, where, folder)
    wait_until(lambda: ended(stack, job_id), seconds=30, what="the end of the job")


def complete(stack: Stack) -> None:
    """Assert that both sessions are there whole and once."""
    found = state(stack)
    assert found["sessions"] == [[150, 300], [20, 40]], found["jobs"]
    expected = {"MessageRecord": 340, "CallRecord": 170, "SnapshotRecord": 170, "TextUseRecord": 340}
    assert found["rows"] == expected
    for words in (f"{'alpha' * 600} answer 149", "alpha answer 19"):
        assert found["words"].count(words) == 1
    assert found["unused"] == 0


@pytest.mark.parametrize("where", ["digest-reading", "digest-saving", "digest-between-sessions"])
def test_a_digest_is_done_once_and_whole(stack: Stack, uploads: Path, tmp_path: Path, where: str) -> None:
    job_id = upload(stack, uploads)

    kill_in_the_middle(stack, tmp_path, where, job_id)

    job = state_of_job(stack, job_id)
    assert (job["state"], job["attempts"]) == ("done", 2), job
    complete(stack)


def test_readers_see_nothing_of_a_session_that_is_half_saved(stack: Stack, uploads: Path, tmp_path: Path) -> None:
    upload(stack, uploads)
    worker = start(stack, "digest-saving", tmp_path)
    wait_until((tmp_path / "halted").exists, seconds=30, what="a halt while saving")

    found = state(stack)
    assert (found["sessions"], found["rows"]["MessageRecord"]) == ([], 0)

    stack.kill_group(worker)
    found = state(stack)
    assert (found["sessions"], found["rows"]["MessageRecord"]) == ([], 0)


def test_a_pool_process_that_is_killed_alone_is_replaced_and_its_job_done(
    stack: Stack, uploads: Path, tmp_path: Path
) -> None:
    job_id = upload(stack, uploads)
    worker = start(stack, "digest-saving", tmp_path)
    wait_until((tmp_path / "halted").exists, seconds=30, what="a halt while saving")

    children = Path(f"/proc/{worker.pid}/task/{worker.pid}/children").read_text().split()
    os.kill(int(children[0]), signal.SIGKILL)

    wait_until(lambda: ended(stack, job_id), seconds=60, what="the end of the job")
    assert state_of_job(stack, job_id)["state"] == "done", stack.output(stack.processes[-1])
    complete(stack)


def read_first(stack: Stack, uploads: Path) -> None:
    """Upload and read without a worker."""
    job_id = upload(stack, uploads, messages=0)
    stack.python(f"from contextviz.services import digest; digest.digest({job_id!r})")


def open_and_enqueue(stack: Stack, module: str, call: str) -> str:
    code = (
        f"from django.utils import timezone\nfrom contextviz import tasks\nfrom contextviz.services import {module}\n"
        f"job = {module}.{call}\ntasks.enqueue(job)\nprint(job)"
    )
    return stack.python(code).strip()


def test_an_original_is_still_retrieved(stack: Stack, uploads: Path, tmp_path: Path) -> None:
    read_first(stack, uploads)
    sha256 = "import hashlib; print(hashlib.sha256(b'alpha answer 19').hexdigest())"
    wanted = stack.python(sha256).strip()
    job_id = open_and_enqueue(stack, "retrieve", f"open_retrieve({wanted!r}, now=timezone.now())")

    kill_in_the_middle(stack, tmp_path, "retrieve", job_id)

    job = state_of_job(stack, job_id)
    assert (job["state"], job["attempts"]) == ("done", 2)
    assert [one["status"] for one in job["result"]["originals"]] == ["verified"]
    complete(stack)


def test_a_summary_is_still_expanded(stack: Stack, shared: Path, tmp_path: Path) -> None:
    sample = str(shared / "samples" / "oc-lossless1")
    code = (
        "from django.utils import timezone\nfrom contextviz.services import ingest\n"
        "from contextviz.store.queries import jobs, summaries\n"
        f"job = ingest.import_paths([{sample!r}], now=timezone.now())\ningest.digest(job)\n"
        "session = jobs.get_job(job).result['sessions'][0]\nprint(session, summaries.nodes(session)[0].id)"
    )
    session_id, node = stack.python(code).split()
    job_id = open_and_enqueue(stack, "expand", f"open_expand({session_id}, {node!r}, now=timezone.now())")

    kill_in_the_middle(stack, tmp_path, "expand", job_id)

    job = state_of_job(stack, job_id)
    assert (job["state"], job["attempts"]) == ("done", 2)
    assert job["result"]["message_count"] == len(job["result"]["message_ids"]) > 0


def test_a_deletion_goes_on_to_its_end(stack: Stack, uploads: Path, tmp_path: Path) -> None:
    read_first(stack, uploads)
    find = f"from contextviz.store.queries import sessions; print(sessions.named({OTHER!r})[0].id)"
    session_id = stack.python(find).strip()
    job_id = open_and_enqueue(stack, "delete", f"open_delete({session_id}, now=timezone.now())")

    kill_in_the_middle(stack, tmp_path, "delete", job_id)

    found = state(stack)
    assert state_of_job(stack, job_id)["state"] == "done", stack.output(stack.processes[-1])
    assert found["sessions"] == [[150, 300]]
    assert (found["unused"], found["rows"]["TextUseRecord"]) == (0, 300)


@pytest.mark.parametrize("where", ["replay", "replay-saving"])
def test_a_replay_is_picked_up_again_with_the_same_hash(
    stack: Stack, uploads: Path, tmp_path: Path, where: str
) -> None:
    read_first(stack, uploads)
    find = f"from contextviz.store.queries import sessions; print(sessions.named('{OTHER[:-1]}1')[0].id)"
    session_id = stack.python(find).strip()
    call = f"start_run({session_id}, 'keep-tail', measure=replay.Measure(window=30_000), now=timezone.now())"
    job_id = open_and_enqueue(stack, "replay", f"{call}.job_id")

    kill_in_the_middle(stack, tmp_path, where, job_id)

    job = state_of_job(stack, job_id)
    assert (job["state"], job["attempts"]) == ("done", 2), job
    shown = stack.python(
        "from contextviz.store.models import RunChunkRecord, RunRecord\n"
        "row = RunRecord.objects.get()\n"
        "print(row.call_count, row.hash, RunChunkRecord.objects.filter(kind='windows').count())"
    ).split()
    assert shown == ["150", job["result"]["hash"], "5"]
    # The same once more, by nobody who was killed.
    again = stack.python(
        "from django.utils import timezone\nfrom contextviz.services import replay\n"
        "from contextviz.store.models import RunRecord\nRunRecord.objects.update(config_hash='x')\n"
        f"made = replay.{call}\nreplay.execute_run(made.job_id)\nprint(RunRecord.objects.get(pk=made.run_id).hash)"
    ).strip()
    assert again == job["result"]["hash"]
    assert state(stack)["unused"] == 0


def test_a_message_that_was_lost_is_made_up_for_by_the_next_worker(stack: Stack, uploads: Path, tmp_path: Path) -> None:
    job_id = upload(stack, uploads, messages=0)
    (tmp_path / "halted").write_text("")

    start(stack, "digest-saving", tmp_path)

    wait_until(lambda: ended(stack, job_id), seconds=30, what="the end of the job")
    complete(stack)


def test_a_message_delivered_many_times_does_its_job_once(stack: Stack, uploads: Path, tmp_path: Path) -> None:
    job_id = upload(stack, uploads, messages=5)
    (tmp_path / "halted").write_text("")

    for _ in range(2):
        start(stack, "digest-saving", tmp_path)

    wait_until(lambda: ended(stack, job_id), seconds=30, what="the end of the job")
    assert state_of_job(stack, job_id)["attempts"] == 1
    complete(stack)
