from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from contextviz.commands import command_here
from contextviz.services.access import local_owner
from contextviz.services.api_keys import SCOPES, KeyRefused, create_key, find_key, list_keys, revoke_key


class Command(BaseCommand):
    help = "Make, list and revoke keys of the API. A key is printed once and never again."

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True, metavar="create|list|revoke")
        create = actions.add_parser("create", help="make a key and print it")
        create.add_argument("label", help="what the key is for")
        create.add_argument(
            "--scope", action="append", choices=SCOPES, help="what it may do; once or more (default: read)"
        )
        create.add_argument("--days", type=int, default=90, help="how long it works; 0 for ever (default: 90)")
        actions.add_parser("list", help="list the keys, without the keys themselves")
        revoke = actions.add_parser("revoke", help="from now on the key opens nothing")
        revoke.add_argument("beginning", help="the beginning of the key as `list` shows it")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            {"create": self._create, "list": self._list, "revoke": self._revoke}[options["action"]](options)
        except KeyRefused as error:
            raise CommandError(str(error)) from error

    def _create(self, options: dict[str, Any]) -> None:
        now = timezone.now()
        if not 0 <= options["days"] <= 36500:
            raise KeyRefused("Write the days as a number from 0 (for ever) to 36500.")
        ends = now + timedelta(days=options["days"]) if options["days"] else None
        scopes = options["scope"] or ["read"]
        row, key = create_key(local_owner().pk, label=options["label"], scopes=scopes, now=now, expires_at=ends)
        self.stderr.write(f"The key “{row.label}” may {', '.join(row.scopes)}. It is printed this once:")
        self.stdout.write(key)

    def _list(self, options: dict[str, Any]) -> None:
        now = timezone.now()
        rows = list_keys()
        for row in rows:
            used = f"used {row.last_used_at:%Y-%m-%d}" if row.last_used_at else "never used"
            ends = f"ends {row.expires_at:%Y-%m-%d}" if row.expires_at else "never ends"
            scopes = ",".join(row.scopes)
            self.stdout.write(f"{row.prefix}…  {row.state(now):8} {scopes:20} {used}, {ends}  {row.owner}: {row.label}")
        if not rows:
            self.stderr.write(f"There is no key yet; {command_here('api-key create LABEL')} makes one.")

    def _revoke(self, options: dict[str, Any]) -> None:
        row = revoke_key(find_key(options["beginning"]).id, now=timezone.now())
        self.stdout.write(f"The key “{row.label}” ({row.prefix}…) is revoked.")
