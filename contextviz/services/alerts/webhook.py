"""Calling a webhook: signed, tried again, and never to an address inside unless that is allowed.

The name is looked up once, every address that it has is judged, and the connection goes to the address that was judged:
a name that changes its mind in between (DNS rebinding) gains nothing. Redirects are not followed.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import socket
import time
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any
from uuid import UUID

import orjson
from django.conf import settings
from django.utils import timezone

from contextviz.events.masking import without_secrets
from contextviz.services.alerts.addresses import is_public
from contextviz.services.jobs import JobFailed, JobRun, perform
from contextviz.store.models import AlertRecord

SECONDS = 5.0
WAITS = (1.0, 5.0, 20.0)  # between tries
MOST_ANSWER_BYTES = 4096
STEP_SECONDS = 0.5
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


def _http() -> Any:
    """The HTTP client, by name: 10 MB of every worker, for the few webhooks that are called."""
    return import_module("httpx")


def send_webhook(job_id: UUID | str) -> bool:
    """Do a webhook's job; false where another process has it."""
    return perform(job_id, _send)


def _send(run: JobRun) -> str:
    alert = AlertRecord.objects.select_related("rule", "session").filter(pk=run.params["alert"]).first()
    if alert is None or not alert.rule.webhook:
        raise JobFailed("The alert or its webhook was removed meanwhile.", can_retry=False)
    body = body_of(alert)
    problem = ""
    for wait in (*WAITS, None):
        try:
            status = post(target_of(alert.rule.webhook), body, secret=alert.rule.secret, delivery=alert.pk)
        except NotAllowed as refused:
            _note(alert, "failed")
            raise JobFailed(str(refused)) from None
        except (_http().HTTPError, OSError) as error:
            problem = f"it could not be reached ({type(error).__name__})"
        else:
            if status < 300:
                _note(alert, "sent")
                return f"The webhook of “{alert.rule.name}” was called and answered {status}."
            problem = f"it answered {status}"
            if 300 <= status < 500 and status not in (408, 429):
                break  # the same again would be refused again
        if wait is not None:
            _wait(run, wait)
    _note(alert, "failed")
    raise JobFailed(
        f"The webhook of “{alert.rule.name}” was not taken: {problem}. Look at its address, then try again."
    )


def _wait(run: JobRun, seconds: float) -> None:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        run.progress(0)  # somebody may have cancelled it
        time.sleep(min(STEP_SECONDS, seconds))


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


def post(target: Target, body: bytes, *, secret: str, delivery: int) -> int:
    """Call it once; the status of the answer, of which no more than its beginning is read."""
    stamp = str(int(timezone.now().timestamp()))
    headers = {
        "Host": target.host_header, "Content-Type": "application/json", "User-Agent": "contextviz",
        "X-Contextviz-Delivery": str(delivery), "X-Contextviz-Timestamp": stamp,
        "X-Contextviz-Signature": signature(secret, stamp, body),
    }  # fmt: skip
    # Proxies of the environment would look the name up again.
    with (
        _http().Client(timeout=SECONDS, follow_redirects=False, trust_env=False) as client,
        client.stream(
            "POST", target.url, content=body, headers=headers, extensions={"sni_hostname": target.host}
        ) as answer,
    ):
        for part in answer.iter_raw(MOST_ANSWER_BYTES):
            if part:
                break
        return int(answer.status_code)


def signature(secret: str, stamp: str, body: bytes) -> str:
    """`sha256=` and the HMAC of the timestamp, a dot and the body under the rule's secret."""
    return "sha256=" + hmac.new(secret.encode(), stamp.encode() + b"." + body, hashlib.sha256).hexdigest()


def target_of(address: str) -> Target:
    """Look up and judge an address; raises NotAllowed, or OSError where the name is not known."""
    url = _http().URL(address)
    if url.scheme not in ("http", "https") or not url.host:
        raise NotAllowed("A webhook's address begins with http:// or https://.")
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
