"""The database, brought up to date before a command uses it."""

from __future__ import annotations

from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import OperationalError, connection
from django.db.migrations.executor import MigrationExecutor


def migrate() -> None:
    """Bring the tables up to date; looking whether that is needed takes a few milliseconds. Raises CommandError."""
    try:
        connection.ensure_connection()
    except OperationalError as error:
        raise CommandError(f"The database does not answer: {str(error).strip()}") from error
    executor = MigrationExecutor(connection)
    if executor.migration_plan(executor.loader.graph.leaf_nodes()):
        call_command("migrate", interactive=False, verbosity=0)
