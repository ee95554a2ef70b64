"""`contextviz score`: a session replayed by engines and held against thresholds, for continuous integration.

Exit status 0 where every threshold holds, 1 where one does not, 2 where nothing usable is there, a metric is unknown or
an argument is wrong.
"""

from __future__ import annotations

import argparse
import difflib
import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TextIO

from contextviz.analysis.replay import METRICS, Scorecard
from contextviz.analysis.replay.metrics import Better
from contextviz.cli.inspect_table import safe
from contextviz.cli.replay.asked import Unusable, add_arguments, chosen
from contextviz.cli.replay.measuring import measured
from contextviz.cli.replay.reading import opened
from contextviz.cli.replay.table import shown

EXIT_PASSED, EXIT_FAILED, EXIT_UNUSABLE = 0, 1, 2
OPTIONS: dict[Better, str] = {"higher": "--fail-under", "lower": "--fail-over"}


@dataclass(frozen=True, slots=True)
class Threshold:
    """What a metric must reach (better: higher) or may not exceed (better: lower); the bound itself is good."""

    metric: str
    bound: float

    @property
    def better(self) -> Better:
        """Which way is better."""
        return METRICS[self.metric].better

    def holds(self, value: float) -> bool:
        """Whether a value is good enough."""
        return value >= self.bound if self.better == "higher" else value <= self.bound


def add_score_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments, shared by the console command and manage.py."""
    add_arguments(parser)
    parser.add_argument(
        "--fail-under", action="append", default=[], metavar="METRIC=VALUE,…", help="fail where a metric is smaller"
    )
    parser.add_argument(
        "--fail-over", action="append", default=[], metavar="METRIC=VALUE,…", help="fail where a metric is larger"
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Run from a console; gives the exit status."""
    parser = argparse.ArgumentParser(prog="contextviz score", description=__doc__)
    add_score_arguments(parser)
    return run(parser.parse_args(argv), sys.stdout, sys.stderr)


def run(args: argparse.Namespace, out: TextIO, err: TextIO) -> int:
    """Judge each engine by each threshold, a line each on `out`; one on `err` for what cannot be judged."""
    try:
        thresholds = [*_thresholds(args.fail_under, "higher"), *_thresholds(args.fail_over, "lower")]
        if not thresholds:
            raise Unusable("name a threshold, with --fail-under METRIC=VALUE or --fail-over METRIC=VALUE.")
        engines = chosen(args)
        session = opened(args.paths, args.session)
        status = EXIT_PASSED
        for one in measured(session, engines, args.summariser):
            status = max(status, _judge(one.run.key, one.card, thresholds, out, err))
    except Unusable as error:
        err.write(f"contextviz score: {error}\n")
        return EXIT_UNUSABLE
    return status


def _judge(engine: str, card: Scorecard, thresholds: Sequence[Threshold], out: TextIO, err: TextIO) -> int:
    status = EXIT_PASSED
    for one in thresholds:
        metric = card.metrics[one.metric]
        if metric.value is None:
            err.write(f"contextviz score: {one.metric} of {safe(engine)} is unknown: {safe(metric.note)}\n")
            status = max(status, EXIT_UNUSABLE)
            continue
        is_good = one.holds(metric.value)
        wanted = "at least" if one.better == "higher" else "at most"
        out.write(
            f"{'pass' if is_good else 'FAIL'}  {safe(engine)}  {one.metric} {metric.value:.6g} ({shown(metric)}),"
            f" wanted {wanted} {one.bound:g}\n"
        )
        status = max(status, EXIT_PASSED if is_good else EXIT_FAILED)
    return status


def _thresholds(given: Sequence[str], better: Better) -> list[Threshold]:
    return [_threshold(part, better) for text in given for part in text.split(",") if part.strip()]


def _threshold(text: str, better: Better) -> Threshold:
    option = OPTIONS[better]
    name, mark, value = (part.strip() for part in text.partition("="))
    if not mark:
        raise Unusable(f"{option} {text[:60]!r} is not METRIC=VALUE.")
    if name not in METRICS:
        near = difflib.get_close_matches(name, METRICS, n=1)
        hint = f" Did you mean {near[0]}?" if near else ""
        raise Unusable(f"there is no metric {name[:60]!r}.{hint} There are {', '.join(METRICS)}.")
    if METRICS[name].better != better:
        other: Literal["higher", "lower"] = METRICS[name].better
        raise Unusable(f"{name} is better when it is {other}; use {OPTIONS[other]} {name}={value}.")
    try:
        bound = float(value)
    except ValueError:
        bound = math.nan
    if not math.isfinite(bound):
        raise Unusable(f"the bound of {name} is {value[:40]!r}; write a number, such as 0.5.")
    return Threshold(name, bound)
