"""Looking through a session, and writing the copy: first to a file aside, handed on only when all of it has passed."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import IO, Any, Literal

from django.conf import settings

from contextviz import __version__
from contextviz.services.export.as_html import HtmlCopy
from contextviz.services.export.as_json import JsonCopy
from contextviz.services.export.as_markdown import MarkdownCopy
from contextviz.services.export.records import walk
from contextviz.services.export.report import Decisions, ExportRefused, Report
from contextviz.services.export.session_record import session_record
from contextviz.services.export.sieve import Sieve
from contextviz.store.queries import sessions
from contextviz.store.values import SessionDetail

Format = Literal["json", "md", "html"]
FORMATS: dict[Format, type[JsonCopy] | type[MarkdownCopy] | type[HtmlCopy]] = {
    "json": JsonCopy,
    "md": MarkdownCopy,
    "html": HtmlCopy,
}


def look_through(session_id: int, *, progress: Callable[[int], None] | None = None) -> Report:
    """Everything in a session that looks like a secret; raises NotFound. Time follows the session's texts (about two
    megabytes a second), memory does not. `progress` is told the bytes of texts looked at so far."""
    detail = sessions.session_detail(session_id, with_times=False)
    report = Report(session_id, detail.row.revision)
    sieve = Sieve(report)
    sieve.clean(session_record(detail), "the session")
    for _, record, where in walk(detail):
        sieve.clean(record, where)
        if progress is not None:
            progress(sieve.looked_bytes)
    return report


@contextmanager
def copied(report: Report, form: Format, decisions: Decisions, *, now: datetime) -> Iterator[IO[bytes]]:
    """The finished copy, open at its beginning; it is gone afterwards. Raises ExportRefused where a place is not
    decided, or the session changed since it was looked through."""
    refuse_open(report, decisions)
    detail = sessions.session_detail(report.session_id, with_times=False)
    if detail.row.revision != report.revision:
        raise ExportRefused("Nothing was exported: the session has grown since it was looked through. Look again.")
    masked = report.masked(decisions)
    masking = {
        "mode": "masked",
        "masked": sum(one.count for one in masked) + report.uncounted,
        "kept": [
            {"place": one.id, "where": one.where, "kind": one.kind, "reason": reason}
            for one, reason in report.kept(decisions)
        ],
    }
    sieve = Sieve(report, decisions, estimator=detail.row.estimator or "")
    with _written(detail, form, sieve, masking, now) as stream:
        yield stream


@contextmanager
def copied_unmasked(session_id: int, form: Format, *, now: datetime) -> Iterator[IO[bytes]]:
    """The same with every secret as it is in the store. Raises NotFound."""
    detail = sessions.session_detail(session_id, with_times=False)
    sieve = Sieve(
        Report(session_id, detail.row.revision), Decisions(), estimator=detail.row.estimator or "", is_unmasked=True
    )
    with _written(detail, form, sieve, {"mode": "unmasked", "masked": 0, "kept": []}, now) as stream:
        yield stream


def refuse_open(report: Report, decisions: Decisions) -> None:
    """Raise ExportRefused where something is still to be decided."""
    unknown = report.unknown(decisions)
    if unknown:
        raise ExportRefused(
            f"Nothing was exported: there is no place {unknown[0][:80]} in this session; the text may have changed."
        )
    if not report.is_open(decisions):
        return
    places = report.open(decisions)
    count = len(places) + (0 if decisions.mask_all else report.unlisted)
    noun = "1 place looks" if count == 1 else f"{count:,} places look"
    raise ExportRefused(f"Nothing was exported: {noun} like a secret that cannot be masked with certainty.", places)


@contextmanager
def _written(
    detail: SessionDetail, form: Format, sieve: Sieve, masking: dict[str, Any], now: datetime
) -> Iterator[IO[bytes]]:
    copy = FORMATS[form]()
    head = {
        "contextviz": __version__,
        "exported_at": now.isoformat(),
        "masking": sieve.clean(masking, "the list of kept values"),
        "session": sieve.clean(session_record(detail), "the session"),
    }
    # In the data folder, which only its owner reads, and without a name: whatever happens, nothing stays behind.
    with tempfile.TemporaryFile(dir=_folder()) as stream:
        for part in copy.begin(head):
            stream.write(part.encode())
        for section, record, where in walk(detail):
            if section == "sources" and masking["masked"]:
                record["sha256"] = None  # with it, a short masked secret could be guessed and proved
            for part in copy.piece(section, sieve.clean(record, where)):
                stream.write(part.encode())
        for part in copy.end():
            stream.write(part.encode())
        stream.seek(0)
        yield stream


def _folder() -> Path:
    return Path(settings.INCOMING_DIR)
