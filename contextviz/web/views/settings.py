"""Settings: appearance, time zone, this installation, deleting a session."""

from __future__ import annotations

from django.conf import settings as configuration
from django.contrib import messages
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path, reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods

from contextviz.services.accounts.people import has_others
from contextviz.services.delete import open_delete
from contextviz.services.preferences import PreferenceRefused, save_preferences
from contextviz.store.queries import sessions
from contextviz.store.queries.preferences import Preferences, preferences
from contextviz.web.access import session_decide
from contextviz.web.answers import safe_next, see_other
from contextviz.web.pages.settings import PersonPart, delete_page, person_part, settings_page
from contextviz.web.queueing import enqueue_after_commit
from contextviz.web.shell import DENSITY_COOKIE, density_of

THEME_COOKIE = "contextviz_theme"
YEAR_SECONDS = 31_536_000
LISTED = 10


@require_http_methods(["GET", "HEAD", "POST"])
def settings(request: HttpRequest) -> HttpResponse:
    """The page; a POST keeps what it names (`theme`, `time_zone`) and goes to `next`, 422 with a sentence else."""
    chosen = preferences(_person(request))
    if request.method != "POST":
        page = settings_page(chosen, sessions.recent_sessions(LISTED), density=density_of(request))
        return render(request, "settings/settings.html", {"page": page, "person": _part(request, chosen)})
    theme = request.POST.get("theme", chosen.theme)
    zone = request.POST.get("time_zone", chosen.time_zone).strip()
    is_private = chosen.is_private
    if "private_asked" in request.POST:  # a box that is not ticked sends nothing
        is_private = request.POST.get("private") == "yes"
    try:
        save_preferences(_person(request), theme=theme, time_zone=zone or "UTC", is_private=is_private)
    except PreferenceRefused as error:
        return _again(request, chosen, zone, str(error))
    if "time_zone" in request.POST or "private_asked" in request.POST:
        messages.success(request, "Saved.")
    response = see_other(safe_next(request, request.POST.get("next"), reverse("settings")))
    _keep_density(request, response)
    if theme == "system":
        response.delete_cookie(THEME_COOKIE, samesite="Strict")
    else:
        # Pages without a person (sign-in, errors) and the scripts know the choice from here.
        response.set_cookie(
            THEME_COOKIE, theme, max_age=YEAR_SECONDS, samesite="Strict", secure=bool(configuration.HTTPS)
        )
    return response


def _keep_density(request: HttpRequest, response: HttpResponse) -> None:
    """A screen's matter and not a person's: it is kept in the browser."""
    density = request.POST.get("density", "")
    if density in ("compact", "roomy"):
        response.set_cookie(
            DENSITY_COOKIE, density, max_age=YEAR_SECONDS, samesite="Strict", secure=bool(configuration.HTTPS)
        )
    elif density:
        response.delete_cookie(DENSITY_COOKIE, samesite="Strict")


def _again(request: HttpRequest, chosen: Preferences, zone: str, error: str) -> HttpResponse:
    page = settings_page(
        chosen, sessions.recent_sessions(LISTED), density=density_of(request), time_zone=zone[:64], error=error
    )
    return render(request, "settings/settings.html", {"page": page, "person": _part(request, chosen)}, status=422)


def _part(request: HttpRequest, chosen: Preferences) -> PersonPart:
    user = request.user
    assert isinstance(user, User), "the middleware lets nobody come here who is not signed in"
    return person_part(user, chosen, has_others=has_others(user.pk))


def _person(request: HttpRequest) -> int:
    person = request.user.pk
    assert person is not None, "the middleware lets nobody come here who is not signed in"
    return person


@require_http_methods(["GET", "HEAD", "POST"])
def session_delete(request: HttpRequest, session_id: int) -> HttpResponse:
    """What would go, to be confirmed; the confirmation opens the job and leads to the Library."""
    row = session_decide(request, session_id)
    page = delete_page(row, sessions.sources(session_id))
    if request.method != "POST":
        return render(request, "settings/delete.html", {"page": page, "error": ""})
    if request.POST.get("confirm") != "yes":
        error = "Nothing was deleted. Tick the box to say that you mean it."
        return render(request, "settings/delete.html", {"page": page, "error": error}, status=422)
    job_id = open_delete(session_id, now=timezone.now())
    enqueue_after_commit(job_id)
    messages.success(request, f"“{page.title}” is being deleted.")
    return see_other(reverse("library"))


urlpatterns = [
    path("settings/", settings, name="settings"),
    path("sessions/<int:session_id>/delete/", session_delete, name="session_delete"),
]
