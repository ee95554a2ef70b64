"""Receiving files in the request that brings them, and giving the raw ones back."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from uuid import UUID

from django.conf import settings
from django.contrib import messages
from django.db import DatabaseError
from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse, QueryDict, UnreadablePostError
from django.middleware.csrf import CsrfViewMiddleware
from django.urls import path, reverse
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST, require_safe

from contextviz.services import ingest
from contextviz.services.incoming.multipart import FieldPart, FilePart, NotAForm, parts
from contextviz.services.outages.trouble import trouble_of
from contextviz.store.queries import uploads as raw_files
from contextviz.store.values import NotFound
from contextviz.web.access import job_read
from contextviz.web.answers import file_download, leave_file, see_other
from contextviz.web.errors import refusal
from contextviz.web.pages.uploads import UploadAnswer, answer_kept, answer_refused
from contextviz.web.queueing import enqueue_after_commit

CUT_OFF = "The connection ended before everything had arrived. Send it again."
NOTHING = "No file was chosen. Choose one or more transcripts, then import."


class _Unverified(Exception):
    """The request does not carry this site's token."""

    def __init__(self, response: HttpResponseBase) -> None:
        super().__init__("CSRF")
        self.response = response


class _Arrival:
    """One request with files, on its way in: no byte is kept before its token is known to be right."""

    def __init__(self, request: HttpRequest) -> None:
        self._request = request
        self._is_verified = False
        self._is_private: bool | None = None  # None: the form did not say
        self._batch_id: UUID | None = None
        self.answers: list[UploadAnswer] = []
        self.status = 400
        self._retry_seconds: int | None = None

    def read(self) -> None:
        """Take every file of the form."""
        if settings.CSRF_HEADER_NAME in self._request.META:
            self._verify()
        for part in parts(self._request):
            if isinstance(part, FieldPart):
                if part.name == "private":
                    self._is_private = part.value == "yes"
                    continue
                if part.name == "csrfmiddlewaretoken" and not self._is_verified:
                    self._request.META[settings.CSRF_HEADER_NAME] = part.value
                    self._verify()
                continue
            self._verify()
            if not self._take(part):
                return
        self._verify()

    def _verify(self) -> None:
        if self._is_verified:
            return
        self._request.csrf_processing_done = False  # type: ignore[attr-defined]  # Django's own mark
        response = CsrfViewMiddleware(_unused).process_view(self._request, _unused, (), {})
        if response is not None:
            raise _Unverified(response)
        self._is_verified = True

    def _take(self, part: FilePart) -> bool:
        """Keep one file, or say why not; False where the rest of the form is not worth reading."""
        now = timezone.now()
        if self._batch_id is None:
            self._batch_id = ingest.open_batch(now=now, is_private=self._wants_private())
        try:
            kept = ingest.receive(part.chunks, part.filename, batch_id=self._batch_id, now=now)
        except ingest.UploadRefused as refused:
            self.status = refused.status
            self.answers.append(answer_refused(part.filename, str(refused)))
            return not isinstance(refused, ingest.UploadTooLarge) or _is_skipped(part.chunks)
        except UnreadablePostError:
            raise
        except (DatabaseError, OSError) as error:
            trouble = trouble_of(error)
            if trouble is None:
                raise
            self.status, self._retry_seconds = trouble.status, trouble.retry_seconds
            self.answers.append(answer_refused(part.filename, trouble.sentence))
            return False
        self.answers.append(answer_kept(part.filename, is_known=kept.is_known))
        return True

    def _wants_private(self) -> bool:
        """As the form says, else as the person prefers."""
        usual: bool = self._request.preferences.is_private  # type: ignore[attr-defined]  # PreferencesMiddleware's
        return usual if self._is_private is None else self._is_private

    def refused(self, response: HttpResponse) -> HttpResponse:
        """The answer where nothing was kept, with when to send it again where that helps."""
        if self._retry_seconds is not None:
            response["Retry-After"] = str(self._retry_seconds)
        return response

    def finish(self) -> UUID | None:
        """Everything has come: the job that reads what was kept, None where nothing was."""
        if self._batch_id is None or not any(answer.ok for answer in self.answers):
            return None
        if self._wants_private():
            ingest.make_private(self._batch_id)  # a field after the files counts too
        job_id = ingest.finish_batch(self._batch_id, now=timezone.now())
        if job_id is not None:
            enqueue_after_commit(job_id)
        return job_id


