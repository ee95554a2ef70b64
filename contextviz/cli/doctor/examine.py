"""All parts in order; what cannot be looked at because of an earlier problem is left out."""

from __future__ import annotations

from datetime import datetime

from django.db import DatabaseError

from contextviz.cli.doctor.check import Check
from contextviz.cli.doctor.installed import asset_checks, settings_checks, version_checks
from contextviz.cli.doctor.storage import broker_check, database_checks, folder_checks
from contextviz.cli.doctor.work import home_checks, server_check, work_checks
from contextviz.services.doctor import state


def examine(now: datetime) -> list[Check]:
    """Every check of this installation."""
    checks = [*version_checks(), *settings_checks(), *asset_checks(), *folder_checks()]
    found, can_ask = database_checks()
    checks += [*found, broker_check(), server_check()]
    if can_ask:
        try:
            checks += work_checks(state(now=now), now)
        except DatabaseError as error:
            text = f"the tables cannot be read: {' '.join(str(error).split())[:300]}"
            checks.append(Check("database", "tables", "problem", text, "Restore a backup, see docs/data.md."))
    return [*checks, *home_checks()]
