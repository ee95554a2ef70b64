"""Settings: keys of the API, made and shown once, revoked."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path, reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from contextviz.services.api_keys import KeyRefused, create_key, list_keys, revoke_key
from contextviz.store.viewing import current_viewer
from contextviz.web.answers import see_other
from contextviz.web.pages.api_keys import LIFETIMES, TypedKey, keys_page


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def api_keys(request: HttpRequest) -> HttpResponse:
    """A person's own keys. A POST (`label`, `scope` once or more, `days`) makes one and shows it this once; 422 with a
    sentence where it cannot be made."""
    now = timezone.now()
    if request.method != "POST":
        return _page(request, now, TypedKey())
    typed = TypedKey(request.POST.get("label", ""), tuple(request.POST.getlist("scope")), request.POST.get("days", ""))
    try:
        _, key = create_key(
            int(request.user.pk or 0), label=typed.label, scopes=typed.scopes, now=now, expires_at=_end(typed.days, now)
        )
    except KeyRefused as error:
        return _page(request, now, typed, error=str(error), status=422)
    return _page(request, now, TypedKey(), key=key)


def _end(days: str, now: datetime) -> datetime | None:
    """When a key that is made now ends."""
    if days not in LIFETIMES:
        raise KeyRefused("Choose how long the key is to work.")
    return now + timedelta(days=int(days)) if int(days) else None


def _page(
    request: HttpRequest, now: datetime, typed: TypedKey, *, key: str = "", error: str = "", status: int = 200
) -> HttpResponse:
    page = keys_page(list_keys(request.user.pk), typed, now=now, key=key, error=error)
    return render(request, "settings/keys.html", {"page": page}, status=status)


@require_POST
def revoke(request: HttpRequest, key_id: int) -> HttpResponse:
    """From now on one of the person's own keys opens nothing; an admin ends anybody's."""
    owner_id = None if current_viewer().sees_all else request.user.pk
    row = revoke_key(key_id, now=timezone.now(), user_id=owner_id)
    messages.success(request, f"The key “{row.label}” is revoked; nothing can use it any more.")
    return see_other(reverse("api_keys"))


urlpatterns = [
    path("settings/keys/", api_keys, name="api_keys"),
    path("settings/keys/<int:key_id>/revoke/", revoke, name="api_key_revoke"),
]
