"""Answers: one object, one page of a list, a queued job. None is larger than about 1 MB."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar
from uuid import UUID

import orjson
from django.db import transaction
from django.http import HttpResponse
from ninja import Schema

from contextviz import tasks
from contextviz.api import cursors
from contextviz.api.shapes import JobOpened, Text, Tokens
from contextviz.events.masking import MARGIN_CHARS, safe_cut, without_secrets
from contextviz.events.masking.secrets import find_secrets
from contextviz.events.text import TextRef
from contextviz.store.texts import OpenText, TextReader

MOST_BYTES = 900_000
MOST_TEXT_BYTES = 700_000  # of bodies as JSON; the rest of MOST_BYTES is for what is around them
MOST_TEXT_CHARS = 100_000  # of one body: six bytes each at worst, so that one always fits
JSON_TYPE = "application/json"
READER = TextReader()
Row = TypeVar("Row")


class Bodies:
    """The words of the texts of one reply, as far as they fit; none where they were not asked for. Secrets are masked
    in them unless `unmasked`."""

    def __init__(self, refs: Iterable[TextRef], *, wanted: bool, unmasked: bool = False) -> None:
        self.is_unmasked = unmasked
        self._is_wanted = wanted
        self._left = MOST_TEXT_BYTES
        self._held: dict[bytes, OpenText] = {}
        self.is_spent = False
        if wanted:
            self._held = READER.beginnings(_first(refs), chars=MOST_TEXT_CHARS + MARGIN_CHARS)

    def text(self, ref: TextRef, tokens: int | None = None) -> Text:
        """A text with its body where that was asked for and still fits; `tokens` where they are not the text's own."""
        estimated = Tokens.of(ref.estimated_tokens if tokens is None else tokens, "estimated")
        text = Text(sha256=ref.sha256, chars=ref.chars, bytes=ref.size, tokens=estimated)
        if not self._is_wanted:
            return text
        opened = self._held.get(ref.digest)
        body, is_cut = self._cut(opened) if opened else ("", True)
        found = [] if self.is_unmasked else find_secrets(body)
        shown = without_secrets(body) if found else body
        size = len(orjson.dumps(shown))
        if opened is None or size > self._left:
            self.is_spent = True
            text.is_cut = True
            return text
        self._left -= size
        text.body, text.is_cut, text.masked = shown, is_cut, len(found)
        return text

    def _cut(self, opened: OpenText) -> tuple[str, bool]:
        if len(opened.text) <= MOST_TEXT_CHARS:
            return opened.text, opened.is_cut
        return (opened.text[:MOST_TEXT_CHARS] if self.is_unmasked else safe_cut(opened.text, MOST_TEXT_CHARS)), True

    def find(self, ref: TextRef | None) -> Text | None:
        """The same where there may be no text."""
        return None if ref is None else self.text(ref)


def _first(refs: Iterable[TextRef]) -> list[TextRef]:
    """Texts in order until more bytes are wanted than a reply may have."""
    taken, size = [], 0
    for ref in refs:
        taken.append(ref)
        size += min(ref.size, MOST_TEXT_CHARS)
        if size > MOST_TEXT_BYTES:
            break
    return taken


def one(reply: Schema, *, status: int = 200, bodies: Bodies | None = None) -> HttpResponse:
    """One object, with the bodies that are in it."""
    return _answer(reply.model_dump_json().encode("utf-8"), bodies, status=status)


def _answer(body: bytes, bodies: Bodies | None, *, status: int = 200) -> HttpResponse:
    response = HttpResponse(body, status=status, content_type=JSON_TYPE)
    response.is_unmasked = bodies is not None and bodies.is_unmasked  # type: ignore[attr-defined]  # for the last look
    return response


def page(
    rows: Sequence[Row],
    *,
    limit: int,
    build: Callable[[Row], Schema],
    cursor: Callable[[Row], str],
    bodies: Bodies | None = None,
) -> HttpResponse:
    """One page of `rows`, of which there is one more than `limit` where the list goes on. The page ends early where
    the reply would become too large; its cursor then stands at the last item that is in it."""
    parts: list[bytes] = []
    size = 0
    for place, row in enumerate(rows[:limit]):
        item = build(row).model_dump_json().encode("utf-8")
        size += len(item)
        if parts and (size > MOST_BYTES or (bodies is not None and bodies.is_spent)):
            return _page(parts, cursor(rows[place - 1]), bodies)
        parts.append(item)
    return _page(parts, cursor(rows[limit - 1]) if len(rows) > limit else None, bodies)


def _page(parts: list[bytes], following: str | None, bodies: Bodies | None) -> HttpResponse:
    body = b'{"items":[' + b",".join(parts) + b'],"next":' + orjson.dumps(following) + b"}"
    return _answer(body, bodies)


@dataclass(frozen=True, slots=True)
class Placed:
    """The page that is asked for of a list whose items are known by their place in it, from 0: `limit` items from the
    place `start` on. `kind` is whose cursors those are."""

    kind: str
    start: int
    limit: int

    @classmethod
    def asked(cls, kind: str, limit: int, cursor: str | None) -> Placed:
        """The page behind a cursor, the first without one. Raises Refused with 422 for a cursor of another list."""
        return cls(kind, cursors.read_index(kind, cursor), limit)

    @property
    def stop(self) -> int:
        """The place behind one item more than the page holds, which says whether the list goes on."""
        return self.start + self.limit + 1

    def numbered(self, rows: Iterable[Row]) -> list[tuple[int, Row]]:
        """The list's rows from `start` on, each with its place."""
        return list(enumerate(rows, start=self.start))

    def reply(
        self,
        rows: Sequence[Row],
        build: Callable[[Row], Schema],
        *,
        bodies: Bodies | None = None,
        at: Callable[[Row], int] | None = None,
    ) -> HttpResponse:
        """See `page`. `rows` are those from `start` to `stop`; `at` says the place of one where they are no neighbours
        (a list of which only some are wanted)."""
        placed = self.numbered(rows) if at is None else [(at(row), row) for row in rows]
        return page(
            placed,
            limit=self.limit,
            build=lambda pair: build(pair[1]),
            cursor=lambda pair: cursors.write(self.kind, pair[0]),
            bodies=bodies,
        )


def job_opened(job_id: UUID) -> HttpResponse:
    """A job that a worker is told of once its row is committed."""
    transaction.on_commit(partial(tasks.enqueue, job_id), robust=True)
    response = one(JobOpened(job=str(job_id)), status=202)
    response["Location"] = f"/api/v1/jobs/{job_id}"
    return response
