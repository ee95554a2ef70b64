"""`contextviz score`: a session replayed by engines and held against thresholds, for continuous integration.

Exit status 0 where every threshold holds, 1 where one does not, 2 where nothing usable is there, a metric is unknown or
an argument is wrong.
"""

from __future__ import annotations

import argparse
import difflib
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TextIO

from contextviz.analysis.replay import METRICS, Metric, Scorecard
from contextviz.analysis.replay.metrics import Better
from contextviz.cli.inspect_table import safe
from contextviz.cli.replay.asked import Chosen, OneSentence, Unusable, add_arguments, chosen
from contextviz.cli.replay.measuring import measured
from contextviz.cli.replay.reading import opened
from contextviz.cli.replay.table import needs_words, shown
from contextviz.commands import command
from contextviz.engines.settings import decimal_of, resolve

EXIT_PASSED, EXIT_FAILED, EXIT_UNUSABLE = 0, 1, 2
EXACT = 2**53  # whole numbers below it are what they say as floats
FEW_NEEDS = 5  # a recall from fewer is told apart from another by chance
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
    parser = OneSentence(prog=command("score"), description=__doc__)
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
        for each in engines:
            _settings_notes(each, err)
        status = EXIT_PASSED
        for one in measured(session, engines, args.summariser, args.scorer):
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
        if metric.count is not None and metric.count < FEW_NEEDS:
            err.write(
                f"contextviz score: warning: {one.metric} of {safe(engine)} rests on {needs_words(metric)};"
                f" fewer than {FEW_NEEDS} decide little.\n"
            )
        is_good = one.holds(metric.value)
        wanted = "at least" if one.better == "higher" else "at most"
        out.write(
            f"{'pass' if is_good else 'FAIL'}  {safe(engine)}  {one.metric} {exact(metric.value)} ({_known(metric)}),"
            f" wanted {wanted} {exact(one.bound)}\n"
        )
        status = max(status, EXIT_PASSED if is_good else EXIT_FAILED)
    return status


def exact(value: float) -> str:
    """A number with all its digits, so that two that differ look it."""
    return str(int(value)) if value == int(value) and abs(value) < EXACT else repr(value)


def _settings_notes(one: Chosen, err: TextIO) -> None:
    """Say what of the settings was not taken as it was given."""
    for note in resolve(one.spec.settings, one.request.settings)[1]:
        err.write(f"contextviz score: {safe(one.spec.key)}: {safe(note)}\n")


def _known(metric: Metric) -> str:
    return ", ".join(text for text in (shown(metric), needs_words(metric)) if text)


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
    bound = decimal_of(value)
    if bound is None:
        raise Unusable(f"the bound of {name} is {value[:40]!r}; write a number, such as 0.5.")
    if METRICS[name].unit == "share" and not 0 <= bound <= 1:
        raise Unusable(f"the bound of {name} is {value[:40]!r}; it is a share, a number from 0 to 1.")
    return Threshold(name, bound)
