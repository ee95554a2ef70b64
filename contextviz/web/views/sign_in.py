"""Signing in with a one-time token, and out."""

from __future__ import annotations

from django.contrib.auth import login, logout
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path, reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST

from contextviz.services.access import local_owner, redeem_token
from contextviz.web.answers import safe_next, see_other

BACKEND = "django.contrib.auth.backends.ModelBackend"
SPENT = "This sign-in address has been used or is older than 15 minutes. Run contextviz sign-in for a fresh one."


@login_not_required
@never_cache
@sensitive_post_parameters("token")
@require_http_methods(["GET", "HEAD", "POST"])
def sign_in(request: HttpRequest) -> HttpResponse:
    """Redeem the token of the address that `up` and `sign-in` print, and go to `next`; 403 with a sentence else.

    Only a person's own visit uses a token up: a browser or a messenger that looks ahead gets an empty answer.
    """
    given = request.POST if request.method == "POST" else request.GET
    token = given.get("token", "").strip()
    target = safe_next(request, given.get("next"), reverse("library"))
    response = _answer(request, token, target)
    response["Referrer-Policy"] = "no-referrer"
    return response


def _answer(request: HttpRequest, token: str, target: str) -> HttpResponse:
    if token and not _is_visit(request):
        return HttpResponse(status=204)
    if token and redeem_token(token, now=timezone.now()):
        login(request, local_owner(), backend=BACKEND)
        return see_other(target)
    if request.user.is_authenticated:
        return see_other(target)  # the same address a second time: this browser is in already
    page = {"error": SPENT if token else "", "next": target}
    return render(request, "sign_in/sign_in.html", page, status=403 if token else 200)


def _is_visit(request: HttpRequest) -> bool:
    """Whether a person opens this address now, as far as the browser tells."""
    if request.method == "HEAD":
        return False
    purposes = [request.headers.get(name, "").lower() for name in ("Sec-Purpose", "Purpose", "X-Purpose", "X-Moz")]
    if any("prefetch" in purpose or "prerender" in purpose or "preview" in purpose for purpose in purposes):
        return False
    return request.headers.get("Sec-Fetch-Dest", "document") == "document"


@login_not_required
@require_POST
def sign_out(request: HttpRequest) -> HttpResponse:
    """End this browser's session."""
    logout(request)
    return see_other(reverse("sign_in"))


urlpatterns = [
    path("sign-in/", sign_in, name="sign_in"),
    path("sign-out/", sign_out, name="sign_out"),
]
