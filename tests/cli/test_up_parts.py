from __future__ import annotations

import signal
import socket
from pathlib import Path

import pytest
import uvicorn

from contextviz.cli import running
from contextviz.cli.addresses import AddressRefused, is_loopback, listen, sign_in_url
from contextviz.cli.server import Server
from contextviz.live import shutdown


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "localhost", "::1", "[::1]"])
def test_loopback_addresses_are_known(host: str) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.2", "example.org", ""])
def test_everything_else_is_not_loopback(host: str) -> None:
    assert not is_loopback(host)
    with pytest.raises(AddressRefused, match="accounts"):
        listen(host, 0)


def test_without_a_port_the_next_free_one_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        busy = taken.getsockname()[1]
        monkeypatch.setattr("contextviz.cli.addresses.DEFAULT_PORT", busy)

        with listen("127.0.0.1", None) as listener:
            assert listener.getsockname()[1] > busy


def test_the_sign_in_address_is_one_to_click() -> None:
    assert sign_in_url(8765, "a b") == "http://127.0.0.1:8765/sign-in/?token=a+b"
    assert sign_in_url(1, "t", "::1") == "http://[::1]:1/sign-in/?token=t"


def test_one_up_holds_the_data_folder(data_dir: Path) -> None:
    with running.only_one():
        running.record_port(1234)
        with pytest.raises(running.AlreadyRunning) as refusal, running.only_one():
            pass
    assert refusal.value.port == 1234
    with running.only_one():
        pass


def test_a_damaged_port_record_is_no_port(data_dir: Path) -> None:
    (data_dir / "up.lock").write_text("not a number")

    assert running.recorded_port() is None


def test_open_streams_are_told_before_the_server_stops() -> None:
    told: list[str] = []

    def fails() -> None:
        told.append("first")
        raise RuntimeError("a broken stream")

    def works() -> None:
        told.append("second")

    server = Server(uvicorn.Config("contextviz.asgi:application"), on_ready=lambda: None)
    for callback in (fails, works):
        shutdown.register(callback)
    try:
        server.handle_exit(signal.SIGINT, None)
    finally:
        for callback in (fails, works):
            shutdown.unregister(callback)

    assert told == ["first", "second"]
    assert server.should_exit
