from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from contextviz.cli.database import check
from contextviz.cli.worker_process import run


class Command(BaseCommand):
    help = "Run one worker by itself (scale-out; `up` starts its own)."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--concurrency", type=int, default=1, help="jobs at a time; keep 1 on SQLite (default 1)")

    def handle(self, *args: Any, **options: Any) -> None:
        check()
        run(["--concurrency", str(options["concurrency"]), "--loglevel", "INFO"])
