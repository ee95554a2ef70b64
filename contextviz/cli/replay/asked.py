"""What `replay` and `score` are asked for: the arguments both have, and what they mean."""

from __future__ import annotations

import argparse
import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, NoReturn

from contextviz.cli.inspect_table import safe
from contextviz.engines.engine import EngineSpec
from contextviz.engines.registry import NoSuchEngine, engines, named
from contextviz.engines.replay import MOST_TOKENS, EngineClass, RunRequest
from contextviz.engines.scoring.registry import DEFAULT as DEFAULT_SCORER
from contextviz.engines.scoring.registry import scorer_spec, scorers
from contextviz.engines.scoring.scorer import NoSuchScorer
from contextviz.engines.summarising.registry import DEFAULT, NoSuchSummariser, summariser, summarisers
from contextviz.tokens.estimators import ESTIMATORS

SERVERS_SUMMARISER = "endpoint"  # contextviz.services.replay has it; it asks over the network


class Unusable(Exception):
    """What was asked cannot be done; the text is the sentence for stderr."""


class Chosen(NamedTuple):
    """One engine and what it is to be run with."""

    engine: EngineClass
    request: RunRequest

    @property
    def spec(self) -> EngineSpec:
        """What the engine says of itself."""
        return self.engine.spec


@dataclass(frozen=True, slots=True)
class Assignment:
    """One `--set`: for the engine named before the colon (id or key), or for every engine that knows the setting."""

    engine: str | None
    key: str
    value: str


class OneSentence(argparse.ArgumentParser):
    """Says what is wrong with the arguments in one sentence, without the usage before it."""

    def error(self, message: str) -> NoReturn:
        """End with exit status 2."""
        name = self.prog.rpartition(" ")[2]
        said = safe(message.removeprefix("argument "))[:300]
        self.exit(2, f"contextviz {name}: {said}; see {self.prog} --help.\n")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments that `replay` and `score` share."""
    parser.add_argument("paths", nargs="+", metavar="PATH", help="a transcript, a store or a folder")
    parser.add_argument(
        "--engine", action="append", default=[], metavar="ID[@VERSION]", help="an engine; may be given several times"
    )
    parser.add_argument(
        "--set", action="append", default=[], metavar="[ENGINE:]KEY=VALUE", help="a setting, for one engine or for all"
    )
    parser.add_argument("--window", type=_tokens, metavar="N", help="context window in tokens (default: the session's)")
    parser.add_argument("--reserve", type=_tokens, metavar="N", help="tokens kept free for the answer (default 0)")
    parser.add_argument(
        "--system-tokens", type=_tokens, metavar="N", help="tokens of system prompt and tools (default: the session's)"
    )
    parser.add_argument("--estimator", metavar="ID", help=f"what windows are counted by: {', '.join(ESTIMATORS)}")
    parser.add_argument(
        "--summariser", metavar="ID", default=DEFAULT,
        help=f"what stands in for a language model: {', '.join(one.id for one in summarisers())} (default {DEFAULT})",
    )  # fmt: skip
    parser.add_argument(
        "--scorer", metavar="ID", default=DEFAULT_SCORER,
        help=f"what stands in for an index of embeddings: {', '.join(one.id for one in scorers())}"
        f" (default {DEFAULT_SCORER})",
    )  # fmt: skip
    parser.add_argument("--session", metavar="ID", help="which session, where there are several at PATH")


def _tokens(text: str) -> int:
    if not re.fullmatch(r"\d+", text, re.ASCII):
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is not a number of tokens")
    digits = text.lstrip("0") or "0"
    # The length first: very long digits are no number that Python turns into one.
    if len(digits) > len(str(MOST_TOKENS)) or int(digits) > MOST_TOKENS:
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is more than {MOST_TOKENS:,} tokens, which is the most")
    return int(digits)


def chosen(args: argparse.Namespace) -> list[Chosen]:
    """The engines that were named, each with its settings; raises Unusable with a sentence, for whatever is wrong."""
    if args.estimator is not None and args.estimator not in ESTIMATORS:
        raise Unusable(f"there is no estimator {args.estimator[:40]!r}; there are {', '.join(ESTIMATORS)}.")
    if not args.engine:
        raise Unusable(f"name an engine with --engine; there are {', '.join(one.spec.key for one in engines())}.")
    if args.summariser == SERVERS_SUMMARISER:
        raise Unusable(
            f"the summariser {SERVERS_SUMMARISER!r} asks a model over the network, which only replays on the server do"
            f" (the Lab, the API); here there are {', '.join(one.id for one in summarisers())}."
        )
    try:
        found = [named(name) for name in args.engine]
        summariser(args.summariser)
        scorer_spec(args.scorer)
    except (NoSuchEngine, NoSuchSummariser, NoSuchScorer) as error:
        raise Unusable(str(error)) from None
    assignments = [_assignment(text) for text in args.set]
    _check(assignments, found)
    return [Chosen(engine, _request(args, engine.spec, assignments)) for engine in found]


def _assignment(text: str) -> Assignment:
    name, mark, value = text.partition("=")
    engine, colon, key = name.rpartition(":")
    if not mark or not key.strip():
        raise Unusable(f"--set {text[:60]!r} is not KEY=VALUE or ENGINE:KEY=VALUE.")
    return Assignment(engine.strip() if colon else None, key.strip(), value.strip())


def _check(assignments: Sequence[Assignment], found: Sequence[EngineClass]) -> None:
    for one in assignments:
        meant = [engine.spec for engine in found if one.engine in (None, engine.spec.id, engine.spec.key)]
        if not meant:
            raise Unusable(f"--set names the engine {(one.engine or '')[:60]!r}, which --engine does not.")
        known = {setting.key for spec in meant for setting in spec.settings}
        if one.key not in known:
            raise Unusable(_unknown_key(one.key, known, [spec.key for spec in meant]))


def _unknown_key(key: str, known: set[str], meant: Sequence[str]) -> str:
    folded = {name.casefold(): name for name in sorted(known)}
    near = difflib.get_close_matches(key[:60].casefold(), folded, n=3)
    if near:
        hint = f" Did you mean {' or '.join(folded[name] for name in near)}?"
    else:
        hint = f" There are: {', '.join(sorted(known))}." if known else " It has none."
    return f"there is no setting {key[:60]!r} of {' or '.join(dict.fromkeys(meant))}.{hint}"


def _request(args: argparse.Namespace, spec: EngineSpec, assignments: Sequence[Assignment]) -> RunRequest:
    declared = {setting.key for setting in spec.settings}
    settings = {
        one.key: one.value
        for one in assignments
        # One for all engines is left out where others know it and this does not.
        if (one.engine is None and one.key in declared) or one.engine in (spec.id, spec.key)
    }
    return RunRequest(settings, args.window, args.reserve, args.system_tokens, args.estimator)
