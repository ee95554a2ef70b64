"""Texts in packs: written while a transcript is read, opened again for pages.

Texts are looked for by their hashes before their tokens are counted: counting is the dearest step of an import, and
half the blocks of a long session repeat. Both is done a pack at a time: one query for all its texts, and the counting
in another process while reading goes on. Packs of 256 KiB compress three times better than a text each, and opening
one takes 0.2 ms.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import zstandard
from django.db import connection, transaction

from contextviz.events.text import TextRef, note_estimate, storable
from contextviz.store.bulk import chunks
from contextviz.store.columns import insert_new
from contextviz.store.models.text import TextPackRecord, TextRecord
from contextviz.tokens.counting import Ticket, count_later
from contextviz.tokens.estimate import ESTIMATOR

PACK_BYTES = 256 * 1024
TOLD_BYTES = 64 * 1024
KEPT_PACKS = 32
LARGEST_KEPT_PACK = 2 * 1024 * 1024
KNOWN_REFS = 200_000  # about 60 MB
MOST_REFS_BETWEEN = 20_000  # kept from one session of a batch to the next
QUERY_TEXTS = 10_000
_COLUMNS = ("digest", "chars", "size", "estimated_tokens", "pack_id", "offset")
AT_ONCE = 6  # packs in one transaction
MOST_WRITING = 2  # such transactions that wait for their counts and the database: a bound for memory
_NUMBERS = tuple(range(16_384))
Place = tuple[int, int, int]  # pack, offset, size
Pending = tuple[TextRef, bytes]
_Counting = tuple[list[Pending], Ticket]  # a pack


class StoreTextPool:
    """A TextPool that keeps texts in the database. Not for two threads. Call `flush` before what was read is used:
    only then every reference has its estimated tokens.

    Packs are written in transactions of their own while reading goes on; texts that no session comes to use are
    dropped later (store.cleaning). `on_put` is called now and then with the bytes of the texts since, new or known,
    for progress; `when_idle` in the thread that writes, when a transaction is done and no other waits: what it does
    should take a moment, since reading waits for it in the end.
    `count` counts one text in this process instead (tests).
    """

    def __init__(
        self,
        count: Callable[[str], int] | None = None,
        estimator: str = ESTIMATOR,
        on_put: Callable[[int], None] | None = None,
        when_idle: Callable[[], None] | None = None,
    ) -> None:
        self.estimator = estimator
        self._count = count
        self._on_put = on_put
        self._when_idle = when_idle
        self._refs: dict[bytes, TextRef] = {}
        self._pending: dict[bytes, Pending] = {}  # not written yet: gathered, or being counted
        self._gathered: list[Pending] = []
        self._gathered_size = 0
        self._put_size = 0
        self._counting: list[_Counting] = []
        self._writing: deque[tuple[list[_Counting], Future[None]]] = deque()
        self._writer: ThreadPoolExecutor | None = None
        self._given = self._stored = 0  # transactions for the thread
        self._reader = TextReader(
            4
        )  # summaries and first lines, as a reader asks for them: memory is for the transcript

    def put(self, text: str) -> TextRef:
        """See TextPool.put."""
        good, raw = storable(text)
        digest = hashlib.sha256(raw).digest()
        self._put_size += len(raw)
        if self._put_size >= TOLD_BYTES:
            self._tell()
        ref = self._refs.get(digest)
        if ref is None:
            ref = self._gather(digest, good, raw)
        return ref

    def get(self, ref: TextRef) -> str:
        """See TextPool.get."""
        pending = self._pending.get(ref.digest)
        return pending[1].decode("utf-8") if pending else self._reader.get(ref)

    def _tell(self) -> None:
        size, self._put_size = self._put_size, 0
        if self._on_put:
            self._on_put(size)

    def flush(self) -> None:
        """Write what has gathered, and wait for what is being counted."""
        self._tell()
        self._send()
        if self._writer is None:  # little: not worth a thread and a connection of its own
            self._write(self._taken())
        else:
            self._write_beside()
            while self._writing:
                self._await_oldest()
        if len(self._refs) > MOST_REFS_BETWEEN:  # what follows is deriving and saving, which needs the memory
            self._refs.clear()
            if self._writer is not None:
                self._writer.submit(_close_own).result()  # what its connection keeps of the database

    def close(self) -> None:
        """Let go of the thread that writes. What was not flushed may be written or not."""
        if self._writer is not None:
            for _, written in self._writing:
                written.cancel()
            self._writer.submit(_close_own)
            self._writer.shutdown()
            self._writer = None

    def _gather(self, digest: bytes, text: str, raw: bytes) -> TextRef:
        pending = self._pending.get(digest)
        if pending is not None:  # forgotten by the bounded memory of references
            return pending[0]
        size = _shared(len(raw))
        chars = size if len(text) == size else _shared(len(text))  # one number in memory where they are equal
        ref = TextRef(digest, chars, size, 0)
        self._refs[digest] = ref
        if len(self._refs) > KNOWN_REFS:
            del self._refs[next(iter(self._refs))]
        self._pending[digest] = (ref, raw)
        self._gathered.append((ref, raw))
        self._gathered_size += len(raw)
        if self._gathered_size >= PACK_BYTES:
            self._send()
        return ref

    def _send(self) -> None:
        """Texts that the store has need no more; the others are given to be counted."""
        gathered, self._gathered, self._gathered_size = self._gathered, [], 0
        known = estimates_of([ref.digest for ref, _ in gathered])
        fresh: list[Pending] = []
        for ref, raw in gathered:
            tokens = known.get(ref.digest)
            if tokens is None:
                fresh.append((ref, raw))
            else:
                note_estimate(ref, _shared(tokens))
                del self._pending[ref.digest]
        if not fresh:
            return
        self._counting.append((fresh, self._counted([raw for _, raw in fresh])))
        if len(self._counting) == AT_ONCE:
            self._write_beside()

    def _counted(self, texts: list[bytes]) -> Ticket:
        if self._count is None:
            return count_later(texts)
        ticket = Ticket(texts)
        ticket.keep([self._count(raw.decode()) for raw in texts])
        return ticket

    def _taken(self) -> list[_Counting]:
        counting, self._counting = self._counting, []
        return counting

    def _write_beside(self) -> None:
        """Write what is being counted in a thread: compressing, waiting and writing leave Python's lock alone."""
        counting = self._taken()
        if connection.in_atomic_block:  # the caller's own, which the thread's connection would wait for
            self._write(counting)
            return
        if self._writer is None:
            self._writer = ThreadPoolExecutor(max_workers=1, thread_name_prefix="text-packs")
        self._given += 1
        self._writing.append((counting, self._writer.submit(self._store_beside, counting)))
        if len(self._writing) > MOST_WRITING:
            self._await_oldest()

    def _await_oldest(self) -> None:
        counting, written = self._writing.popleft()
        written.result()
        self._settle(counting)

    def _write(self, counting: list[_Counting]) -> None:
        self._store(counting)
        self._settle(counting)

    def _store(self, counting: list[_Counting]) -> None:
        packed = [compressed(raw for _, raw in fresh) for fresh, _ in counting]
        for fresh, ticket in counting:
            for (ref, _), tokens in zip(fresh, ticket.counts(), strict=True):
                note_estimate(ref, _shared(tokens))
        with transaction.atomic():  # several packs, since each transaction is a wait; none for counts inside
            for (fresh, _), data in zip(counting, packed, strict=True):
                write_pack(fresh, self.estimator, data)

    def _store_beside(self, counting: list[_Counting]) -> None:
        self._store(counting)
        self._stored += 1
        if self._when_idle is not None and self._stored == self._given:
            self._when_idle()

    def _settle(self, counting: list[_Counting]) -> None:
        for fresh, _ in counting:
            for ref, _ in fresh:
                del self._pending[ref.digest]


