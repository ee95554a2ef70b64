"""Who sees a session, and whether it is passed by when old ones are removed: buttons on its page."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.urls import path, reverse
from django.views.decorators.http import require_POST

from contextviz.services.accounts.privacy import set_kept, set_private
from contextviz.web.access import session_decide
from contextviz.web.answers import see_other
from contextviz.web.errors import refusal

UNSAID = "Nothing was changed: the form did not say what to do. Load the page again."


@require_POST
def session_privacy(request: HttpRequest, session_id: int) -> HttpResponse:
    """Hide the session from others, or share it (`private` yes or no)."""
    row = session_decide(request, session_id)
    wanted = request.POST.get("private", "")
    if wanted not in ("yes", "no"):
        return refusal(request, UNSAID, 422)
    set_private(row, is_private=wanted == "yes")
    said = (
        "Only its owner and admins see this session now."
        if wanted == "yes"
        else "Everybody here sees this session now."
    )
    messages.success(request, said)
    return see_other(reverse("session", args=[session_id]))


@require_POST
def session_keep(request: HttpRequest, session_id: int) -> HttpResponse:
    """Pass the session by when old ones are removed, or do not (`keep` yes or no)."""
    row = session_decide(request, session_id)
    wanted = request.POST.get("keep", "")
    if wanted not in ("yes", "no"):
        return refusal(request, UNSAID, 422)
    set_kept(row, is_kept=wanted == "yes")
    messages.success(request, "It stays, however old it gets." if wanted == "yes" else "It goes when it is old enough.")
    return see_other(reverse("session", args=[session_id]))


urlpatterns = [
    path("sessions/<int:session_id>/privacy/", session_privacy, name="session_privacy"),
    path("sessions/<int:session_id>/keep/", session_keep, name="session_keep"),
]
