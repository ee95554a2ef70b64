from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from contextviz.charts import words
from contextviz.cli.database import check, migrate
from contextviz.cli.running import is_up
from contextviz.services.keeping.backup import restore
from contextviz.services.keeping.manifest import BackupRefused
from contextviz.store.queries import sessions


class Command(BaseCommand):
    help = "Bring a backup into an empty data folder, and its tables up to date."
    requires_system_checks: list[str] = []  # a check may open, and so make, the database

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", help="what `backup` made")

    def handle(self, *args: Any, **options: Any) -> None:
        if is_up():
            raise CommandError("contextviz runs on this data folder. Restore into an empty one.")
        try:
            made = restore(Path(options["file"]).expanduser())
        except BackupRefused as error:
            raise CommandError(str(error)) from error
        except OSError as error:
            raise CommandError(f"The backup cannot be restored: {error.strerror} ({error.filename}).") from error
        if not made.has_hashes:
            checked = "its structure was checked and is sound; " if made.database == "sqlite" else ""
            self.stderr.write(
                f"The backup is of contextviz {made.version[:40]}, which kept no hash of the database: {checked}"
                "whether each value in it is what it was cannot be told."
            )
        check()
        migrate()
        self.stdout.write(
            f"Restored {words.counted(sessions.session_count(), 'session')} and "
            f"{words.counted(made.artifacts, 'raw file')} of {made.created_at}. Everybody signs in again."
        )
