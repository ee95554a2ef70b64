"""Workers, jobs, uploads, and the agents whose sessions could be read."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from contextviz.charts import words
from contextviz.cli.doctor.check import Check
from contextviz.cli.running import is_up, recorded_port
from contextviz.commands import command_here
from contextviz.services.doctor import State
from contextviz.services.ingest import discover_homes


def work_checks(found: State, now: datetime) -> Iterator[Check]:
    """What the tables tell."""
    kept = found.artifacts - found.artifacts_in_place
    counts = f"{words.counted(found.sessions, 'session')} from {words.counted(found.artifacts, 'raw file')}"
    if found.artifacts_in_place:
        counts += f": {kept:,} kept in the data folder, {found.artifacts_in_place:,} read where they lie"
    yield Check("library", "sessions", "ok", counts)
    if found.unindexed_packs:
        yield Check("library", "search index", "note", f"{found.unindexed_packs:,} packs of texts are still to come")
    yield from _workers(found, now)
    for job in found.stuck:
        todo = f"Start a worker ({command_here('up')}): it takes the job over. Else cancel it on the page Jobs."
        yield Check("jobs", job.kind.replace("_", " "), "problem", f"job {job.id}: {job.why}", todo)
    text = f"{found.waiting_jobs:,} waiting, {found.failed_jobs:,} failed (the page Jobs says why, and tries again)"
    yield Check("jobs", "jobs", "note" if found.failed_jobs else "ok", text)
    if found.interrupted_uploads:
        told = f"{words.counted(found.interrupted_uploads, 'file')} did not arrive completely"
        yield Check("uploads", "interrupted", "problem", told, "Send them again; the Library names each of them.")
    else:
        yield Check("uploads", "interrupted", "ok", "none")


def _workers(found: State, now: datetime) -> Iterator[Check]:
    seen = "never" if found.last_beat is None else f"{words.duration((now - found.last_beat).total_seconds())} ago"
    if found.living_workers and found.left_waiting:
        told = f"{words.counted(found.left_waiting, 'job')} waited for two minutes while nothing was done"
        todo = (
            f"Stop {command_here('up')} (or {command_here('worker')}) and start it again: it begins with what waits, "
            "and nothing is lost. If they wait again, its log says why; look at the disk's space too."
        )
        text = f"{found.living_workers} running, last sign of life {seen}, but {told}"
        yield Check("worker", "worker", "problem", text, todo)
    elif found.living_workers:
        yield Check("worker", "worker", "ok", f"{found.living_workers} running, last sign of life {seen}")
    elif found.waiting_jobs or is_up():
        yield Check("worker", "worker", "problem", f"none runs, last sign of life {seen}; jobs wait",
                    f"Start one: {command_here('up')} (everything) or {command_here('worker')}.")  # fmt: skip
    else:
        yield Check("worker", "worker", "note", f"none runs, last sign of life {seen}; {command_here('up')} starts one")


def server_check() -> Check:
    """Whether an `up` runs on this data folder."""
    if is_up():
        return Check("server", "up", "ok", f"running on port {recorded_port() or 'unknown'}")
    return Check("server", "up", "note", f"{command_here('up')} does not run on this data folder")


def home_checks() -> Iterator[Check]:
    """Agents' homes and how many files of sessions and stores they hold; names and counts only."""
    homes = discover_homes()
    for home in homes:
        count = f"{home.files:,}{' or more' if home.is_more else ''} {'file' if home.files == 1 else 'files'}"
        yield Check("agents", home.agent, "ok", f"{home.path}: {count}")
    if not homes:
        yield Check(
            "agents",
            "homes",
            "note",
            f"none found in this user's home; {command_here('import PATH')} reads any folder",
        )
