"""`manage.py replay`: the console command's twin."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from contextviz.cli.replay.command import add_replay_arguments, run


class Command(BaseCommand):
    """See contextviz.cli.replay.command."""

    help = "Replay a session by other context engines, without the database."
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        add_replay_arguments(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        status = run(argparse.Namespace(**options), sys.stdout, sys.stderr)
        if status:
            sys.exit(status)
