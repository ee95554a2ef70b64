"""Signing in with a one-time token or a name and password, and out."""

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

from contextviz.commands import command
from contextviz.services.access import is_near, local_owner, redeem_token
from contextviz.services.accounts.audit import note
from contextviz.services.accounts.people import has_admin_with_password, has_passwords
from contextviz.services.accounts.signing_in import SignInRefused, sign_in_with_password
from contextviz.web.answers import safe_next, see_other

BACKEND = "django.contrib.auth.backends.ModelBackend"
SPENT = f"This sign-in address has been used or is older than 15 minutes. Run {command('sign-in')} for a fresh one."
FROM_AFAR = "Sign-in addresses work on the server's own machine alone. Sign in with your name and password."


@login_not_required
@never_cache
@sensitive_post_parameters("token", "password")
@require_http_methods(["GET", "HEAD", "POST"])
def sign_in(request: HttpRequest) -> HttpResponse:
    """Redeem the token of the address that `up` and `sign-in` print, or take a name and password, and go to `next`;
    403 (429 for too many tries) with a sentence else.

    Only a person's own visit uses a token up: a browser or a messenger that looks ahead gets an empty answer.
    """
    given = request.POST if request.method == "POST" else request.GET
    token = given.get("token", "").strip()
    target = safe_next(request, given.get("next"), reverse("library"))
    if request.method == "POST" and "password" in given:
        response = _with_password(request, target)
    else:
        response = _with_token(request, token, target)
    response["Referrer-Policy"] = "no-referrer"
    return response


def _with_token(request: HttpRequest, token: str, target: str) -> HttpResponse:
    if token and not _is_visit(request):
        return HttpResponse(status=204)
    if token and not is_near(request.META.get("REMOTE_ADDR", "")) and has_admin_with_password():
        return _page(request, target, error=FROM_AFAR, status=403)
    if token and redeem_token(token, now=timezone.now()):
        owner = local_owner()
        login(request, owner, backend=BACKEND)
        note("sign_in", person=owner, target="with a sign-in address")
        return see_other(target)
    if request.user.is_authenticated:
        return see_other(target)  # the same address a second time: this browser is in already
    if token:
        note("sign_in_failed", target="with a sign-in address that is not valid")
    return _page(request, target, error=SPENT if token else "", status=403 if token else 200)


def _with_password(request: HttpRequest, target: str) -> HttpResponse:
    name, address = request.POST.get("name", "").strip(), request.META.get("REMOTE_ADDR", "")
    try:
        user = sign_in_with_password(name, request.POST["password"], address=address, now=timezone.now())
    except SignInRefused as refused:
        response = _page(request, target, error=str(refused), name=name[:60], status=429 if refused.wait else 403)
        if refused.wait:
            response["Retry-After"] = str(refused.wait)
        return response
    login(request, user, backend=BACKEND)
    note("sign_in", person=user, target="with a password")
    return see_other(target)


def _page(request: HttpRequest, target: str, *, error: str, status: int, name: str = "") -> HttpResponse:
    context = {"error": error, "next": target, "name": name, "has_passwords": has_passwords()}
    return render(request, "sign_in/sign_in.html", context, status=status)


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
    if request.user.is_authenticated:
        note("sign_out")
    logout(request)
    return see_other(reverse("sign_in"))


urlpatterns = [
    path("sign-in/", sign_in, name="sign_in"),
    path("sign-out/", sign_out, name="sign_out"),
]
