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
VERSION = __version__[:32]  # as much of it as a session's row holds
Part = list[BatchFile]


@dataclass(frozen=True, slots=True)
class Selection:
    """`files` are to be read; `settled` are sessions that the other files were read into before, by this version.
    `depending` are the contents of those that did not change and whose sessions' numbers may: relatives of what did."""

    files: list[BatchFile]
    settled: list[int]
    depending: frozenset[str] = frozenset()


class Links:
    """Which sessions that a batch may add to are read from its files. One query for 500 files that it was not asked
    before: all that a job wants to know of them is answered from the same rows.

    The rule: a session is *of* a file where it is read from this very content, or from what lay at the file's path (an
    earlier version of it), whichever version of this program read that. What moved to another path and is among the
    files counts for itself alone, not for what lies at its old path now. A file is *settled* in those sessions that
    this version read from this very content: for them nothing of it has to be read.
    """

    def __init__(self, audience: Audience) -> None:
        self.audience = audience
        self._asked: set[tuple[int, str]] = set()
        self._contents: dict[int, set[int]] = {}
        self._settled: dict[int, set[int]] = {}
        # Path: the artifacts that a session is read from there, each with the session.
        self._paths: dict[str, set[tuple[int, int]]] = {}

    def settled(self, files: Sequence[BatchFile]) -> dict[int, set[int]]:
        """By artifact's id the sessions that it is settled in; those that are in none are left out."""
        self._ask(files)
        return {one.artifact_id: found for one in files if (found := self._settled.get(one.artifact_id))}

    def at(self, files: Sequence[BatchFile]) -> dict[str, set[int]]:
        """By path the sessions that are read from what lies or lay there; paths without any are left out."""
        self._ask(files)
        return {
            one.source_path: {session for _, session in found}
            for one in files if (found := self._paths.get(one.source_path))
        }  # fmt: skip

    def unread(self, files: Sequence[BatchFile]) -> frozenset[str]:
        """The contents that no session was read from when they were asked for first."""
        self._ask(files)
        return frozenset(one.sha256 for one in files if not self._contents.get(one.artifact_id))

    def relatives(self, chosen: Selection, files: Sequence[BatchFile]) -> set[int]:
        """The sessions of what is read along with `files` for their sake, and that are of none of these."""
        beside = [one for one in chosen.files if one.sha256 in chosen.depending]
        found = {session for sessions in self.of(beside).values() for session in sessions} if beside else set()
        return found - {session for sessions in self.at(files).values() for session in sessions}

    def of(self, files: Sequence[BatchFile]) -> dict[int, set[int]]:
        """By artifact's id the sessions of every file."""
        self._ask(files)
        own = {one.artifact_id for one in files}
        found = {number: set(self._contents.get(number, ())) for number in own}
        for one in files:
            lay = self._paths.get(one.source_path, ())
            found[one.artifact_id].update(session for artifact, session in lay if artifact not in own)
        return found

    def _ask(self, files: Sequence[BatchFile]) -> None:
        fresh = [one for one in files if (one.artifact_id, one.source_path) not in self._asked]
        if not fresh:
            return
        self._asked.update((one.artifact_id, one.source_path) for one in fresh)
        mine = SessionRecord.objects.filter(self.audience.joins()).exclude(status="deleting")
        for part in chunks(fresh, AT_ONCE):
            content = Q(artifact_id__in={one.artifact_id for one in part})
            path = Q(source_path__in={one.source_path for one in part if one.source_path})
            rows = SessionArtifactRecord.objects.filter(content | path, session__in=mine)
            for artifact, at, session, version in rows.values_list(
                "artifact_id", "source_path", "session_id", "session__read_by"
            ):
                self._contents.setdefault(artifact, set()).add(session)
                if version == VERSION:
                    self._settled.setdefault(artifact, set()).add(session)
                if at:
                    self._paths.setdefault(at, set()).add((artifact, session))


def selected(files: Sequence[BatchFile], links: Links, again: Container[int] = ()) -> Selection:
    """What is to be read of a batch; of artifacts in `again` as if they had never been read. Where something came that
    is no later version of a file here and no transcript, that is everything: a store, a trace or a configuration
    changes what is beside it."""
    settled = links.settled(files)
    fresh = [one for one in files if one.artifact_id not in settled or one.artifact_id in again]
    if not fresh:
        return Selection([], sorted({number for found in settled.values() for number in found}))
    before = links.at(fresh)
    touched = {number for found in before.values() for number in found}
    relatives = companions(fresh, touched, links.audience)
    depending = contents(relatives)
    if not all(one.name.endswith(GROWING) for one in fresh):
        return Selection(distinct([*files, *relatives]), [], depending)
    # A copy of a session that says nothing of its original lies in the same folder.
    folders = {_folder(one) for one in fresh if one.source_path not in before}
    read = [
        one
        for one in files
        if one in fresh or _folder(one) in folders or not touched.isdisjoint(settled[one.artifact_id])
    ]
    rest = {number for one in files if one not in read for number in settled[one.artifact_id]} - touched
    return Selection(distinct([*read, *relatives]), sorted(rest), depending)


def _folder(one: BatchFile) -> str:
    return one.source_path.rpartition("/")[0] or one.name.rpartition("/")[0]


def apart(files: Sequence[BatchFile], links: Links) -> tuple[list[Part], Part]:
    """The files of sessions here that can be read one by one, a part for each, and all others. An index that several
    sessions have is in each of their parts. One query and those of `families`; one more for 500 files that `links` was
    not asked before.

    Readers hold no states where several sessions are read together, since what counts in one follows from the others
    (forks, copies). Of sessions that stand alone nothing does: read by itself, each costs what was appended to it.
    """
    linked = links.of(files)
    alone, shared = set[int](), set[int]()
    for one in files:
        if one.name.endswith(GROWING):
            (alone if len(linked[one.artifact_id]) == 1 else shared).update(linked[one.artifact_id])
        elif not linked[one.artifact_id]:
            return [], list(files)  # a store, a configuration: it may change what is beside it
    alone -= shared
    alone -= {number for family in families(sorted(alone), links.audience) for number in family}
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
