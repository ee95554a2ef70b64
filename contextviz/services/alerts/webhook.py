"""Calling a webhook: signed, tried again, and never to an address inside unless that is allowed.

The name is looked up once, every address that it has is judged, and the connection goes to the address that was judged:
a name that changes its mind in between (DNS rebinding) gains nothing. Redirects are not followed.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import socket
import threading
import time
from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any
from uuid import UUID

import orjson
from django.conf import settings
from django.utils import timezone

from contextviz.events.masking import without_secrets
from contextviz.services.alerts.addresses import http, is_public, url_of
from contextviz.services.jobs import JobFailed, JobRun, perform
from contextviz.store.models import AlertRecord, JobRecord

SECONDS = 5.0  # of a try in all
WAITS = (timedelta(seconds=30), timedelta(minutes=2), timedelta(minutes=10))  # between tries
if TYPE_CHECKING:
    import httpx


class NotAllowed(Exception):
    """The webhook may not be called; the text is a sentence."""


@dataclass(frozen=True, slots=True)
class Target:
    """Where a webhook is: its URL by the address that was judged, and its name for TLS and the Host header."""

    url: httpx.URL
    host: str
    host_header: str


@dataclass(frozen=True, slots=True)
class _Again:
    """That a job waits again: which attempt this was, and the params it waits with."""

    attempts: int
    params: dict[str, Any]


def send_webhook(job_id: UUID | str) -> bool:
    """Do one try of a webhook's job, which waits again where it failed and may be tried again; false where another
    process has it, or it is not due. Never sleeps: a receiver that is down must not hold a worker."""
    found = JobRecord.objects.filter(pk=UUID(str(job_id))).values_list("params", flat=True).first()
    if found is not None and not is_due(found, timezone.now()):
        return False
    again: list[_Again] = []
    is_mine = perform(job_id, partial(_send, again=again))
    for one in again:
        _put_back(job_id, one)
    return is_mine


def is_due(params: Mapping[str, Any], now: datetime) -> bool:
    """Whether a webhook's job may be tried: at once, or from its `due` on where a try before failed."""
    due = params.get("due")
    return due is None or datetime.fromisoformat(due) <= now


def _send(run: JobRun, *, again: list[_Again]) -> str:
    if not is_due(run.params, timezone.now()):  # another process tried while this one was about to
        again.append(_Again(run.attempts, run.params))
        raise JobFailed("It is not due yet.")
    alert = AlertRecord.objects.select_related("rule", "session").filter(pk=run.params["alert"]).first()
    if alert is None or not alert.rule.webhook:
        raise JobFailed("The alert or its webhook was removed meanwhile.", can_retry=False)
    can_wait = True
    try:
        status = attempt(alert.rule.webhook, body_of(alert), secret=alert.rule.secret, delivery=alert.pk)
    except NotAllowed as refused:
        _give_up(run, alert)
        raise JobFailed(str(refused)) from None
    except (http().HTTPError, OSError) as error:
        problem = f"it could not be reached ({type(error).__name__})"
    else:
        if status < 300:
            _note(alert, "sent")
            return f"The webhook of “{alert.rule.name}” was called and answered {status}."
        problem = f"it answered {status}"
        can_wait = status >= 500 or status in (408, 429)  # anything else would be refused again
    tries = int(run.params.get("tries", 0)) + 1
    sentence = f"The webhook of “{alert.rule.name}” was not taken: {problem}. Look at its address, then try again."
    if not can_wait or tries > len(WAITS):
        _give_up(run, alert)
        raise JobFailed(sentence)
    run.progress(0, force=True)  # somebody may have cancelled it
    due = timezone.now() + WAITS[tries - 1]
    run.log(f"Try {tries} of {len(WAITS) + 1}: {problem}. The next is due at {due:%H:%M:%S} UTC.")
    again.append(_Again(run.attempts, {**run.params, "tries": tries, "due": due.isoformat()}))
    raise JobFailed(sentence)


def _put_back(job_id: UUID | str, again: _Again) -> None:
    """Have a try's job wait again. Its attempts count workers that died of it, and this one did not."""
    ended = JobRecord.objects.filter(pk=UUID(str(job_id)), state="failed", attempts=again.attempts)
    ended.update(
        state="queued", owner="", attempts=0, params=again.params, outcome="", heartbeat_at=None, started_at=None,
        finished_at=None,
    )  # fmt: skip


