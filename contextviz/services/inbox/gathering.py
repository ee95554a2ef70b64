"""A stream's rows as one file, in order: what its digest reads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from uuid import UUID

from django.utils import timezone

from contextviz.services.delete import remove_session
from contextviz.services.jobs import JobFailed, JobRun
from contextviz.services.receive import receive
from contextviz.store.models import InboxRecord, InboxStreamRecord, UploadBatchRecord, UploadRecord

ROWS_AT_ONCE = 500


def gather(run: JobRun, batch: UploadBatchRecord) -> bool:
    """Bring all rows of the job's stream into its batch as a file of lines; false where it has none, since they went
    over to the stream of their conversation. Doing it again changes nothing."""
    stream = InboxStreamRecord.objects.filter(pk=run.params["stream"]).first()
    if stream is None:
        raise JobFailed("What was posted for this session was deleted meanwhile.", can_retry=False)
    if UploadRecord.objects.filter(batch=batch, state="received").exists():
        return True
    if not InboxRecord.objects.filter(stream=stream).exists():
        return False
    lines = _Lines(stream.pk)
    receive(iter(lines), f"{stream.source}-{stream.pk}.ndjson", batch_id=UUID(str(batch.pk)), now=timezone.now())
    InboxStreamRecord.objects.filter(pk=stream.pk).update(digested=lines.last)
    return True


class _Lines:
    """The rows' bodies as lines; `last` is the number of the last one taken."""

    def __init__(self, stream_id: int) -> None:
        self.last = 0
        self._rows = InboxRecord.objects.filter(stream_id=stream_id).order_by("id").values_list("id", "body")

    def __iter__(self) -> Iterator[bytes]:
        for number, body in self._rows.iterator(chunk_size=ROWS_AT_ONCE):
            self.last = number
            yield bytes(body) + b"\n"


def settle(run: JobRun, sessions: Sequence[int]) -> None:
    """After a stream's digest: note which session it is, and remove what was read from its parts while they were
    thought to be sessions of their own. Nothing to do for jobs of files."""
    stream_id = run.params.get("stream")
    if not stream_id:
        return
    own = sessions[0] if sessions else None
    InboxStreamRecord.objects.filter(pk=stream_id).update(session_id=own)
    parts = InboxStreamRecord.objects.filter(joined_id=stream_id, session__isnull=False).exclude(session_id=own)
    for part_id, session_id in list(parts.values_list("pk", "session_id")):
        # The part stays known as a part: a session's removal takes the streams along that are read into it.
        InboxStreamRecord.objects.filter(pk=part_id).update(session=None)
        if session_id is not None:
            remove_session(run, session_id)
