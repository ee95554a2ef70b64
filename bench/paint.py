"""What a browser waits for: milliseconds from opening a page until its first chart is drawn, in Chromium."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.client import HTTPConnection
from importlib import import_module
from pathlib import Path
from statistics import median
from typing import Any

from bench.addresses import Extent
from bench.scratch import say, signed_in_client

ROOT = Path(__file__).resolve().parent.parent
ROUNDS = 3
PAINTED = """() => {
  const chart = document.querySelector('.main-svg');
  return chart && chart.getBoundingClientRect().width > 0;
}"""
PAGES = {"Session": "/sessions/{0}/", "Context": "/sessions/{0}/calls/{1}/", "Budget": "/sessions/{0}/budget/"}


def free_port() -> int:
    """A port of this machine that nobody listens on."""
    with socket.socket() as finder:
        finder.bind(("127.0.0.1", 0))
        found: int = finder.getsockname()[1]
        return found


@contextmanager
def served(data: Path) -> Iterator[str]:
    """The address of the product's own server, in a process of its own, on the data folder."""
    port = free_port()
    environment = os.environ | {"CONTEXTVIZ_DATA_DIR": str(data), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "uvicorn", "contextviz.asgi:application", "--port", str(port), "--lifespan", "off"]
    log = data.parent / "server.log"
    with log.open("w") as out:
        server = subprocess.Popen([*command, "--log-level", "warning"], env=environment, stdout=out, stderr=out)
    address = f"http://127.0.0.1:{port}"
    try:
        _wait(address, server, log)
        yield address
    finally:
        server.terminate()
        server.wait(20)


def _wait(address: str, server: subprocess.Popen[bytes], log: Path) -> None:
    for _ in range(300):
        if server.poll() is not None:
            raise SystemExit(f"the server did not start: {log.read_text()[-2000:]}")
        try:
            if status_of(address, "/healthz") == 200:
                return
        except OSError:
            time.sleep(0.1)
    raise SystemExit("the server did not answer within 30 seconds")


def status_of(address: str, path: str, cookie: str = "") -> int:
    """The status of a request whose reply is read to its end; raises OSError where nothing answers."""
    connection = HTTPConnection(address.removeprefix("http://"), timeout=120)
    try:
        connection.request("GET", path, headers={"cookie": cookie, "accept": "text/html"})
        response = connection.getresponse()
        response.read()
        return response.status
    finally:
        connection.close()


def session_cookie() -> tuple[str, str]:
    """The name and the value of a signed-in session's cookie."""
    cookie = signed_in_client().cookies[import_module("django.conf").settings.SESSION_COOKIE_NAME]
    return cookie.key, cookie.value


def painted(data: Path, extents: Sequence[Extent]) -> list[tuple[Extent, str, float]]:
    """Of each session's pages with a chart the median milliseconds until it is drawn; none without a Chromium."""
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if found is None:
        say("no Chromium is on this machine: nothing was painted")
        return []
    name, value = session_cookie()
    results = []
    with served(data) as address, import_module("playwright.sync_api").sync_playwright() as play:
        browser = play.chromium.launch(executable_path=found, args=["--no-sandbox", "--disable-gpu"])
        context = browser.new_context(viewport={"width": 1400, "height": 900})
        context.add_cookies([{"name": name, "value": value, "url": address}])
        for extent in extents:
            for title, path in PAGES.items():
                url = address + path.format(extent.session_id, extent.calls)
                times = [_first_chart(context, url) for _ in range(ROUNDS + 1)][1:]  # the first one warms up
                results.append((extent, title, median(times)))
        browser.close()
    return results


def _first_chart(context: Any, url: str) -> float:
    page = context.new_page()
    start = time.perf_counter()
    page.goto(url, wait_until="commit")
    page.wait_for_function(PAINTED, timeout=60_000)
    taken = (time.perf_counter() - start) * 1000
    page.close()
    return taken
