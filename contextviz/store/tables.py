"""Replacing a session's rows: only what differs is touched.

Rows are compared in stretches of 64 by a hash that is kept from the last time, so an appended file costs what was
appended, and nothing has to be read back. Stretches that differ are deleted and written again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

import orjson
from django.apps import apps
from django.db import connection

from contextviz.store.bulk import chunks
from contextviz.store.columns import Row, insert_columns
from contextviz.store.models.rows import IndexedRecord
from contextviz.store.rows.table import Table

STRETCH = 64
HASH_BYTES = 8
STRETCHES_AT_ONCE = 32
MANY_ROWS = 5_000
Hashes = dict[str, str]


class Planner:
    """Has PostgreSQL look at its tables anew while an import fills them.

    It does so by itself within a minute or so, and until then takes a new session of 30,000 calls for one of a few
    rows: its pages read all of them for the thirty that they show. Looking costs some tenths of a second, so it is done
    when `MANY_ROWS` were written, and then each time that as many came again as there had been. SQLite needs none.
    """

    def __init__(self) -> None:
        self._rows = self._told = 0

    def wrote(self, rows: int) -> None:
        """So many rows more were written, and are committed."""
        self._rows += rows
        if self._rows - self._told >= max(MANY_ROWS, self._told):
            self._told = self._rows
            if connection.vendor == "postgresql":
                own = ", ".join(f'"{model._meta.db_table}"' for model in apps.get_app_config("store").get_models())
                with connection.cursor() as cursor:
                    cursor.execute(f"ANALYZE {own}")


def replace(table: Table[Any], session_id: int, events: Iterable[Any], hashes: Hashes) -> int:
    """Make the table's rows of a session those of `events`; `hashes` is read and brought up to date.

    Returns how many rows were written or removed. Call it inside a transaction.
    """
    name = str(table.model._meta.model_name)
    before = bytes.fromhex(hashes.get(name, ""))
    after = bytearray()
    touched = 0
    batch: list[tuple[int, list[Row]]] = []
    # A few stretches at a time: a session's rows all at once would be the most memory that an import takes.
    for number, rows in enumerate(chunks(map(table.to_row, events), STRETCH)):
        after += _hash_of(rows)
        if _part(before, number) != _part(after, number):
            batch.append((number, rows))
        if len(batch) == STRETCHES_AT_ONCE:
            touched += _write(table, session_id, batch, before)
            batch = []
    touched += _write(table, session_id, batch, before)
    ends = (len(after) // HASH_BYTES, len(before) // HASH_BYTES)
    touched += _remove(table.model, session_id, list(range(*ends)))
    if after:
        hashes[name] = after.hex()
    else:
        hashes.pop(name, None)
    return touched


def _write(table: Table[Any], session_id: int, batch: list[tuple[int, list[Row]]], before: bytes) -> int:
    if not batch:
        return 0
    removed = _remove(table.model, session_id, [number for number, _ in batch if _part(before, number)])
    indexes = [index for number, rows in batch for index in range(number * STRETCH, number * STRETCH + len(rows))]
    columns: list[Sequence[Any]] = list(zip(*chain.from_iterable(rows for _, rows in batch), strict=True))
    if table.columns[0] != "index":
        columns.insert(0, indexes)
    elif list(columns[0]) != indexes:
        raise ValueError(f"{table.model.__name__}: rows from {indexes[0]} on call themselves {columns[0][:3]}")
    insert_columns(table.model, _columns(table), [[session_id] * len(indexes), *columns])
    return removed + len(indexes)


def _part(hashes: bytes | bytearray, number: int) -> bytes:
    return bytes(hashes[number * HASH_BYTES : (number + 1) * HASH_BYTES])


def _hash_of(rows: list[Row]) -> bytes:
    try:
        data = orjson.dumps(rows, default=bytes.hex, option=orjson.OPT_NON_STR_KEYS)  # several times as fast as repr
    except TypeError:  # half surrogates, integers beyond 64 bits
        data = repr(rows).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(data, digest_size=HASH_BYTES).digest()


def _columns(table: Table[Any]) -> tuple[str, ...]:
    return ("session_id", *table.columns) if table.columns[0] == "index" else ("session_id", "index", *table.columns)


def _remove(model: type[IndexedRecord], session_id: int, stretches: list[int]) -> int:
    removed = 0
    for first, last in _stretches_joined(stretches):
        kept = model._default_manager.filter(session_id=session_id, index__gte=first * STRETCH)
        removed += kept.filter(index__lt=last * STRETCH).delete()[0]
    return removed


def _stretches_joined(numbers: list[int]) -> Iterator[tuple[int, int]]:
    start = end = -1
    for number in numbers:
        if number == end:
            end += 1
            continue
        if start >= 0:
            yield start, end
        start, end = number, number + 1
    if start >= 0:
        yield start, end


def pack_hashes(hashes: Hashes) -> bytes:
    """The hashes as SessionDetailRecord keeps them."""
    return orjson.dumps(hashes)


def unpack_hashes(data: bytes | memoryview) -> Hashes:
    """The hashes of the last time; none for a new session."""
    raw = bytes(data)
    loaded: Hashes = orjson.loads(raw) if raw else {}
    return loaded
