"""What is shown when a request fails before or inside a view: a status and one sentence, for every kind."""

from __future__ import annotations

import sys
import uuid
from logging import getLogger

from django.core.exceptions import DisallowedHost, RequestDataTooBig, TooManyFieldsSent, TooManyFilesSent
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.template.loader import render_to_string
from django.views.decorators.csrf import requires_csrf_token

from contextviz.commands import command
from contextviz.services.outages.trouble import trouble_of
from contextviz.web.errors import refusal

logger = getLogger("contextviz.web.failures")
HOST = (
    f"contextviz does not answer to this host name. Open the address that {command('up')} printed, "
    "or add the name to CONTEXTVIZ_ALLOWED_HOSTS and start again."
)
TOO_BIG = f"The form is larger than this page takes. Send files on the Library page, or run {command('import PATH')}."
UNREADABLE = "The address or the form holds something that contextviz does not understand. Go back and try again."
NO_PAGE = "There is no page at this address. The link is incomplete, or what it led to was deleted."
NOT_ALLOWED = f"You may not open this. Sign in again with the address that {command('sign-in')} prints."
FORGED = (
    "The form is too old, or did not come from this site, so nothing was done. "
    "Reload the page it was on, then send it again."
)


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """400: a host name that is not ours, or a request that cannot be read; 413 where it is too large."""
    if isinstance(exception, DisallowedHost):
        # Rendered without the request: nothing of it may be trusted, its host name least.
        html = render_to_string("error.html", {"status": 400, "sentence": HOST, "title": "Unknown host name"})
        return HttpResponse(html, status=400)
    if isinstance(exception, RequestDataTooBig | TooManyFieldsSent | TooManyFilesSent):
        return refusal(request, TOO_BIG, 413)
    return refusal(request, UNREADABLE, 400)


def permission_denied(request: HttpRequest, exception: Exception) -> HttpResponse:
    """403."""
    return refusal(request, str(exception) or NOT_ALLOWED, 403)


def page_not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """404 for an address that is none."""
    return refusal(request, NO_PAGE, 404)


@requires_csrf_token
def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """403 for a form without this site's token."""
    return refusal(request, FORGED, 403)


def server_error(request: HttpRequest) -> HttpResponse:
    """500, with a reference that the log has too; 503 or 507 where the store is busy or its disk full before a view or
    after it. Without database, context or person: any of them may be the fault."""
    trouble = trouble_of(sys.exc_info()[1])  # Django calls this while it handles the exception
    if trouble is not None:
        logger.warning("a request has to wait: %s path=%s", trouble.code, request.path)
        headers = {"Retry-After": str(trouble.retry_seconds)}
        if "application/json" in request.headers.get("Accept", ""):
            told = {"error": {"status": trouble.status, "sentence": trouble.sentence}}
            return JsonResponse(told, status=trouble.status, headers=headers)
        html = render_to_string("error.html", {"status": trouble.status, "sentence": trouble.sentence})
        return HttpResponse(html, status=trouble.status, headers=headers)
    reference = uuid.uuid4().hex[:12]
    logger.error("page failed reference=%s path=%s", reference, request.path)
    if "application/json" in request.headers.get("Accept", ""):
        body = f'{{"error": {{"status": 500, "sentence": "Something failed on the server; reference {reference}."}}}}'
        return HttpResponse(body, status=500, content_type="application/json")
    known = {"reference": reference, "up": command("up"), "doctor": command("doctor")}
    return HttpResponse(render_to_string("500.html", known), status=500)
