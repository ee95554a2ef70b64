"""A server killed in the middle of an upload: nothing half is listed or kept, and the person is told."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.stack import stack_in, wait_until

pytestmark = [pytest.mark.kill, pytest.mark.slow]  # processes are started and killed


def test_a_half_upload_is_gone_after_a_restart_and_told(tmp_path: Path) -> None:
    with stack_in(tmp_path / "data", migrated=True) as stack:
        mark = tmp_path / "half"
        code = (
            "import django; django.setup()\n"
            f"from tests.kill.probe import receive_without_end; receive_without_end({str(mark)!r})"
        )
        server = subprocess.Popen(
            [sys.executable, "-c", code], env=stack.environment, start_new_session=True, text=True
        )
        stack.processes.append(server)
        wait_until(mark.exists, seconds=30, what="half an upload")
        assert len(list((stack.data_dir / "incoming").glob("*.part"))) == 1

        stack.kill_group(server)

        after = json.loads(stack.python("from tests.kill.probe import show_uploads; show_uploads()"))
        assert after["told"] == ["half.jsonl did not arrive completely, since the server was stopped. Send it again."]
        assert (after["incoming"], after["kept"], after["files"]) == ([], ["whole.jsonl"], 1)
