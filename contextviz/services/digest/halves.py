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
from contextviz.services.digest.batch import (
    BatchFile,
    contents,
    files_of_session,
    of_link,
    path_of,
    relation,
    replaced_uploads,
)
from contextviz.sources.account_exports import UPDATED
from contextviz.sources.cortext.state import is_state_file
from contextviz.sources.files import probe
from contextviz.sources.joining import (
    HASHED,
    LOG_FORMAT,
    OPENHANDS,
    OPENVOLE,
    PART_FORMATS,
    SCOPE,
    UNNAMED,
    ending_of,
    fits,
    is_part,
    names_of,
)
from contextviz.sources.openhands.shapes import folder_of, part_of
from contextviz.sources.values import as_dict
from contextviz.store.bulk import chunks
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
MOST_VERSIONS = 20  # of one file that are looked at
MOST_LOGS = 200  # that are read with a session at once: each is held against each
MOST_WAITING = 10_000  # sessions that one log is kept for


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
    """The sessions of ids that a log of requests speaks of, but for those in `seen`. One query for 300 ids."""
    hosts = _there(audience).exclude(format__in=PART_FORMATS)
    there = [one for part in chunks(named, MOST_LOOKED_AT) for one in hosts.filter(source_id__in=part)]
    known = set(seen)
    return sorted((one for one in there if one.pk not in known), key=lambda one: one.pk)


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


def keep_waiting(
    file: BatchFile, named: Sequence[str], audience: Audience, *, now: datetime
) -> tuple[list[str], int]:  # fmt: skip
    """Keep a log for those of the sessions it speaks of (`named`) that are not here yet: their ids, and how many there
    are beyond what one log is kept for. A version that this one begins with waits no longer; what was in its place
    before and is not in it still does. A query for 300 ids, and a few for each version."""
    missing: list[str] = []
    for ids in chunks((one for one in named if len(one) <= MOST_ID_CHARS), MOST_LOOKED_AT):
        hosts = _there(audience).filter(source_id__in=ids).exclude(format__in=PART_FORMATS)
        here = set(hosts.values_list("source_id", flat=True))
        missing.extend(one for one in ids if one not in here)
    kept = missing[:MOST_WAITING]
    whose = {"person_id": audience.person_id, "is_private": audience.is_private}
    with transaction.atomic():
        known = WaitingLogRecord.objects.filter(**whose, name=file.name, source_path=file.source_path)
        covered = _covered_by_earlier(known, file)
        WaitingLogRecord.objects.bulk_create(
            WaitingLogRecord(
                artifact_id=file.artifact_id, source_id=one, name=file.name, source_path=file.source_path, since=now,
                **whose,
            )
            for one in kept
            if one not in covered
        )  # fmt: skip
    return kept, len(missing) - len(kept)


def _covered_by_earlier(known: QuerySet[WaitingLogRecord], file: BatchFile) -> set[str]:
    """The ids for which a longer version of `file` waits, of those in `known`; versions that it has all of are
    forgotten."""
    covered: set[str] = set()
    newest = known.order_by("-artifact_id").values_list("artifact_id", flat=True).distinct()
    for artifact_id in list(newest[:MOST_VERSIONS]):
        of_artifact = known.filter(artifact_id=artifact_id).select_related("artifact")
        first = of_artifact.first()
        how = "unrelated" if first is None else relation(of_link(first), file)
        if how in ("same", "grown"):
            of_artifact.delete()
        elif how == "shorter":
            covered.update(of_artifact.values_list("source_id", flat=True))
    return covered


def logs_of(transcript: Transcript, audience: Audience) -> list[BatchFile]:
    """The logs that came before this session and speak of it, oldest first; one more than are read with it at once
    where there are more. One query."""
    session = transcript.session
    if is_part(transcript) or session.generation != "active" or len(session.id) > MOST_ID_CHARS:
        return []
    seen = Q(is_private=False)
    if audience.is_private:
        # Nobody else's log may join a session that they do not see.
        seen = Q(person_id=audience.person_id) | Q(is_private=False, person_id=None)
    found = WaitingLogRecord.objects.filter(seen, source_id=session.id).select_related("artifact").order_by("id")
    return [of_link(one) for one in found[: MOST_LOGS + 1]]


def forget_waiting(session_id: str, files: Iterable[BatchFile]) -> None:
    """These logs are read with the session of that id from now on."""
    ids = [one.artifact_id for one in files]
    if ids:
        WaitingLogRecord.objects.filter(source_id=session_id, artifact_id__in=ids).delete()


def twins_of(transcript: Transcript, own: Sequence[BatchFile], audience: Audience) -> list[SessionRecord]:
    """The session of the same transcript that came the other way: OpenVole's in its folder, which names it, or as files
    without one; OpenHands' with its state or without. No query for any other format."""
    session = transcript.session
    if session.format == OPENHANDS:
        return _same_events(session, own, audience)
    mine = next((one for one in own if transcript.files[:1] == [one.name]), None)
    if session.format != OPENVOLE or mine is None:
        return []
    is_unnamed = session.id.startswith(UNNAMED)
    first = transcript.messages[0].at if transcript.messages else None
    same_start = MessageRecord.objects.filter(session=OuterRef("pk"), index=0, at=first)
    others = _there(audience).filter(Exists(same_start), format=OPENVOLE).order_by("pk")[:MOST_VERSIONS]
    near = [one for one in others if one.source_id.startswith(UNNAMED) != is_unnamed]
    return [one for one in near if any(relation(file, mine) in ALIKE for file in files_of_session(one.pk))]


