"""The bench: `python -m bench` (or `make bench`) prints what an import costs beside a bare parser on the same files.

python -m bench [--mb 50] [--kinds plain,repeats] [--formats claude-code,openclaw] [--rounds 3] [--json]
python -m bench generate --kind plain (--mb 200 | --calls 30000) [--format openclaw] [--seed 1] [--scale 1.0] OUT
python -m bench pages [--calls 1000,10000,30000] [--rounds 9] [--keep FOLDER] [--paint]
python -m bench live-page [--mb 200]
python -m bench live [--sessions 50] [--streams 200] [--minutes 1] [--every 5]
python -m bench replay SOURCE TARGET [--pause 0.05]
python -m bench peers [--mb 20]
python -m bench engines [--messages 15709] [--engines keep-tail,flowctx] [--rounds 1]
python -m bench all [--mb 50] [--calls 1000,10000,30000]
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

import orjson

from bench import engines, live, live_page, pages, peers, replay
from bench.generate import FORMATS, Generated, Size, generate
from bench.plan import KINDS
from bench.scratch import database_name
from bench.table import MEASURES, Case, measured, rendered

MB = 1_000_000
Name = TypeVar("Name", bound=str)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what the arguments ask for; 1 where a measurement failed."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if given[:1] == ["generate"]:
        return _generate(given[1:])
    if given[:1] == ["pages"]:
        return pages.main(given[1:])
    if given[:1] == ["live-page"]:
        return live_page.main(given[1:])
    if given[:1] == ["live"]:
        return live.main(given[1:])
    if given[:1] == ["replay"]:
        return replay.main(given[1:])
    if given[:1] == ["peers"]:
        return peers.main(given[1:])
    if given[:1] == ["engines"]:
        return engines.main(given[1:])
    if given[:1] == ["all"]:
        return _all(given[1:])
    return _run(given)


def _all(arguments: Sequence[str]) -> int:
    """Both tables: what imports cost, then what pages, replies and searches cost."""
    parser = argparse.ArgumentParser(prog="python -m bench all", description=_all.__doc__)
    parser.add_argument("--mb", default="50", help="size of each import, in MB (default 50)")
    parser.add_argument("--calls", default="1000,10000,30000", help="sizes of the sessions that pages are asked of")
    parser.add_argument("--formats", default=",".join(FORMATS), help=f"of {', '.join(FORMATS)}")
    parser.add_argument("--kinds", default="plain,repeats,compacted", help=f"of {', '.join(KINDS)}")
    parser.add_argument("--rounds", default="3", help="repetitions; medians are shown (default 3)")
    args = parser.parse_args(arguments)
    shared = ["--formats", args.formats, "--rounds", args.rounds]
    print(f"on {database_name()}, Python {sys.version.split()[0]}, {os.cpu_count()} processors\n", flush=True)
    status = _run(["--mb", args.mb, "--kinds", args.kinds, *shared])
    print(flush=True)
    return max(status, pages.main(["--calls", args.calls, *shared]))


def _generate(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench generate", description=generate.__doc__)
    parser.add_argument("--kind", choices=KINDS, default="plain")
    parser.add_argument("--format", choices=FORMATS, default="claude-code")
    size = parser.add_mutually_exclusive_group(required=True)
    size.add_argument("--mb", type=float, help="size of all files together, in MB (1,000,000 bytes)")
    size.add_argument("--calls", type=int, help="model calls of all sessions together")
    parser.add_argument("--seed", type=int, default=1, help="another seed, other texts (default 1)")
    parser.add_argument("--scale", type=float, default=1.0, help="makes every text longer or shorter (default 1.0)")
    parser.add_argument("out", type=Path, help="a folder; it is made")
    args = parser.parse_args(arguments)
    wanted = Size(None if args.mb is None else round(args.mb * MB), args.calls)
    made = generate(args.out, args.kind, wanted, format=args.format, seed=args.seed, scale=args.scale)
    print(f"{_summary(made)} in {args.out}")
    return 0


def _summary(made: Generated) -> str:
    return f"{made.bytes / MB:.1f} MB, {made.calls:,} calls, {len(made.files):,} files"


def _run(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__.splitlines()[0])
    parser.add_argument("--mb", type=float, default=50, help="size of each case, in MB (default 50)")
    parser.add_argument("--kinds", default="plain,repeats,compacted", help=f"of {', '.join(KINDS)}")
    parser.add_argument("--formats", default=",".join(FORMATS), help=f"of {', '.join(FORMATS)}")
    parser.add_argument("--measures", default=",".join(MEASURES), help=f"of {', '.join(MEASURES)}")
    parser.add_argument("--rounds", type=int, default=3, help="repetitions; medians are shown (default 3)")
    parser.add_argument("--json", action="store_true", help="print the numbers as one JSON object")
    args = parser.parse_args(arguments)
    cases: list[Case] = []
    with tempfile.TemporaryDirectory(prefix="contextviz-bench-") as folder:
        for kind in _of(args.kinds, KINDS, parser):
            for name in _of(args.formats, FORMATS, parser):
                out = Path(folder) / f"{kind}-{name}"
                made = generate(out, kind, Size(bytes=round(args.mb * MB)), format=name)
                print(f"{kind} {name}: {_summary(made)}", file=sys.stderr)
                cases.append(measured(kind, name, made, _of(args.measures, MEASURES, parser), args.rounds))
                for file in made.files:
                    file.unlink()
    if args.json:
        print(orjson.dumps([case.as_json() for case in cases], option=orjson.OPT_INDENT_2).decode())
    else:
        print(rendered(cases))
    return 0


def _of(text: str, known: Sequence[Name], parser: argparse.ArgumentParser) -> list[Name]:
    by_name = {str(one): one for one in known}
    names = [part.strip() for part in text.split(",") if part.strip()]
    for name in names:
        if name not in by_name:
            parser.error(f"{name} is not one of {', '.join(by_name)}")
    return [by_name[name] for name in names]


if __name__ == "__main__":
    raise SystemExit(main())
