"""An installation of its own in a scratch folder: settings, database, imports, a signed-in client."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent


def open_scratch(folder: Path) -> None:
    """Set Django up on the data folder `folder`, which is made; once in a process, before anything of Django's."""
    os.environ["CONTEXTVIZ_DATA_DIR"] = str(folder)
    os.environ["DJANGO_SETTINGS_MODULE"] = "contextviz.settings"
    os.environ.pop("CONTEXTVIZ_DEBUG", None)
    os.environ["PYTHONPATH"] = str(ROOT)
    # In a process of its own: the modules that it loads would count as an import's memory.
    subprocess.run([sys.executable, ROOT / "manage.py", "migrate", "-v0"], check=True, env=os.environ, cwd=ROOT)
    import_module("django").setup()


def import_here(paths: Sequence[Path]) -> None:
    """Import the files as a worker does, in this process. Ends the bench where the import does not end well."""
    ingest = import_module("contextviz.services.ingest")
    models = import_module("contextviz.store.models")
    job = ingest.import_paths(paths, now=datetime.now(UTC))
    ingest.digest(job)
    record = models.JobRecord.objects.get(pk=job)
    if record.state != "done":
        raise SystemExit(f"the import did not end well: {record.state}: {record.outcome}")


def signed_in_client() -> Any:
    """A test client of the local owner: the whole application in this process, without a network."""
    client = import_module("django.test").Client(headers={"host": "127.0.0.1"})
    client.force_login(import_module("contextviz.services.access").local_owner())
    return client


def say(text: str) -> None:
    """A line of progress."""
    print(text, file=sys.stderr, flush=True)
