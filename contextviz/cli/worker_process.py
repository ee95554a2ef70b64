"""A Celery worker as a process of its own: `python -m contextviz.cli.worker_process [options of celery worker]`.

With `--parent PID` first, it ends when that process ends, however it ends.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import warnings
from importlib import import_module

import django
from celery import current_app
from celery.exceptions import SecurityWarning
from celery.signals import worker_process_init
from django.conf import settings

# No gossip, mingle or heartbeats: they need fanout, which the embedded broker does not have, and nothing reads them.
QUIET = ["--without-gossip", "--without-mingle", "--without-heartbeat"]
_PR_SET_PDEATHSIG = 1


def die_with_parent(parent: int) -> None:
    """Ask the kernel for SIGKILL when the parent ends (Linux; elsewhere the parent's own clean-up must do)."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it ended before we asked
        sys.exit(0)


def run(arguments: list[str]) -> None:
    """Run the worker in this process until it is told to stop, or has to end: then with status 1."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "contextviz.settings")
    # Django's checks of pages and addresses would import all of them: half of a start, and 100 MB of both processes.
    # The command that starts it has made them.
    os.environ.setdefault("CELERY_SKIP_CHECKS", "1")
    django.setup()
    import_module(settings.TASK_APP_MODULE)
    # Celery's warning about root is about pickled messages; ours are JSON only.
    warnings.filterwarnings("ignore", category=SecurityWarning)
    own_id = os.getpid()

    def bind_pool_process(**_: object) -> None:
        die_with_parent(own_id)

    # A pool's process would otherwise finish its job after the worker was killed, beside the one that does it again.
    worker_process_init.connect(bind_pool_process, weak=False)
    # Celery gives its status back instead of ending with it.
    sys.exit(current_app.start(["--quiet", "worker", *QUIET, *arguments]))


def main(arguments: list[str]) -> None:
    if arguments[:1] == ["--parent"]:
        die_with_parent(int(arguments[1]))
        arguments = arguments[2:]
    run(arguments)


if __name__ == "__main__":
    main(sys.argv[1:])
