"""`manage.py score`: the console command's twin."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from contextviz.cli.replay.scoring import add_score_arguments, run


class Command(BaseCommand):
    """See contextviz.cli.replay.scoring."""

    help = "Hold replays of a session against thresholds, without the database."
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        add_score_arguments(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        status = run(argparse.Namespace(**options), sys.stdout, sys.stderr)
        if status:
            sys.exit(status)
