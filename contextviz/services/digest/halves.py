"""The other half of what was read: the session of a host for an engine's store or log, and the reverse.

They may come in different uploads, in any order. Which name means which session is said by sources.joining.
"""

from __future__ import annotations

from collections.abc import Sequence

from django.db.models import Q, QuerySet

from contextviz.events.session import Session, Transcript
from contextviz.services.digest.audience import Audience
from contextviz.services.digest.batch import BatchFile, path_of
from contextviz.sources.cortext.state import is_state_file
from contextviz.sources.joining import LOG_FORMAT, PART_FORMATS, SCOPE, ending_of, fits, is_part, names_of
from contextviz.store.models import SessionArtifactRecord, SessionDetailRecord, SessionRecord
from contextviz.store.rows.session import unpack_detail

# Session keys are in no column, so for a scope key that many of the newest sessions are looked at.
MOST_LOOKED_AT = 300
# As long as the column is. No id there ends in a longer one, and databases refuse long patterns.
MOST_ID_CHARS = 255


def host_of(part: Transcript, audience: Audience) -> SessionRecord | None:
    """The session that a store or log belongs to: the host's, else for a log the store's; None where none is there.
    One query, for a scope key two more."""
    if not is_part(part) or part.session.generation != "active":
        return None
    name = part.session.id
    there = _there(audience)
    found = there.filter(source_id=name).order_by("-updated_at")
    host = next((one for one in found[:20] if one.format not in PART_FORMATS), None)
    if host is None and name.startswith(SCOPE):
        host = _of_scope(name, there)
    if host is None and part.session.format == LOG_FORMAT:
        host = next((one for one in found[:20] if one.format != LOG_FORMAT), None)
    return host


def parts_of(transcript: Transcript, audience: Audience) -> list[SessionRecord]:
    """Stores and logs that were saved as sessions of their own and belong to this one. One query."""
    session = transcript.session
    if session.generation != "active" or session.format == LOG_FORMAT:
        return []
    wanted = Q(source_id__in=names_of(session), format__in=PART_FORMATS)
    if is_part(transcript):
        wanted = Q(source_id=session.id, format=LOG_FORMAT)
    elif "session_key" not in session.hints and len(ending := ending_of(session)) <= MOST_ID_CHARS:
        wanted |= Q(source_id__startswith=SCOPE, source_id__endswith=ending, format__in=PART_FORMATS)
    found = _there(audience).filter(wanted).order_by("pk")
    return [one for one in found[:20] if fits(one.source_id, session)]


def _there(audience: Audience) -> QuerySet[SessionRecord]:
    return SessionRecord.objects.filter(audience.joins(), generation="active").exclude(status="deleting")


def _of_scope(name: str, there: QuerySet[SessionRecord]) -> SessionRecord | None:
    newest = list(there.exclude(format__in=PART_FORMATS).order_by("-updated_at")[:MOST_LOOKED_AT])
    details = SessionDetailRecord.objects.filter(session__in=newest).values_list("session_id", "body")
    bodies = dict(details)
    for record in newest:
        body = bodies.get(record.pk)
        hints = {} if body is None else unpack_detail(body, with_lists=False)["hints"]
        if fits(name, Session(record.source_id, record.format, hints=hints)):
            return record
    return None


def is_joined(
    transcript: Transcript, files: Sequence[BatchFile], whole: Sequence[BatchFile], origins: dict[str, str]
) -> bool:
    """Whether `transcript`, read from `whole`, was also made from one of `files`. `origins` names the archive that a
    member came from."""
    contents = {one.sha256 for one in files}
    names = {one.name for one in whole if one.sha256 in contents}
    return any(origins.get(name, name) in names for name in transcript.files)


def sessions_of_log(named: Sequence[str], audience: Audience, seen: Sequence[int]) -> list[SessionRecord]:
    """The sessions of ids that a log of requests speaks of, but for those in `seen`. One query."""
    found = _there(audience).filter(source_id__in=list(named)[:MOST_LOOKED_AT]).exclude(format__in=PART_FORMATS)
    return list(found.exclude(pk__in=seen).order_by("pk"))


def sessions_of_state(file: BatchFile, audience: Audience, seen: Sequence[int]) -> list[SessionRecord]:
    """Sessions made from an earlier version of a state file, but for those in `seen`; none where `file` is no state.
    No query for any other file."""
    if not file.basename.endswith(".json") or not is_state_file(file.path, file.name):
        return []
    same = Q(source_path=file.source_path) if file.source_path else Q(source_path="")
    links = SessionArtifactRecord.objects.filter(same, audience.joins("session__"), name__endswith=file.basename)
    links = links.exclude(session__in=seen).exclude(artifact_id=file.artifact_id).exclude(session__status="deleting")
    ids = [
        link.session_id
        for link in links.select_related("artifact")[:50]
        if is_state_file(path_of(link.artifact), link.name)
    ]
    return list(SessionRecord.objects.filter(pk__in=ids).order_by("pk"))
