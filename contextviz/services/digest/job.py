"""The digest job: collect, read, and say what came of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import timedelta
from uuid import UUID

from django.db.models import Count, Q
from django.utils import timezone

from contextviz import __version__
from contextviz.services.cleaning import drop_unused_artifacts
from contextviz.services.digest.audience import Audience, audience_of, keep_private
from contextviz.services.digest.batch import BatchFile, files_of_batch, fingerprint_of, sessions_made_of
from contextviz.services.digest.collecting import EMPTIED_WORDS, collect
from contextviz.services.digest.halves import named_by_now
from contextviz.services.digest.lost import note_lost
from contextviz.services.digest.outcome import Outcome, count, kept_for_later, nothing, success, was
from contextviz.services.digest.reading import LISTED, Reading
from contextviz.services.digest.selecting import Links, Selection, apart, selected
from contextviz.services.digest.together import read_together
from contextviz.services.inbox.gathering import gather, settle
from contextviz.services.jobs import JobFailed, JobRun, perform
from contextviz.store.models import SessionArtifactRecord, SessionRecord, UploadBatchRecord, UploadRecord

AT_ONCE = 500
JUST_NOW = timedelta(minutes=1)
MOVED = "Nothing of its own: what was posted turned out to be of a conversation that is read as a whole."


def digest(job_id: UUID | str) -> bool:
    """Read the batch of a digest job; false where another process has the job or it has ended."""
    return perform(job_id, _digest)


def _digest(run: JobRun) -> str:
    batch = UploadBatchRecord.objects.get(pk=UUID(run.params["batch"]))
    emptied = collect(run, batch) if run.params.get("paths") else []
    if run.params.get("stream") and not gather(run, batch):
        _close(batch, "", [])
        return MOVED
    files = files_of_batch(batch)
    if not files and emptied:
        _close(batch, "", [])
        return f"Nothing new: {', '.join(emptied[:3])}: {EMPTIED_WORDS}"
    if not files:
        raise JobFailed("None of the files of this upload is here any more. Send them again.", can_retry=False)
    fingerprint = fingerprint_of(files)
    audience = audience_of(batch)
    again = frozenset() if run.params.get("followed") else _with_gone_sessions(files) | named_by_now(files, audience)
    known = [] if again else _read_before(files, fingerprint, audience)
    links = Links(audience)
    chosen = Selection([], known) if known else selected(files, links, again)
    if not chosen.files:
        known = chosen.settled
        note_lost(files, [], audience, now=timezone.now())
        run.result = {"sessions": known, "files": [], "unchanged": len(known)}
        _close(batch, fingerprint, known)
        keep_private(run.id, batch, known)
        settle(run, known)
        lately = "" if run.params.get("followed") else _lately(files, batch)
        return f"Nothing new: {count(len(files), 'file')} with the same content {was(len(files))} read before{lately}."
    outcome = _read(run, chosen, links, links.unread(files))
    before = set(outcome.sessions)
    read_together(run, chosen.files, outcome, audience)
    note_lost(files, outcome.files, audience, now=timezone.now())
    touched = outcome.sessions
    relatives = links.relatives(chosen, files) | (set(touched) - before)
    outcome.set_apart(relatives - sessions_made_of(files, relatives))
    told = set(outcome.sessions)
    outcome.unchanged.extend(one for one in chosen.settled if one not in told)
    _close(batch, fingerprint, outcome.sessions)
    keep_private(run.id, batch, [*touched, *outcome.sessions])
    settle(run, outcome.sessions)
    run.result = {
        "sessions": outcome.sessions,
        "files": [asdict(one) for one in outcome.files[:LISTED]],
        "problems": [asdict(one) for one in outcome.problems[:LISTED]],
        "unchanged": len(outcome.unchanged),
    }
    if not outcome.sessions and outcome.waiting:
        return kept_for_later(outcome)
    if not outcome.sessions and run.params.get("followed"):
        return nothing(outcome)  # a file may begin with what is no session yet; nobody asked, so nothing failed
    if not outcome.sessions:
        raise JobFailed(nothing(outcome), can_retry=False)
    return success(outcome, len(files))


def _read(run: JobRun, chosen: Selection, links: Links, unread: frozenset[str]) -> Outcome:
    """Read the files: at once, but of followed ones each session that stands alone by itself. Of the contents `unread`
    nothing was read when the job began."""
    audience = links.audience
    parts, rest = apart(chosen.files, links) if run.params.get("followed") else ([], chosen.files)
    if len(parts) + bool(rest) < 2:
        return Reading(run, chosen.files, audience, depending=chosen.depending, unread=unread).read_all()
    outcome = Outcome()
    for part in parts:
        found = Reading(run, part, audience, unread=unread).read_all()
        outcome.add(found)
        outcome.alone.extend(found.sessions)
    if rest:
        outcome.add(Reading(run, rest, audience, depending=chosen.depending, unread=unread).read_all())
    return outcome


def _lately(files: Sequence[BatchFile], batch: UploadBatchRecord) -> str:
    """What is said where a followed file was read for what came to it a moment before somebody asked for that. One
    query."""
    since = batch.created_at - JUST_NOW
    own = [one.artifact_id for one in files[:AT_ONCE] if one.source_path]
    others = UploadRecord.objects.filter(artifact_id__in=own, batch__finished_at__gte=since).exclude(batch=batch)
    if not others.filter(batch__job__params__followed=True).exists():
        return ""
    return " (just now, since it is followed)" if len(files) == 1 else " (some just now, since they are followed)"


def _close(batch: UploadBatchRecord, fingerprint: str, sessions: list[int]) -> None:
    UploadBatchRecord.objects.filter(pk=batch.pk).update(
        fingerprint=fingerprint if sessions else "", session_ids=sessions, finished_at=timezone.now()
    )
    drop_unused_artifacts()


def _read_before(files: Sequence[BatchFile], fingerprint: str, audience: Audience) -> list[int]:
    """The sessions that these very files were read into by this version, all still there, for this audience and read
    from them; else none."""
    mine = SessionRecord.objects.filter(audience.joins()).exclude(status="deleting")
    earlier = UploadBatchRecord.objects.filter(fingerprint=fingerprint, finished_at__isnull=False)
    for ids in earlier.order_by("-finished_at").values_list("session_ids", flat=True)[:5]:
        if ids and mine.filter(pk__in=ids).count() == len(ids) and not _has_moved_on(ids, files):
            return list(ids)
    if len(files) == 1:
        links = SessionArtifactRecord.objects.filter(
            artifact_id=files[0].artifact_id, session__read_by=__version__[:32], session__in=mine
        )
        return list(links.values_list("session_id", flat=True).order_by("id"))
    return []


def _has_moved_on(session_ids: Sequence[int], files: Sequence[BatchFile]) -> bool:
    """Whether one of these sessions is read from something else by now that lies where one of `files` lies, or is
    called so."""
    own = [one.artifact_id for one in files]
    here = Q(source_path__in=[one.source_path for one in files if one.source_path])
    called = Q(name__in=[one.name for one in files])
    links = SessionArtifactRecord.objects.filter(here | called, session_id__in=session_ids)
    return links.exclude(artifact_id__in=own).exists()


def _with_gone_sessions(files: Sequence[BatchFile]) -> frozenset[int]:
    """The artifacts of which a session is gone that they alone were read into: asked for again, they give it back. One
    that only became part of another session is none: the artifact is that one's now."""
    own = {one.artifact_id for one in files}
    batches = UploadRecord.objects.filter(artifact_id__in=own).values("batch_id")
    whole = UploadBatchRecord.objects.filter(pk__in=batches, finished_at__isnull=False)
    alone = whole.annotate(n=Count("uploads")).filter(n=1)
    rows = alone.filter(uploads__artifact_id__in=own).values_list("uploads__artifact_id", "session_ids")
    told: dict[int, int] = {}
    for artifact, ids in rows:
        told[artifact] = max(told.get(artifact, 0), len(ids))
    links = SessionArtifactRecord.objects.filter(artifact_id__in=told).exclude(session__status="deleting")
    held = dict(links.values_list("artifact_id").annotate(n=Count("session_id")))
    return frozenset(artifact for artifact, count in told.items() if held.get(artifact, 0) < count)
