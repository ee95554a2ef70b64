"""An installation of its own in a scratch folder: settings, database, imports, a signed-in client.

On PostgreSQL too: where the product's two settings name a server, a database of the bench's own is made on it, and goes
away at the end. Nothing is ever written into the database that the settings name.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import subprocess
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

ROOT = Path(__file__).resolve().parent.parent
DATABASE = "contextviz_bench_"


def open_scratch(folder: Path, *, is_kept: bool = False) -> None:
    """Set Django up on the data folder `folder`, which is made; once in a process, before anything of Django's.

    `is_kept`: what is in it is for the next time, so its database stays.
    """
    os.environ["CONTEXTVIZ_DATA_DIR"] = str(folder)
    os.environ["DJANGO_SETTINGS_MODULE"] = "contextviz.settings"
    os.environ.pop("CONTEXTVIZ_DEBUG", None)
    os.environ["PYTHONPATH"] = str(ROOT)
    _open_database(folder, is_kept=is_kept)
    # In a process of its own: the modules that it loads would count as an import's memory.
    subprocess.run([sys.executable, ROOT / "manage.py", "migrate", "-v0"], check=True, env=os.environ, cwd=ROOT)
    import_module("django").setup()


def _open_database(folder: Path, *, is_kept: bool) -> None:
    """On PostgreSQL, make the database of this folder and name it to this process and those that it starts; a process
    that was started so takes the one that it was given."""
    given = os.environ.get("CONTEXTVIZ_DATABASE_URL", "")
    if not given or urlsplit(given).path.startswith(f"/{DATABASE}"):
        return
    name = DATABASE + hashlib.sha256(str(folder.resolve()).encode()).hexdigest()[:16]
    os.environ["CONTEXTVIZ_DATABASE_URL"] = urlunsplit(urlsplit(given)._replace(path=f"/{name}"))
    _on_server(given, f'CREATE DATABASE "{name}"', unless=f"SELECT 1 FROM pg_database WHERE datname = '{name}'")
    if not is_kept:
        atexit.register(_on_server, given, f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')


def _on_server(url: str, statement: str, unless: str = "") -> None:
    psycopg = import_module("psycopg")
    password = os.environ.get("CONTEXTVIZ_DATABASE_PASSWORD")
    try:
        with psycopg.connect(url, autocommit=True, **({"password": password} if password else {})) as connection:
            if not unless or connection.execute(unless).fetchone() is None:
                connection.execute(statement)
    except psycopg.Error as error:
        raise SystemExit(
            f"bench: {statement.split(' IF ')[0]} did not go well: {error}. The role of CONTEXTVIZ_DATABASE_URL must "
            "be allowed to make databases (ALTER ROLE … CREATEDB); unset it to measure on SQLite."
        ) from error


def database_name() -> str:
    """What the numbers are of: SQLite or PostgreSQL."""
    return "PostgreSQL" if os.environ.get("CONTEXTVIZ_DATABASE_URL") else "SQLite"


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
