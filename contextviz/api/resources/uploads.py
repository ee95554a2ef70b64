"""Uploads: files in, read while they arrive; what became of them."""

from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID

from django.conf import settings
from django.db import DatabaseError, transaction
from django.http import HttpRequest, HttpResponse, UnreadablePostError
from django.utils import timezone
from ninja import Router

from contextviz.api.errors import Refused
from contextviz.api.params import BatchId, operation, reading
from contextviz.api.replies import job_opened, one
from contextviz.api.schemas.work import ReceivedFile, Upload, Uploaded, file_of
from contextviz.services import ingest
from contextviz.services.incoming.multipart import FilePart, NotAForm, parts
from contextviz.services.outages.trouble import Trouble, trouble_of
from contextviz.store.queries import jobs, uploads

router = Router(tags=["uploads"])
NOT_A_FORM = "Send files as multipart/form-data, each in a part of its own with a filename."
NO_FILE = "There is no file in the form. Send each file in a part of its own with a filename."
CUT_OFF = "The connection ended before everything had arrived. Send it again."

_UPLOAD = operation("ingest", ok=202, reply=Uploaded, errors=(400, 413, 415, 422))
_UPLOAD["openapi_extra"]["requestBody"] = {
    "required": True,
    "content": {
        "multipart/form-data": {
            "schema": {
                "type": "object",
                "properties": {
                    "files": {"type": "array", "minItems": 1, "items": {"type": "string", "format": "binary"}}
                },
                "required": ["files"],
            }
        }
    },
}


@router.post("/uploads", **_UPLOAD)
def upload_files(request: HttpRequest) -> HttpResponse:
    """Send transcripts (several together where they belong together, such as sub-agents' files) and have them read
    by a job. Files that are refused are listed with the reason; with no file left it is an error."""
    arrival = _Arrival()
    try:
        for part in parts(request):
            if isinstance(part, FilePart) and not arrival.take(part):
                break
    except NotAForm:
        if not arrival.files:
            raise Refused(415 if not _is_form(request) else 400, NOT_A_FORM) from None
    except UnreadablePostError:
        if not arrival.files:
            raise Refused(400, CUT_OFF) from None
    return arrival.answer()


def _is_form(request: HttpRequest) -> bool:
    return (request.content_type or "").lower() == "multipart/form-data"


class _Arrival:
    """The files of one request."""

    def __init__(self) -> None:
        self.files: list[ReceivedFile] = []
        self._batch_id: UUID | None = None
        self._status = 422
        self._trouble: Trouble | None = None

    def take(self, part: FilePart) -> bool:
        """Keep one file, or say why not; False where the rest of the form is not worth reading."""
        now = timezone.now()
        if self._batch_id is None:
            self._batch_id = ingest.open_batch(now=now, origin="api")
        try:
            kept = ingest.receive(part.chunks, part.filename, batch_id=self._batch_id, now=now)
        except ingest.UploadRefused as refused:
            self._status = refused.status
            self._add(part.filename, "refused", sentence=str(refused))
            return not isinstance(refused, ingest.UploadTooLarge) or _is_skipped(part.chunks)
        except UnreadablePostError:
            raise
        except (DatabaseError, OSError) as error:
            self._trouble = trouble_of(error)
            if self._trouble is None:
                raise
            self._status = self._trouble.status
            self._add(part.filename, "refused", sentence=self._trouble.sentence)
            return False
        self._add(kept.name, "received", kept=kept)
        return True

    def _add(
        self, name: str, state: str, *, sentence: str | None = None, kept: ingest.ReceivedArtifact | None = None
    ) -> None:
        self.files.append(
            ReceivedFile(
                name=name,
                state=state,
                sentence=sentence,
                sha256=kept.sha256 if kept else None,
                bytes=kept.size if kept else None,
                is_known=kept.is_known if kept else None,
            )
        )

    def answer(self) -> HttpResponse:
        """What came, and the job that reads it; raises Refused where nothing was kept."""
        if self._batch_id is None:
            raise Refused(422, NO_FILE, fields=(("files", NO_FILE),))
        opened = self._open()
        if opened is None:
            listed = [(one.name, one.sentence or "") for one in self.files]
            first = self._trouble.sentence if self._trouble else self.files[0].sentence
            raise Refused(self._status, first or NO_FILE, fields=listed, trouble=self._trouble)
        job_id, place = opened
        response = one(Uploaded(upload=self._batch_id, job=job_id, files=self.files), status=202)
        response["Location"] = place
        return response

    def _open(self) -> tuple[UUID, str] | None:
        """The job and its address; None, without asking the store again, where no file was kept."""
        if self._batch_id is None or not any(one.state == "received" for one in self.files):
            return None
        with transaction.atomic():
            job_id = ingest.finish_batch(self._batch_id, now=timezone.now())
            return None if job_id is None else (job_id, job_opened(job_id)["Location"])


def _is_skipped(chunks: Iterable[bytes]) -> bool:
    """Read past the rest of a file over the limit, up to as much again: other files may follow it."""
    left = settings.MAX_UPLOAD_BYTES
    for chunk in chunks:
        left -= len(chunk)
        if left < 0:
            return False
    return True


@router.get("/uploads/{upload_id}", **reading(Upload, scopes=("read", "ingest")))
def get_upload(request: HttpRequest, upload_id: BatchId) -> HttpResponse:
    """The files of an upload, and the job that reads them."""
    job_id = uploads.job_of_batch(upload_id)
    files = [file_of(row) for row in jobs.uploads_of(upload_id)]
    return one(Upload(upload=upload_id, job=job_id, files=files[:5000]))
