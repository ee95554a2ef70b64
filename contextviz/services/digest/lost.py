"""Files that no longer hold what a session was read from: cut short, emptied, or another session's by now.

What was read is kept, since an agent's own tidying must not take a person's sessions away. The session says so. That
is noted beside what its reading found, and carried over when the session is read again, until one of its files at that
place is what it is read from once more.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from django.db import transaction
from django.db.models import Q, QuerySet

from contextviz.events.problem import ReadProblem
from contextviz.events.session import FileRole, SourceFile
from contextviz.services.digest.audience import Audience
from contextviz.services.digest.batch import BatchFile, of_link, relation
from contextviz.sources.account_exports import TOLD_WHOLE
from contextviz.store.bulk import chunks
from contextviz.store.models import ProblemRecord, SessionArtifactRecord
from contextviz.store.notes import change_problems, problems_of_key

AT_ONCE = 500
SHORTER, REPLACED, EMPTIED = "file_cut_short", "file_replaced", "file_emptied"
CODES = (SHORTER, REPLACED, EMPTIED)
# Indexes, logs and configurations stand beside sessions and are followed by their own rules.
_OWN: frozenset[FileRole] = frozenset({"session", "archive", "store", "ignored"})
_NOTHING = "nothing of this session"
_NEXT = (
    "The messages that were read before are kept. To have only what is in it now, delete this session and import the "
    "file again."
)


@dataclass(frozen=True, slots=True)
class _Kept:
    """A link of a session to a file as it was: `is_now` is the file of the batch at the same place."""

    link: SessionArtifactRecord
    is_now: BatchFile


def note_lost(files: Sequence[BatchFile], read: Iterable[SourceFile], audience: Audience, *, now: datetime) -> None:
    """Note with sessions of this audience that a file of theirs is not what they were read from, where one of `files`
    now lies in its place; forget what was noted where it is again. `read` says what was read as what. Two queries for
    500 files, and a few for each session that something is told of."""
    roles = {one.path: one.role for one in read}
    placed = {one.source_path: one for one in files if one.source_path}
    by_artifact = {one.artifact_id: one for one in placed.values()}
    _forget_found(by_artifact, audience, now)
    asked = [one for one in placed.values() if roles.get(one.name) in _OWN]
    for kept in _kept(asked, audience):
        moved = by_artifact.get(kept.link.artifact_id)
        if moved is not None:
            # What was rotated away lies beside it, and is what the session is read from.
            SessionArtifactRecord.objects.filter(pk=kept.link.pk).update(source_path=moved.source_path)
        else:
            _note(kept.link, _problem(kept), now)


def note_emptied(path: str, audience: Audience, *, now: datetime) -> int:
    """Note with the sessions of a file that nothing is in it any more that can be read; how many there are."""
    links = list(_links(audience).filter(source_path=path))
    for link in links:
        text = f"{_short(link)} holds nothing any more that can be read. {_NEXT}"
        _note(link, ReadProblem(EMPTIED, text, "warning", link.name), now)
    return len({link.session_id for link in links})


def carried(key: str, files: Iterable[BatchFile], expected: frozenset[str]) -> list[ReadProblem]:
    """What is noted of the session kept under `key` and still holds once it is read from `files`; `expected` are the
    contents that it was read from until now. One query for a session that is known."""
    if not expected:
        return []
    same = {one.name for one in files if one.sha256 in expected}
    return [one for one in problems_of_key(key, CODES) if one.file in same]


def _links(audience: Audience) -> QuerySet[SessionArtifactRecord]:
    # A person's own session is read again in that person's name, so another reading says nothing of it.
    whose = Q(session__is_private=audience.is_private)
    if audience.is_private:
        whose &= Q(session__owner_id=audience.person_id)
    found = SessionArtifactRecord.objects.filter(whose, audience.joins("session__"))
    return found.exclude(session__status="deleting").select_related("artifact").order_by("id")


def _kept(asked: Sequence[BatchFile], audience: Audience) -> list[_Kept]:
    """The links to other contents at the places of `asked`, of sessions that have none to what is there now."""
    there = {one.source_path: one for one in asked}
    found: dict[tuple[int, str], _Kept] = {}
    current: set[tuple[int, str]] = set()
    for part in chunks(there, AT_ONCE):
        for link in _links(audience).filter(source_path__in=part):
            place = (link.session_id, link.source_path)
            is_now = there[link.source_path]
            if link.artifact_id == is_now.artifact_id:
                current.add(place)  # of a state all versions are kept
            found[place] = _Kept(link, is_now)
    return [one for place, one in found.items() if place not in current]


def _forget_found(by_artifact: Mapping[int, BatchFile], audience: Audience, now: datetime) -> None:
    for part in chunks(by_artifact, AT_ONCE):
        told = ProblemRecord.objects.filter(code__in=CODES, session__artifacts__artifact_id__in=part)
        for link in _links(audience).filter(session_id__in=told.values("session_id"), artifact_id__in=part):
            with transaction.atomic():
                change_problems(link.session_id, partial(_without, name=link.name), now=now)
                place = by_artifact[link.artifact_id].source_path
                SessionArtifactRecord.objects.filter(pk=link.pk).update(source_path=place)


def _note(link: SessionArtifactRecord, problem: ReadProblem, now: datetime) -> None:
    with transaction.atomic():
        change_problems(link.session_id, lambda known: [*_without(known, link.name), problem], now=now)


def _without(known: list[ReadProblem], name: str) -> list[ReadProblem]:
    return [one for one in known if one.code not in CODES or one.file != name]


def _problem(kept: _Kept) -> ReadProblem:
    old, new = of_link(kept.link), kept.is_now
    if relation(old, new) == "shorter":
        what = f"has become shorter: {new.size:,} of the {old.size:,} bytes that this session was read from are left"
        return ReadProblem(SHORTER, f"{_short(kept.link)} {what}. {_NEXT}", "warning", kept.link.name)
    # An export with less of a conversation, or an earlier state of it, is passed over for what is known of it.
    is_export = kept.link.session.format in TOLD_WHOLE
    left = "of this session nothing, or not as much or as new as was read before" if is_export else _NOTHING
    text = f"{_short(kept.link)} holds something else now: {left}. {_NEXT}"
    return ReadProblem(REPLACED, text, "warning", kept.link.name)


def _short(link: SessionArtifactRecord) -> str:
    return link.name.rsplit("/", 1)[-1]
