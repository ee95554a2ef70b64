"""Who calls: a key with scopes, or a person who is signed in in this browser."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.http import HttpRequest, QueryDict
from django.utils import timezone
from ninja.security.base import AuthBase
from ninja.utils import check_csrf

from contextviz.api.errors import SENTENCES, Refused
from contextviz.commands import command
from contextviz.services.api_keys import SCOPES, authenticate
from contextviz.store.viewing import role_of

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
UNKNOWN_KEY = "This key is not known here, has expired or was revoked. Make another under Settings."
NOT_A_KEY = "The Authorization header is not of the form Bearer cvz_…, so it is no key of this API."
NOT_THE_ROLE = "A viewer may read and nothing else. Ask an admin here for the role of an operator."
FORGED = "A change made with the browser's sign-in needs its CSRF token in the X-CSRFToken header."


@dataclass(frozen=True, slots=True)
class Caller:
    """Who a request comes from: a key (with its label) or a signed-in person, what it may do, and as whom."""

    kind: str
    name: str
    scopes: frozenset[str]
    user: User


def scopes_of(user: User) -> frozenset[str]:
    """What a person's role allows: a viewer reads, an operator and an admin do everything."""
    return frozenset({"read"}) if role_of(user) == "viewer" else frozenset(SCOPES)


def _sufficient(scopes: frozenset[str], wanted: tuple[str, ...]) -> frozenset[str]:
    if not scopes.intersection(wanted):
        raise Refused(403, NOT_THE_ROLE)
    return scopes


class ApiKey(AuthBase):
    """A key in the Authorization header; only there, so that it is in no address and no log."""

    openapi_type = "http"
    openapi_scheme = "bearer"
    openapi_bearerFormat = "cvz_…"
    openapi_description = (
        f"A key made under Settings or by `{command('api-key create')}`. Each operation names the scopes of which a "
        "key must have one in `x-scopes`: read, ingest (uploads), operate (jobs, expand, retrieve, delete). "
        "`unmasked=1` needs the scope unmask as well."
    )

    def __init__(self, *scopes: str) -> None:
        super().__init__()
        self.scopes = scopes

    def __call__(self, request: HttpRequest) -> Caller | None:
        """The caller; None without a key. Raises Refused with 401 for a wrong key, 403 for one that may not."""
        given = request.headers.get("Authorization")
        if given is None:
            return None
        word, _, key = given.strip().partition(" ")
        if word.lower() != "bearer":
            raise Refused(401, NOT_A_KEY)
        holder = authenticate(key.strip(), now=timezone.now())
        if holder is None:
            raise Refused(401, UNKNOWN_KEY)
        if not holder.scopes.intersection(self.scopes):
            allowed = " or ".join(self.scopes)
            raise Refused(403, f"This key has not the scope {allowed}. Make one that has it under Settings.")
        request.user = holder.user  # from here on queries look with this person's eyes
        scopes = holder.scopes & scopes_of(holder.user)
        return Caller("key", holder.label, _sufficient(scopes, self.scopes), holder.user)


class SignedIn(AuthBase):
    """The session cookie of a person who is signed in; changes need the CSRF token too."""

    openapi_type = "apiKey"
    openapi_in = "cookie"
    openapi_name = settings.SESSION_COOKIE_NAME
    openapi_description = "The browser's sign-in. Changes need the CSRF token in the X-CSRFToken header as well."

    def __init__(self, *scopes: str) -> None:
        super().__init__()
        self.scopes = scopes

    def __call__(self, request: HttpRequest) -> Caller | None:
        """The caller; None where nobody is signed in. Raises Refused with 403 without the CSRF token."""
        user = request.user
        if not user.is_authenticated:
            return None
        if request.method not in SAFE_METHODS and not _has_token(request):
            raise Refused(403, FORGED)
        return Caller("person", user.get_username(), _sufficient(scopes_of(user), self.scopes), user)


def _has_token(request: HttpRequest) -> bool:
    """Whether the request carries this site's token in its header, the only place that is looked at."""
    # Else Django would read the body, which may be a large upload, to look for a token in a form.
    request.POST = QueryDict()
    return check_csrf(request, _never_called) is None


def _never_called(request: HttpRequest) -> None:
    """The check wants a view to look at."""


def caller_of(request: HttpRequest) -> Caller:
    """Who an operation is done for."""
    caller = getattr(request, "auth", None)
    if not isinstance(caller, Caller):
        raise Refused(401, SENTENCES[401])
    return caller


def callers(*scopes: str) -> list[Callable[[HttpRequest], Any]]:
    """Who may call an operation: keys with one of these scopes, and signed-in people."""
    return [ApiKey(*scopes), SignedIn(*scopes)]
