"""What a page of hits shows beside their places: texts, names of nodes, hashes of originals."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import zstandard
from django.db.models import Q

from contextviz.store.models import SummaryNodeRecord, TextPackRecord, TextRecord
from contextviz.store.search.match import Hit

MOST_OPEN = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class TextPart:
    """A text, or its first 4 MB; `size` is all of it in bytes."""

    text: str
    size: int


def texts_of(hits: Iterable[Hit]) -> dict[int, TextPart]:
    """The texts of a page of hits by primary key, in full up to 4 MB, of larger ones the beginning. Two queries; packs
    are opened for this page alone."""
    rows = TextRecord.objects.filter(pk__in={hit.text_id for hit in hits}).values_list(
        "pk", "pack_id", "offset", "size"
    )
    places = list(rows)
    opener = zstandard.ZstdDecompressor()
    found = TextPackRecord.objects.filter(pk__in={pack for _, pack, _, _ in places})
    parts: dict[int, TextPart] = {}
    by_pack: dict[int, list[tuple[int, int, int]]] = {}
    for number, pack, offset, size in places:
        by_pack.setdefault(pack, []).append((number, offset, size))
    for one in found.iterator(chunk_size=1):
        raw = opener.decompress(bytes(one.data), max_output_size=one.raw_size)
        for number, offset, size in by_pack[one.pk]:
            part = raw[offset : offset + min(size, MOST_OPEN)]
            parts[number] = TextPart(part.decode("utf-8", errors="ignore"), size)
    return parts


def node_names(hits: Iterable[Hit]) -> dict[tuple[int, int], str]:
    """The stores' own ids of summary nodes, by session and position. One query, none without nodes."""
    wanted = Q()
    for hit in hits:
        if hit.kind == "node":
            wanted |= Q(session_id=hit.session_id, index=hit.place)
    if not wanted:
        return {}
    rows = SummaryNodeRecord.objects.filter(wanted).values_list("session_id", "index", "source_id")
    return {(session, index): name for session, index, name in rows}


def digests_of(hits: Iterable[Hit]) -> dict[int, str]:
    """The hashes of originals by primary key. One query, none without originals."""
    wanted = {hit.text_id for hit in hits if hit.kind == "original"}
    rows = TextRecord.objects.filter(pk__in=wanted).values_list("pk", "digest") if wanted else ()
    return {number: bytes(digest).hex() for number, digest in rows}
