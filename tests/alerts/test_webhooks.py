"""Webhooks called: signed, one try a run of the job, put back where it failed, bounded in time and number."""

from __future__ import annotations

import hashlib
import hmac
import http.server
import json
import logging
import socket
import threading
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from contextviz import tasks
from contextviz.analysis.live.alarms import Alarm
from contextviz.services.alerts import find_rule, send_webhook, waiting_webhooks
from contextviz.services.alerts.evaluating import MOST_WAITING, write
from contextviz.services.alerts.webhook import WAITS, NotAllowed, attempt
from contextviz.services.jobs import cancel, retry
from contextviz.store.models import AlertRecord, AlertRuleRecord, JobRecord
from tests.alerts.test_alerts import rule, save
from tests.store.building import NOW

pytestmark = pytest.mark.django_db


@pytest.fixture
def receiver() -> Iterator[Any]:
    """A server on loopback that keeps what it is sent and answers with the statuses it is given."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            server.got.append((dict(self.headers), body))  # type: ignore[attr-defined]
            status = server.statuses.pop(0) if server.statuses else 200  # type: ignore[attr-defined]
            self.send_response(status)
            if status == 302:
                self.send_header("Location", "http://127.0.0.1:1/")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.got, server.statuses = [], []  # type: ignore[attr-defined]
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture
def hook(receiver: Any, settings: Any) -> str:
    """The receiver's address, which may be called."""
    settings.WEBHOOK_PRIVATE = True
    return f"http://localhost:{receiver.server_port}/hook"


def job_for(address: str) -> JobRecord:
    rule("fill_above", percent=3.85, webhook=address)
    save(3)
    save(6)
    return JobRecord.objects.get(kind="send_webhook")


def make_due(job: JobRecord) -> None:
    """Let the time come at which the job is tried again."""
    job.refresh_from_db()
    job.params["due"] = (timezone.now() - timedelta(seconds=1)).isoformat()
    job.save()


def tried(job: JobRecord) -> JobRecord:
    send_webhook(job.pk)
    job.refresh_from_db()
    return job


def test_a_webhook_is_signed_and_tried_again(receiver: Any, hook: str) -> None:
    receiver.statuses.extend([503, 200])
    job = job_for(hook)
    assert waiting_webhooks(now=timezone.now()) == [job.pk]
    before = timezone.now()
    tried(job)
    due = datetime.fromisoformat(job.params["due"])
    assert (job.state, job.params["tries"], job.attempts, job.finished_at) == ("queued", 1, 0, None)
    assert before + WAITS[0] <= due <= timezone.now() + WAITS[0]
    assert waiting_webhooks(now=due - timedelta(seconds=1)) == []
    assert waiting_webhooks(now=due) == [job.pk]
    make_due(job)
    assert (tried(job).state, len(receiver.got)) == ("done", 2)
    headers, body = receiver.got[1]
    secret = AlertRecord.objects.get().rule.secret
    stamp = headers["X-Contextviz-Timestamp"]
    signed = hmac.new(secret.encode(), stamp.encode() + b"." + body, hashlib.sha256).hexdigest()
    assert headers["X-Contextviz-Signature"] == f"sha256={signed}"
    assert headers["Host"] == f"localhost:{receiver.server_port}"
    told = json.loads(body)
    assert (told["kind"], told["call"], told["session"]["title"]) == ("fill_above", 5, "A title")
    assert AlertRecord.objects.get().webhook_state == "sent"


def test_a_hint_that_comes_early_counts_no_try(receiver: Any, hook: str, monkeypatch: pytest.MonkeyPatch) -> None:
    receiver.statuses.extend([500])
    job = tried(job_for(hook))
    waits = dict(job.params)
    assert not send_webhook(job.pk)
    job.refresh_from_db()
    assert (job.state, job.params, job.attempts, len(receiver.got)) == ("queued", waits, 0, 1)

    real = timezone.now()  # the job looked due, and was put back by another process before this one had it
    times = iter([real + timedelta(hours=1)])
    monkeypatch.setattr("contextviz.services.alerts.webhook.timezone.now", lambda: next(times, real))
    send_webhook(job.pk)
    job.refresh_from_db()
    assert (job.state, job.params, job.attempts, len(receiver.got)) == ("queued", waits, 0, 1)


def test_a_webhook_that_is_not_taken_fails_and_can_be_tried_again(receiver: Any, hook: str) -> None:
    receiver.statuses.extend([500] * 5)
    job = job_for(hook)
    for number in range(4):
        assert (job.state, len(receiver.got)) == ("queued", number)
        make_due(job)
        tried(job)
    assert (job.state, job.can_retry, len(receiver.got)) == ("failed", True, 4)
    assert "answered 500" in job.outcome
    assert AlertRecord.objects.get().webhook_state == "failed"
    assert retry(job.pk)
    assert (tried(job).state, job.params["tries"]) == ("queued", 1)  # a person has all four again


