"""Dropping what nothing refers to any more: texts, packs, raw files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from uuid import UUID

import zstandard
from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet

from contextviz.events.text import TextRef
from contextviz.store import artifacts, search
from contextviz.store.bulk import chunks
from contextviz.store.models import (
    ArtifactRecord,
    KeptSummaryRecord,
    RunRecord,
    RunTextRecord,
    SessionArtifactRecord,
    TextPackRecord,
    TextRecord,
    TextUseRecord,
    UploadRecord,
    WaitingLogRecord,
)
from contextviz.store.runs import remove_run
from contextviz.store.texts import write_pack

BATCH_TEXTS = 2000


def drop_unused_artifacts() -> int:
    """Remove raw files that no session is read from and that neither an open batch nor a session to come needs; how
    many."""
    removed = 0
    for record in _unused_artifacts():
        with transaction.atomic():
            # Looked at once more under the lock: the same content may just have been sent again.
            locked = ArtifactRecord.objects.select_for_update().filter(pk=record.pk)
            if not list(locked) or not _unused_artifacts().filter(pk=record.pk).exists():
                continue
            ArtifactRecord.objects.filter(pk=record.pk).delete()
            if not record.path:
                artifacts.remove(record.sha256)
            removed += 1
    return removed


def _unused_artifacts() -> QuerySet[ArtifactRecord]:
    waiting = UploadRecord.objects.filter(artifact=OuterRef("pk"), batch__finished_at__isnull=True)
    linked = SessionArtifactRecord.objects.filter(artifact=OuterRef("pk"))
    for_later = WaitingLogRecord.objects.filter(artifact=OuterRef("pk"))
    return ArtifactRecord.objects.filter(~Exists(linked), ~Exists(waiting), ~Exists(for_later))


def drop_unused_texts(candidates: Iterable[int]) -> int:
    """Remove those of the texts (by row id) that no session or run uses, and their bytes from their packs; how many.

    A digest that is just reading one of them notices when it saves, and reads again.
    """
    return sum(_drop_batch(part) for part in chunks(candidates, BATCH_TEXTS))


def _drop_batch(numbers: Sequence[int]) -> int:
    with transaction.atomic():
        used = TextUseRecord.objects.filter(text=OuterRef("pk"))
        by_run = RunTextRecord.objects.filter(text=OuterRef("pk"))
        found = TextRecord.objects.select_for_update().filter(~Exists(used), ~Exists(by_run), pk__in=numbers)
        locked = found.order_by("pk")
        rows = list(locked.values_list("pk", "pack_id"))
        gone = [number for number, _ in rows]
        # Locked before their texts go: a worker that indexes them is waited for.
        packs = TextPackRecord.objects.select_for_update().filter(pk__in={pack for _, pack in rows}).order_by("pk")
        for pack in packs.iterator(chunk_size=1):
            _take_out(pack, gone)
    return len(rows)


def _take_out(pack: TextPackRecord, gone: Sequence[int]) -> None:
    """Remove those of a pack's texts that are in `gone`, from the search index too."""
    raw = zstandard.ZstdDecompressor().decompress(bytes(pack.data), max_output_size=pack.raw_size)
    texts = TextRecord.objects.filter(pack=pack, pk__in=gone)
    if pack.is_indexed:
        rows = texts.filter(size__gt=0).values_list("pk", "offset", "size")
        search.drop_texts((number, raw[at : at + size].decode("utf-8")) for number, at, size in list(rows))
    texts.delete()
    _repack(pack, raw)


def _repack(pack: TextPackRecord, raw: bytes) -> None:
    """Write the texts that are left of a pack into a new one: what was deleted must not stay in the bytes."""
    left = list(TextRecord.objects.filter(pack=pack).order_by("offset"))
    if left:
        texts = [
            (TextRef(bytes(one.digest), one.chars, one.size, one.estimated_tokens), raw[one.offset :][: one.size])
            for one in left
        ]
        fresh = write_pack(texts, pack.estimator)
        TextPackRecord.objects.filter(pk=fresh.pk).update(is_indexed=pack.is_indexed)
        offset = 0
        for one in left:
            one.pack, one.offset = fresh, offset
            offset += one.size
        TextRecord.objects.bulk_update(left, ["pack", "offset"], batch_size=500)
    pack.delete()


def drop_run(run_id: UUID) -> None:
    """Remove a run, with the texts that only it held."""
    with transaction.atomic():
        # A worker that saves it waits here, and then finds no run.
        RunRecord.objects.select_for_update().filter(pk=run_id).first()
        drop_unused_texts(remove_run(run_id))


def drop_runs(session_id: int, told: Callable[[], None] | None = None) -> int:
    """Remove every run of a session that is being deleted, a run a transaction; how many. `told` is called after
    each."""
    found = list(RunRecord.objects.filter(session_id=session_id).order_by("created_at").values_list("pk", flat=True))
    for run_id in found:
        drop_run(run_id)
        if told is not None:
            told()
    KeptSummaryRecord.objects.filter(session_id=session_id).delete()
    return len(found)
