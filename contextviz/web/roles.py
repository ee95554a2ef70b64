"""What each role may do on the pages: viewers look, operators also change, admins also run the place.

A new page needs no line here: looking is for everybody who is signed in, and changing is for operators.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponseBase

from contextviz.store.viewing import Role, current_viewer
from contextviz.web.errors import refusal

SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
# What everybody changes for oneself, and the door itself.
OWN = frozenset({"settings", "password", "api_keys", "api_key_revoke", "sign_in", "sign_out"})
# What only admins look at, and what only they change.
ADMIN_PAGES = frozenset({"accounts", "account", "audit", "retention", "not_kept"})
ADMIN_CHANGES = frozenset({"prices"})
_RANK = {"nobody": 0, "viewer": 1, "operator": 2, "admin": 3, "system": 3}
REFUSED = {
    "operator": "Your account may look, not change anything. Ask an admin for the role operator.",
    "admin": "Only an admin may do this. Ask one, or sign in as one.",
}


def role_needed(name: str, method: str) -> Role:
    """The least role for a request to the page of this name."""
    if name in ADMIN_PAGES or (name in ADMIN_CHANGES and method not in SAFE):
        return "admin"
    return "viewer" if method in SAFE or name in OWN else "operator"


class RoleMiddleware:
    """Refuses with 403 what a person's role does not cover. Whoever is not signed in was sent to the sign-in before."""

    def __init__(self, get_response):  # type: ignore[no-untyped-def]
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response: HttpResponseBase = self.get_response(request)
        return response

    def process_view(
        self, request: HttpRequest, view_func: Callable[..., HttpResponseBase], view_args: Any, view_kwargs: Any
    ) -> HttpResponseBase | None:
        """Django's hook before a view."""
        match = request.resolver_match
        if match is None or request.path_info.startswith(settings.SIGN_IN_EXEMPT_PREFIXES):
            return None  # the API knows scopes
        needed = role_needed(match.url_name or "", request.method or "")
        if needed == "viewer" or _RANK[current_viewer().role] >= _RANK[needed]:
            return None
        return refusal(request, REFUSED[needed], 403)
