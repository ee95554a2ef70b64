"""`contextviz replay`: a session as other context engines would have shown it to the model, call by call.

Without Django, a database, a server or a network. Exit status 0 replayed, 2 nothing usable there or a wrong argument.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

import orjson

from contextviz.cli.replay.asked import OneSentence, Unusable, add_arguments, chosen
from contextviz.cli.replay.estimates import named_texts, of_messages, of_texts
from contextviz.cli.replay.measuring import measured, replayed
from contextviz.cli.replay.output import Json, report_json, snapshot_lines
from contextviz.cli.replay.reading import opened
from contextviz.cli.replay.table import print_table
from contextviz.commands import command

EXIT_DONE, EXIT_UNUSABLE = 0, 2


def add_replay_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments, shared by the console command and manage.py."""
    add_arguments(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--snapshots", action="store_true", help="print each call's window, a JSON line a call")
    parser.add_argument(
        "--estimates",
        action="store_true",
        help="replay nothing: count each message, or each text of a JSON file of texts, by every estimator",
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Run from a console; gives the exit status."""
    parser = OneSentence(prog=command("replay"), description=__doc__)
    add_replay_arguments(parser)
    return run(parser.parse_args(argv), sys.stdout, sys.stderr)


def run(args: argparse.Namespace, out: TextIO, err: TextIO) -> int:
    """Replay what the arguments name and print to `out`; one sentence to `err` where that cannot be done."""
    try:
        if args.estimates:
            _write(_estimates(args), out)
        else:
            _replay(args, out)
    except Unusable as error:
        err.write(f"contextviz replay: {error}\n")
        return EXIT_UNUSABLE
    return EXIT_DONE


def _replay(args: argparse.Namespace, out: TextIO) -> None:
    engines = chosen(args)
    session = opened(args.paths, args.session)
    if args.snapshots:
        for one in replayed(session, engines, args.summariser, args.scorer):
            for line in snapshot_lines(session, one):
                out.write(orjson.dumps(line).decode() + "\n")
        return
    runs = list(measured(session, engines, args.summariser, args.scorer))
    if args.json:
        _write(report_json(session, runs, of_messages(session.material.messages)), out)
    else:
        print_table(session, runs, out)


def _estimates(args: argparse.Namespace) -> Json:
    texts = named_texts(Path(args.paths[0])) if len(args.paths) == 1 else None
    if texts is not None:
        return report_json(None, [], of_texts(texts))
    session = opened(args.paths, args.session)
    return report_json(session, [], of_messages(session.material.messages))


def _write(report: Json, out: TextIO) -> None:
    out.write(orjson.dumps(report, option=orjson.OPT_INDENT_2).decode() + "\n")