def _close_own() -> None:
    """Close the connection of the thread that runs this: named outside of it, it would be the caller's."""
    connection.close()


def _shared(number: int) -> int:
    """The same number: of small ones always the same object. A transcript holds hundreds of thousands of sizes."""
    return _NUMBERS[number] if number < len(_NUMBERS) else number


def estimates_of(digests: Iterable[bytes]) -> dict[bytes, int]:
    """Estimated tokens by digest of those texts that are held. One query for 10,000."""
    return _column_of("estimated_tokens", digests)


def ids_of(digests: Iterable[bytes]) -> dict[bytes, int]:
    """Primary keys by digest of those texts that are held. One query for 10,000."""
    return _column_of("id", digests)


def _column_of(column: str, digests: Iterable[bytes]) -> dict[bytes, int]:
    found: dict[bytes, int] = {}
    for part in chunks(digests, QUERY_TEXTS):
        here = {bytes(digest): value for digest, value in _rows_of(column, part)}
        # Under the callers' own digests: a copy of each would be megabytes.
        found.update((digest, here[digest]) for digest in part if digest in here)
    return found


def compressed(texts: Iterable[bytes]) -> bytes:
    """Texts one after another, as a pack holds them."""
    return zstandard.ZstdCompressor(level=3).compress(b"".join(texts))


