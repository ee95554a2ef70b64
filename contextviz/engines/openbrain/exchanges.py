"""Requests to OpenBrain and their answers, as a proxy or a wrapped client sees them (engines document, 5.2)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Literal

from contextviz.engines.openbrain.thoughts import Scored, read_thought, read_thoughts

Operation = Literal["create", "search", "recent", "update", "delete", "delete-many", "unknown"]
_ONE = re.compile(r"/v1/thoughts/([^/]+)")


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request with its answer. `thoughts` are those of the answer, or of the request where it stores one; `id` is
    the thought that it is about; `deleted` how many the answer says are gone. `error` is the answer's own sentence."""

    operation: Operation
    method: str
    path: str
    status: int | None
    ok: bool
    thoughts: tuple[Scored, ...] = ()
    id: str | None = None
    query: str | None = None
    limit: int | None = None
    source: str | None = None
    metadata_id: str | None = None
    deleted: int | None = None
    error: str | None = None


def read_exchange(record: Any) -> Exchange:
    """Read `{"request": {method, path, query, body}, "response": {status, body}}`. Nothing raises: what is missing is
    None, an operation that is not known is "unknown". Headers are not looked at, since they hold a key."""
    fields = _dict(record)
    request, response = _dict(fields.get("request")), _dict(fields.get("response"))
    method, path = str(request.get("method") or "").upper(), str(request.get("path") or "").rstrip("/")
    operation, name = operation_of(method, path)
    query, body, answer = _dict(request.get("query")), _dict(request.get("body")), response.get("body")
    status = response.get("status")
    status = status if isinstance(status, int) and not isinstance(status, bool) else None
    ok = status is not None and 200 <= status < 300
    told = _dict(answer)
    deleted = told.get("deleted")
    return Exchange(
        operation, method, path, status, ok,
        _thoughts(operation, body, answer) if ok else (), name or _name(told, operation),
        body["query"] if isinstance(body.get("query"), str) else None,
        _whole(body.get("limit", query.get("limit"))),
        _text(body.get("source", query.get("source"))), _text(query.get("metadata_id")),
        deleted if isinstance(deleted, int) and not isinstance(deleted, bool) else None,
        _text(told.get("error") or told.get("message")) if not ok else None,
    )  # fmt: skip


def operation_of(method: str, path: str) -> tuple[Operation, str | None]:
    """What a request does, and the id in its path."""
    if path == "/v1/thoughts":
        known: dict[str, Operation] = {"POST": "create", "DELETE": "delete-many"}
        return known.get(method, "unknown"), None
    if (method, path) == ("POST", "/v1/search"):
        return "search", None
    if (method, path) == ("GET", "/v1/thoughts/recent"):
        return "recent", None
    one = _ONE.fullmatch(path)
    if one is not None and method in ("PATCH", "DELETE"):
        return ("update" if method == "PATCH" else "delete"), one[1]
    return "unknown", None


def _thoughts(operation: Operation, body: dict[str, Any], answer: Any) -> tuple[Scored, ...]:
    if operation == "create":
        # The answer may be an id alone: the request is what was stored.
        name = _name(_dict(answer), operation)
        stored = read_thought({**body, "id": name or "unknown"})
        return (stored,) if stored is not None else ()
    if operation in ("search", "recent"):
        return tuple(read_thoughts(answer))
    return ()


def _name(answer: dict[str, Any], operation: Operation) -> str | None:
    if operation not in ("create", "update"):
        return None
    found = read_thought(answer)
    return found.thought.id if found is not None else None


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _whole(value: Any) -> int | None:
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 10:
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None
