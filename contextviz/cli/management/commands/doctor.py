from __future__ import annotations

import json
import sys
from dataclasses import asdict
from typing import Any

from django.core.management.base import BaseCommand, CommandParser
from django.utils import timezone

from contextviz.cli.doctor import Check, examine

SCHEMA = "contextviz.doctor/1"
MARKS = {"ok": "ok  ", "note": "note", "problem": "PROBLEM"}


class Command(BaseCommand):
    help = "Look at every part of the installation and say what is wrong and what to do. Changes nothing."
    requires_system_checks = []  # its own report has them

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        checks = examine(timezone.now())
        problems = [check for check in checks if check.state == "problem"]
        if options["json"]:
            told = {"schema": SCHEMA, "is_well": not problems, "checks": [asdict(check) for check in checks]}
            self.stdout.write(json.dumps(told, indent=1, ensure_ascii=False))
        else:
            self._print(checks, len(problems))
        if problems:
            sys.exit(1)

    def _print(self, checks: list[Check], problems: int) -> None:
        part = ""
        for check in checks:
            if check.part != part:
                part = check.part
                self.stdout.write(f"\n{part[0].upper()}{part[1:]}")
            self.stdout.write(f"  {MARKS[check.state]}  {check.name}: {_plain(check.text)}")
            if check.todo:
                self.stdout.write(f"        {_plain(check.todo)}")
        self.stdout.write("\nEverything is well." if not problems else f"\n{problems} to look at, marked PROBLEM.")


def _plain(text: str) -> str:
    return "".join(char if char.isprintable() else " " for char in text)
