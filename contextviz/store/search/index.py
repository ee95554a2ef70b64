"""The index: written a few packs at a time, each pack once; texts are taken out before they are deleted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import orjson
import zstandard
from django.db import connection, transaction
from django.db.models import Count, Sum

from contextviz.events.search import spaced
from contextviz.store.models.text import TextPackRecord, TextRecord
from contextviz.store.search.lexemes import lexemes

# Of texts in one transaction: longer ones would keep other writers waiting, shorter ones cost. SQLite gathers words in
# memory (up to 16 MB of them, see its migration), writes them with every commit and merges what it wrote later: 4 MB at
# a time take half as long again. PostgreSQL gathers nothing, and makes other writers wait for nothing.
BATCH_BYTES = {"sqlite": 16 * 1024 * 1024, "postgresql": 4 * 1024 * 1024}
BATCH_PACKS = 64
STATEMENT_BYTES = 256 * 1024
# A statement for many texts: Python's lock is free while SQLite works, so that an import goes on beside it.
_INSERT = "INSERT INTO store_textsearch (rowid, body) SELECT CAST(key AS INTEGER), value FROM json_each(?)"
_DELETE = "INSERT INTO store_textsearch (store_textsearch, rowid, body) VALUES ('delete', ?, ?)"
Numbered = tuple[int, str]


@dataclass(frozen=True, slots=True)
class Progress:
    """Packs of texts, and their bytes."""

    packs: int
    size: int


def waiting() -> Progress:
    """What is not indexed yet. One query on an index that holds only this."""
    found = TextPackRecord.objects.filter(is_indexed=False).aggregate(n=Count("pk"), size=Sum("raw_size"))
    return Progress(found["n"], found["size"] or 0)


def last_pack() -> int:
    """The newest pack's id, 0 where there is none: what is written from now on comes after it."""
    return TextPackRecord.objects.order_by("-pk").values_list("pk", flat=True).first() or 0


def index_packs(*, after: int = 0, most: int | None = None) -> Progress:
    """Index the next few packs that are not (of those behind pack `after`), in one transaction of about `most` bytes of
    texts; how much it was.

    Of several workers on PostgreSQL each takes other packs. None left: no packs.
    """
    with transaction.atomic():
        packs = _taken(after, most or BATCH_BYTES[connection.vendor])
        if packs:
            _write(_texts_of(packs))
            TextPackRecord.objects.filter(pk__in=[pack.pk for pack in packs]).update(is_indexed=True)
    return Progress(len(packs), sum(pack.raw_size for pack in packs))


def _taken(after: int, most: int) -> list[TextPackRecord]:
    # Their data later, one after the other: all of it at once would be megabytes.
    found = TextPackRecord.objects.filter(is_indexed=False, pk__gt=after).order_by("pk").defer("data")
    if connection.features.has_select_for_update_skip_locked:
        found = found.select_for_update(skip_locked=True)
    taken: list[TextPackRecord] = []
    size = 0
    for pack in found[:BATCH_PACKS]:
        taken.append(pack)
        size += pack.raw_size
        if size >= most:
            break
    return taken


def _texts_of(packs: Sequence[TextPackRecord]) -> Iterator[Numbered]:
    places: dict[int, list[tuple[int, int, int]]] = {pack.pk: [] for pack in packs}
    rows = TextRecord.objects.filter(pack_id__in=places, size__gt=0).order_by("pk")
    for number, pack_id, offset, size in rows.values_list("pk", "pack_id", "offset", "size"):
        places[pack_id].append((number, offset, size))
    opener = zstandard.ZstdDecompressor()
    for pack in packs:
        data = TextPackRecord.objects.values_list("data", flat=True).get(pk=pack.pk)
        raw = opener.decompress(bytes(data), max_output_size=pack.raw_size)
        for number, offset, size in places[pack.pk]:
            yield number, raw[offset : offset + size].decode("utf-8")


def drop_texts(texts: Iterable[Numbered]) -> None:
    """Take texts out of the index; each must be one that `index_packs` put in, with the same words."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            numbers = [number for number, _ in texts]
            cursor.execute("DELETE FROM store_textsearch WHERE text_id = ANY(%s)", (numbers,))
        return
    _executemany(_DELETE, ((number, spaced(text)) for number, text in texts if text))


def empty() -> None:
    """Forget everything; each pack waits to be indexed again."""
    with transaction.atomic(), connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("DELETE FROM store_textsearch")
        else:
            cursor.execute("INSERT INTO store_textsearch (store_textsearch) VALUES ('delete-all')")
        TextPackRecord.objects.update(is_indexed=False)


def _write(texts: Iterable[Numbered]) -> None:
    if connection.vendor != "postgresql":
        _write_into_sqlite(texts)
        return
    read = list(texts)  # nothing else may be asked while COPY goes on
    with (
        connection.cursor() as cursor,
        cursor.copy("COPY store_textsearch (text_id, words) FROM STDIN") as copy,
    ):
        for number, text in read:
            copy.write_row((number, lexemes(text)))


def _write_into_sqlite(texts: Iterable[Numbered]) -> None:
    connection.ensure_connection()
    part: dict[str, str] = {}
    size = 0
    for number, text in texts:
        part[str(number)] = spaced(text)
        size += len(text)
        if size >= STATEMENT_BYTES:
            connection.connection.execute(_INSERT, (orjson.dumps(part).decode(),))
            part, size = {}, 0
    connection.connection.execute(_INSERT, (orjson.dumps(part).decode(),))


def _executemany(sql: str, rows: Iterator[Numbered]) -> None:
    connection.ensure_connection()
    connection.connection.executemany(sql, rows)  # past Django's cursor, which would keep all rows in a list
