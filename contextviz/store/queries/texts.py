"""Texts by hash: which ones there are, and where they occur. Their words come from store.texts.TextReader."""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import reduce
from operator import or_

from django.db.models import Count, Exists, OuterRef, Q

from contextviz.store.models import TextRecord, TextUseRecord
from contextviz.store.texts import TextReader
from contextviz.store.values import NotFound, TextPlace, TextUse
from contextviz.store.viewing import current_viewer, seen_sessions

SHORTEST_PREFIX = 6
MOST_HANDLES = 200
_HEX = re.compile(r"^[0-9a-f]{6,64}$")


def find_texts(prefix: str, *, limit: int = 20, after: str = "") -> list[TextPlace]:
    """Texts whose SHA-256 begins with `prefix` (6 to 64 hex digits), in the order of their hashes, those behind the
    hash `after`; one query.

    A whole hash or a handle of 24 digits gives one at most; a shorter prefix may give several.
    """
    wanted = prefix.strip().lower()
    if not _HEX.match(wanted):
        return []
    low = bytes.fromhex(wanted.ljust(64, "0"))
    high = bytes.fromhex(wanted.ljust(64, "f"))
    found = TextRecord.objects.filter(digest__gte=low, digest__lte=high).order_by("digest")
    if not current_viewer().sees_all:
        uses = TextUseRecord.objects.filter(seen_sessions("session__"), text=OuterRef("pk"))
        found = found.filter(Exists(uses))
    if after:
        found = found.filter(digest__gt=bytes.fromhex(after))
    counted = found.annotate(n=Count("uses", filter=seen_sessions("uses__session__")))
    rows = counted.values_list("digest", "chars", "size", "estimated_tokens", "n")[:limit]
    return [TextPlace(bytes(row[0]).hex(), *row[1:]) for row in rows]


def original_bytes(digest: bytes) -> bytes:
    """The bytes behind a whole hash, as they are stored; raises NotFound. Three queries at most."""
    data = TextReader().raw([digest]).get(digest) if find_texts(digest.hex(), limit=1) else None
    if data is None:
        raise NotFound(f"Nothing that was read here has the hash {digest.hex()}.")
    return data


def uses_of_text(sha256: str, *, limit: int = 50) -> list[TextUse]:
    """The sessions that hold a text, the newest first. One query."""
    uses = TextUseRecord.objects.filter(seen_sessions("session__"), text__digest=bytes.fromhex(sha256))
    found = uses.exclude(session__status="deleting")
    rows = found.order_by("-session__sorted_at", "-session_id").values_list(
        "session_id", "session__title", "session__source_id", "message_index"
    )
    return [TextUse(number, title or None, source_id, index) for number, title, source_id, index in rows[:limit]]


def find_handles(handles: Collection[str]) -> dict[str, bytes]:
    """The digest of the one text each handle (6 to 64 hex digits) begins; a handle of several texts or of none is
    left out. One query for the first MOST_HANDLES handles."""
    wanted = [handle for handle in dict.fromkeys(handles) if _HEX.match(handle)]
    del wanted[MOST_HANDLES:]
    if not wanted:
        return {}
    ranges = [
        Q(digest__gte=bytes.fromhex(handle.ljust(64, "0")), digest__lte=bytes.fromhex(handle.ljust(64, "f")))
        for handle in wanted
    ]
    found = TextRecord.objects.filter(reduce(or_, ranges)).values_list("digest", flat=True)
    digests = [bytes(digest) for digest in found]
    result = {}
    for handle in wanted:
        matching = [digest for digest in digests if digest.hex().startswith(handle)]
        if len(matching) == 1:
            result[handle] = matching[0]
    return result
