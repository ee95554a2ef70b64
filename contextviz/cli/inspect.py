"""`contextviz inspect`: what is in transcripts, stores and folders, without a database, a server or a network.

Composed from the pure floors alone; importing Django here would be a fault (a test asserts that it is not).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TextIO
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import orjson

from contextviz.analysis.inspect import problem_json, session_json
from contextviz.analysis.snapshots import snapshot_lines
from contextviz.analysis.spend import per_day, spend_json, total_of
from contextviz.analysis.windows import fill_window
from contextviz.cli.inspect_table import print_table
from contextviz.commands import command
from contextviz.events.call import ModelCall
from contextviz.events.problem import ReadProblem
from contextviz.events.session import SourceFile, Transcript
from contextviz.sources.files import NamedPath, is_special, read_paths, walk
from contextviz.sources.source import ReadOptions
from contextviz.sources.unpack import unpacked
from contextviz.tokens.pool import MemoryPool

SCHEMA = "contextviz.inspect/1"
EXIT_READ, EXIT_NOTHING = 0, 2
Json = dict[str, object]


class NothingReadable(Exception):
    """Nothing at the named paths can be read; the text is the sentence for stderr."""


@dataclass(slots=True)
class Report:
    """What an inspection gathers; texts stay in the pool."""

    zone: ZoneInfo
    files: list[SourceFile] = field(default_factory=list)
    sessions: list[Json] = field(default_factory=list)
    calls: list[ModelCall] = field(default_factory=list)
    problems: list[ReadProblem] = field(default_factory=list)
    formats: set[str] = field(default_factory=set)

    def add(self, transcript: Transcript) -> None:
        """Take a session's numbers."""
        fill_window(transcript)
        self.sessions.append(session_json(transcript, zone=self.zone))
        self.calls.extend(transcript.calls)
        self.formats.add(transcript.session.format)

    def as_json(self) -> Json:
        """The whole object of inspect.md."""
        only = next(iter(self.formats)) if len(self.formats) == 1 else ""
        return {
            "schema": SCHEMA,
            "files": [_file_json(one) for one in sorted(self.files, key=lambda one: one.path)],
            "sessions": self.sessions,
            "totals": {
                "sessions": len(self.sessions),
                "api_calls": len(self.calls),
                "spend": spend_json(total_of(self.calls), format_name=only),
                "per_utc_day": per_day(self.calls, ZoneInfo("UTC")),
            },
            "problems": [problem_json(problem) for problem in self.problems],
        }


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments, shared by the console command and manage.py."""
    parser.add_argument("paths", nargs="+", metavar="PATH", help="a transcript, a store or a folder")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--snapshots", action="store_true", help="print each call's window, a JSON line a call")
    parser.add_argument("--tz", default="UTC", help="time zone of messages_per_day (default UTC)")


def main(argv: Sequence[str] | None = None) -> int:
    """Run from a console; gives the exit status of inspect.md (0 read, 2 nothing readable)."""
    parser = argparse.ArgumentParser(prog=command("inspect"), description=__doc__)
    add_arguments(parser)
    return run(parser.parse_args(argv), sys.stdout, sys.stderr)


def run(args: argparse.Namespace, out: TextIO, err: TextIO) -> int:
    """Inspect the named paths and print to `out`; one sentence to `err` where nothing can be read."""
    try:
        zone = ZoneInfo(args.tz)
    except (ZoneInfoNotFoundError, ValueError):
        err.write(f"contextviz inspect: {args.tz} is not a time zone; name one such as Europe/Berlin or Asia/Tokyo.\n")
        return EXIT_NOTHING
    try:
        named = named_paths(args.paths)
        pool = MemoryPool()
        options = ReadOptions(pool, datetime.now(UTC), with_snapshots=args.snapshots)
        with unpacked(named) as opened:
            items = opened.all_of(read_paths(opened.paths, options))
            if args.snapshots:
                return _print_snapshots(items, pool, out, err)
            report = gather(items, zone)
        known = (one.role for one in report.files if one.format is not None)
        if not report.sessions and not any(role in ("index", "archive", "duplicate") for role in known):
            raise NothingReadable(_why_nothing(args.paths, report))
    except NothingReadable as error:
        err.write(f"contextviz inspect: {error}\n")
        return EXIT_NOTHING
    if args.json:
        out.write(orjson.dumps(report.as_json(), option=orjson.OPT_INDENT_2).decode() + "\n")
    else:
        print_table(report.as_json(), out)
    return EXIT_READ


def named_paths(paths: Sequence[str]) -> list[NamedPath]:
    """The files at the paths; names are relative to each path, prefixed by it where several are given.

    Raises NothingReadable with a sentence where a path does not exist or is a pipe or device.
    """
    found: list[NamedPath] = []
    for text in paths:
        path = Path(text)
        if not path.exists():
            raise NothingReadable(f"there is nothing at {text}; name a transcript, a store or a folder.")
        if is_special(path):
            raise NothingReadable(f"{text} is a pipe or a device, not a file; name a transcript, a store or a folder.")
        prefix = f"{path.name}/" if len(paths) > 1 and path.is_dir() else ""
        found.extend(NamedPath(one.path, prefix + one.name) for one in walk(path))
    return found


def gather(items: Iterator[SourceFile | Transcript | ReadProblem], zone: ZoneInfo) -> Report:
    """Collect what was read into a report."""
    report = Report(zone)
    for item in items:
        if isinstance(item, SourceFile):
            report.files.append(item)
        elif isinstance(item, ReadProblem):
            report.problems.append(item)
        else:
            report.add(item)
    return report


def _print_snapshots(
    items: Iterator[SourceFile | Transcript | ReadProblem], pool: MemoryPool, out: TextIO, err: TextIO
) -> int:
    sessions = 0
    for item in items:
        if isinstance(item, Transcript):
            sessions += 1
            for line in snapshot_lines(item, pool):
                out.write(orjson.dumps(line).decode() + "\n")
    if not sessions:
        err.write("contextviz inspect: no session is readable there, so there are no snapshots.\n")
        return EXIT_NOTHING
    return EXIT_READ


def _why_nothing(paths: Sequence[str], report: Report) -> str:
    where = ", ".join(paths)
    if not report.files and not report.problems:
        return f"there are no files at {where}; name a transcript, a store or a folder that holds some."
    told = {problem.file for problem in report.problems}  # of these the problem says it, with what to do
    reasons = [problem.message for problem in report.problems] + [
        f"{one.path}: {one.reason}" for one in report.files if one.reason and one.path not in told
    ]
    said = "; ".join(one.rstrip(".") for one in list(dict.fromkeys(reasons))[:3])
    return f"nothing at {where} can be read as a transcript or store ({said or 'no session in it'})."


def _file_json(one: SourceFile) -> Json:
    return {
        "path": one.path,
        "format": one.format,
        "role": one.role,
        "counted": one.is_counted,
        "reason": one.reason,
        "bytes": one.size,
        "session": one.session,
    }
