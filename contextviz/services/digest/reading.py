"""Reading a batch's files and saving every session of them, each in one transaction."""

from __future__ import annotations

import logging
from collections.abc import Container, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import asdict, replace
from functools import partial

from django.db import transaction
from django.utils import timezone

from contextviz import __version__
from contextviz.analysis.windows import fill_window
from contextviz.events.problem import ReadProblem
from contextviz.events.session import SourceFile, Transcript
from contextviz.services.alerts import evaluate
from contextviz.services.delete import remove_session
from contextviz.services.digest.audience import Audience
from contextviz.services.digest.batch import (
    BatchFile,
    called_before,
    contents,
    distinct,
    files_of_session,
    hold_several,
    is_newer_version,
    link_file,
    link_files,
    merged,
    named,
)
from contextviz.services.digest.collections import few_collections, short_turns
from contextviz.services.digest.halves import (
    MOST_LOGS,
    called_alike,
    forget_waiting,
    host_of,
    is_behind,
    is_joined,
    is_lesser,
    is_passed_over,
    keep_waiting,
    logs_of,
    parts_of,
    sessions_of_log,
    sessions_of_state,
    twins_of,
)
from contextviz.services.digest.known import rooted, roots_of
from contextviz.services.digest.lost import carried
from contextviz.services.digest.outcome import Fullness, Outcome, namesakes_of
from contextviz.services.digest.remembering import ReadingMemory
from contextviz.services.figures import derive
from contextviz.services.indexing import index_fresh, index_some, indexing_beside
from contextviz.services.jobs import JobFailed, JobRun
from contextviz.services.live import earlier_of, tell
from contextviz.sources.account_exports import TOLD_WHOLE
from contextviz.sources.files import read_paths
from contextviz.sources.source import ReadItem, ReadOptions
from contextviz.sources.unpack import unpacked
from contextviz.store.growing import settle
from contextviz.store.memory import give_back, keep_little
from contextviz.store.models import SessionRecord
from contextviz.store.rows.session import key_of
from contextviz.store.search import last_pack
from contextviz.store.tables import Planner
from contextviz.store.texts import StoreTextPool, TextReader
from contextviz.store.writes import MissingTexts, save_transcript

logger = logging.getLogger("contextviz.timing")
MOST_TRIES = 3
MOST_READ_ON = 48 * 1024 * 1024  # bytes of files whose readers' states are held: they take about as much memory
LISTED = 200  # files that a job's result names


class Superseded(Exception):
    """The session got other files while this transcript was read: look again."""


