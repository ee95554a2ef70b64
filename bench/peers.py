"""Other programs that read a Claude Code session, on the same generated file: wall time and peak memory.

python -m bench peers [--mb 20] [--only NAME,…] [--json]

Each is installed from its registry into an environment of its own in a temporary folder, with a home of its own, and is
gone afterwards. They do different work, so the table says what each one was asked for.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from base64 import urlsafe_b64encode
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from http.client import HTTPConnection, HTTPException
from pathlib import Path

import orjson

from bench.generate import Size, generate
from bench.paint import free_port
from bench.scratch import ROOT, say

MB, MIB, KIB = 1_000_000, 1024 * 1024, 1024
INSTALL_SECONDS, RUN_SECONDS, START_SECONDS = 300, 900, 60
PROJECT = "-home-someone-project"


class NotMeasured(Exception):
    """A peer that could not be installed or did not do its work; the text says why."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where one program is measured: its folder, the session's file, the Claude Code home that holds it."""

    folder: Path
    session: Path
    home: Path

    @property
    def environment(self) -> dict[str, str]:
        """Nothing of the person's own: another home, and the session in place of their sessions."""
        kept = {name: os.environ[name] for name in ("PATH", "LANG", "PIP_INDEX_URL") if name in os.environ}
        claude = str(self.home)
        return kept | {"HOME": str(self.folder), "CLAUDE_HOME": claude, "CLAUDE_CONFIG_DIR": claude}


@dataclass(frozen=True, slots=True)
class Peer:
    """A program: its name, where it is from, what it is asked for, how it is installed and run."""

    name: str
    origin: str
    work: str
    install: Callable[[Place], str]
    run: Callable[[Place], tuple[float, int]]


@dataclass(frozen=True, slots=True)
class Row:
    """What was measured of one, or why nothing was."""

    name: str
    version: str
    origin: str
    work: str
    seconds: float | None
    peak_bytes: int | None
    why_not: str = ""


