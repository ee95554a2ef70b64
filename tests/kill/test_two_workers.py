"""Ten uploads, two workers, one of them killed in the middle: each upload is read exactly once."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.operations.servers import postgres, postgres_programs, redis
from tests.services.building import claude_lines
from tests.stack import ROOT, Stack, ending, wait_until

pytestmark = [pytest.mark.kill, pytest.mark.worker, pytest.mark.slow]  # a database, a broker and two workers
UPLOADS, CALLS = 10, 30


@pytest.fixture
def scaled_out(tmp_path: Path) -> Iterator[Stack]:
    """An own product on PostgreSQL and Redis, which are started for it."""
    if postgres_programs() is None or shutil.which("redis-server") is None:
        pytest.skip("PostgreSQL or Redis is not installed (Debian: apt install postgresql redis-server)")
    folder = tmp_path / "data"
    folder.mkdir(mode=0o700)
    with contextlib.ExitStack() as running:
        database = running.enter_context(postgres("contextviz", "contextviz", "secret"))
        broker = running.enter_context(redis(tmp_path, ["redis-server", "--save", ""]))
        environment = {name: value for name, value in os.environ.items() if not name.startswith("CONTEXTVIZ_")}
        environment |= {
            "CONTEXTVIZ_DATA_DIR": str(folder), "DJANGO_SETTINGS_MODULE": "contextviz.settings",
            "CONTEXTVIZ_DATABASE_URL": f"postgres://contextviz:secret@127.0.0.1:{database}/contextviz",
            "CONTEXTVIZ_REDIS_URL": f"redis://127.0.0.1:{broker}/0", "PYTHONPATH": str(ROOT),
        }  # fmt: skip
        with ending(Stack(folder, environment)) as stack:
            stack.run("migrate", "--verbosity", "0", "--skip-checks")
            yield stack


def worker(stack: Stack, number: int, where: str, folder: Path) -> subprocess.Popen[str]:
    """A worker that halts once at the place, unless another has already."""
    script = str(ROOT / "tests" / "kill" / "slow_worker.py")
    command = [sys.executable, script, where, str(folder), "--concurrency", "1", "--loglevel", "WARNING"]
    with (stack.data_dir / f"worker-{number}.log").open("w") as log:
        started = subprocess.Popen(
            [*command, "--hostname", f"w{number}@localhost"], env=stack.environment, stdout=log,
            stderr=subprocess.STDOUT, text=True, start_new_session=True,
        )  # fmt: skip
    stack.processes.append(started)
    return started


def state(stack: Stack) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(stack.python("from tests.kill.probe import show; show()"))
    return found


def test_ten_uploads_are_read_once_each_though_a_worker_is_killed(scaled_out: Stack, tmp_path: Path) -> None:
    upload = ["from tests.kill.probe import upload"]
    for number in range(UPLOADS):
        folder = tmp_path / f"upload-{number}"
        folder.mkdir()
        session = f"0b1c2d3e-0000-4000-8000-0000000000{number:02d}"
        (folder / "talk.jsonl").write_text(claude_lines(CALLS, session=session, word=f"w{number}" * 50))
        upload.append(f"upload({str(folder)!r}, messages=2)")  # each message comes twice, as a broker may send it
    scaled_out.python("\n".join(upload))
    mark = tmp_path / "mark"
    mark.mkdir()

    doomed = worker(scaled_out, 1, "digest-saving", mark)
    wait_until((mark / "halted").exists, seconds=60, what="a halt in the middle of a digest")
    worker(scaled_out, 2, "digest-saving", mark)
    scaled_out.kill_group(doomed)
    wait_until(
        lambda: all(job["state"] == "done" for job in _digests(scaled_out)), seconds=120, what="the end of every upload"
    )

    found = state(scaled_out)
    assert found["sessions"] == [[CALLS, 2 * CALLS]] * UPLOADS
    assert found["rows"]["MessageRecord"] == 2 * CALLS * UPLOADS
    assert found["rows"]["CallRecord"] == CALLS * UPLOADS
    assert found["unused"] == 0
    tries = sorted(job["attempts"] for job in _digests(scaled_out))
    assert tries == [1] * (UPLOADS - 1) + [2], "one was begun twice, since its worker was killed; no other was"


def _digests(stack: Stack) -> list[dict[str, Any]]:
    return [job for job in state(stack)["jobs"].values() if "Read 1 file" in job["outcome"] or job["state"] != "done"]