def write_pack(texts: Sequence[Pending], estimator: str, packed: bytes | None = None) -> TextPackRecord:
    """One pack with its texts (`packed` where they are compressed already); texts that another process wrote
    meanwhile stay where that one put them."""
    data = compressed(raw for _, raw in texts) if packed is None else packed
    size = sum(len(raw) for _, raw in texts)
    pack = TextPackRecord.objects.create(data=data, raw_size=size, estimator=estimator)
    rows = []
    offset = 0
    for ref, data in texts:
        rows.append((ref.digest, ref.chars, len(data), ref.estimated_tokens, pack.pk, offset))
        offset += len(data)
    # In one order everywhere, so that two writers of the same texts never wait for each other in a circle.
    insert_new(TextRecord, _COLUMNS, sorted(rows))
    return pack


@dataclass(frozen=True, slots=True)
class OpenText:
    """A text taken from its pack. `is_cut` where only its beginning was asked for."""

    text: str
    is_cut: bool


class TextReader:
    """Takes texts out of packs; keeps the packs opened last. Safe for several threads."""

    estimator = ESTIMATOR

    def __init__(self, kept_packs: int = KEPT_PACKS) -> None:
        self._kept_packs = kept_packs
        self._packs: OrderedDict[int, bytes] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, ref: TextRef) -> str:
        """The text behind `ref`; raises KeyError where it is not held. Two queries at most."""
        return self.get_many([ref])[ref.digest]

    def put(self, text: str) -> TextRef:
        """Readers keep nothing: raises TypeError. (Analysis is given a reader as its pool.)"""
        raise TypeError("a TextReader keeps no texts; use StoreTextPool")

    def get_many(self, refs: Iterable[TextRef | bytes]) -> dict[bytes, str]:
        """Texts by digest, those not held left out."""
        return {digest: data.decode("utf-8") for digest, data in self.raw(refs).items()}

    def beginnings(self, refs: Iterable[TextRef | bytes], *, chars: int) -> dict[bytes, OpenText]:
        """The first `chars` characters of texts, by digest: a page never holds a megabyte to show a line."""
        result = {}
        for digest, data in self.raw(refs).items():
            part = data[: chars * 4].decode("utf-8", errors="ignore")[:chars]
            result[digest] = OpenText(part, len(part.encode("utf-8")) < len(data))
        return result

    def raw(self, refs: Iterable[TextRef | bytes]) -> dict[bytes, bytes]:
        """The bytes of texts by digest, those not held left out. One query for the places, one for the packs."""
        digests = {ref if isinstance(ref, bytes) else ref.digest for ref in refs}
        places = places_of(digests)
        packs = self._open({place[0] for place in places.values()})
        return {digest: packs[pack][offset : offset + size] for digest, (pack, offset, size) in places.items()}

    def _open(self, numbers: set[int]) -> dict[int, bytes]:
        with self._lock:
            opened = {number: self._packs[number] for number in numbers if number in self._packs}
            for number in opened:
                self._packs.move_to_end(number)
        missing = sorted(numbers - opened.keys())
        for part in chunks(missing, 500):
            rows = TextPackRecord.objects.filter(pk__in=part).values_list("pk", "data", "raw_size")
            for number, data, raw_size in rows.iterator():
                opened[number] = zstandard.ZstdDecompressor().decompress(bytes(data), max_output_size=raw_size)
                self._keep(number, opened[number])
        return opened

    def _keep(self, number: int, data: bytes) -> None:
        if len(data) > LARGEST_KEPT_PACK:
            return
        with self._lock:
            self._packs[number] = data
            while len(self._packs) > self._kept_packs:
                self._packs.popitem(last=False)


def places_of(digests: Iterable[bytes]) -> dict[bytes, Place]:
    """Where texts lie, by digest; those not held left out."""
    places: dict[bytes, Place] = {}
    for part in chunks(digests, QUERY_TEXTS):
        rows = _rows_of('pack_id, size, "offset"', part)
        places.update((bytes(digest), (pack, offset, size)) for digest, pack, size, offset in rows)
    return places


def _rows_of(columns: str, digests: Sequence[bytes]) -> list[tuple[Any, ...]]:
    """Columns of those texts that are held, each row after its digest. Past the ORM: its share would be several times
    the query's."""
    marks = ",".join(["%s"] * len(digests))
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT digest, {columns} FROM store_textrecord WHERE digest IN ({marks})", digests)
        return cursor.fetchall()  # type: ignore[no-any-return]
