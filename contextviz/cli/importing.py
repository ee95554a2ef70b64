"""Doing an import job in this process, with what a terminal shows of it."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO
from uuid import UUID

from django.db import DatabaseError, connection
from django.urls import reverse

from contextviz.charts import words
from contextviz.cli.addresses import DEFAULT_PORT
from contextviz.cli.running import is_up, recorded_port
from contextviz.commands import command_here
from contextviz.events.masking import MARGIN_CHARS, without_secrets
from contextviz.services.accounts.people import has_signed_in
from contextviz.services.ingest import digest
from contextviz.sources.naming import format_name
from contextviz.store.queries import calls, jobs, sessions
from contextviz.store.values import JobRow, SessionRow

LOOK_SECONDS = 0.5
SHOWN_PROBLEMS = 5
# From so many on, files of one folder that came to the same are told in a line.
MANY_FILES = 4
LINE_CHARS = 400


def read_here(job_id: UUID, out: TextIO) -> JobRow:
    """Do the job, or wait for the worker that took it first; its row once it has ended.

    It is done here and not by a worker, so that the command works without one and ends when the work does.
    """
    with _progress(job_id, out):
        if not digest(job_id):
            while not (row := jobs.get_job(job_id)).is_finished:
                time.sleep(LOOK_SECONDS)
            return row
    return jobs.get_job(job_id)


@contextmanager
def _progress(job_id: UUID, out: TextIO) -> Iterator[None]:
    """A line that moves while the work goes on, where a person looks at it."""
    if not out.isatty():
        yield
        return
    ended = threading.Event()
    watcher = threading.Thread(target=_watch, args=(job_id, out, ended), daemon=True)
    watcher.start()
    try:
        yield
    finally:
        ended.set()
        watcher.join(5)


def _watch(job_id: UUID, out: TextIO, ended: threading.Event) -> None:
    try:
        while not ended.wait(LOOK_SECONDS):
            row = jobs.get_job(job_id)
            if row.total:
                out.write(f"\r{words.size(row.progress)} of {words.size(row.total)} read \033[K")
                out.flush()
    except DatabaseError:
        pass  # the line only informs
    finally:
        out.write("\r\033[K")
        out.flush()
        connection.close()


def files_of(row: JobRow) -> list[str]:
    """What became of each file, a line each; files of one folder that came to the same, many of them, have one line.
    None where nothing was new."""
    lines: dict[tuple[str, str], list[str]] = {}
    for one in row.result.get("files") or []:
        what = f"{format_name(one['format']) if one.get('format') else 'not recognised'}, {one.get('role')}"
        why = f", not counted: {one['reason']}" if one.get("reason") else ""
        folder, slash, name = str(one["path"]).rpartition("/")
        lines.setdefault((folder + slash, what + why), []).append(name)
    told_of = []
    for (folder, what), names in lines.items():
        if len(names) >= MANY_FILES:
            place = f"{folder}: " if folder else ""
            told_of.append(shown(f"{place}{len(names):,} files, {names[0]} to {names[-1]}: {what}"))
        else:
            told_of += [shown(f"{folder}{name}: {what}") for name in names]
    return told_of


def problems_of(row: JobRow) -> list[str]:
    """What was wrong with files, beyond their sessions' own problems."""
    return [shown(f"{one.get('file') or 'a file'}: {one['message']}") for one in row.result.get("problems") or []]


def findings_of(row: SessionRow) -> list[str]:
    """The first problems of a session, and where the rest is."""
    if not row.problem_count:
        return []
    lines = [
        shown(f"{one.severity}: {one.message}" + (f" (line {one.line})" if one.line else ""))
        for one in calls.problems(row.id, limit=SHOWN_PROBLEMS)
    ]
    if row.problem_count > len(lines):
        lines.append(f"and {row.problem_count - len(lines):,} more: {address_of(row)}problems/")
    return lines


def shown(text: str) -> str:
    """Foreign words in one line that cannot drive a terminal, with what looks like a secret masked."""
    # Masked before it is cut: half a secret would no longer look like one.
    masked = without_secrets(text[: LINE_CHARS + MARGIN_CHARS])
    return "".join(char if char.isprintable() else " " for char in masked)[:LINE_CHARS]


def told(text: str) -> str:
    """What a job says, whole, with what looks like a secret masked: it may quote a file's name or words."""
    return without_secrets(text)


def sessions_of(row: JobRow) -> list[SessionRow]:
    """The sessions that the job brought or found unchanged."""
    return sessions.find_sessions([int(key) for key in row.result.get("sessions") or []])


def describe(row: SessionRow) -> str:
    """One session in a line."""
    parts = [words.counted(row.message_count, "message"), words.counted(row.call_count, "call")]
    if row.compaction_count:
        parts.append(words.counted(row.compaction_count, "compaction"))
    if row.node_count:
        parts.append(words.counted(row.node_count, "summary", "summaries"))
    if row.topic_count:
        parts.append(words.counted(row.topic_count, "topic"))
    if row.problem_count:
        notes = calls.notes_of([row.id]).get(row.id, 0)
        parts.append(words.findings(row.problem_count - notes, notes))
    return shown(f"{row.title or row.source_id} ({format_name(row.format)}): {', '.join(parts)}")


def address_of(row: SessionRow) -> str:
    """Where the session is shown."""
    port = recorded_port() or DEFAULT_PORT
    return f"http://127.0.0.1:{port}{reverse('session', args=[row.id])}"


def where_to_look() -> str:
    """What to do next, as a sentence with a space before it; "" where people know."""
    if is_up():
        return "" if has_signed_in() else f" Not signed in yet? {command_here('sign-in')} prints an address."
    return f" Start the pages with: {command_here('up')}"
