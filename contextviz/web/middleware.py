from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.contrib.auth.middleware import LoginRequiredMiddleware
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from whitenoise.middleware import WhiteNoiseMiddleware
from whitenoise.responders import StaticFile

from contextviz.services.accounts.audit import from_address
from contextviz.store.viewing import viewer_of, viewing


class StaticFilesMiddleware(WhiteNoiseMiddleware):
    """WhiteNoise, with the file's bytes in the answer: its stream is synchronous, and ASGI warns about those."""

    @staticmethod
    def serve(static_file: StaticFile, request: HttpRequest) -> HttpResponse:
        found = static_file.get_response(request.method, request.META)
        body = b""
        if found.file is not None:
            with found.file:
                body = found.file.read()
        response = HttpResponse(body, status=int(found.status))
        del response["content-type"]
        for name, value in found.headers:
            response[name] = value
        return response


class ViewerMiddleware:
    """Every query of the request has the eyes of its person; a key of the API names one later, so it is asked then."""

    def __init__(self, get_response):  # type: ignore[no-untyped-def]
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        address = request.META.get("REMOTE_ADDR", "")
        with viewing(lambda: viewer_of(getattr(request, "user", None))), from_address(address):
            response: HttpResponseBase = self.get_response(request)
        return response


class SignInRequiredMiddleware(LoginRequiredMiddleware):
    """Everything needs a sign-in, except views that say otherwise and paths that check their callers themselves."""

    def process_view(
        self, request: HttpRequest, view_func: Callable[..., HttpResponseBase], view_args: Any, view_kwargs: Any
    ) -> HttpResponseBase | None:
        if request.path_info.startswith(settings.SIGN_IN_EXEMPT_PREFIXES):
            return None
        return super().process_view(request, view_func, view_args, view_kwargs)
