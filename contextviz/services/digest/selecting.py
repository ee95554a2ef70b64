"""Which files of a batch have to be read: those that changed, and those whose numbers depend on them; and which of them
one by one."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass

from django.db.models import Q

from contextviz import __version__
from contextviz.services.digest.audience import Audience
from contextviz.services.digest.batch import BatchFile, contents, distinct
from contextviz.services.digest.families import companions, families
from contextviz.services.digest.known import GROWING
from contextviz.store.bulk import chunks
from contextviz.store.models import SessionArtifactRecord, SessionRecord

AT_ONCE = 500
Part = list[BatchFile]


@dataclass(frozen=True, slots=True)
class Selection:
    """`files` are to be read; `settled` are sessions that the other files were read into before, by this version.
    `depending` are the contents of those that did not change and whose sessions' numbers may: relatives of what did."""

    files: list[BatchFile]
    settled: list[int]
    depending: frozenset[str] = frozenset()


def selected(files: Sequence[BatchFile], audience: Audience, again: Container[int] = ()) -> Selection:
    """What is to be read of a batch; of artifacts in `again` as if they had never been read. Where something came that
    is no longer version of a file here and no transcript, that is everything: a store, a trace or a configuration
    changes what is beside it."""
    links = _links(files, audience)
    fresh = [one for one in files if one.artifact_id not in links or one.artifact_id in again]
    if not fresh:
        return Selection([], sorted({number for found in links.values() for number in found}))
    relatives = companions(fresh, audience)
    depending = contents(relatives)
    if not all(one.name.endswith(GROWING) for one in fresh):
        return Selection(distinct([*files, *relatives]), [], depending)
    touched = _touched(fresh, audience)
    # A copy of a session that says nothing of its original lies in the same folder.
    folders = {_folder(one) for one in fresh if one.source_path not in touched.paths}
    read = [
        one
        for one in files
        if one in fresh or _folder(one) in folders or not touched.sessions.isdisjoint(links[one.artifact_id])
    ]
    settled = {number for one in files if one not in read for number in links[one.artifact_id]} - touched.sessions
    return Selection(distinct([*read, *relatives]), sorted(settled), depending)


@dataclass(frozen=True, slots=True)
class _Touched:
    paths: frozenset[str]
    sessions: frozenset[int]


def _links(files: Sequence[BatchFile], audience: Audience) -> dict[int, set[int]]:
    """The sessions that this version read from each artifact."""
    mine = SessionRecord.objects.filter(audience.joins(), read_by=__version__[:32]).exclude(status="deleting")
    found: dict[int, set[int]] = {}
    for part in chunks((one.artifact_id for one in files), AT_ONCE):
        rows = SessionArtifactRecord.objects.filter(artifact_id__in=part, session__in=mine)
        for artifact, session in rows.values_list("artifact_id", "session_id"):
            found.setdefault(artifact, set()).add(session)
    return found


def _touched(fresh: Sequence[BatchFile], audience: Audience) -> _Touched:
    """The sessions that an earlier version of one of these files was read into."""
    mine = SessionRecord.objects.filter(audience.joins()).exclude(status="deleting")
    paths: set[str] = set()
    sessions: set[int] = set()
    for part in chunks((one.source_path for one in fresh if one.source_path), AT_ONCE):
        rows = SessionArtifactRecord.objects.filter(source_path__in=part, session__in=mine)
        for path, session in rows.values_list("source_path", "session_id"):
            paths.add(path)
            sessions.add(session)
    return _Touched(frozenset(paths), frozenset(sessions))


def _folder(one: BatchFile) -> str:
    return one.source_path.rpartition("/")[0] or one.name.rpartition("/")[0]


def apart(files: Sequence[BatchFile], audience: Audience) -> tuple[list[Part], Part]:
    """The files of sessions here that can be read one by one, a part for each, and all others. An index that several
    sessions have is in each of their parts. Two queries for 500 files, and two for the families.

    Readers hold no states where several sessions are read together, since what counts in one follows from the others
    (forks, copies). Of sessions that stand alone nothing does: read by itself, each costs what was appended to it.
    """
    linked = _sessions_of(files, audience)
    alone, shared = set[int](), set[int]()
    for one in files:
        if one.name.endswith(GROWING):
            (alone if len(linked[one.artifact_id]) == 1 else shared).update(linked[one.artifact_id])
        elif not linked[one.artifact_id]:
            return [], list(files)  # a store, a configuration: it may change what is beside it
    alone -= shared
    alone -= {number for family in families(sorted(alone), audience) for number in family}
    alone -= _elsewhere(alone, files)
    parts: dict[int, Part] = {number: [] for number in sorted(alone)}
    rest: Part = []
    for one in files:
        for number in linked[one.artifact_id] & alone:
            parts[number].append(one)
        if not linked[one.artifact_id] or linked[one.artifact_id] - alone:
            rest.append(one)
    # What is in parts too is no more than an index: what it says of others is told when those change.
    is_needed = any(linked[one.artifact_id].isdisjoint(alone) for one in rest)
    return list(parts.values()), rest if is_needed else []


def _sessions_of(files: Sequence[BatchFile], audience: Audience) -> dict[int, set[int]]:
    """The sessions that are read from each file, or from an earlier version of it, by its artifact's id."""
    mine = SessionRecord.objects.filter(audience.joins()).exclude(status="deleting")
    found: dict[int, set[int]] = {one.artifact_id: set() for one in files}
    for part in chunks(files, AT_ONCE):
        own = {one.artifact_id for one in part}
        at = {one.source_path: one.artifact_id for one in part if one.source_path}
        known = SessionArtifactRecord.objects.filter(Q(artifact_id__in=own) | Q(source_path__in=list(at)))
        for artifact, path, session in known.filter(session__in=mine).values_list(
            "artifact_id", "source_path", "session_id"
        ):
            found[artifact if artifact in own else at[path]].add(session)
    return found


def _elsewhere(sessions: set[int], files: Sequence[BatchFile]) -> set[int]:
    """Those of `sessions` that are also read from what is not among `files`, or lies where it is read (a store)."""
    own = {one.artifact_id for one in files}
    paths = {one.source_path for one in files if one.source_path}
    links = SessionArtifactRecord.objects.filter(session_id__in=sessions)
    return {
        session
        for session, artifact, path, in_place in links.values_list(
            "session_id", "artifact_id", "source_path", "artifact__path"
        )
        if in_place or (artifact not in own and path not in paths)
    }
