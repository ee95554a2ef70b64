"""A server that is killed while a file arrives: nothing half is listed, and the person is told to send it again."""

from __future__ import annotations

import http.cookiejar
import re
import signal
import socket
import subprocess
import urllib.request
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.stack import Stack, wait_until

pytestmark = [pytest.mark.worker, pytest.mark.slow]  # starts and kills real servers


class Browser:
    """One person's visit to a real server."""

    def __init__(self, stack: Stack) -> None:
        self.process = stack.start("up", "--port", "0", "--no-worker")
        wait_until(lambda: "token=" in stack.output(self.process), what="the sign-in address")
        found = re.search(r"http://\S+/sign-in/\?token=\S+", stack.output(self.process))
        assert found
        self.cookies = http.cookiejar.CookieJar()
        self._opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(self.cookies))
        self.netloc = urlsplit(found[0]).netloc
        self._opener.open(found[0], timeout=10).close()

    def page(self, path: str) -> str:
        with self._opener.open(f"http://{self.netloc}{path}", timeout=10) as answer:
            return str(answer.read().decode())

    def half_upload(self) -> socket.socket:
        token = self.page("/settings/").split('name="csrfmiddlewaretoken" value="')[1].split('"')[0]
        cookies = "; ".join(f"{cookie.name}={cookie.value}" for cookie in self.cookies)
        host, port = self.netloc.split(":")
        connection = socket.create_connection((host, int(port)), timeout=10)
        head = (
            f"POST /upload/ HTTP/1.1\r\nHost: {self.netloc}\r\nCookie: {cookies}\r\nX-CSRFToken: {token}\r\n"
            "Content-Type: multipart/form-data; boundary=b\r\nContent-Length: 90000000\r\n\r\n"
            '--b\r\nContent-Disposition: form-data; name="files"; filename="half.jsonl"\r\n\r\n'
        )
        connection.sendall(head.encode() + b'{"type": "user"}\n' * 60_000)
        return connection


def test_a_half_upload_is_gone_and_told_after_the_restart(made_stack: Stack) -> None:
    stack = made_stack
    first = Browser(stack)
    connection = first.half_upload()
    incoming = Path(stack.data_dir) / "incoming"
    wait_until(lambda: any(path.stat().st_size > 100_000 for path in incoming.iterdir()), what="half of the file")

    stack.kill_group(first.process)
    connection.close()
    second = Browser(stack)

    page = second.page("/")
    assert "half.jsonl did not arrive completely, since the server was stopped. Send it again." in page
    assert not list(incoming.iterdir())
    assert not [path for path in (stack.data_dir / "artifacts").rglob("*") if path.is_file()]
    assert "no sessions yet" in page
    second.process.send_signal(signal.SIGINT)
    assert second.process.wait(12) == 0


def test_ctrl_c_ends_the_server_while_a_file_arrives(made_stack: Stack) -> None:
    stack = made_stack
    person = Browser(stack)
    connection = person.half_upload()
    wait_until(lambda: any((stack.data_dir / "incoming").iterdir()), what="the upload")

    person.process.send_signal(signal.SIGINT)

    try:
        assert person.process.wait(15) == 0
    except subprocess.TimeoutExpired:
        pytest.fail("the server waits for an upload that stalls")
    finally:
        connection.close()
