from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandParser
from django.db import connections
from django.utils import timezone

from contextviz.cli.addresses import DEFAULT_PORT
from contextviz.cli.database import check
from contextviz.cli.listening import open_listener
from contextviz.cli.server import serve, terminated_like_interrupted
from contextviz.services.receive import sweep_incoming


class Command(BaseCommand):
    help = "Run one web server by itself (scale-out; `up` starts its own and a worker)."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--host", default="127.0.0.1", help="the address to listen on; others than loopback need accounts"
        )
        parser.add_argument("--port", type=int, default=DEFAULT_PORT, help=f"the port (default {DEFAULT_PORT})")

    def handle(self, *args: Any, **options: Any) -> None:
        with terminated_like_interrupted():
            check()
            listener = open_listener(options["host"], options["port"], self.stdout)
            sweep_incoming(now=timezone.now(), is_sole_server=False)
            connections.close_all()  # the server's threads open their own
            port = listener.getsockname()[1]
            serve(listener, on_ready=lambda: self._announce(port))

    def _announce(self, port: int) -> None:
        self.stdout.write(f"contextviz answers on port {port}.")
        self.stdout.flush()
