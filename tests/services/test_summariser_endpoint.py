"""The summariser on an endpoint, against a stand-in server on loopback."""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from contextviz.engines.summaries import SummariserFailed, SummaryRequest
from contextviz.services.replay import endpoint
from contextviz.services.replay.endpoint import EndpointSettings, EndpointSummariser, shortened
from contextviz.tokens.estimate import estimate

SECRET = "sk-stand-in-7731"


@dataclass
class StandIn:
    """What the server answers, and what it was asked."""

    status: int = 200
    body: Any = None
    wait: float = 0.0
    asked: list[dict[str, Any]] = field(default_factory=list)
    keys: list[str | None] = field(default_factory=list)
    url: str = ""

    def says(self, text: str | None, total: int | None = None) -> None:
        self.body = {"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": [
            {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}]}  # fmt: skip
        if total is not None:
            self.body["usage"] = {"prompt_tokens": total - 1, "completion_tokens": 1, "total_tokens": total}


@pytest.fixture
def server() -> Iterator[StandIn]:
    stand_in = StandIn()
    stand_in.says("A summary.")

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            sent = self.rfile.read(int(self.headers["content-length"]))
            stand_in.asked.append(json.loads(sent))
            stand_in.keys.append(self.headers["authorization"])
            time.sleep(stand_in.wait)
            raw = stand_in.body if isinstance(stand_in.body, bytes) else json.dumps(stand_in.body).encode()
            try:
                self.send_response(stand_in.status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(raw)))
                self.end_headers()
                self.wfile.write(raw)
            except OSError:
                return

        def log_message(self, format: str, *args: Any) -> None:
            return

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    stand_in.url = f"http://127.0.0.1:{http.server_address[1]}/v1"
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    yield stand_in
    http.shutdown()
    http.server_close()
    thread.join(5)


@pytest.fixture
def summarise(server: StandIn) -> Iterator[EndpointSummariser]:
    made = EndpointSummariser(EndpointSettings(server.url, "small-model", SECRET, retries=0))
    yield made
    made.close()


def asked(text: str = "The user asked for src/app.py.", **more: Any) -> SummaryRequest:
    return SummaryRequest(text, **more)


def test_it_is_off_unless_address_and_model_are_set() -> None:
    assert EndpointSettings.of({}) is None
    assert EndpointSettings.of({endpoint.URL: "http://x/v1"}) is None
    made = EndpointSettings.of({endpoint.URL: "http://x/v1", endpoint.MODEL: "m", endpoint.KEY: SECRET})
    assert made is not None
    assert (made.url, made.model, made.key) == ("http://x/v1", "m", SECRET)


def test_a_summary_comes_with_what_was_sent(server: StandIn, summarise: EndpointSummariser) -> None:
    server.says("  A summary.  ", total=70)
    assert summarise(asked(target_tokens=50, previous="Before.", instructions="In French.")) == "A summary."
    (sent,) = server.asked
    assert (sent["model"], sent["max_tokens"], sent["temperature"]) == ("small-model", 50, 0)
    assert "src/app.py" in sent["messages"][1]["content"] and "Before." in sent["messages"][1]["content"]
    assert sent["messages"][0]["content"].endswith("In French.")
    assert server.keys == [f"Bearer {SECRET}"]
    assert (summarise.calls, summarise.tokens) == (1, 70)
    assert summarise.settings == {"model": "small-model", "host": "127.0.0.1"}


def test_the_same_request_is_sent_once(server: StandIn, summarise: EndpointSummariser) -> None:
    assert summarise(asked()) == summarise(asked())
    assert summarise(asked("other")) == "A summary."
    assert len(server.asked) == 2


def test_aggressive_asks_for_half(server: StandIn, summarise: EndpointSummariser) -> None:
    summarise(asked(target_tokens=80, is_aggressive=True))
    assert server.asked[0]["max_tokens"] == 40


def test_a_refused_key_is_told_apart_and_never_repeated(
    server: StandIn, summarise: EndpointSummariser, caplog: pytest.LogCaptureFixture
) -> None:
    server.status, server.body = 401, {"error": {"message": f"Incorrect key {SECRET}", "code": "invalid_api_key"}}
    with caplog.at_level(logging.DEBUG), pytest.raises(SummariserFailed) as caught:
        summarise(asked())
    assert caught.value.is_refused
    assert SECRET not in str(caught.value)
    assert caught.value.__cause__ is None and caught.value.__suppress_context__
    assert SECRET not in caplog.text
    assert SECRET not in repr(summarise.settings) + repr(EndpointSettings(server.url, "m", SECRET))


