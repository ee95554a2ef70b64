from __future__ import annotations

import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from contextviz.cli.database import migrate
from contextviz.cli.importing import address_of, describe, read_here, sessions_of, where_to_look
from contextviz.services.demo.loading import open_demo


class Command(BaseCommand):
    help = "Load the demo: sessions of our own making that fill every page. A second time changes nothing."

    def handle(self, *args: Any, **options: Any) -> None:
        migrate()
        row = read_here(open_demo(now=timezone.now()), sys.stderr)
        if row.state != "done":
            raise CommandError(row.outcome)
        for session in sessions_of(row):
            self.stdout.write(f"{describe(session)}\n    {address_of(session)}")
        self.stdout.write(f"{row.outcome}{where_to_look()}")
