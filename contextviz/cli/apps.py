from __future__ import annotations

from importlib import import_module

from django.apps import AppConfig, apps
from django.conf import settings
from django.db.models.signals import post_migrate


class CliConfig(AppConfig):
    """Commands and system checks; also the place where the task application is loaded, by name."""

    name = "contextviz.cli"

    def ready(self) -> None:
        import_module("contextviz.cli.checks")
        # `migrate` alone is what the scale-out stack runs before its servers start.
        make_first_account = import_module("contextviz.cli.database").make_first_account
        post_migrate.connect(make_first_account, sender=apps.get_app_config("store"))
        # Whoever calls a task (a page, a command, a test) must find the configured application as the current one.
        import_module(settings.TASK_APP_MODULE)
