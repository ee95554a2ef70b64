"""Errors: one shape for all of them, whoever raises them."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from django.core.exceptions import RequestDataTooBig
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, UnreadablePostError
from ninja import NinjaAPI
from ninja.errors import HttpError, ValidationError

from contextviz.api.shapes import Error, ErrorBody, FieldError
from contextviz.api.validation import shortened, wrong_fields
from contextviz.commands import command
from contextviz.services.outages.trouble import BUSY, FULL, Trouble, trouble_of
from contextviz.store.values import NotAllowed, NotFound

logger = logging.getLogger("contextviz.api")
API_PATH = "/api/v1/"
CODES = {
    400: "bad_request",
    401: "not_authenticated",
    403: "not_allowed",
    404: "not_found",
    405: "method_not_allowed",
    409: "conflict",
    413: "too_large",
    415: "unsupported_media_type",
    422: "invalid",
    500: "server_error",
    BUSY.status: BUSY.code,
    FULL.status: FULL.code,
}
SENTENCES = {
    400: "The request cannot be read. Look at /api/v1/openapi.json for what this address takes.",
    401: "A key is needed: send the header Authorization: Bearer cvz_…, made under Settings or by "
    f"{command('api-key')}.",
    403: "You may not do this.",
    404: "There is nothing at this address of the API. /api/v1/openapi.json lists every address.",
    405: "This address does not take that method. /api/v1/openapi.json says which it takes.",
    413: "The request is larger than this address takes. Files go to /api/v1/uploads.",
    500: "Something failed on the server; its log has the reason.",
    BUSY.status: BUSY.sentence,
    FULL.status: FULL.sentence,
}
MOST_FIELDS = 20
KEPT_HEADERS = ("Allow", "Retry-After", "Content-Security-Policy")


class Refused(Exception):
    """A request that cannot be done: a status, a sentence for a person, and what is wrong field by field. With
    `trouble` it can later: the answer says after how many seconds."""

    def __init__(
        self, status: int, sentence: str, *, fields: Iterable[tuple[str, str]] = (), trouble: Trouble | None = None
    ) -> None:
        super().__init__(sentence)
        self.status = status
        self.fields = tuple(fields)
        self.trouble = trouble


def error_response(
    status: int, sentence: str, fields: Sequence[tuple[str, str]] = (), headers: dict[str, str] | None = None
) -> HttpResponse:
    """An error in the one shape."""
    listed = [FieldError(field=field, sentence=text) for field, text in fields[:MOST_FIELDS]] or None
    body = ErrorBody(status=status, code=CODES.get(status, "error"), sentence=sentence, fields=listed)
    data = Error(error=body).model_dump_json(exclude_none=True)
    response = HttpResponse(data, status=status, content_type="application/json", headers=headers)
    if status == 401:
        response["WWW-Authenticate"] = 'Bearer realm="contextviz"'
    return response


def handle_errors(api: NinjaAPI) -> None:
    """Give every exception of an operation the one shape."""
    handlers: dict[type[Exception], Any] = {
        Refused: _refused,
        NotFound: _not_found,
        NotAllowed: _not_allowed,
        Http404: _no_address,
        RequestDataTooBig: _too_big,
        UnreadablePostError: _unreadable,
        HttpError: _http_error,
        ValidationError: _validation,
        Exception: _failed,
    }
    for kind, handler in handlers.items():
        api.add_exception_handler(kind, handler)


def _refused(request: HttpRequest, error: Refused) -> HttpResponse:
    return error_response(error.status, str(error), error.fields, retry_after(error.trouble))


def retry_after(trouble: Trouble | None) -> dict[str, str]:
    """The header that says when to send it again; none without a trouble."""
    return {} if trouble is None else {"Retry-After": str(trouble.retry_seconds)}


def _not_found(request: HttpRequest, error: NotFound) -> HttpResponse:
    return error_response(404, str(error))


def _not_allowed(request: HttpRequest, error: NotAllowed) -> HttpResponse:
    return error_response(403, str(error))


def _no_address(request: HttpRequest, error: Http404) -> HttpResponse:
    return error_response(404, SENTENCES[404])


def _too_big(request: HttpRequest, error: Exception) -> HttpResponse:
    return error_response(413, SENTENCES[413])


def _unreadable(request: HttpRequest, error: Exception) -> HttpResponse:
    return error_response(400, SENTENCES[400])


def _http_error(request: HttpRequest, error: HttpError) -> HttpResponse:
    return error_response(error.status_code, SENTENCES.get(error.status_code, str(error)))


def _failed(request: HttpRequest, error: Exception) -> HttpResponse:
    trouble = trouble_of(error)
    if trouble is not None:
        logger.warning("an operation has to wait: %s path=%s: %s", trouble.code, request.path, error)
        return error_response(trouble.status, trouble.sentence, headers=retry_after(trouble))
    reference = uuid.uuid4().hex[:12]
    logger.error("an operation failed reference=%s path=%s", reference, request.path, exc_info=error)
    return error_response(500, f"Something failed on the server; its log has it under reference {reference}.")


def _validation(request: HttpRequest, error: ValidationError) -> HttpResponse:
    fields = wrong_fields(error.errors)
    name, reason = fields[0] if fields else ("request", "it cannot be read")
    return error_response(422, shortened(f"{name}: {reason}"), fields)


class ApiMiddleware:
    """Whatever goes wrong below /api/v1/ outside an operation (no such address, method, host, a body over the limit)
    is answered in the API's one shape too; and nothing of the API is kept by a cache. HEAD is answered as GET is: the
    server leaves the body out."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if not request.path_info.startswith(API_PATH):
            return self.get_response(request)
        is_head = request.method == "HEAD"
        if is_head:
            request.method = "GET"  # operations are declared for GET alone
        response = self.get_response(request)
        if is_head:
            request.method = "HEAD"
        if response.status_code < 400 or _is_ours(response):
            response.headers.setdefault("Cache-Control", "private, no-store")
            return response
        status = response.status_code
        kept = {name: response[name] for name in KEPT_HEADERS if name in response}
        return error_response(status, SENTENCES.get(status, SENTENCES[400]), headers=kept)


def _is_ours(response: HttpResponseBase) -> bool:
    content = getattr(response, "content", b"")
    return bool(content.startswith(b'{"error":{"status":') and b'"code":' in content[:200])
