"""`/v1/traces`, `/v1/logs` and `/v1/metrics`: OpenTelemetry's protocol over HTTP, in protobuf and JSON.

Not operations of the API: the protocol has its own answers and errors. A key is needed, except by programs on this
machine while the server listens on loopback alone; browsers are never answered there, whoever sends them.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Iterator

from django.conf import settings
from django.http import HttpRequest, HttpResponse, UnreadablePostError
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt

from contextviz.api.auth import NOT_A_KEY, UNKNOWN_KEY, scopes_of
from contextviz.services.access import is_near
from contextviz.services.api_keys import authenticate
from contextviz.services.otlp import (
    SIGNALS,
    BadExport,
    Signal,
    answer_of,
    failure_of,
    receive_export,
    unzipped,
)
from contextviz.services.outages.trouble import trouble_of
from contextviz.store.queries.preferences import preferences
from contextviz.tasks import enqueue

logger = logging.getLogger("contextviz.api.otlp")
PROTOBUF, JSON = "application/x-protobuf", "application/json"
READ_BYTES = 256 * 1024
UNAUTHENTICATED, DENIED, UNAVAILABLE, UNIMPLEMENTED, INTERNAL = 16, 7, 14, 12, 13
NEEDS_KEY = (
    "A key is needed: set OTEL_EXPORTER_OTLP_HEADERS to authorization=Bearer%20cvz_…, with a key made under Settings "
    "that has the scope ingest."
)
NO_SCOPE = "This key has not the scope ingest. Make one that has it under Settings."
BROWSER = "Exports are taken from programs, not from web pages."
NOT_EXPORT = f"Send the content type {PROTOBUF} or {JSON}."


@csrf_exempt
def receive(request: HttpRequest, signal: str) -> HttpResponse:
    """Take one export; the answer is the protocol's, in the form of the request."""
    is_json = (request.content_type or "").lower() == JSON
    try:
        chosen = _checked(request, signal)
        sender, person_id = _sender_of(request)
        body = unzipped(_chunks(request), request.headers.get("Content-Encoding", ""))
        found = receive_export(
            chosen, body, is_json=is_json, now=timezone.now(), sender=sender, person_id=person_id,
            is_private=bool(sender),
        )  # fmt: skip
    except BadExport as refused:
        return _answer(failure_of(str(refused), refused.code, is_json=is_json), refused.status, is_json=is_json)
    except UnreadablePostError:
        sentence = "The connection ended before everything had arrived. Send it again."
        return _answer(failure_of(sentence, UNAVAILABLE, is_json=is_json), 400, is_json=is_json)
    except Exception as error:
        return _failed(error, is_json=is_json)
    for job_id in found.jobs:
        enqueue(job_id)  # after the transaction of receive_export
    return _answer(
        answer_of(chosen, rejected=found.rejected, sentence=found.sentence, is_json=is_json), 200, is_json=is_json
    )


def _answer(body: bytes, status: int, *, is_json: bool) -> HttpResponse:
    return HttpResponse(body, status=status, content_type=JSON if is_json else PROTOBUF)


def _failed(error: Exception, *, is_json: bool) -> HttpResponse:
    """503 where it can be sent again, also while the disk is full: of the protocol's statuses only a few have exporters
    wait and send it again, and 507 is none of them."""
    trouble = trouble_of(error)
    if trouble is None:
        reference = uuid.uuid4().hex[:12]
        logger.error("an export failed reference=%s", reference, exc_info=error)
        sentence = f"Something failed on the server; its log has it under reference {reference}."
        return _answer(failure_of(sentence, INTERNAL, is_json=is_json), 500, is_json=is_json)
    logger.warning("an export has to wait: %s: %s", trouble.code, error)
    response = _answer(failure_of(trouble.sentence, UNAVAILABLE, is_json=is_json), 503, is_json=is_json)
    response["Retry-After"] = str(trouble.retry_seconds)
    return response


def _checked(request: HttpRequest, signal: str) -> Signal:
    if request.method != "POST":
        raise BadExport("Exports are sent with POST.", 405, UNIMPLEMENTED)
    if request.headers.get("Origin") or request.headers.get("Sec-Fetch-Mode"):
        raise BadExport(BROWSER, 403, DENIED)
    if (request.content_type or "").lower() not in (PROTOBUF, JSON):
        raise BadExport(NOT_EXPORT, 415)
    return next(one for one in SIGNALS if one == signal)


def _sender_of(request: HttpRequest) -> tuple[str, int | None]:
    """Whose the export is: nobody's on loopback, else the key's person; what that person prefers to keep private goes
    to streams of their own. Raises BadExport."""
    given = request.headers.get("Authorization")
    if given is None:
        if _is_open_to(request):
            return "", None
        raise BadExport(NEEDS_KEY, 401, UNAUTHENTICATED)
    word, _, key = given.strip().partition(" ")
    if word.lower() != "bearer":
        raise BadExport(NOT_A_KEY, 401, UNAUTHENTICATED)
    holder = authenticate(key.strip(), now=timezone.now())
    if holder is None:
        raise BadExport(UNKNOWN_KEY, 401, UNAUTHENTICATED)
    if "ingest" not in holder.scopes & scopes_of(holder.user):
        raise BadExport(NO_SCOPE, 403, DENIED)
    request.user = holder.user
    is_private = preferences(holder.user.pk).is_private
    return (f"person-{holder.user.pk}" if is_private else ""), holder.user.pk


def _is_open_to(request: HttpRequest) -> bool:
    """Whether no key is needed: the server listens on loopback alone, and nothing between hides who sends."""
    if not settings.LISTENS_ON_LOOPBACK or request.headers.get("X-Forwarded-For") or request.headers.get("Forwarded"):
        return False
    return is_near(request.META.get("REMOTE_ADDR", ""))


def _chunks(request: HttpRequest) -> Iterator[bytes]:
    while chunk := request.read(READ_BYTES):
        yield chunk