class Reading:
    """One batch on its way into the store."""

    def __init__(
        self, run: JobRun, files: Sequence[BatchFile], audience: Audience, *, is_whole_family: bool = False,
        is_joint: bool = False, depending: Container[str] = (), unread: Container[str] = (),
    ) -> None:  # fmt: skip
        """With `is_whole_family` every session is saved as it is read here, though its own files are the same; so are
        those that are read from one of the contents `depending`; with `is_joint`, of these files from those alone that
        it is made of now. A session that was read from one of the contents `unread` meanwhile, by somebody who follows
        the file, is an updated one."""
        self._run = run
        self._audience = audience
        self._is_whole_family = is_whole_family or is_joint
        self._is_joint = is_joint
        self._depending = depending
        self._unread = unread
        # What came at different times, named from different folders, is read under names from one.
        self._files = {one.name: one for one in distinct(rooted(files, roots_of(files)))}
        # Made once: every session asks for these.
        self._named, self._roots = named(self._files.values()), roots_of(self._files.values())
        self._by_content = {one.sha256: name for name, one in self._files.items()}
        self._given = {(one.sha256, one.source_path): one.name for one in files if one.source_path}
        # Which archive a member's name comes from: the archive is what is kept.
        self._origins: dict[str, str] = {}
        # The names of what stands beside a session and tells of it alone (its settings), by format and session; those
        # of indexes of several sessions by their format and None.
        self._beside: dict[tuple[str | None, str | None], list[str]] = {}
        self._renamed: dict[str, str] = {}  # names of the session's files, as they were and as this batch has them
        self._total = sum(one.size for one in files)
        self._bytes_put = 0
        self._known_packs = 0  # the newest pack that was there before
        self._memory = ReadingMemory()
        self._planner = Planner()
        self._outcome = Outcome()
        self._fullest: dict[str, Fullness] = {}  # what every session was read as, by its key

    def read_all(self) -> Outcome:
        """Read every file and save every session; sessions are there as soon as each is saved."""
        keep_little()
        with few_collections(), short_turns():
            return self._read_all()

    def _read_all(self) -> Outcome:
        self._run.progress(0, self._total, force=True)
        self._known_packs = last_pack()
        saved: list[tuple[int, Transcript]] = []
        for item in self._read(self._files.values()):
            if isinstance(item, SourceFile):
                self._outcome.files.append(item)
                if item.role == "index":
                    self._beside.setdefault((item.format, item.session), []).append(item.path)
                if not self._is_whole_family and len(self._outcome.files) <= LISTED:
                    self._run.result["files"] = [*self._run.result.get("files", ()), asdict(item)]
            elif isinstance(item, ReadProblem):
                self._outcome.problems.append(item)
            elif not self._is_lesser(item):
                saved.append((self._keep(item), Transcript(item.session)))  # its lists are saved
                index_fresh(self._known_packs, self._beat)
            del item
        self._revisit_states()
        self._put_logs()
        self._link_indexes(saved)
        given = {name: self._given.get((one.sha256, one.source_path), name) for name, one in self._files.items()}
        self._outcome.files = [replace(one, path=given.get(one.path, one.path)) for one in self._outcome.files]
        return self._outcome

    def _is_lesser(self, transcript: Transcript) -> bool:
        """Whether this reading gave the same session with as much in it already: of two files that no reader puts
        together the fuller one counts, whatever their order, else the first, and the other is told."""
        own, before = Fullness.of(transcript), self._fullest.get(key := self._key(transcript))
        is_lesser = before is not None and not before < own
        self._fullest[key] = before if before is not None and is_lesser else own
        if before is not None:
            self._outcome.add_problem(own.left_out(before) if is_lesser else before.left_out(own))
        return is_lesser

    def _revisit_states(self) -> None:
        """Read sessions again of whose state a newer version came that names them no longer: that is what happened."""
        for file in self._files.values():
            for session in sessions_of_state(file, self._audience, self._outcome.sessions):
                self._put_into(session, [file])

    def _put_logs(self) -> None:
        """Give logs of requests to the sessions that they speak of and that came in an earlier upload; keep them for
        those that did not come yet."""
        for source in self._outcome.files:
            file = self._files.get(self._origins.get(source.path, source.path))
            if source.role == "trace" and source.sessions and file is not None:
                for session in sessions_of_log(source.sessions, self._audience, self._outcome.sessions):
                    # One that is read from nothing but the log was made before its transcript came.
                    if contents(files_of_session(session.pk)) != {file.sha256}:
                        self._put_into(session, [file])
                kept, left = keep_waiting(file, source.sessions, self._audience, now=timezone.now())
                self._outcome.waiting = list(dict.fromkeys([*self._outcome.waiting, *kept]))
                if left:
                    self._run.log(f"{file.name} speaks of {left:,} more sessions than a log is kept for; send it again "
                                  "once they are here")  # fmt: skip

    def _read(self, files: Iterable[BatchFile]) -> Iterator[ReadItem]:
        pool = StoreTextPool(on_put=self._on_put, when_idle=partial(index_some, self._known_packs))
        given = list(files)
        memory = self._memory if sum(one.size for one in given) <= MOST_READ_ON else None
        options = ReadOptions(pool=pool, now=timezone.now(), memory=memory)
        for one in given:
            if not one.is_in_place:
                settle(one.sha256, one.size)
        with closing(pool), unpacked([one.named for one in given]) as opened:
            self._origins.update(opened.origins)
            for item in opened.all_of(read_paths(opened.paths, options)):
                # A session's own transaction must find every text it refers to.
                pool.flush()
                yield item
                del item  # not held while the next session is read

    def _on_put(self, size: int) -> None:
        # Texts are the bulk of a file, so their bytes are a fair measure of how far reading is.
        self._bytes_put += size
        self._beat()

    def _beat(self) -> None:
        self._run.progress(min(self._bytes_put, self._total))

    def _keep(self, transcript: Transcript) -> int:
        own, given = self._own_files(transcript), self._named
        for _ in range(MOST_TRIES):
            try:
                return self._keep_once(transcript, own, given)
            except Superseded:
                continue
            except MissingTexts:
                self._run.log("texts were removed by a deletion meanwhile; reading once more")
                self._memory.forget()
                given = named(own)
                transcript = self._again(self._key(transcript), own) or transcript
        raise JobFailed("The store changed again and again while this was read. Try again.")

    def _keep_once(self, transcript: Transcript, own: list[BatchFile], given: frozenset[tuple[str, str]]) -> int:
        """Save what was read from the files `given` and is of `own`, with what the store has of it."""
        twins = twins_of(transcript, own, self._audience)
        kept = self._into_host(transcript, own, twins)
        if kept is not None:
            return kept
        parts = [(part.pk, files_of_session(part.pk)) for part in parts_of(transcript, self._audience)]
        parts += [(twin.pk, called_alike(files_of_session(twin.pk), own)) for twin in twins]
        logs = self._logs_before(transcript)
        with_parts = merged(logs, own) if logs else own
        for _, files in parts:
            with_parts = merged(files, with_parts)
        existing = SessionRecord.objects.filter(key=self._key(transcript)).first()
        if existing is not None and existing.status == "deleting":
            raise JobFailed("A session of these files is being deleted. Try again when that is done.")
        old = self._files_before(existing)
        late = self._late_indexes(transcript, old) if existing else []
        before = [one for one in old if one.sha256 not in self._by_content] if self._is_joint else old
        whole = merged(before, [*with_parts, *self._replacing(before, with_parts), *late])
        if existing is not None and not parts and transcript.session.format in TOLD_WHOLE:
            # Reading both exports for each of a thousand conversations would take hours, and tell nothing more.
            if is_behind(transcript, existing):
                return self._stays(existing)
            whole = own
        if existing is not None and is_passed_over(transcript, existing, old, own):
            self._run.log(f"{own[0].name} holds less of {transcript.session.id[:100]} than what came before under that "
                          "name: that is kept, and this is not shown")  # fmt: skip
            return self._stays(existing)
        is_same = existing is not None and contents(whole) == contents(old) and existing.read_by == __version__[:32]
        is_depending = self._is_whole_family or any(one.sha256 in self._depending for one in own)
        if existing and is_same and not is_depending:
            forget_waiting(transcript.session.id, logs)
            return self._stays(existing, is_changed=any(one.sha256 in self._unread for one in old))
        is_again = contents(whole) != contents(own) and not named(whole) <= given
        if is_again:
            # Files that came earlier belong to it too (sub-agents, a store, the longer version of one file).
            is_one = existing is None or self._is_whole_family or not hold_several(old, existing)
            found = self._again(self._key(transcript), whole) if is_one else None
            if existing is not None and found is None and not self._is_whole_family:
                return self._put_off(existing, whole)
            transcript = found or transcript
        saved = self._save(transcript, whole, contents(old))
        forget_waiting(transcript.session.id, logs)
        if is_again:
            self._outcome.alone.append(saved)
        for part, files in parts:
            if part in {twin.pk for twin in twins} or is_joined(transcript, files, whole, self._origins):
                remove_session(self._run, part)
        return saved

    def _files_before(self, session: SessionRecord | None) -> list[BatchFile]:
        """What a session is read from until now, under names from where this batch has them."""
        was = files_of_session(session.pk) if session is not None else []
        old = rooted(was, self._roots)
        self._renamed = {one.name: other.name for one, other in zip(was, old, strict=True)}
        return old

    def _logs_before(self, transcript: Transcript) -> list[BatchFile]:
        found = logs_of(transcript, self._audience)
        if len(found) > MOST_LOGS:
            self._run.log(f"more than {MOST_LOGS} logs came before {transcript.session.id}: the rest is read with it "
                          "when it changes")  # fmt: skip
        return found[:MOST_LOGS]

    def _into_host(self, transcript: Transcript, own: list[BatchFile], twins: list[SessionRecord]) -> int | None:
        """Add what belongs to a session that is here to that, a store or files without their folder; `twins` are left
        where it does not."""
        host = host_of(transcript, self._audience)
        if host is not None and (kept := self._put_into(host, own)) is not None:
            return kept
        twin = files_of_session(twins[0].pk) if twins else []
        if twins and is_lesser(transcript.session, own, twin):
            found = self._put_into(twins[0], called_alike(own, twin))
            twins.clear()
            return found
        return None

    def _put_into(self, host: SessionRecord, own: list[BatchFile]) -> int | None:
        """Add a store or log that came alone to the session it belongs to; None where reading both does not join
        them."""
        old = self._files_before(host)
        whole = merged(old, own)
        if contents(whole) == contents(old) and host.read_by == __version__[:32]:
            return self._stays(host)
        joined = self._again(host.key, whole)
        if joined is None or not is_joined(joined, own, whole, self._origins):
            return None
        return self._save(joined, whole, contents(old))

    def _key(self, transcript: Transcript) -> str:
        return self._audience.key(key_of(transcript.session))

    def _replacing(self, old: Sequence[BatchFile], own: Sequence[BatchFile]) -> list[BatchFile]:
        """Files of this batch that are newer versions of what the session has, though no transcript names them."""
        names = {one.name for one in old}
        rest = [file for name, file in self._files.items() if name in names and file not in own]
        return [file for file in rest if is_newer_version(old, file)]

    def _late_indexes(self, transcript: Transcript, old: Sequence[BatchFile]) -> list[BatchFile]:
        """Indexes of this batch, of several sessions, of which the session has no version yet: nothing that they say
        is in it."""
        names = {one.basename for one in old}
        told = self._beside.get((transcript.session.format, None), ())
        found = [self._files[name] for name in told if name in self._files]
        return [one for one in found if one.basename not in names]

    def _again(self, key: str, files: list[BatchFile]) -> Transcript | None:
        """The session kept under `key` as all of `files` tell it, of several transcripts the fullest; what else is to
        be said of the files is told. None where they hold another session of that name besides (runs of one instance):
        those are read together with all that has the name."""
        found: Transcript | None = None
        others: set[str] = set()
        names = {one.name: self._by_content[one.sha256] for one in files if one.sha256 in self._by_content}
        for item in self._read(files):
            if isinstance(item, ReadProblem):
                self._outcome.add_problem(item)
            elif isinstance(item, SourceFile):
                if item.role == "duplicate" and item.path in names:
                    self._outcome.now_a_copy(replace(item, path=names[item.path]))
            elif self._key(item) != key:
                others.add(item.session.id)
            elif found is None or Fullness.of(found) < Fullness.of(item):
                found = item
        return None if found is not None and not others.isdisjoint(namesakes_of(found.session.id)) else found

    def _put_off(self, session: SessionRecord, whole: Sequence[BatchFile]) -> int:
        known = contents(self._outcome.joint)
        self._outcome.joint.extend(one for one in whole if one.sha256 not in known)
        return session.pk

    def _stays(self, session: SessionRecord, *, is_changed: bool = False) -> int:
        self._outcome.is_found(session.pk, is_new=False, is_changed=is_changed)
        return session.pk

    def _save(self, transcript: Transcript, files: list[BatchFile], expected: frozenset[str]) -> int:
        now = timezone.now()
        told = carried(self._key(transcript), [*files, *called_before(files, self._renamed)], expected)
        told = [replace(one, file=self._renamed.get(one.file or "", one.file)) for one in told]
        transcript.problems = [*(one for one in transcript.problems if one not in told), *told]
        fill_window(transcript)
        give_back()
        with indexing_beside(self._known_packs, size=self._bytes_put):
            derived = derive(transcript, TextReader(4), with_budget=not self._memory.is_going_on)
        give_back()
        with transaction.atomic():
            earlier = earlier_of(self._key(transcript))
            saved = save_transcript(transcript, derived, now=now, key=self._key(transcript))
            if contents(files_of_session(saved.session_id)) != expected:
                raise Superseded
            link_files(saved.session_id, files)
            if saved.is_new:
                SessionRecord.objects.filter(pk=saved.session_id).update(
                    owner_id=self._audience.person_id, is_private=self._audience.is_private
                )
            if saved.changed_rows:
                tell(saved.session_id, transcript, earlier, now=now)
                evaluate(saved.session_id, transcript, earlier, now=now)
        milliseconds = round((timezone.now() - now).total_seconds() * 1000)
        logger.info("session saved session=%d rows=%d ms=%d", saved.session_id, saved.changed_rows, milliseconds)
        self._memory.saved(saved.session_id)
        self._planner.wrote(saved.changed_rows)
        self._outcome.is_found(saved.session_id, is_new=saved.is_new, is_changed=saved.is_changed)
        return saved.session_id

    def _own_files(self, transcript: Transcript) -> list[BatchFile]:
        beside = self._beside.get((transcript.session.format, transcript.session.id), ())
        told = [*transcript.files, *([transcript.store.file] if transcript.store else []), *beside]
        names = [self._origins.get(name, name) for name in told]
        return distinct(self._files[name] for name in dict.fromkeys(names) if name in self._files)

    def _link_indexes(self, saved: list[tuple[int, Transcript]]) -> None:
        """Indexes (sessions.json) belong to no transcript alone; they are kept with every session of their format."""
        for source in self._outcome.files:
            file = self._files.get(source.path)
            if source.role != "index" or file is None:
                continue
            for session_id, transcript in saved:
                if source.session in (None, transcript.session.id) and source.format == transcript.session.format:
                    link_file(session_id, file)
