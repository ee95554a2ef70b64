"""The other half of what was read: the session of a host for an engine's store or log, and the reverse.

They may come in different uploads, in any order. Which name means which session is said by sources.joining.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime

from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet

from contextviz.events.session import Session, Transcript
from contextviz.services.digest.audience import Audience
from contextviz.services.digest.batch import BatchFile, files_of_session, of_link, path_of, relation
from contextviz.sources.cortext.state import is_state_file
from contextviz.sources.joining import (
    LOG_FORMAT,
    OPENVOLE,
    PART_FORMATS,
    SCOPE,
    UNNAMED,
    ending_of,
    fits,
    is_part,
    names_of,
)
from contextviz.store.models import (
    MessageRecord,
    SessionArtifactRecord,
    SessionDetailRecord,
    SessionRecord,
    WaitingLogRecord,
)
from contextviz.store.rows.session import unpack_detail

# Session keys are in no column, so for a scope key that many of the newest sessions are looked at.
MOST_LOOKED_AT = 300
# As long as the column is. No id there ends in a longer one, and databases refuse long patterns.
MOST_ID_CHARS = 255
ALIKE = ("same", "grown", "shorter")
MOST_VERSIONS = 20  # of logs that wait for one session


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


def keep_waiting(file: BatchFile, named: Sequence[str], audience: Audience, *, now: datetime) -> list[str]:
    """Keep a log for those of the sessions it speaks of (`named`) that are not here yet; their ids. An earlier version
    of it waits no longer. Two queries, and a few where something is kept."""
    ids = [one for one in named[:MOST_LOOKED_AT] if len(one) <= MOST_ID_CHARS]
    here = _there(audience).filter(source_id__in=ids).exclude(format__in=PART_FORMATS)
    missing = [one for one in ids if one not in set(here.values_list("source_id", flat=True))]
    whose = {"person_id": audience.person_id, "is_private": audience.is_private}
    with transaction.atomic():
        known = WaitingLogRecord.objects.filter(**whose, name=file.name, source_path=file.source_path)
        for artifact_id in list(known.values_list("artifact_id", flat=True).distinct()[:MOST_VERSIONS]):
            of_artifact = known.filter(artifact_id=artifact_id).select_related("artifact")
            first = of_artifact.first()
            if first is not None and (file.source_path or relation(of_link(first), file) in ("same", "grown")):
                of_artifact.delete()
        WaitingLogRecord.objects.bulk_create(
            WaitingLogRecord(
                artifact_id=file.artifact_id, source_id=one, name=file.name, source_path=file.source_path, since=now,
                **whose,
            )
            for one in missing
        )  # fmt: skip
    return missing


def logs_of(transcript: Transcript, audience: Audience) -> list[BatchFile]:
    """The logs that came before this session and speak of it. One query."""
    session = transcript.session
    if is_part(transcript) or session.generation != "active" or len(session.id) > MOST_ID_CHARS:
        return []
    seen = Q(is_private=False)
    if audience.is_private:
        # Nobody else's log may join a session that they do not see.
        seen = Q(person_id=audience.person_id) | Q(is_private=False, person_id=None)
    found = WaitingLogRecord.objects.filter(seen, source_id=session.id).select_related("artifact").order_by("id")
    return [of_link(one) for one in found[:MOST_VERSIONS]]


def forget_waiting(session_id: str, files: Iterable[BatchFile]) -> None:
    """These logs are read with the session of that id from now on."""
    ids = [one.artifact_id for one in files]
    if ids:
        WaitingLogRecord.objects.filter(source_id=session_id, artifact_id__in=ids).delete()


def twins_of(transcript: Transcript, own: Sequence[BatchFile], audience: Audience) -> list[SessionRecord]:
    """OpenVole's session of the same transcript that came the other way: in its folder, which names it, or as files
    without one. No query for any other format."""
    session = transcript.session
    mine = next((one for one in own if transcript.files[:1] == [one.name]), None)
    if session.format != OPENVOLE or mine is None:
        return []
    is_unnamed = session.id.startswith(UNNAMED)
    first = transcript.messages[0].at if transcript.messages else None
    same_start = MessageRecord.objects.filter(session=OuterRef("pk"), index=0, at=first)
    others = _there(audience).filter(Exists(same_start), format=OPENVOLE).order_by("pk")[:MOST_VERSIONS]
    near = [one for one in others if one.source_id.startswith(UNNAMED) != is_unnamed]
    return [one for one in near if any(relation(file, mine) in ALIKE for file in files_of_session(one.pk))]


def called_alike(files: Sequence[BatchFile], named: Sequence[BatchFile]) -> list[BatchFile]:
    """`files` that came without their folder, called as those of `named`, which have it: what is in both by the same
    name, what stands beside a transcript in the transcript's folder."""
    found: list[BatchFile] = []
    folders = {file.sha256: file.name.rpartition("/")[0] for file in named}
    for one in files:
        same = next((other for other in named if relation(other, one) in ALIKE), None)
        folder = next(iter(folders.values()), "") if one.basename == "meta.json" else ""
        name = same.name if same else f"{folder}/{one.basename}" if folder else one.name
        found.append(replace(one, name=name))
    return found
