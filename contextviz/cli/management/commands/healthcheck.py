from __future__ import annotations

import urllib.error
import urllib.request
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from contextviz.cli.addresses import DEFAULT_PORT
from contextviz.cli.database import check
from contextviz.cli.running import recorded_port
from contextviz.services.keeping.workers import living_workers

TIMEOUT_SECONDS = 4


class Command(BaseCommand):
    help = "Say whether the web server or a worker of this machine is well: exit status 0, or 1 with a sentence."
    requires_system_checks: list[str] = []  # asked every few seconds

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("part", choices=["web", "worker"])
        parser.add_argument("--port", type=int, help="the web server's port (default: the one `up` recorded)")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["part"] == "web":
            self._web(options["port"] or recorded_port() or DEFAULT_PORT)
        else:
            self._worker()
        self.stdout.write("ok")

    def _web(self, port: int) -> None:
        url = f"http://127.0.0.1:{port}/healthz"
        try:
            with urllib.request.urlopen(url, timeout=TIMEOUT_SECONDS):
                pass
        except urllib.error.HTTPError as error:
            error.close()
            raise CommandError(f"The web server at {url} answers {error.code}; its log says why.") from error
        except OSError as error:
            raise CommandError(
                f"The web server at {url} does not answer ({getattr(error, 'reason', error)})."
            ) from error

    def _worker(self) -> None:
        check()
        if not living_workers(now=timezone.now()):
            raise CommandError("No worker of this machine has said within a minute that it runs.")
