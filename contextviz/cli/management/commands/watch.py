from __future__ import annotations

import logging
import time
from argparse import SUPPRESS
from typing import Any
from uuid import UUID

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import DatabaseError, connections
from django.utils import timezone
from kombu.exceptions import OperationalError as BrokerError

from contextviz import tasks
from contextviz.cli.database import check
from contextviz.cli.importing import told
from contextviz.cli.server import terminated_like_interrupted
from contextviz.cli.worker_process import die_with_parent
from contextviz.commands import command_here
from contextviz.services.watching import NothingToWatch, Watcher, roots_of

logger = logging.getLogger("contextviz.cli")
PAUSE_SECONDS = 2.0
SHOWN = 10


class Command(BaseCommand):
    help = "Follow transcripts, stores and folders of them: what comes or grows is read by a worker at once."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "paths",
            nargs="*",
            metavar="PATH",
            help="a file, a folder, or `homes` for the agents' own folders (the default, unless CONTEXTVIZ_WATCH names "
            "others)",
        )
        parser.add_argument(
            "--poll",
            action="store_true",
            help="look for changes every second, where the system does not tell of them (network folders)",
        )
        parser.add_argument("--parent", type=int, help=SUPPRESS)  # `up` starts it so

    def handle(self, *args: Any, **options: Any) -> None:
        if options["parent"]:
            die_with_parent(options["parent"])
        try:
            roots = roots_of(options["paths"] or settings.WATCH or ["homes"])
        except NothingToWatch as nothing:
            raise CommandError(told(str(nothing))) from nothing
        check()
        is_polling = options["poll"] or settings.WATCH_POLL
        watcher = Watcher(roots, _enqueue, self._say, is_polling=is_polling)
        names = ", ".join(str(path) for path in roots[:SHOWN]) + (" and others" if len(roots) > SHOWN else "")
        self._say(
            f"Following {names}. What changes is read by a worker ({command_here('up')}, {command_here('worker')})."
        )
        try:
            with terminated_like_interrupted():
                _follow(watcher)
        except KeyboardInterrupt:
            pass
        finally:
            watcher.close()

    def _say(self, text: str) -> None:
        self.stdout.write(told(text))
        self.stdout.flush()


def _enqueue(job_id: UUID) -> None:
    try:
        tasks.enqueue(job_id)
    except (BrokerError, OSError) as error:
        logger.warning("the broker does not answer, the job waits and is told to it again job=%s: %s", job_id, error)


def _follow(watcher: Watcher) -> None:
    while True:
        try:
            watcher.step(timezone.now())
        except DatabaseError:
            logger.warning("the database does not answer, trying again", exc_info=True)
            connections.close_all()
            time.sleep(PAUSE_SECONDS)
