"""What an import holds in memory: nothing of what only replays need."""

from __future__ import annotations

import subprocess
import sys


def test_an_import_loads_no_engine_and_nothing_they_stand_on() -> None:
    code = (
        "import django, sys; django.setup()\n"
        "import contextviz.services.ingest, contextviz.services.digest, contextviz.tasks\n"
        "print(*sorted(name for name in sys.modules if name in ('numpy', 'plotly', 'openai', 'contextviz.engines')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)

    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == ""
