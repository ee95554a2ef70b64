"""The database, brought up to date before a command uses it."""

from __future__ import annotations

from typing import Any

from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import OperationalError, connection
from django.db.migrations.executor import MigrationExecutor

from contextviz.services.accounts.people import AccountRefused, first_account

CONNECT_SECONDS = 5


def migrate() -> None:
    """Bring the tables up to date; looking whether that is needed takes a few milliseconds. Raises CommandError."""
    check()
    executor = MigrationExecutor(connection)
    if executor.migration_plan(executor.loader.graph.leaf_nodes()):
        call_command("migrate", interactive=False, verbosity=0)


def prepare() -> None:
    """Everything that a server needs of its database: the tables, and the first account. Raises CommandError."""
    migrate()
    make_first_account()


def check() -> None:
    """Raises CommandError with a sentence where the database does not answer."""
    sentence = unreachable()
    if sentence:
        raise CommandError(sentence)


def unreachable() -> str:
    """Why the database does not answer, as a sentence; "" where it does.

    PostgreSQL is asked without the pool, which would try for ten seconds and then not say what was the matter.
    """
    # Django's own name for it: importing psycopg by name would cost every process on SQLite 16 MB.
    database: Any = connection
    driver = database.Database
    try:
        if connection.vendor == "postgresql":
            driver.connect(**{**connection.get_connection_params(), "connect_timeout": CONNECT_SECONDS}).close()
        else:
            connection.ensure_connection()
    except (driver.Error, OperationalError) as error:
        # The driver says it once for each address it tried; the first says enough.
        reason = str(error).strip().split("\n")[0].rstrip(".")
        return f"The database does not answer: {reason}. Check CONTEXTVIZ_DATABASE_URL."
    return ""


def make_first_account(**_: Any) -> None:
    """The account of CONTEXTVIZ_ADMIN_PASSWORD_FILE, where no admin has a password yet. Raises CommandError."""
    try:
        first_account()
    except AccountRefused as refused:
        raise CommandError(str(refused)) from refused
