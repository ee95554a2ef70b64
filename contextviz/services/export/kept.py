"""What a look through a large session found, kept in the data folder from the job that looked to the page that asks.

It holds the values themselves, as the session does, so it is readable by the owner alone and goes with the session.
"""

from __future__ import annotations

import os
import tempfile
from dataclasses import asdict
from datetime import datetime
from pathlib import Path

import orjson
from django.conf import settings

from contextviz.analysis.disclosure import Part, Split
from contextviz.services.export.report import Place, Report

VERSION = 1


def keep_report(report: Report, *, updated_at: datetime) -> None:
    """Keep a report until the session is another than at `updated_at`; an earlier one is replaced."""
    document = {
        "version": VERSION,
        "updated_at": updated_at.isoformat(),
        "revision": report.revision,
        "places": [asdict(one) for one in report.places.values()],
        "splits": {name: asdict(one) for name, one in report.splits.items()},
        "clean": sorted(report.clean),
        "unlisted": report.unlisted,
        "uncounted": report.uncounted,
    }
    path = _path(report.session_id)
    path.parent.mkdir(mode=0o700, exist_ok=True)
    handle, aside = tempfile.mkstemp(dir=path.parent)  # created 0600
    with os.fdopen(handle, "wb") as stream:
        stream.write(orjson.dumps(document))
    Path(aside).replace(path)


def kept_report(session_id: int, *, revision: int, updated_at: datetime) -> Report | None:
    """The report of this state of the session, None where it was not looked through, or the file cannot be read."""
    try:
        found = orjson.loads(_path(session_id).read_bytes())
        if (found["version"], found["revision"], found["updated_at"]) != (VERSION, revision, updated_at.isoformat()):
            return None
        places = [Place(**one) for one in found["places"]]
        splits = {
            name: Split(one["kind"], one["reason"], tuple(Part(**part) for part in one["parts"]))
            for name, one in found["splits"].items()
        }
        return Report(
            session_id, revision, {one.id: one for one in places}, splits, set(found["clean"]), found["unlisted"],
            found["uncounted"],
        )  # fmt: skip
    except (OSError, ValueError, KeyError, TypeError):
        return None  # it is looked through again


def forget_report(session_id: int) -> None:
    """Remove what was kept of a session."""
    _path(session_id).unlink(missing_ok=True)


def _path(session_id: int) -> Path:
    return Path(settings.DATA_DIR) / "looked-through" / f"{session_id}.json"
