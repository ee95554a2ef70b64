"""Originals: look a text up by its hash, get it back byte for byte, or have a job prove it."""

from __future__ import annotations

import hashlib
import re

from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from ninja import P, QueryEx, Router

from contextviz.api import cursors
from contextviz.api.errors import Refused
from contextviz.api.params import (
    NO_NUL,
    USUAL_ITEMS,
    Cursor,
    Limit,
    Sha256,
    Unmasked,
    WithText,
    opening,
    operation,
    reading,
)
from contextviz.api.replies import READER, job_opened, one, page
from contextviz.api.schemas.work import Original, OriginalDetail, Retrieval, original_detail_of, original_of
from contextviz.api.shapes import JobOpened, PageOf
from contextviz.api.unmasking import bodies_of, let_unmask
from contextviz.events.artefacts.markers import find_markers
from contextviz.events.masking import may_hold_secrets
from contextviz.events.text import TextRef
from contextviz.services.retrieve import open_retrieve
from contextviz.store.queries import texts
from contextviz.store.values import NotFound, TextPlace

router = Router(tags=["originals"])
Query = QueryEx[
    str,
    P(
        min_length=6,
        max_length=4_000,
        pattern=NO_NUL,
        description="A SHA-256, a handle, at least 6 of its first digits, or a whole flowctx marker line",
    ),
]
_HEX = re.compile(r"[0-9a-f]{6,64}")
HELD_BACK = (
    "This original has values that look like secrets, or is too large to look through, and bytes cannot be masked. Ask "
    "with ?unmasked=1 and a key with the scope unmask; /originals/{sha256}?text=1 gives the text masked."
)


@router.get("/originals", **operation("read", reply=PageOf[Original], errors=(422,)))
def find_originals(request: HttpRequest, q: Query, limit: Limit = USUAL_ITEMS, cursor: Cursor = None) -> HttpResponse:
    """The texts whose SHA-256 begins with `q`, in the order of their hashes; none where nothing is held."""
    after = cursors.read_hash("originals", cursor)
    found = texts.find_texts(_prefix(q), limit=limit + 1, after=after)
    return page(found, limit=limit, build=original_of, cursor=lambda place: cursors.write("originals", place.sha256))


def _prefix(query: str) -> str:
    plain = query.strip().removeprefix("sha256:").lower()
    if _HEX.fullmatch(plain):
        return plain
    for marker in find_markers(query):
        handle = marker.handle.lower()
        if _HEX.fullmatch(handle):
            return handle
    sentence = "There is no hash in this: give a SHA-256, at least 6 of its first digits, or a whole flowctx marker."
    raise Refused(422, sentence, fields=(("q", sentence),))


@router.post("/originals/retrieve", **opening(JobOpened, errors=(400, 413)))
def retrieve_originals(request: HttpRequest, wanted: Retrieval) -> HttpResponse:
    """Look originals up and prove them by hashing them again, as a job; its result says for each what became of it."""
    with transaction.atomic():
        return job_opened(open_retrieve(wanted.query, now=timezone.now()))


@router.get("/originals/{sha256}", **reading(OriginalDetail))
def get_original(
    request: HttpRequest, sha256: Sha256, text: WithText = False, unmasked: Unmasked = False
) -> HttpResponse:
    """One text by its whole hash, and the sessions that hold it."""
    place = _place(sha256)
    ref = TextRef(bytes.fromhex(sha256), place.chars, place.size, place.estimated_tokens)
    bodies = bodies_of(request, [ref], text=text, unmasked=unmasked, what=f"original {sha256[:24]}")
    return one(original_detail_of(place, texts.uses_of_text(sha256), bodies.text(ref)), bodies=bodies)


def _place(sha256: str) -> TextPlace:
    found = texts.find_texts(sha256, limit=1)
    if not found:
        raise NotFound(f"Nothing that was read here has the hash {sha256}.")
    return found[0]


_RAW = operation("read", reply=None, errors=(404, 409, 422))
_RAW["openapi_extra"]["responses"] = {
    200: {
        "description": "The bytes as a download",
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
    }
}


@router.get("/originals/{sha256}/raw", **_RAW)
def download_original(request: HttpRequest, sha256: Sha256, unmasked: Unmasked = False) -> HttpResponse:
    """The bytes behind a hash as a download, hashed again on the way out; 409 where they are not the original. Bytes
    with values that look like secrets come with `unmasked=1` alone, 403 without."""
    digest = bytes.fromhex(sha256)
    _place(sha256)  # only where the caller sees a session that holds it
    data = READER.raw([digest]).get(digest)
    if data is None:
        raise NotFound(f"Nothing that was read here has the hash {sha256}.")
    if hashlib.sha256(data).digest() != digest:
        raise Refused(409, f"The bytes stored for {sha256} hash to something else: they are not the original.")
    if unmasked:
        let_unmask(request, f"original {sha256[:24]}")
    elif may_hold_secrets(data):
        raise Refused(403, HELD_BACK)
    response = HttpResponse(data, content_type="application/octet-stream")
    response["Content-Disposition"] = f'attachment; filename="{sha256[:24]}.txt"'
    response["X-Content-Type-Options"] = "nosniff"
    return response
