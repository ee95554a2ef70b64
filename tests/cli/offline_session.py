"""Runs in a network namespace that has nothing but loopback: starts `up` with the demo, then opens every page.

Usage: python offline_session.py DATA_DIR. Prints one JSON object: the pages that were opened, those that failed,
tags that load from elsewhere, and the attempts of any process to reach or resolve anything but loopback.
"""

from __future__ import annotations

import fcntl
import html
import json
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections import Counter, deque
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
MOST_PAGES = 400
MOST_ALIKE = 2  # addresses of one shape: not every call of every session, since they run the same code
NOT_FOLLOWED = re.compile(r"^/(live/|sign-)")  # streams, which do not end; a page that may sign us out
LOADS_FROM_ELSEWHERE = re.compile(
    r"<(?:script|img|link|iframe|source|form)\b[^>]*\b(?:src|href|action)=\"(?:https?:)?//[^>]*>"
)

# Loaded by every Python process of the tree before anything else: notes each look outside.
WITNESS = """
import os, sys
def _note(event, arguments):
    if event == "socket.connect":
        address = arguments[1]
        target = address[0] if isinstance(address, tuple) else None
    elif event == "socket.getaddrinfo":
        target = arguments[0]
    else:
        return
    if isinstance(target, bytes):
        target = target.decode()
    if target and not (target in ("localhost", "::1") or str(target).startswith("127.")):
        with open(os.environ["WITNESS_FILE"], "a") as stream:
            stream.write(f"{event} {target}\\n")
sys.addaudithook(_note)
"""
# Waits for the demo's job (not for the broker's queue, which also holds what is due later), then signs in.
COOKIE = """
import sys, time
import django; django.setup()
from django.test import Client
from contextviz.services.access import local_owner
from contextviz.store.queries import jobs, sessions
deadline = time.monotonic() + 60
while jobs.unfinished_jobs() or not sessions.session_count():
    if time.monotonic() > deadline:
        sys.exit("the demo was not read within 60 seconds")
    time.sleep(0.1)
client = Client()
client.force_login(local_owner())
print("; ".join(f"{name}={morsel.value}" for name, morsel in client.cookies.items()))
"""


def raise_loopback() -> None:
    """A new namespace has its loopback device down."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        request = struct.pack("16sh", b"lo", 0)
        flags = struct.unpack("16sh", fcntl.ioctl(control, 0x8913, request))[1]  # SIOCGIFFLAGS
        fcntl.ioctl(control, 0x8914, struct.pack("16sh", b"lo", flags | 1))  # SIOCSIFFLAGS, IFF_UP


def crawl(base: str, cookie: str) -> tuple[list[str], list[str], list[str]]:
    """Every page that links lead to: opened, failed, and tags that load from elsewhere."""
    queue, seen, alike = deque(["/"]), {"/"}, Counter[str]()
    opened: list[str] = []
    failed: list[str] = []
    foreign: list[str] = []
    while queue and len(opened) < MOST_PAGES:
        path = queue.popleft()
        try:
            with urllib.request.urlopen(
                urllib.request.Request(base + path, headers={"Cookie": cookie}), timeout=20
            ) as answer:
                kind, body = answer.headers.get_content_type(), answer.read()
        except (urllib.error.URLError, OSError) as error:
            failed.append(f"{path}: {error}")
            continue
        opened.append(path)
        if kind != "text/html":
            continue
        text = body.decode()
        foreign += [f"{path}: {found.group(0)}" for found in LOADS_FROM_ELSEWHERE.finditer(text)]
        for link in re.findall(r"\b(?:href|src|hx-get|data-figure)=\"(/[^\"#]*)", text):
            link = html.unescape(link)
            if link in seen or link.startswith("//") or NOT_FOLLOWED.match(link):
                continue
            seen.add(link)
            shape = re.sub(r"=[^&]*|\d+|[0-9a-f-]{32,}", "0", link)
            alike[shape] += 1
            if alike[shape] <= MOST_ALIKE:
                queue.append(link)
    return opened, failed, foreign


def address_of(process: subprocess.Popen[bytes], log: Path) -> str:
    """Where the server listens, once it says so."""
    for _ in range(600):
        found = re.search(r"(http://127\.0\.0\.1:\d+)/sign-in/", log.read_text())
        if found:
            return found.group(1)
        if process.poll() is not None:
            break
        time.sleep(0.1)
    raise SystemExit("up did not start:\n" + log.read_text())


def main(data_dir: str) -> None:
    raise_loopback()
    folder = Path(data_dir)
    (folder / "witness").mkdir(parents=True)
    (folder / "witness" / "sitecustomize.py").write_text(WITNESS)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("CONTEXTVIZ_")}
    environment |= {
        "CONTEXTVIZ_DATA_DIR": str(folder / "data"),
        "DJANGO_SETTINGS_MODULE": "contextviz.settings",
        "PYTHONPATH": f"{folder / 'witness'}{os.pathsep}{ROOT}",
        "WITNESS_FILE": str(folder / "attempts"),
    }
    log = folder / "up.log"
    with log.open("wb") as stream:
        process = subprocess.Popen(
            [sys.executable, str(ROOT / "manage.py"), "up", "--demo", "--port", "0"],
            env=environment, stdout=stream, stderr=subprocess.STDOUT,
        )  # fmt: skip
    try:
        base = address_of(process, log)
        made = subprocess.run(
            [sys.executable, "-c", COOKIE], env=environment, capture_output=True, text=True, check=False
        )
        if made.returncode:
            raise SystemExit(made.stderr)
        opened, failed, foreign = crawl(base, made.stdout.strip())
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(15)
    attempts = (folder / "attempts").read_text().splitlines() if (folder / "attempts").exists() else []
    print(json.dumps({"opened": opened, "failed": failed, "foreign": foreign, "attempts": attempts}))


if __name__ == "__main__":
    main(sys.argv[1])