def _unused(request: HttpRequest) -> HttpResponse:
    raise AssertionError("the check never calls the view")


def _is_skipped(chunks: Iterable[bytes]) -> bool:
    """Read past the rest of a file over the limit, up to as much again: other files may follow it."""
    left = settings.MAX_UPLOAD_BYTES
    for chunk in chunks:
        left -= len(chunk)
        if left < 0:
            return False
    return True


@csrf_exempt  # checked by _Arrival itself, before the first file: Django's check would read the whole body first
@require_POST
def upload(request: HttpRequest) -> HttpResponseBase:
    """Take the files of a form: 303 to the Library, or JSON for a script; 4xx with sentences when none was taken."""
    request.POST = QueryDict()  # nobody may make Django read the body
    arrival = _Arrival(request)
    sentence = NOTHING
    try:
        arrival.read()
    except _Unverified as unverified:
        return unverified.response
    except NotAForm as error:
        sentence = str(error)
    except UnreadablePostError:
        sentence = CUT_OFF
    job_id = arrival.finish()
    if not arrival.answers:
        return _refused(request, sentence)
    answers = _with_addresses(request, arrival.answers, job_id)
    if _wants_json(request):
        told = {"files": [asdict(answer) for answer in answers]}
        return JsonResponse(told) if job_id else arrival.refused(JsonResponse(told, status=arrival.status))
    if job_id is None and len(answers) == 1:
        return arrival.refused(refusal(request, answers[0].sentence, arrival.status))
    for answer in answers:
        messages.add_message(request, messages.SUCCESS if answer.ok else messages.ERROR, answer.sentence)
    return see_other(reverse("library"))


def _with_addresses(request: HttpRequest, answers: list[UploadAnswer], job_id: UUID | None) -> list[UploadAnswer]:
    if job_id is None:
        return answers
    job = job_read(request, job_id)
    sessions = job.result.get("sessions") or []
    session_url = reverse("session", args=[sessions[0]]) if job.state == "done" and len(sessions) == 1 else None
    return [answer.at(reverse("job", args=[job_id]), session_url) if answer.ok else answer for answer in answers]


def _wants_json(request: HttpRequest) -> bool:
    return "application/json" in request.headers.get("Accept", "")


def _refused(request: HttpRequest, sentence: str) -> HttpResponse:
    if _wants_json(request):
        return JsonResponse({"files": [], "sentence": sentence}, status=400)
    return refusal(request, sentence, 400)


@require_POST
def dismiss(request: HttpRequest, upload_id: UUID) -> HttpResponse:
    """A person has read that an upload was cut off."""
    ingest.dismiss(upload_id)
    return see_other(reverse("library"))


@require_safe
def artifact(request: HttpRequest, sha256: str) -> HttpResponseBase:
    """A raw file, byte for byte, as a download that no browser interprets."""
    found = raw_files.get_raw_file(sha256)
    if found.path is None:
        sentence = f"{found.name} is read where it lies, since it also holds its agent's credentials. Open it there."
        return refusal(request, sentence, 403)
    if not found.path.is_file():
        raise NotFound(f"The bytes of {found.name} are not in the data folder any more. Import it again.")
    leave_file(found.path, f"raw file {found.name}")
    return file_download(request, found.path, found.name)


urlpatterns = [
    path("upload/", upload, name="upload"),
    path("uploads/<uuid:upload_id>/dismiss/", dismiss, name="upload_dismiss"),
    path("artifacts/<slug:sha256>/", artifact, name="artifact"),
]
