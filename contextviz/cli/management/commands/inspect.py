"""`manage.py inspect`: the console command's twin."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from contextviz.cli.inspect import add_arguments, run


class Command(BaseCommand):
    """See contextviz.cli.inspect."""

    help = "Print what is in transcripts, stores and folders, without the database."
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        add_arguments(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        status = run(argparse.Namespace(**options), sys.stdout, sys.stderr)
        if status:
            sys.exit(status)
