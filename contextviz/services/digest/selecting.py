"""Which files of a batch have to be read: those that changed, and those whose numbers depend on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from contextviz import __version__
from contextviz.services.digest.audience import Audience
from contextviz.services.digest.batch import BatchFile, distinct
from contextviz.services.digest.families import companions
from contextviz.services.digest.known import GROWING
from contextviz.store.bulk import chunks
from contextviz.store.models import SessionArtifactRecord, SessionRecord

AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class Selection:
    """`files` are to be read; `settled` are sessions that the other files were read into before, by this version."""

    files: list[BatchFile]
    settled: list[int]


def selected(files: Sequence[BatchFile], audience: Audience) -> Selection:
    """What is to be read of a batch. Where something came that is no longer version of a file here and no transcript,
    that is everything: a store, a trace or a configuration changes what is beside it."""
    links = _links(files, audience)
    fresh = [one for one in files if one.artifact_id not in links]
    if not fresh:
        return Selection([], sorted({number for found in links.values() for number in found}))
    if not all(one.name.endswith(GROWING) for one in fresh):
        return Selection(distinct([*files, *companions(fresh, audience)]), [])
    touched = _touched(fresh, audience)
    # A copy of a session that says nothing of its original lies in the same folder.
    folders = {_folder(one) for one in fresh if one.source_path not in touched.paths}
    read = [
        one
        for one in files
        if one in fresh or _folder(one) in folders or not touched.sessions.isdisjoint(links[one.artifact_id])
    ]
    settled = {number for one in files if one not in read for number in links[one.artifact_id]} - touched.sessions
    return Selection(distinct([*read, *companions(fresh, audience)]), sorted(settled))


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
