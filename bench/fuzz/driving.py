"""One process that fuzzes one family: with atheris (coverage leads the way), else with hypothesis.

    python -m bench.fuzz.driving FAMILY SECONDS SEED auto|atheris|hypothesis FOLDER

Faults are written to FOLDER/found, one of a kind, and do not end it; FOLDER/status.json counts the executions. What
takes Python down, or has no end, is left by libFuzzer (FOLDER/crash-…, timeout-…) or as FOLDER/now.bin.
"""

from __future__ import annotations

import faulthandler
import hashlib
import sys
import time
import traceback
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from random import Random
from typing import Any

import orjson
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from bench.fuzz.mutating import MOST_BYTES, mutated

HEADER = 2  # which seed, which of its files
MOST_STUCK = 300  # seconds of wall time, where not even the signal of too much processor time gets through
EVERY = 100
ROUND = 500  # examples of one run of hypothesis


class Driver:
    """Runs inputs through the oracle and keeps count."""

    def __init__(self, oracle: Any, place_of: Any, folder: Path, engine: str):
        self.oracle = oracle
        self._place_of = place_of
        self._folder = folder
        self._engine = engine
        self._found: dict[str, int] = {}
        self._runs = 0
        self._start = time.monotonic()
        (folder / "found").mkdir(parents=True, exist_ok=True)

    def one(self, raw: bytes) -> None:
        """One input: two bytes that say which file of which seed, and what is in its place."""
        if len(raw) < HEADER:
            return
        self._runs += 1
        try:
            self.oracle.check(raw[0], raw[1], raw[HEADER:])
        except Exception as error:  # whatever comes out is what is looked for
            self._keep(raw, error)
        if self._runs % EVERY == 0:
            self.tell()

    def mutate(self, raw: bytes, most: int, number: int) -> bytes:
        """Another input made from one; now and then from another seed altogether."""
        draw = Random(number)
        header, body = raw[:HEADER], raw[HEADER:]
        if len(raw) < HEADER or draw.random() < 0.05:
            header = bytes([draw.randrange(256), draw.randrange(256)])
            body = self.oracle.original(*header)
        return header + mutated(body, draw, min(most, MOST_BYTES) - HEADER)

    def tell(self) -> None:
        """Write down how far it came."""
        status = {"engine": self._engine, "runs": self._runs, "seconds": time.monotonic() - self._start,
                  "found": self._found}  # fmt: skip
        (self._folder / "status.json").write_bytes(orjson.dumps(status))

    def _keep(self, raw: bytes, error: Exception) -> None:
        where = self._place_of(error)
        self._found[where] = self._found.get(where, 0) + 1
        name = hashlib.sha256(where.encode()).hexdigest()[:12]
        path = self._folder / "found" / f"{name}.bin"
        if not path.exists() or path.stat().st_size > len(raw):
            path.write_bytes(raw)
            told = f"{where}\n\n{''.join(traceback.format_exception(error))}"
            path.with_suffix(".txt").write_text(told, errors="replace")


def with_atheris(driver: Driver, seconds: int, number: int, folder: Path) -> None:
    """Fuzz until the time is over. Does not return: libFuzzer ends the process."""
    atheris = import_module("atheris")
    corpus = folder / "corpus"
    corpus.mkdir(exist_ok=True)
    for at, one in enumerate(driver.oracle.seeds):
        for file in range(len(one.files)):
            (corpus / f"seed-{at}-{file}").write_bytes(bytes([at, file]) + driver.oracle.original(at, file))
    options = [
        f"-max_total_time={seconds}", f"-max_len={MOST_BYTES}", f"-seed={number}", f"-timeout={MOST_STUCK}",
        "-rss_limit_mb=2048", f"-artifact_prefix={folder}/", "-len_control=0", "-use_value_profile=0", str(corpus),
    ]  # fmt: skip

    def change(raw: bytes, most: int, changed_by: int) -> bytes:
        return driver.mutate(raw, most, changed_by)

    atheris.Setup(["fuzz", *options], driver.one, custom_mutator=change)
    atheris.Fuzz()


def with_hypothesis(driver: Driver, seconds: int, number: int, folder: Path) -> None:
    """The same without coverage: examples are drawn until the time is over."""
    end = time.monotonic() + seconds
    now = folder / "now.bin"

    def run(at: int, file: int, by: int) -> None:
        if time.monotonic() > end:
            return
        raw = driver.mutate(bytes([at, file]) + driver.oracle.original(at, file), MOST_BYTES, by)
        now.write_bytes(raw)
        faulthandler.dump_traceback_later(MOST_STUCK, exit=True)
        driver.one(raw)
        faulthandler.cancel_dump_traceback_later()

    wanted = settings(max_examples=ROUND, deadline=None, database=None, suppress_health_check=list(HealthCheck),
                      phases=[Phase.generate])  # fmt: skip
    turn = 0
    while time.monotonic() < end:
        wrapped = given(st.integers(0, 255), st.integers(0, 255), st.integers(0, 2**64))(run)
        seed(number + turn)(wanted(wrapped))()
        turn += 1
    now.unlink(missing_ok=True)


def instrumented(engine: str) -> AbstractContextManager[Any]:
    """What is imported within is watched for coverage, where atheris drives."""
    if engine != "atheris":
        return nullcontext()
    watched: AbstractContextManager[Any] = import_module("atheris").instrument_imports(include=["contextviz"])
    return watched


def engine_of(wanted: str) -> str:
    """The engine that is asked for; `auto` is atheris where it is installed."""
    if wanted != "auto":
        return wanted
    return "atheris" if find_spec("atheris") else "hypothesis"


def main(arguments: Sequence[str]) -> int:
    """Fuzz as the arguments say."""
    family, seconds, number, wanted, place = arguments
    folder, engine = Path(place), engine_of(wanted)
    with instrumented(engine):
        families, oracles = import_module("bench.fuzz.families"), import_module("bench.fuzz.oracle")
    seeds = families.seeds_of(family, folder / "seeds")
    oracle = oracles.Oracle(seeds, folder / "scratch", is_growing=family == "growing")
    oracles.arm()
    driver = Driver(oracle, oracles.place_of, folder, engine)
    driver.tell()
    run = with_atheris if engine == "atheris" else with_hypothesis
    run(driver, int(seconds), int(number), folder)
    driver.tell()
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