def main(arguments: Sequence[str]) -> int:
    """Install, measure and print; a peer that cannot be measured is a row that says so, not a failure."""
    parser = argparse.ArgumentParser(prog="python -m bench peers", description=__doc__.splitlines()[0])
    parser.add_argument("--mb", type=float, default=20, help="size of the session's file, in MB (default 20)")
    parser.add_argument("--only", default="", help=f"of {', '.join(peer.name for peer in PEERS)}")
    parser.add_argument("--json", action="store_true", help="print the numbers as one JSON object")
    args = parser.parse_args(arguments)
    wanted = [peer for peer in PEERS if not args.only or peer.name in args.only.split(",")]
    with tempfile.TemporaryDirectory(prefix="contextviz-bench-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        home = folder / "claude"
        made = generate(home / "projects" / PROJECT, "compacted", Size(bytes=round(args.mb * MB)))
        rows = [_row(peer, Place(folder / f"peer-{at}", made.files[0], home)) for at, peer in enumerate(wanted)]
    if args.json:
        print(orjson.dumps([asdict(row) for row in rows], option=orjson.OPT_INDENT_2).decode())
    else:
        print(rendered(rows, made.bytes, made.calls))
    return 0


def _row(peer: Peer, place: Place) -> Row:
    place.folder.mkdir()
    say(f"{peer.name} …")
    version = ""
    try:
        version = peer.install(place)
        seconds, peak = peer.run(place)
    except (NotMeasured, OSError, HTTPException, subprocess.SubprocessError) as error:
        why = f"not installed: {error}" if not version else f"did not do it: {error}"
        return Row(peer.name, version, peer.origin, peer.work, None, None, " ".join(why.split())[:200])
    finally:
        shutil.rmtree(place.folder, ignore_errors=True)
    return Row(peer.name, version, peer.origin, peer.work, seconds, peak)


def rendered(rows: Sequence[Row], size: int, calls: int) -> str:
    """The table that people read."""
    head = (
        f"{'program':<18} {'version':<9} {'from':<9} {'wall s':>8} {'MB/s':>7} {'peak MiB':>9}  what it was asked for"
    )
    lines = [f"one Claude Code session, {size / MB:.1f} MB, {calls:,} calls", head]
    for row in rows:
        if row.seconds is None or row.peak_bytes is None:
            numbers = f"{'—':>8} {'—':>7} {'—':>9}"
        else:
            numbers = f"{row.seconds:>8.2f} {size / MB / row.seconds:>7.1f} {row.peak_bytes / MIB:>9.0f}"
        why = f" ({row.why_not})" if row.why_not else ""
        lines.append(f"{row.name:<18} {row.version or '—':<9} {row.origin:<9} {numbers}  {row.work}{why}")
    return "\n".join(lines)


def _quiet(command: Sequence[str | Path], place: Place) -> str:
    done = subprocess.run(command, cwd=place.folder, env=place.environment, capture_output=True, text=True, check=False,
                          timeout=INSTALL_SECONDS)  # fmt: skip
    if done.returncode:
        told = (done.stderr.strip() or done.stdout.strip() or f"it ended with {done.returncode}").splitlines()
        raise NotMeasured(next((line for line in told if line.lower().startswith(("error", "npm error"))), told[-1]))
    return done.stdout.strip()


def _from_pypi(package: str) -> Callable[[Place], str]:
    def install(place: Place) -> str:
        _quiet([sys.executable, "-m", "venv", "env"], place)
        python = place.folder / "env" / "bin" / "python"
        # Wheels alone: nothing of a stranger's is run to be installed.
        _quiet([python, "-m", "pip", "-q", "--disable-pip-version-check", "install", "--only-binary", ":all:", package],
               place)  # fmt: skip
        asked = f"from importlib.metadata import version; print(version({package!r}))"
        return _quiet([python, "-c", asked], place)

    return install


def _from_npm(*packages: str) -> Callable[[Place], str]:
    def install(place: Place) -> str:
        if shutil.which("npm") is None:
            raise NotMeasured("npm is not on this machine")
        _quiet(["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", *packages], place)
        manifest = place.folder / "node_modules" / packages[0] / "package.json"
        return str(orjson.loads(manifest.read_bytes())["version"])

    return install


def _installed_here(_place: Place) -> str:
    return _quiet([sys.executable, ROOT / "manage.py", "--version"], Place(ROOT, ROOT, ROOT)).split()[-1]


def _command(*words: str) -> Callable[[Place], tuple[float, int]]:
    """A program that reads the file and ends. `{session}` and `{folder}` in its words are filled in."""

    def run(place: Place) -> tuple[float, int]:
        filled = [word.format(session=place.session, folder=place.folder) for word in words]
        log = place.folder / "log.txt"
        start = time.perf_counter()
        with log.open("wb") as out:
            process = subprocess.Popen(filled, cwd=place.folder, env=place.environment, stdout=out, stderr=out)
            usage, status = _ended(process, start)
        seconds = time.perf_counter() - start
        if status:
            raise NotMeasured((log.read_text(errors="replace").strip().splitlines() or [f"status {status}"])[-1])
        return seconds, usage

    return run


def _here(measure: str) -> Callable[[Place], tuple[float, int]]:
    """What this program does, as `bench.measure` measures it."""

    def run(place: Place) -> tuple[float, int]:
        command = [sys.executable, "-m", "bench.measure", measure, str(place.session)]
        done = subprocess.run(command, cwd=ROOT, env=os.environ | {"PYTHONPATH": str(ROOT)}, capture_output=True,
                              check=False, timeout=RUN_SECONDS)  # fmt: skip
        if done.returncode:
            raise NotMeasured(done.stderr.decode(errors="replace").strip().splitlines()[-1])
        numbers = orjson.loads(done.stdout.splitlines()[-1])
        return numbers["seconds"], int(numbers["peak_bytes"])

    return run


def _ended(process: subprocess.Popen[bytes], start: float) -> tuple[int, int]:
    """Peak memory and status of a process that ended, alone and not of all that this process started."""
    while time.perf_counter() - start < RUN_SECONDS:
        pid, status, usage = os.wait4(process.pid, os.WNOHANG)
        if pid:
            process.returncode = os.waitstatus_to_exitcode(status)
            return usage.ru_maxrss * KIB, process.returncode
        time.sleep(0.01)
    process.kill()
    process.wait()
    raise NotMeasured(f"not done after {RUN_SECONDS // 60} minutes")


def _server(place: Place) -> tuple[float, int]:
    """A program that answers pages: from the first request of the session until its windows are told."""
    port = free_port()
    command = [str(place.folder / "env" / "bin" / "contextviz"), "--no-browser", "--port", str(port)]
    with (place.folder / "log.txt").open("wb") as out:
        process = subprocess.Popen(command, cwd=place.folder, env=place.environment, stdout=out, stderr=out)
    try:
        _get(port, "/api/projects", START_SECONDS)
        project = urlsafe_b64encode(PROJECT.encode()).decode().rstrip("=")  # as it names projects in its addresses
        address = f"/api/projects/{project}/sessions/{place.session.stem}"
        start = time.perf_counter()
        session = orjson.loads(_get(port, address, 0))
        _get(port, f"{address}/context?leaf={session['stops'][-1]['uuid']}", 0)
        seconds = time.perf_counter() - start
    finally:
        process.terminate()
    usage, _status = _ended(process, time.perf_counter())
    return seconds, usage


def _get(port: int, path: str, wait: int) -> bytes:
    """Ask for an address, again for `wait` seconds where nobody listens yet."""
    end = time.monotonic() + wait
    while True:
        connection = HTTPConnection("127.0.0.1", port, timeout=RUN_SECONDS)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            body = answer.read()
            break
        except ConnectionRefusedError:
            if time.monotonic() > end:
                raise
            time.sleep(0.1)
        finally:
            connection.close()
    if answer.status != 200:
        raise NotMeasured(f"{path} answered {answer.status}")
    return body


def _native() -> str:
    machine = {"x86_64": "x64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
    return f"@ccusage/ccusage-{platform.system().lower()}-{machine}"


PEERS = (
    Peer("this, read", "here", "messages, calls, windows and tokens, in memory", _installed_here, _here("read-tokens")),
    Peer("this, import", "here", "the same kept: rows, texts, search, analyses", _installed_here, _here("import")),
    Peer("claude-code-log", "PyPI", "one HTML page of the session", _from_pypi("claude-code-log"),
         _command("{folder}/env/bin/claude-code-log", "{session}", "-o", "{folder}/out.html")),
    Peer("contextviz", "PyPI", "(another author's) a session and its last window, asked of its server",
         _from_pypi("contextviz"), _server),
    Peer("ccusage", "npm", "sums of tokens and costs by session", _from_npm("ccusage", _native()),
         _command("{folder}/node_modules/.bin/ccusage", "session", "--json", "--offline")),
)  # fmt: skip