def _give_up(run: JobRun, alert: AlertRecord) -> None:
    """No more tries by itself; a person who tries again has all of them."""
    JobRecord.objects.filter(pk=run.id).update(params={"alert": alert.pk})
    _note(alert, "failed")


def _note(alert: AlertRecord, state: str) -> None:
    AlertRecord.objects.filter(pk=alert.pk).update(webhook_state=state)


def body_of(alert: AlertRecord) -> bytes:
    """What is sent: the alert in one JSON object, secrets masked."""
    session = alert.session
    return orjson.dumps({
        "alert": alert.pk,
        "rule": alert.rule.name,
        "kind": alert.rule.kind,
        "sentence": without_secrets(alert.sentence),
        "at": alert.at.isoformat(),
        "session": {"id": session.pk, "title": without_secrets(session.title[:200]), "agent": session.agent,
                    "format": session.format, "page": f"/sessions/{session.pk}/"},
        **{name: alert.data.get(name) for name in ("call", "compaction", "happened_at")},
    })  # fmt: skip


def attempt(address: str, body: bytes, *, secret: str, delivery: int) -> int:
    """Look up, judge and call an address within SECONDS in all; the status of the answer. Raises NotAllowed, OSError
    (TimeoutError is one) or the client's HTTPError."""
    until = time.monotonic() + SECONDS
    told: Future[int] = Future()

    def call() -> None:
        try:
            target = target_of(address)
            told.set_result(post(client, target, body, secret=secret, delivery=delivery, until=until))
        except Exception as error:
            told.set_exception(error)

    # In a thread, since a lookup has no bound of its own, and the client's are for each step. Leaving closes the
    # client, and with it a connection that is still open. Proxies of the environment would look the name up again.
    with http().Client(follow_redirects=False, trust_env=False) as client:
        threading.Thread(target=call, daemon=True, name="webhook").start()
        try:
            return told.result(SECONDS)
        except (http().InvalidURL, ValueError) as error:
            raise NotAllowed(f"The webhook's address cannot be called ({error}). Change it in its rule.") from None


def post(client: httpx.Client, target: Target, body: bytes, *, secret: str, delivery: int, until: float) -> int:
    """Call it once; the status of the answer, of which no more than its beginning is read. No step of it takes longer
    than `until`, in seconds of the monotonic clock."""
    stamp = str(int(timezone.now().timestamp()))
    headers = {
        "Host": target.host_header, "Content-Type": "application/json", "User-Agent": "contextviz",
        "X-Contextviz-Delivery": str(delivery), "X-Contextviz-Timestamp": stamp,
        "X-Contextviz-Signature": signature(secret, stamp, body),
    }  # fmt: skip
    left = until - time.monotonic()
    if left <= 0:
        raise TimeoutError
    with client.stream(
        "POST", target.url, content=body, headers=headers, timeout=left, extensions={"sni_hostname": target.host}
    ) as answer:
        return int(answer.status_code)


def signature(secret: str, stamp: str, body: bytes) -> str:
    """`sha256=` and the HMAC of the timestamp, a dot and the body under the rule's secret."""
    return "sha256=" + hmac.new(secret.encode(), stamp.encode() + b"." + body, hashlib.sha256).hexdigest()


def target_of(address: str) -> Target:
    """Look up and judge an address; raises NotAllowed, ValueError for one that
    nothing can be called by, or OSError where the name is not known."""
    url = url_of(address)
    port = url.port or (443 if url.scheme == "https" else 80)
    found = socket.getaddrinfo(url.host, port, type=socket.SOCK_STREAM)
    addresses = [ipaddress.ip_address(str(one[4][0]).split("%")[0]) for one in found]
    if not settings.WEBHOOK_PRIVATE:
        for one in addresses:
            if not is_public(one):
                raise NotAllowed(
                    f"{url.host} is {one}, an address inside; set CONTEXTVIZ_WEBHOOK_PRIVATE=1 to allow such webhooks."
                )
    chosen = addresses[0]
    literal = f"[{chosen}]" if chosen.version == 6 else str(chosen)
    host_header = url.netloc.decode("ascii")
    return Target(url.copy_with(host=literal.strip("[]"), port=port), url.host, host_header)
