"""What operations take, with its bounds, and what they are declared with."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from ninja import P, PathEx, QueryEx

from contextviz.api.auth import callers
from contextviz.api.shapes import Error

BIGGEST = 2**63 - 2
MOST_ITEMS = 500
USUAL_ITEMS = 100
NO_NUL = r"^[^\x00]*$"

SessionId = PathEx[int, P(ge=1, le=BIGGEST, description="The session's id here")]
Number = PathEx[int, P(ge=1, le=BIGGEST, description="The number that people read, from 1")]
Index = PathEx[int, P(ge=0, le=BIGGEST, description="The place in the session, from 0")]
JobId = PathEx[UUID, P(description="The job's id")]
RunId = PathEx[UUID, P(description="The id of a replay")]
BatchId = PathEx[UUID, P(description="The upload's id")]
NodeId = PathEx[str, P(min_length=1, max_length=255, pattern=NO_NUL, description="The store's own id of the summary")]
Sha256 = PathEx[str, P(pattern=r"^[0-9a-f]{64}$", description="64 hex digits, small letters")]
Limit = QueryEx[int, P(ge=1, le=MOST_ITEMS, description="Items a page; fewer come where a reply would pass 1 MB")]
Cursor = QueryEx[str | None, P(max_length=400, description="`next` of the page before")]
WithText = QueryEx[bool, P(description="Whether texts have their body; a page is shorter where they are long")]
Unmasked = QueryEx[
    bool,
    P(description="Whether texts keep values that look like secrets; needs the scope `unmask`, and is written down"),
]
Words = QueryEx[str, P(max_length=400, pattern=NO_NUL)]


def operation(*scopes: str, ok: int = 200, reply: Any, errors: tuple[int, ...] = ()) -> dict[str, Any]:
    """What a router's decorator is given: who may call, every status with its shape, the scopes in OpenAPI. The store
    may be busy and its disk full for every one: that a key is used is written down too."""
    statuses = sorted({401, 403, 503, 507, *errors})
    return {
        "auth": callers(*scopes),
        "response": {ok: reply, **dict.fromkeys(statuses, Error)},
        "openapi_extra": {"x-scopes": list(scopes)},
    }


def reading(reply: Any, *, scopes: tuple[str, ...] = ("read",)) -> dict[str, Any]:
    """A GET of something that may not be there."""
    return operation(*scopes, reply=reply, errors=(404, 422))


def opening(reply: Any, *, scopes: tuple[str, ...] = ("operate",), errors: tuple[int, ...] = ()) -> dict[str, Any]:
    """A request that queues work."""
    return operation(*scopes, ok=202, reply=reply, errors=(404, 422, *errors))
