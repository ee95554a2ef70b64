"""Many rows at once, past the ORM's objects and by column: some hundred rows a statement on SQLite, COPY on PostgreSQL.

One value at a time, asking each for its field costs more than the database does. A column is one look instead: nearly
always all its values are short plain text, or all are there, or none is. On SQLite a statement of a hundred rows takes
half the time of a hundred statements, and Python's lock is free meanwhile.

Going past the fields means doing their work: bounded and cleaned text (a transcript's words are hostile: NUL, half
surrogates, megabyte ids), numbers within 64 bits, JSON, times.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC
from functools import cache
from itertools import chain, islice
from typing import Any

import orjson
from django.db import connection, models

from contextviz.store.bulk import BIGGEST, bounded, chunks, clean, clean_deep

Row = tuple[Any, ...]
Statement = tuple[str, list[Any]]
Column = Sequence[Any]
Converter = Callable[[Column], Column]
BATCH_ROWS = 2048
ROWS_A_STATEMENT = 256
MOST_WAITING = 2  # batches on their way through a thread: a bound for memory
# SQLite's own bound on what a statement is given, in every version since 3.32.
MOST_VALUES = 32_766


def insert(model: type[models.Model], names: Sequence[str], rows: Iterable[Row]) -> int:
    """Insert rows (values in the order of `names`, the model's attribute names); how many there were."""
    count = 0
    for batch in chunks(rows, BATCH_ROWS):
        insert_columns(model, names, list(zip(*batch, strict=True)))
        count += len(batch)
    return count


def insert_columns(model: type[models.Model], names: Sequence[str], columns: Sequence[Column]) -> None:
    """Insert rows that are given by column, all of one length and in the order of `names`."""
    _put(model, names, columns, "")


def insert_new(model: type[models.Model], names: Sequence[str], rows: Iterable[Row]) -> None:
    """Insert rows that meet no unique constraint; those that do are left out without an error."""
    for batch in chunks(rows, BATCH_ROWS):
        _put(model, names, list(zip(*batch, strict=True)), " ON CONFLICT DO NOTHING")


def _put(model: type[models.Model], names: Sequence[str], columns: Sequence[Column], conflict: str) -> None:
    fields = [_field(model, name) for name in names]
    converted = [_converter_of(field)(column) for field, column in zip(fields, columns, strict=True)]
    table, quoted = model._meta.db_table, tuple(f'"{field.column}"' for field in fields)
    if connection.vendor != "postgresql":
        _put_into_sqlite(table, quoted, converted, conflict)
    elif conflict:
        sql = f'INSERT INTO "{table}" ({", ".join(quoted)}) VALUES ({", ".join(["%s"] * len(quoted))}){conflict}'
        with connection.cursor() as cursor:
            cursor.executemany(sql, list(zip(*converted, strict=True)))
    else:
        with connection.cursor() as cursor, cursor.copy(f'COPY "{table}" ({", ".join(quoted)}) FROM STDIN') as copy:
            for row in zip(*converted, strict=True):
                copy.write_row(row)


def _put_into_sqlite(table: str, quoted: tuple[str, ...], columns: Sequence[Column], conflict: str) -> None:
    connection.ensure_connection()
    statements: list[Statement] = []
    # The driver is slowest with None; a column of nothing else is written into the statement.
    is_empty = tuple(column[0] is None and column.count(None) == len(column) for column in columns)
    given = [column for column, empty in zip(columns, is_empty, strict=True) if not empty]
    rows = zip(*given, strict=True)
    for count in _counts(len(columns[0]), min(ROWS_A_STATEMENT, MOST_VALUES // max(1, len(given)))):
        values = list(chain.from_iterable(islice(rows, count)))
        statements.append((_statement(table, quoted, is_empty, count) + conflict, values))
    queue = _beside.get()
    if queue is None:
        _execute(connection.connection, statements)
    else:
        queue.put(connection.connection, statements)


def _execute(raw: Any, statements: Iterable[Statement]) -> None:
    for sql, values in statements:
        try:
            raw.execute(sql, values)
        except OverflowError:  # while values are bound, so nothing is written yet
            raw.execute(sql, list(map(_within_64_bits, values)))


def _counts(rows: int, most: int) -> Iterator[int]:
    """`rows` in numbers of at most `most`. What is left over goes by powers of two: few statements to compile."""
    while rows:
        count = most if rows >= most else 1 << (rows.bit_length() - 1)
        yield count
        rows -= count


@cache
def _statement(table: str, quoted: tuple[str, ...], is_empty: tuple[bool, ...], rows: int) -> str:
    one = f"({', '.join('NULL' if empty else '?' for empty in is_empty)})"
    return f'INSERT INTO "{table}" ({", ".join(quoted)}) VALUES {", ".join([one] * rows)}'


class _Queue:
    """Rows on their way through a thread into SQLite, in order."""

    def __init__(self, thread: Executor) -> None:
        self._thread = thread
        self._waiting: deque[Future[None]] = deque()

    def put(self, raw: Any, statements: list[Statement]) -> None:
        self._waiting.append(self._thread.submit(_execute, raw, statements))
        if len(self._waiting) > MOST_WAITING:
            self._waiting.popleft().result()

    def finish(self) -> None:
        while self._waiting:
            self._waiting.popleft().result()


_beside: ContextVar[_Queue | None] = ContextVar("rows written beside", default=None)


@contextmanager
def inserting_beside() -> Iterator[None]:
    """Inside, a thread writes the rows while the next are made: SQLite takes as long as Python. All are written at the
    end. Nothing else may be asked of the connection inside; on PostgreSQL this changes nothing."""
    if connection.vendor != "sqlite":
        yield
        return
    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="rows") as thread:
        queue = _Queue(thread)
        token = _beside.set(queue)
        try:
            yield
        finally:
            _beside.reset(token)
        queue.finish()


def _field(model: type[models.Model], name: str) -> Any:
    return model._meta.get_field(name)


def _converter_of(field: Any) -> Converter:
    """What makes a column of Python values one that the database takes."""
    is_postgresql = connection.vendor == "postgresql"
    if isinstance(field, models.JSONField):
        return _jsons
    if isinstance(field, models.CharField):
        return _bounded_to(field.max_length or 255)
    if isinstance(field, models.TextField):
        return _cleaned
    if isinstance(field, models.DateTimeField):
        return _same if is_postgresql else _sqlite_times
    if isinstance(field, models.BooleanField):
        return _same if is_postgresql else _sqlite_flags
    if isinstance(field, models.BinaryField):
        return _same if is_postgresql else _sqlite_bytes
    if isinstance(field, models.BigIntegerField) and is_postgresql:
        return lambda column: list(map(_within_64_bits, column))
    return _same


@cache
def _bounded_to(limit: int) -> Converter:
    def convert(column: Column) -> Column:
        known = [value or "" for value in column]
        if _are_plain(known) and len(max(known, key=len)) <= limit:
            return known
        return [bounded(value, limit) for value in known]

    return convert


def _cleaned(column: Column) -> Column:
    known = [value or "" for value in column]
    return known if _are_plain(known) else list(map(clean, known))


def _are_plain(texts: list[str]) -> bool:
    whole = "".join(texts)
    return whole.isascii() and "\x00" not in whole


def _same(column: Column) -> Column:
    return column


def _within_64_bits(value: Any) -> Any:
    if not isinstance(value, int) or -BIGGEST <= value <= BIGGEST:
        return value
    return BIGGEST if value > 0 else -BIGGEST


def _sqlite_flags(column: Column) -> Column:
    # SQLite knows no bool, and the driver asks each how it wants to be written.
    return [None if value is None else int(value) for value in column]


def _sqlite_bytes(column: Column) -> Column:
    # The driver takes a bytearray as it is, and asks bytes how they want to be written.
    return [None if value is None else bytearray(value) for value in column]


def _sqlite_times(column: Column) -> Column:
    # Django's own form of an aware UTC time in SQLite.
    return [
        None if value is None else (value if value.tzinfo is UTC else value.astimezone(UTC)).isoformat(" ")[:-6]
        for value in column
    ]


def _jsons(column: Column) -> Column:
    return [None if value is None else _json(value) for value in column]


def _json(value: Any) -> str:
    try:
        text = orjson.dumps(value).decode()
    except TypeError:  # half surrogates, integers beyond 64 bits
        return orjson.dumps(clean_deep(value)).decode()
    # PostgreSQL's jsonb holds no NUL.
    return orjson.dumps(clean_deep(value)).decode() if "\\u0000" in text else text
