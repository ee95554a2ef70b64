"""Shared fixtures: few and visible. Everything a test writes lies in one temporary folder per run."""

from __future__ import annotations

import os
import shutil
import socket
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.stack import Stack, stack_in

# Playwright's loop runs in the test's thread, beside the ORM.
os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "1"

ROOT = Path(__file__).resolve().parent.parent
PROCESSES = {
    "browser",
    "worker",
    "kill",
    "live_url",
    "stack",
    "made_stack",
}  # marks and fixtures of tests that start some
CHROMIUM_FLAGS = [
    "--no-sandbox",  # CI runs as root
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def find_chromium() -> str | None:
    """The system's Chromium or Chrome, or None."""
    for name in ("chromium", "chromium-browser", "google-chrome"):
        path = shutil.which(name)
        if path:
            return path
    return None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Browser tests come last, and are skipped with a reason where no browser is; in CI that is a failure.

    In CI a test whose processes depend on how busy the machine is (a browser, servers, workers) is tried once more when
    it fails. Both are told, with the first failure; more than a few of them end the run as before (`addopts`).
    """
    items.sort(key=lambda item: item.get_closest_marker("browser") is not None)
    if os.environ.get("CI"):
        for item in items:
            if PROCESSES & {*getattr(item, "fixturenames", ()), *(mark.name for mark in item.iter_markers())}:
                item.add_marker(pytest.mark.flaky(reruns=1))
    if find_chromium() or os.environ.get("CI"):
        return
    reason = "no Chromium on this machine; install it (Debian: apt install chromium) to run the browser tests"
    for item in items:
        if item.get_closest_marker("browser"):
            item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture
def repository() -> Path:
    """The root of the checkout."""
    return ROOT


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of agreements and samples beside the checkout; the test is skipped where there is none."""
    path = ROOT.parent / "shared"
    if not path.is_dir():
        pytest.skip(f"the shared samples are not on this machine (looked for {path})")
    return path


@pytest.fixture(autouse=True)
def _nothing_remembered() -> Iterator[None]:
    """Tests share a process and number their sessions anew: what is remembered of one must not outlive its test."""
    yield
    recorded = sys.modules.get("contextviz.services.replay.recorded")
    if recorded is not None:
        recorded._remembered.cache_clear()


@pytest.fixture
def data_dir(tmp_path: Path, settings: Any) -> Path:
    """An own data folder for tests that write files."""
    settings.DATA_DIR = tmp_path / "data"
    settings.INCOMING_DIR = settings.DATA_DIR / "incoming"
    settings.INCOMING_DIR.mkdir(parents=True)
    settings.FILE_UPLOAD_TEMP_DIR = str(settings.INCOMING_DIR)
    return Path(settings.DATA_DIR)


@pytest.fixture
def stack(tmp_path: Path) -> Iterator[Stack]:
    """An own product (data folder, database, broker) before its first start, for tests that start real processes; see
    tests/stack.py."""
    with stack_in(tmp_path / "stack") as own:
        yield own


@pytest.fixture
def made_stack(tmp_path: Path) -> Iterator[Stack]:
    """The same with its tables made already, for tests that are not about a first start: that takes seconds."""
    with stack_in(tmp_path / "stack", migrated=True) as own:
        yield own


@pytest.fixture
def owner(db: None) -> Any:
    """The single local user of the embedded stack."""
    from contextviz.services.access import local_owner

    return local_owner()


@pytest.fixture
def client(owner: Any) -> Any:
    """A test client that is signed in; `anonymous_client` is not."""
    from django.test import Client

    signed_in = Client(headers={"host": "127.0.0.1"})
    signed_in.force_login(owner)
    return signed_in


@pytest.fixture
def anonymous_client(db: None) -> Any:
    from django.test import Client

    return Client(headers={"host": "127.0.0.1"})


@pytest.fixture
def live_url(transactional_db: None) -> Iterator[str]:
    """The address of a real ASGI server on the test database, e.g. http://127.0.0.1:41234 (no slash at the end)."""
    import uvicorn

    from contextviz.asgi import application
    from contextviz.live import shutdown

    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    config = uvicorn.Config(application, lifespan="off", log_level="error", timeout_graceful_shutdown=20)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    deadline = time.monotonic() + 10
    while not server.started:
        if time.monotonic() > deadline or not thread.is_alive():
            raise RuntimeError("the test server did not start within 10 seconds")
        time.sleep(0.01)
    yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    server.should_exit = True
    ends = time.monotonic() + 30
    while thread.is_alive() and time.monotonic() < ends:
        shutdown.run_all()  # again and again: a page that is just being opened may begin its stream after the first
        thread.join(0.02)
    listener.close()
    assert not thread.is_alive(), "the test server did not end within 30 seconds"


@pytest.fixture(scope="session")
def browser_type_launch_args(browser_type_launch_args: dict[str, Any]) -> dict[str, Any]:
    """Debian's Chromium instead of a downloaded one."""
    path = find_chromium()
    if path is None:
        pytest.fail("no Chromium found, and CI must run the browser tests")
    return {**browser_type_launch_args, "executable_path": path, "args": CHROMIUM_FLAGS}


@pytest.fixture
def signed_in_page(page: Any, live_url: str, owner: Any) -> Any:
    """A browser page with the owner's session; relative addresses need `live_url` before them."""
    from django.conf import settings
    from django.test import Client

    client = Client()
    client.force_login(owner)
    cookie = client.cookies[settings.SESSION_COOKIE_NAME]
    page.context.add_cookies([{"name": cookie.key, "value": cookie.value, "url": live_url}])
    return page
