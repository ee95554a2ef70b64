"""Texts of a reply, masked; with every value for a caller that asks for it and may, which is then written down."""

from __future__ import annotations

from collections.abc import Iterable

from django.http import HttpRequest

from contextviz.api.auth import caller_of
from contextviz.api.errors import Refused
from contextviz.api.replies import Bodies
from contextviz.events.text import TextRef
from contextviz.services.accounts.audit import note

NO_SCOPE = (
    "Values that look like secrets are masked for this caller: a key needs the scope unmask to see them. Make one that "
    "has it under Settings, as an operator or an admin."
)


def bodies_of(request: HttpRequest, refs: Iterable[TextRef], *, text: bool, unmasked: bool, what: str) -> Bodies:
    """The bodies of a reply where `text` asks for them, unmasked where `unmasked` does; `what` names the reply in the
    audit. Raises Refused with 403."""
    if unmasked:
        let_unmask(request, what, is_shown=text)
    return Bodies(refs, wanted=text, unmasked=unmasked)


def let_unmask(request: HttpRequest, what: str, *, is_shown: bool = True) -> None:
    """Write down that the caller sees `what` with its values (where anything `is_shown`). Raises Refused with 403."""
    caller = caller_of(request)
    if "unmask" not in caller.scopes:
        raise Refused(403, NO_SCOPE)
    if is_shown:
        note("secret_unmasked", target=f"{what}, by the API's {caller.kind} {caller.name[:60]}")
