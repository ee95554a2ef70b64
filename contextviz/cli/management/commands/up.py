from __future__ import annotations

import signal
import socket
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import connections
from django.utils import timezone

from contextviz.cli.addresses import DEFAULT_PORT, is_loopback, near, sign_in_url
from contextviz.cli.database import prepare
from contextviz.cli.listening import open_listener
from contextviz.cli.running import AlreadyRunning, only_one, record_port
from contextviz.cli.server import serve, terminated_like_interrupted
from contextviz.cli.supervisor import WorkerSupervisor, watcher_command
from contextviz.commands import command_here
from contextviz.services.access import issue_token
from contextviz.services.receive import sweep_incoming
from contextviz.store.queries import sessions


class Command(BaseCommand):
    help = "Start everything: the database brought up to date, the web server and a worker, as one process tree."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--port", type=int, help=f"the port to listen on (default {DEFAULT_PORT}, or the next free one)"
        )
        parser.add_argument(
            "--host",
            default="127.0.0.1",
            help="the address to listen on (default 127.0.0.1); others than loopback need accounts",
        )
        parser.add_argument("--no-worker", action="store_true", help="do not start a worker; jobs wait for one")
        parser.add_argument("--demo", action="store_true", help="load the demo session first")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            with only_one(), terminated_like_interrupted():
                self._up(options)
        except AlreadyRunning as running:
            self._point_to(running, options["port"])

    def _up(self, options: dict[str, Any]) -> None:
        listener = open_listener(options["host"], options["port"], self.stdout)
        port: int = listener.getsockname()[1]
        if options["port"] is None and port != DEFAULT_PORT:
            self.stdout.write(f"Port {DEFAULT_PORT} is in use by another program; using {port}.")
        prepare()
        record_port(port)
        sweep_incoming(now=timezone.now(), is_sole_server=True)  # what a killed server had half received
        supervisors = [] if options["no_worker"] else [WorkerSupervisor()]
        supervisors += [WorkerSupervisor(watcher_command(), "watcher")] if settings.WATCH else []
        try:
            for supervisor in supervisors:
                supervisor.start()
            if options["demo"]:
                call_command("demo", stdout=self.stdout, stderr=self.stderr)
            self._serve(listener, port, options["host"])
        except KeyboardInterrupt:
            pass
        finally:
            for number in (signal.SIGINT, signal.SIGTERM):
                signal.signal(number, signal.SIG_IGN)  # impatience must not leave a worker behind
            self.stdout.write("\nStopping …")
            for supervisor in supervisors:
                supervisor.stop()

    def _serve(self, listener: socket.socket, port: int, host: str) -> None:
        # A sign-in address is for this machine, whoever else may call.
        url = sign_in_url(port, issue_token(now=timezone.now()), host if is_loopback(host) else near(host))
        is_empty = sessions.session_count() == 0
        connections.close_all()  # the server's threads open their own
        serve(listener, on_ready=lambda: self._announce(url, is_empty=is_empty))

    def _announce(self, url: str, *, is_empty: bool) -> None:
        offer = (
            f"There are no sessions yet: press “Open the demo” on that page, or run: {command_here('demo')}\n"
            if is_empty
            else ""
        )
        self.stdout.write(
            f"contextviz is running. Open this address; it signs you in once, within 15 minutes:\n\n    {url}\n\n"
            f"{offer}A new address: {command_here('sign-in')}\nStop with Ctrl-C."
        )
        self.stdout.flush()

    def _point_to(self, running: AlreadyRunning, wanted: int | None) -> None:
        if running.port is None or (wanted is not None and wanted != running.port):
            raise CommandError(
                f"Another `up` already uses this data folder{f' on port {running.port}' if running.port else ''}; "
                "stop it first, or set CONTEXTVIZ_DATA_DIR to another folder."
            )
        url = sign_in_url(running.port, issue_token(now=timezone.now()))
        self.stdout.write(f"contextviz is already running on this data folder. Open:\n\n    {url}\n")