def _same_events(session: Session, own: Sequence[BatchFile], audience: Audience) -> list[SessionRecord]:
    """OpenHands' sessions of another id that are read from a part of the same events, or from more than these: their
    state came later, was half-written, or they came without their folder. A folder that was copied is another one."""
    ids = [one.artifact_id for one in own[:MOST_LOOKED_AT]]
    linked = SessionArtifactRecord.objects.filter(artifact_id__in=ids).values("session_id")
    others = _there(audience).filter(pk__in=linked, format=OPENHANDS).exclude(source_id=session.id).order_by("pk")
    mine, places = contents(own), {(one.sha256, one.source_path or one.name) for one in own}
    found = []
    for one in others[:MOST_VERSIONS]:
        files = files_of_session(one.pk)
        theirs = contents(files)
        is_unnamed = session.id.startswith(HASHED) != one.source_id.startswith(HASHED)
        is_at = any((file.sha256, file.source_path or file.name) in places for file in files)
        # One file may hold many sessions: then what they are read from says nothing.
        is_within = theirs < mine or mine < theirs or (theirs == mine and len(mine) > 1)
        if is_within and (is_unnamed or is_at):
            found.append(one)
    return found


def named_by_now(files: Sequence[BatchFile], audience: Audience) -> frozenset[int]:
    """The artifacts of OpenHands' events that came without their folder, whose sessions are called after nothing, and
    that are in their folder among `files`: read again they are a session of its name. One query for 300 JSON files."""
    placed = {one.artifact_id: one for one in files if one.name.endswith(".json") and folder_of(one.name)}
    folders: dict[str, list[int]] = {}
    for part in chunks(placed, MOST_LOOKED_AT):
        links = SessionArtifactRecord.objects.filter(
            audience.joins("session__"), artifact_id__in=part, session__format=OPENHANDS,
            session__source_id__startswith=HASHED,
        ).exclude(session__status="deleting")  # fmt: skip
        for artifact, name in links.values_list("artifact_id", "name"):
            one = placed[artifact]
            # A document that holds a whole session is called after its first event, wherever it lies.
            if not folder_of(name) and part_of(as_dict(probe(one.path, one.name).document)) == "event":
                folders.setdefault(folder_of(one.name), []).append(artifact)
    # A single event in two places says nothing of two sessions (see _same_events).
    return frozenset(artifact for own in folders.values() if len(own) > 1 for artifact in own)


def is_lesser(session: Session, own: Sequence[BatchFile], twin: Sequence[BatchFile]) -> bool:
    """Whether what came belongs into the session of `twin`, which has the name; else that belongs into this one."""
    if session.format != OPENHANDS:
        return session.id.startswith(UNNAMED)
    mine, theirs = contents(own), contents(twin)
    return mine < theirs or (mine == theirs and session.id.startswith(HASHED))


def is_behind(transcript: Transcript, known: SessionRecord) -> bool:
    """Whether an export has less of a conversation than what is known of it, or as much and changed earlier: the order
    in which exports come decides nothing. One query where it has as much."""
    if known.message_count != len(transcript.messages):
        return known.message_count > len(transcript.messages)
    body = SessionDetailRecord.objects.filter(session=known).values_list("body", flat=True).first()
    updated = None if body is None else unpack_detail(body, with_lists=False)["hints"].get(UPDATED)
    # Both are texts of one length, in UTC; one that is not written is the earliest.
    return str(updated or "") > str(transcript.session.hints.get(UPDATED) or "")


def is_passed_over(
    transcript: Transcript, known: SessionRecord, old: Sequence[BatchFile], own: Sequence[BatchFile]
) -> bool:
    """Whether an uploaded document that would take the place of an earlier one of its name has less of the session:
    which of two downloads comes last says nothing of which is the later."""
    if known.message_count <= len(transcript.messages) or len(old) != 1 or len(own) != 1:
        return False
    return bool(replaced_uploads(old, own))


def called_alike(files: Sequence[BatchFile], named: Sequence[BatchFile]) -> list[BatchFile]:
    """`files` that came without their folder, called as those of `named`, which have it: what is in both by the same
    name, what stands beside a transcript in the transcript's folder."""
    found: list[BatchFile] = []
    folders = {file.sha256: file.name.rpartition("/")[0] for file in named}
    known = {file.sha256: file for file in named}
    for one in files:
        same = known.get(one.sha256) or next((other for other in named if relation(other, one) in ALIKE), None)
        folder = next(iter(folders.values()), "") if one.basename == "meta.json" else ""
        name = same.name if same else f"{folder}/{one.basename}" if folder else one.name
        found.append(replace(one, name=name))
    return found
