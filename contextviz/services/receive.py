"""Receiving files: streamed to the data folder under the size limit, known by their hash, answered at once."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.conf import settings
from django.db import transaction

from contextviz.services.incoming.configuration import CHUNK_BYTES, HoldsKeys, extract_of, repacked
from contextviz.services.incoming.sniff import refusal_of
from contextviz.services.jobs import open_job
from contextviz.services.owners import is_gone, own_name
from contextviz.store import artifacts
from contextviz.store.models import ArtifactRecord, UploadBatchRecord, UploadRecord
from contextviz.store.queries.preferences import preferences
from contextviz.store.viewing import current_viewer, seen_work

logger = logging.getLogger("contextviz.services.receive")
LONGEST_UPLOAD = timedelta(hours=6)
UNFINISHED_ARTIFACT = timedelta(hours=1)


class UploadRefused(Exception):
    """The file is not taken; the text is a sentence for a person. `status` is HTTP's word for it."""

    status = 400


class UploadTooLarge(UploadRefused):
    """More bytes than one file may have."""

    status = 413


class EmptyUpload(UploadRefused):
    """No bytes at all."""


class NotAFile(UploadRefused):
    """A folder, or nothing that can be read."""


class NotATranscript(UploadRefused):
    """Plainly something else: a picture, a web page, a program."""

    status = 415


class UnknownBatch(UploadRefused):
    """There is no such batch, or it has been closed."""

    status = 404


@dataclass(frozen=True, slots=True)
class ReceivedArtifact:
    """A file that is kept. `is_known` where the same content was here before."""

    upload_id: UUID
    artifact_id: int
    sha256: str
    size: int
    name: str
    is_known: bool


def open_batch(*, now: datetime, origin: str = "upload", is_private: bool | None = None) -> UUID:
    """A batch of whoever sends it: the files that are received into it are read together once it is finished.

    With `is_private` what comes of it is seen by that person and by admins alone; without a word, as the person prefers
    for what is sent in. A command's is never private.
    """
    person_id = current_viewer().user_id
    if is_private is None:
        is_private = person_id is not None and origin != "import" and preferences(person_id).is_private
    batch = UploadBatchRecord.objects.create(
        origin=origin, created_at=now, person_id=person_id, is_private=is_private and person_id is not None
    )
    return batch.pk


def make_private(batch_id: UUID | str) -> None:
    """What comes of a batch that is still open is for its sender alone."""
    UploadBatchRecord.objects.filter(pk=UUID(str(batch_id)), job__isnull=True, person__isnull=False).update(
        is_private=True
    )


def announce(batch_id: UUID | str, names: Iterable[str], *, now: datetime) -> list[UUID]:
    """Say which files will come, before their bytes: one that never arrives is then shown, with what to do.

    Returns an id for each, to be given to `receive`.
    """
    batch = _open_batch_of(batch_id)
    owner = own_name()
    rows = [UploadRecord(batch=batch, name=shown_name(name), owner=owner, started_at=now) for name in names]
    return [row.pk for row in UploadRecord.objects.bulk_create(rows)]


def receive(
    chunks: Iterable[bytes], name: str, *, batch_id: UUID | str, now: datetime, upload_id: UUID | str | None = None,
    source_path: str = "",
) -> ReceivedArtifact:  # fmt: skip
    """Keep a file: stream, limit, hash, fsync, rename. Raises UploadRefused's kinds, and leaves no bytes then.

    `upload_id` is `announce`'s; without one the file is announced now.
    """
    batch = _open_batch_of(batch_id)
    upload = _upload_of(batch, name, upload_id, source_path, now)
    try:
        return _kept(upload, chunks, now)
    except UploadRefused as refusal:
        UploadRecord.objects.filter(pk=upload.pk).update(state="refused", sentence=str(refusal), finished_at=now)
        raise
    except BaseException:
        sentence = f"{upload.name} did not arrive completely. Send it again."
        UploadRecord.objects.filter(pk=upload.pk).update(state="interrupted", sentence=sentence, finished_at=now)
        raise


def _kept(upload: UploadRecord, chunks: Iterable[bytes], now: datetime) -> ReceivedArtifact:
    with artifacts.ArtifactWriter(upload.pk.hex) as writer:
        for chunk in chunks:
            if writer.size + len(chunk) > settings.MAX_UPLOAD_BYTES:
                raise UploadTooLarge(too_large(upload.name))
            writer.write(chunk)
        if writer.size == 0:
            raise EmptyUpload(f"{upload.name} is empty. Choose the transcript itself.")
        refusal = refusal_of(upload.name, writer.head)
        if refusal:
            raise NotATranscript(refusal)
        _without_configuration(upload.name, writer)
        sha256 = writer.finish()
        with transaction.atomic():
            artifact, is_new = ArtifactRecord.objects.get_or_create(
                sha256=sha256, defaults={"name": upload.name, "size": writer.size, "received_at": now}
            )
            UploadRecord.objects.filter(pk=upload.pk).update(state="received", artifact=artifact, finished_at=now)
            writer.place(sha256)
    return ReceivedArtifact(upload.pk, artifact.pk, sha256, writer.size, upload.name, not is_new)


