"""Jobs, uploads and originals."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from ninja import Schema
from pydantic import ConfigDict, Field

from contextviz.api.params import NO_NUL
from contextviz.api.shapes import Name, Text, Tokens, Words, quiet
from contextviz.events.text import HANDLE_LENGTH
from contextviz.services.retrieve import MOST_QUERY_CHARS
from contextviz.store.values import JobLine, JobRow, TextPlace, TextUse, UploadRow

MOST_VALUES = 200
MOST_VALUE_CHARS = 1_000
MOST_DEPTH = 8


class Job(Schema):
    """Work in the background. `share` goes from 0 to 1, null while the total is unknown; `outcome` is a sentence.
    Long lists and texts in `params` and `result` are cut; `/jobs/{id}/result` has all of it."""

    id: UUID
    kind: str
    state: str
    progress: int
    total: int | None
    share: float | None
    outcome: Words
    session: int | None
    attempts: int
    is_cancel_asked: bool
    can_retry: bool
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    params: dict[str, Any]


class JobDetail(Job):
    """One job with what came of it."""

    result: dict[str, Any]


class LogLine(Schema):
    """One line of a job's log."""

    number: int
    at: datetime
    text: Words


class UploadedFile(Schema):
    """One file of an upload: receiving, received, interrupted or refused, with a sentence for the last two."""

    name: Words
    state: str
    sentence: Words | None


class ReceivedFile(UploadedFile):
    """The same with the content's hash where it was received; `is_known` where it was here before."""

    sha256: str | None
    bytes: int | None
    is_known: bool | None


class Uploaded(Schema):
    """What became of the files that were sent, and the job that reads those that were received."""

    upload: UUID
    job: UUID
    files: list[ReceivedFile]


class Upload(Schema):
    """The files of an upload, the first 5,000, and the job that reads them (null while files still come)."""

    upload: UUID
    job: UUID | None
    files: list[UploadedFile]


class Original(Schema):
    """A text that is held, by its hash; `handle` is what flowctx writes in its markers."""

    sha256: str
    handle: str
    chars: int
    bytes: int
    tokens: Tokens
    sessions: int


class Place(Schema):
    """A session that holds a text, and the index of its first message with it (null: only elsewhere)."""

    session: int
    title: Words | None
    source_id: Name
    message: int | None


class OriginalDetail(Original):
    """A text with the places it occurs in, the newest 50 sessions."""

    places: list[Place]
    text: Text


class Retrieval(Schema):
    """What to retrieve: a SHA-256, at least 6 of its first digits, or text with markers in it. No other key."""

    model_config = ConfigDict(extra="forbid")

    query: str = Field(min_length=6, max_length=MOST_QUERY_CHARS, pattern=NO_NUL)


def job_of(row: JobRow) -> Job:
    """A job as lists show it."""
    return Job(**_job(row))


def job_detail_of(row: JobRow) -> JobDetail:
    """A job with its result."""
    return JobDetail(**_job(row), result=bounded_value(row.result))


def line_of(line: JobLine) -> LogLine:
    """A line of a log."""
    return LogLine(number=line.number, at=line.at, text=line.text)


def file_of(row: UploadRow) -> UploadedFile:
    """A file of an upload."""
    return UploadedFile(name=row.name, state=row.state, sentence=row.sentence or None)


def original_of(place: TextPlace) -> Original:
    """A text as lists show it."""
    return Original(**_original(place))


def original_detail_of(place: TextPlace, uses: list[TextUse], text: Text) -> OriginalDetail:
    """A text with its places."""
    places = [
        Place(session=use.session_id, title=use.title, source_id=use.source_id, message=use.message_index)
        for use in uses
    ]
    return OriginalDetail(**_original(place), places=places, text=text)


def _original(place: TextPlace) -> dict[str, Any]:
    return {
        "sha256": place.sha256,
        "handle": place.sha256[:HANDLE_LENGTH],
        "chars": place.chars,
        "bytes": place.size,
        "tokens": Tokens.of(place.estimated_tokens, "estimated"),
        "sessions": place.session_count,
    }


def _job(row: JobRow) -> dict[str, Any]:
    return {
        "id": row.id,
        "kind": row.kind,
        "state": row.state,
        "progress": row.progress,
        "total": row.total,
        "share": row.share,
        "outcome": row.outcome,
        "session": row.session_id,
        "attempts": row.attempts,
        "is_cancel_asked": row.is_cancel_asked,
        "can_retry": row.may_retry,
        "created_at": row.created_at,
        "started_at": row.started_at,
        "finished_at": row.finished_at,
        "params": bounded_value(row.params),
    }


def bounded_value(value: Any, depth: int = 0) -> Any:
    """A JSON value without what would make a reply large; the number of a list's cut members stands at its end."""
    if isinstance(value, str):
        return quiet(value, MOST_VALUE_CHARS)
    if isinstance(value, list | dict) and depth >= MOST_DEPTH:
        return "…"
    if isinstance(value, dict):
        return {quiet(str(name), 200): bounded_value(one, depth + 1) for name, one in list(value.items())[:MOST_VALUES]}
    if isinstance(value, list):
        cut = [f"… {len(value) - MOST_VALUES:,} more"] if len(value) > MOST_VALUES else []
        return [bounded_value(one, depth + 1) for one in value[:MOST_VALUES]] + cut
    return value
