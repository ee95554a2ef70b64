"""Fuzz the readers: files that nobody would write, family by family, until the time is over.

python -m bench.fuzz [--families jsonl,documents,logs,stores,archives,growing] [--minutes 1] [--seed 1]
                     [--engine auto|atheris|hypothesis] [--keep FOLDER]
python -m bench.fuzz --replay FOLDER/jsonl/found/*.bin --families jsonl
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Sequence
from pathlib import Path

import orjson

from bench.fuzz.driving import HEADER
from bench.fuzz.families import FAMILIES, seeds_of
from bench.fuzz.oracle import Oracle, arm

ROOT = Path(__file__).resolve().parents[2]
MOST_DEATHS = 20
SLACK = 900  # seconds to start and to end: a busy machine may hardly run what is nice


def main(arguments: Sequence[str]) -> int:
    """Fuzz and print a row for each family; 1 where something was found."""
    parser = argparse.ArgumentParser(prog="python -m bench.fuzz", description=__doc__.splitlines()[0])
    parser.add_argument("--families", default=",".join(FAMILIES), help=f"of {', '.join(FAMILIES)}")
    parser.add_argument("--minutes", type=float, default=1, help="for each family (default 1)")
    parser.add_argument("--seed", type=int, default=1, help="another seed, other files (default 1)")
    parser.add_argument("--engine", choices=("auto", "atheris", "hypothesis"), default="auto")
    parser.add_argument("--keep", type=Path, help="a folder for corpora and findings, gone on with the next time")
    parser.add_argument("--replay", type=Path, nargs="+", help="inputs that were found, to be read once more")
    args = parser.parse_args(arguments)
    families = args.families.split(",")
    for family in families:
        if family not in FAMILIES:
            parser.error(f"{family} is not one of {', '.join(FAMILIES)}")
    with tempfile.TemporaryDirectory(prefix="contextviz-fuzz-", ignore_cleanup_errors=True) as name:
        folder = args.keep or Path(name)
        if args.replay:
            return _replayed(families[0], args.replay, folder)
        return max(_fuzzed(family, args, (folder / family).resolve()) for family in families)


def _fuzzed(family: str, args: argparse.Namespace, folder: Path) -> int:
    """Run one family; its process is started anew where it dies, and each death is a finding."""
    shutil.rmtree(folder / "found", ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)
    end, deaths, runs = time.monotonic() + args.minutes * 60, 0, 0
    found: dict[str, int] = {}
    engine = args.engine
    while (left := round(end - time.monotonic())) > 0 and deaths < MOST_DEATHS:
        for part in ("seeds", "scratch"):
            shutil.rmtree(folder / part, ignore_errors=True)
        command = [sys.executable, "-m", "bench.fuzz.driving", family, str(left), str(args.seed + deaths), args.engine]
        with (folder / "log.txt").open("ab") as log:
            done = subprocess.run([*command, folder], cwd=ROOT, stdout=log, stderr=log, check=False,
                                  timeout=left + SLACK)  # fmt: skip
        status = orjson.loads((folder / "status.json").read_bytes()) if (folder / "status.json").exists() else {}
        engine, runs = status.get("engine", engine), runs + status.get("runs", 0)
        for where, count in status.get("found", {}).items():
            found[where] = found.get(where, 0) + count
        if done.returncode:
            deaths += 1
            found[f"the process ended with {done.returncode}; see {folder}/log.txt"] = deaths
    kept = len(list((folder / "corpus").glob("*"))) if (folder / "corpus").exists() else 0
    print(f"{family:<10} {engine:<10} {args.minutes:g} min  {runs:>9,} executions  {kept:>6,} inputs kept  "
          f"{len(found)} faults", flush=True)  # fmt: skip
    for where, count in sorted(found.items()):
        print(f"    {count:>6,} times  {where}")
    return 1 if found else 0


def _replayed(family: str, inputs: Sequence[Path], folder: Path) -> int:
    """Read inputs once more and show what comes of each."""
    shutil.rmtree(folder / "replay", ignore_errors=True)
    oracle = Oracle(seeds_of(family, folder / "replay"), folder / "scratch", is_growing=family == "growing")
    arm()
    failed = 0
    for path in inputs:
        raw = path.read_bytes()
        try:
            oracle.check(raw[0], raw[1], raw[HEADER:])
        except Exception:  # whatever comes out is what is looked for
            failed += 1
            print(f"{path.name}\n{traceback.format_exc()}")
        else:
            print(f"{path.name}: read")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