def _without_configuration(name: str, writer: artifacts.ArtifactWriter) -> None:
    """Of an agent's configuration only the allow-listed extract stays; of an archive that holds one, a copy with the
    extract in its place. Raises NotATranscript where that cannot be done."""
    try:
        extract = extract_of(name, writer.size, writer.whole)
        if extract is not None:
            writer.put_instead([extract])
            return
        writer.flush()
        archive = repacked(name, writer.temporary, writer.head)
        if archive is not None:
            with archive:
                writer.put_instead(iter(lambda: archive.read(CHUNK_BYTES), b""))
    except HoldsKeys as refusal:
        raise NotATranscript(str(refusal)) from None


def too_large(name: str) -> str:
    """The sentence for a file over the limit."""
    limit = settings.MAX_UPLOAD_BYTES // (1024 * 1024)
    return (
        f"{name} is larger than {limit} MB, the most that one file may have. "
        "Send a smaller one, or raise CONTEXTVIZ_MAX_UPLOAD_MB and start again."
    )


def shown_name(name: str) -> str:
    """A file's own name as it may be kept and shown: no control characters, no climbing, at most 400 characters."""
    plain = "".join(char if char.isprintable() else "\ufffd" for char in name.replace("\\", "/"))
    parts = [part for part in plain.split("/") if part not in ("", ".", "..")]
    return "/".join(parts)[-400:] or "unnamed"


def _open_batch_of(batch_id: UUID | str) -> UploadBatchRecord:
    try:
        batch = UploadBatchRecord.objects.filter(pk=UUID(str(batch_id))).first()
    except ValueError:
        batch = None
    if batch is None:
        raise UnknownBatch("This upload is not known here. Choose the files again.")
    if batch.job_id is not None and batch.origin == "upload":
        raise UnknownBatch("This upload is complete already. Choose the files again to send more.")
    return batch


def _upload_of(
    batch: UploadBatchRecord, name: str, upload_id: UUID | str | None, source_path: str, now: datetime
) -> UploadRecord:
    if upload_id is not None:
        found = UploadRecord.objects.filter(pk=UUID(str(upload_id)), batch=batch, state="receiving").first()
        if found is None:
            raise UnknownBatch("This upload is not known here. Choose the file again.")
        return found
    return UploadRecord.objects.create(
        batch=batch, name=shown_name(name), owner=own_name(), source_path=source_path, started_at=now
    )


def finish_batch(batch_id: UUID | str, *, now: datetime) -> UUID | None:
    """All files have come: open the job that reads them; None where none was kept. Enqueue it after the commit."""
    with transaction.atomic():
        batch = UploadBatchRecord.objects.select_for_update().filter(pk=UUID(str(batch_id))).first()
        if batch is None:
            raise UnknownBatch("This upload is not known here. Choose the files again.")
        if batch.job_id is not None:
            return batch.job_id
        if not UploadRecord.objects.filter(batch=batch, state="received").exists():
            return None
        batch.job_id = open_job("digest", now=now, params={"batch": str(batch.pk)}, is_private=batch.is_private)
        batch.save(update_fields=["job"])
    return batch.job_id


def dismiss(upload_id: UUID | str) -> None:
    """A person has read that an upload was cut off."""
    half = UploadRecord.objects.filter(seen_work("batch__"), pk=UUID(str(upload_id)), state="interrupted")
    half.update(is_dismissed=True)


def sweep_incoming(*, now: datetime, is_sole_server: bool) -> int:
    """After a server died: mark its half uploads "send it again", remove their bytes; how many uploads were marked.

    With `is_sole_server` (the embedded stack's start) everything in the incoming folder goes; else only what no
    living process receives. Files of artifacts that have no row are removed too.
    """
    marked = _mark_interrupted(now)
    receiving = {key.hex for key in UploadRecord.objects.filter(state="receiving").values_list("pk", flat=True)}
    for path in artifacts.incoming_dir().iterdir():
        is_old = now.timestamp() - path.stat().st_mtime > LONGEST_UPLOAD.total_seconds()
        if path.is_file() and path.stem not in receiving and (is_sole_server or is_old or path.suffix == ".part"):
            path.unlink(missing_ok=True)
    _remove_rowless(now)
    if marked:
        logger.info("uploads cut off marked=%d", marked)
    return marked


def _mark_interrupted(now: datetime) -> int:
    marked = 0
    for upload in UploadRecord.objects.filter(state="receiving"):
        is_recent = now - upload.started_at < LONGEST_UPLOAD
        if is_recent and not is_gone(upload.owner, heartbeat_at=now, now=now):
            continue
        sentence = f"{upload.name} did not arrive completely, since the server was stopped. Send it again."
        half = UploadRecord.objects.filter(pk=upload.pk, state="receiving")
        marked += half.update(state="interrupted", sentence=sentence, finished_at=now)
    return marked


def _remove_rowless(now: datetime) -> None:
    folder = artifacts.path_of("00").parent.parent
    if not folder.is_dir():
        return
    names = {path.name: path for path in folder.glob("??/*")}
    known = set(ArtifactRecord.objects.values_list("sha256", flat=True))
    for name in names.keys() - known:
        # A file is named before its row is committed; an hour is far longer than that takes.
        if now.timestamp() - names[name].stat().st_mtime > UNFINISHED_ARTIFACT.total_seconds():
            names[name].unlink(missing_ok=True)
