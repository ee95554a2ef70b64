from __future__ import annotations

import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from contextviz.cli.database import migrate
from contextviz.cli.importing import (
    address_of,
    describe,
    files_of,
    findings_of,
    problems_of,
    read_here,
    sessions_of,
    told,
    where_to_look,
)
from contextviz.services.ingest import UploadRefused, import_paths
from contextviz.store.queries import jobs

NOTHING_READ = 2


class Command(BaseCommand):
    help = "Read transcripts, stores or folders into the library. Files are never changed; the same again is skipped."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("paths", nargs="+", metavar="PATH", help="a transcript, a store, or a folder of them")

    def handle(self, *args: Any, **options: Any) -> None:
        migrate()
        try:
            job_id = import_paths(options["paths"], now=timezone.now())
        except UploadRefused as refused:
            raise CommandError(told(str(refused)), returncode=NOTHING_READ) from refused
        row = read_here(job_id, sys.stderr)
        for logged in jobs.job_log(job_id):
            self.stderr.write(told(logged.text))
        if row.state != "done":
            raise CommandError(told(row.outcome), returncode=NOTHING_READ)
        for line in [*files_of(row), *problems_of(row)]:
            self.stdout.write(f"  {line}")
        for session in sessions_of(row):
            self.stdout.write(f"{describe(session)}\n    {address_of(session)}")
            for line in findings_of(session):
                self.stdout.write(f"    {line}")
        self.stdout.write(f"{told(row.outcome)}{where_to_look()}")