def test_one_that_waits_can_be_cancelled(receiver: Any, hook: str) -> None:
    receiver.statuses.extend([500])
    job = tried(job_for(hook))
    assert cancel(job.pk, now=timezone.now())
    make_due(job)
    assert (tried(job).state, len(receiver.got)) == ("cancelled", 1)


@pytest.mark.parametrize("status", [302, 404])
def test_redirects_are_not_followed_and_refusals_not_repeated(receiver: Any, hook: str, status: int) -> None:
    receiver.statuses.append(status)
    assert (tried(job_for(hook)).state, len(receiver.got)) == ("failed", 1)


def test_the_workers_timer_has_those_tried_that_are_due(
    receiver: Any, hook: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    receiver.statuses.extend([500])
    job = tried(job_for(hook))
    told: list[Any] = []
    monkeypatch.setattr(tasks, "enqueue", told.append)
    monkeypatch.setattr(tasks.connections, "close_all", lambda: None)
    tasks._look_for_stuck_here()
    assert told == []
    make_due(job)
    tasks._look_for_stuck_here()
    assert told == [job.pk]


def test_an_address_inside_is_never_called_unless_allowed(receiver: Any, settings: Any) -> None:
    settings.WEBHOOK_PRIVATE = True
    job = job_for(f"http://127.0.0.1:{receiver.server_port}/")
    settings.WEBHOOK_PRIVATE = False  # it was allowed when the rule was made
    tried(job)
    assert (job.state, job.can_retry, receiver.got) == ("failed", True, [])
    assert "CONTEXTVIZ_WEBHOOK_PRIVATE" in job.outcome


@pytest.mark.parametrize("address", ["http://\u2025/", "http://xn--/", "http://a..b/", "http://[fe80::1%25lo]/"])
def test_an_address_kept_before_that_nothing_is_called_by_fails_in_a_sentence(
    hook: str, address: str, caplog: pytest.LogCaptureFixture
) -> None:
    job = job_for(hook)
    AlertRuleRecord.objects.update(webhook=address)
    with caplog.at_level(logging.WARNING):
        tried(job)
    assert (job.state, caplog.records) == ("failed", [])
    assert job.outcome.startswith("The webhook's address cannot be called (")
    assert AlertRecord.objects.get().webhook_state == "failed"


def test_no_more_than_so_many_of_a_rule_wait(hook: str) -> None:
    save(3)
    session_id = save(6)
    one, other = find_rule(rule("compaction", webhook=hook)), find_rule(rule("compaction", webhook=hook))
    made = [(one, Alarm(f"k{number}", NOW, "it happened", number)) for number in range(MOST_WAITING + 2)]
    assert write(session_id, [*made, (other, made[0][1])], now=NOW) == MOST_WAITING + 3
    alerts = list(AlertRecord.objects.filter(rule_id=one.id).order_by("pk"))
    assert [alert.webhook_state for alert in alerts] == ["queued"] * MOST_WAITING + ["failed"] * 2
    assert alerts[-1].job_id is None
    assert alerts[-1].sentence == "it happened (the webhook was not called: 20 calls of this rule wait already)"
    assert AlertRecord.objects.get(rule_id=other.id).webhook_state == "queued"
    assert JobRecord.objects.filter(kind="send_webhook").count() == MOST_WAITING + 1


def test_a_try_is_bounded_in_all(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.WEBHOOK_PRIVATE = True
    monkeypatch.setattr("contextviz.services.alerts.webhook.SECONDS", 0.3)
    over = threading.Event()

    def drip(server: socket.socket) -> None:
        peer, _ = server.accept()
        peer.sendall(b"HTTP/1.1 200 OK\r\n")
        try:
            while not over.wait(0.05):  # each step is short, and they never end
                peer.sendall(b"X: y\r\n")
        except OSError:
            over.set()  # the caller left
        peer.close()

    with socket.create_server(("127.0.0.1", 0)) as server:
        dripping = threading.Thread(target=drip, args=(server,), daemon=True)
        dripping.start()
        with pytest.raises(TimeoutError):
            attempt(f"http://127.0.0.1:{server.getsockname()[1]}/", b"{}", secret="s", delivery=1)
        assert over.wait(5)  # nothing is left behind that would go on reading
        dripping.join(5)

    done = threading.Event()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_args, **_more: done.wait(30))
    with pytest.raises(TimeoutError):
        attempt("http://slow.example/", b"{}", secret="s", delivery=1)
    done.set()


def test_a_name_that_no_lookup_takes_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def lookup(*_args: Any, **_more: Any) -> Any:
        raise UnicodeError("label too long")

    monkeypatch.setattr(socket, "getaddrinfo", lookup)
    with pytest.raises(NotAllowed, match=r"cannot be called \(label too long\)"):
        attempt("http://example.org/", b"{}", secret="s", delivery=1)
