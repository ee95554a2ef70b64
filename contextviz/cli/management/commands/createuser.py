from __future__ import annotations

import getpass
import sys
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from contextviz.cli.database import migrate
from contextviz.services.accounts.people import AccountRefused, create_account
from contextviz.store.viewing import ROLES


class Command(BaseCommand):
    help = "Make an account that signs in with a name and a password."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", help="the name to sign in with")
        parser.add_argument("--role", choices=ROLES, default="viewer", help="what it may do (default: viewer)")
        parser.add_argument("--password-file", help="a file whose first line is the password (default: ask for it)")

    def handle(self, *args: Any, **options: Any) -> None:
        password = self._from_file(options["password_file"]) if options["password_file"] else self._asked()
        migrate()
        try:
            row = create_account(options["name"], role=options["role"], password=password)
        except AccountRefused as error:
            raise CommandError(str(error)) from error
        self.stdout.write(f"The account {row.name} is made; its role is {row.role}.")

    def _from_file(self, name: str) -> str:
        try:
            text = Path(name).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or "it is not text"
            raise CommandError(f"The password file {name} cannot be read: {reason}.") from error
        return text.split("\n", 1)[0].rstrip("\r")

    def _asked(self) -> str:
        if not sys.stdin.isatty():
            raise CommandError("There is no terminal to ask for the password; name a file with --password-file.")
        first = getpass.getpass("Password: ")
        if getpass.getpass("The same again: ") != first:
            raise CommandError("The two passwords differ. Nothing was made.")
        return first
