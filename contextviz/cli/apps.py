from __future__ import annotations

from importlib import import_module

from django.apps import AppConfig
from django.conf import settings


class CliConfig(AppConfig):
    """Commands and system checks; also the place where the task application is loaded, by name."""

    name = "contextviz.cli"

    def ready(self) -> None:
        import_module("contextviz.cli.checks")
        # Whoever calls a task (a page, a command, a test) must find the configured application as the current one.
        import_module(settings.TASK_APP_MODULE)
