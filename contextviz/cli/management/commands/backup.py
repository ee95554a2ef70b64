from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from contextviz.charts import words
from contextviz.cli.database import migrate
from contextviz.services.keeping.backup import backup
from contextviz.services.keeping.manifest import BackupRefused


class Command(BaseCommand):
    help = "Copy this installation, while it runs, into one file: the database and every raw file."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", help="the new file")

    def handle(self, *args: Any, **options: Any) -> None:
        migrate()
        path = Path(options["file"]).expanduser().absolute()
        try:
            made = backup(path, now=timezone.now())
        except BackupRefused as error:
            raise CommandError(str(error)) from error
        except OSError as error:
            raise CommandError(f"The backup cannot be written: {error.strerror} ({error.filename}).") from error
        if made.missing:
            self.stderr.write(f"{words.counted(made.missing, 'raw file')} that the database names could not be found.")
        self.stdout.write(
            f"{path}: {words.counted(made.sessions, 'session')}, {words.counted(made.artifacts, 'raw file')}, "
            f"{words.size(path.stat().st_size)}. Whoever has it can read every transcript."
        )