def test_an_error_of_the_endpoint_is_a_sentence(server: StandIn, summarise: EndpointSummariser) -> None:
    server.status, server.body = 500, {"error": {"message": "boom"}}
    with pytest.raises(SummariserFailed, match="answered with status 500") as caught:
        summarise(asked())
    assert not caught.value.is_refused
    assert len(server.asked) == 1


@pytest.mark.slow  # the client waits half a second before it tries again
def test_there_is_one_retry_at_most(server: StandIn) -> None:
    server.status = 500
    made = EndpointSummariser(EndpointSettings(server.url, "m", retries=7))
    with pytest.raises(SummariserFailed):
        made(asked())
    made.close()
    assert len(server.asked) == 2
    assert server.keys == ["Bearer none"] * 2


def test_a_slow_endpoint_is_given_up(server: StandIn) -> None:
    server.wait = 0.4
    made = EndpointSummariser(EndpointSettings(server.url, "m", timeout_seconds=0.1, retries=0))
    with pytest.raises(SummariserFailed, match=r"within 0\.1 seconds"):
        made(asked())
    made.close()


def test_nobody_there() -> None:
    made = EndpointSummariser(EndpointSettings("http://127.0.0.1:9/v1", "m", retries=0))
    with pytest.raises(SummariserFailed, match="could not be reached"):
        made(asked())
    made.close()


@pytest.mark.parametrize("body", [None, {"choices": []}, {"choices": [{"message": {"content": None}}]}, {"choices": 7}])
def test_an_answer_without_text_is_empty(server: StandIn, summarise: EndpointSummariser, body: Any) -> None:
    server.body = body
    with pytest.raises(SummariserFailed):
        summarise(asked())
    server.says("   ")
    with pytest.raises(SummariserFailed, match="empty answer"):
        summarise(asked())


def test_an_answer_that_is_no_json(server: StandIn, summarise: EndpointSummariser) -> None:
    server.body = b"<html>"
    with pytest.raises(SummariserFailed):
        summarise(asked())


def test_a_longer_answer_is_cut_and_counted(server: StandIn, summarise: EndpointSummariser) -> None:
    server.says("word " * 500)
    answer = summarise(asked(target_tokens=20))
    assert answer.startswith("word word")
    assert estimate(answer) <= 20
    assert summarise.cut == 1


@pytest.mark.parametrize(("text", "most"), [("", 1), ("x", 1), ("no blanks " + "z" * 4000, 3), ("日本語" * 300, 7)])
def test_cutting_ends_and_fits(text: str, most: int) -> None:
    short = shortened(text, most)
    assert text.startswith(short)
    assert estimate(short) <= most or len(short) <= 1


def test_the_budget_ends_it(server: StandIn, summarise: EndpointSummariser) -> None:
    limits = EndpointSettings(server.url, "m", retries=0, most_calls=1)
    made = EndpointSummariser(limits)
    made(asked("one"))
    with pytest.raises(SummariserFailed, match="budget of 1 calls is spent"):
        made(asked("two"))
    made.close()
    small = EndpointSummariser(replace(limits, most_calls=5, most_tokens=120))
    server.says("ok", total=100)
    small(asked("one"))
    with pytest.raises(SummariserFailed, match="budget of 120 tokens is spent"):
        small(asked("word " * 100))
    small.close()
    assert len(server.asked) == 2


def test_an_address_of_another_kind_and_a_missing_package(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SummariserFailed, match="begins with http"):
        EndpointSummariser(EndpointSettings("file:///etc", "m"))(asked())

    def missing(name: str) -> Any:
        raise ImportError(name)

    monkeypatch.setattr(endpoint, "import_module", missing)
    with pytest.raises(SummariserFailed, match="needs the package"):
        EndpointSummariser(EndpointSettings("http://x/v1", "m"))(asked())


def test_an_address_with_a_password_is_not_stored() -> None:
    made = EndpointSummariser(EndpointSettings("https://me:hidden@host.example:8443/v1?key=hidden", "m"))
    assert made.settings["host"] == "host.example"
    assert "hidden" not in repr(made.settings)
