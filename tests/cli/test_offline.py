"""After the installation nothing leaves the machine: `up`, the demo and every page, where only loopback exists."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.worker,
    pytest.mark.slow,  # a whole product is started and every page of it opened
    pytest.mark.skipif(
        bool(os.environ.get("CONTEXTVIZ_DATABASE_URL")), reason="its services lie outside the namespace"
    ),
]


def without_a_network() -> list[str]:
    """The command that runs another one in a new network namespace; skips where the system does not allow it."""
    command = ["unshare", "--net"] if os.geteuid() == 0 else ["unshare", "--net", "--map-root-user"]
    if not shutil.which("unshare") or subprocess.run([*command, "true"], capture_output=True, check=False).returncode:
        pytest.skip("this system does not let us make a network namespace (unshare --net)")
    return command


def test_every_page_of_the_demo_works_without_a_network(tmp_path: Path) -> None:
    script = Path(__file__).with_name("offline_session.py")
    command = [*without_a_network(), sys.executable, str(script), str(tmp_path / "offline")]

    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)

    assert done.returncode == 0, done.stdout + done.stderr
    seen = json.loads(done.stdout)
    assert seen["failed"] == []
    assert seen["foreign"] == []
    assert seen["attempts"] == []
    assert len(seen["opened"]) > 10
    assert any(path.startswith("/static/") for path in seen["opened"])
