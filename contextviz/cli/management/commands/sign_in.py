from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandParser
from django.utils import timezone

from contextviz.cli.addresses import DEFAULT_PORT, sign_in_url
from contextviz.cli.running import recorded_port
from contextviz.services.access import issue_token


class Command(BaseCommand):
    help = "Print a fresh sign-in address: it works once, within 15 minutes."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--port", type=int, help="the server's port, when it is not the one `up` recorded")

    def handle(self, *args: Any, **options: Any) -> None:
        port = options["port"] or recorded_port() or DEFAULT_PORT
        self.stdout.write(sign_in_url(port, issue_token(now=timezone.now())))
