"""Reading a batch's files and saving every session of them, each in one transaction."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any

from django.db import transaction
from django.utils import timezone

from contextviz import __version__
from contextviz.analysis.windows import fill_window
from contextviz.events.problem import ReadProblem
from contextviz.events.session import SourceFile, Transcript
from contextviz.services.delete import remove_session
from contextviz.services.digest.audience import Audience
from contextviz.services.digest.batch import BatchFile, contents, distinct, files_of_session, merged
from contextviz.services.digest.collections import few_collections
from contextviz.services.digest.outcome import Outcome
from contextviz.services.figures import derive
from contextviz.services.indexing import index_fresh
from contextviz.services.jobs import JobFailed, JobRun
from contextviz.sources.files import read_paths
from contextviz.sources.lossless_claw.reader import FORMAT as STORE_FORMAT
from contextviz.sources.source import ReadItem, ReadOptions
from contextviz.sources.unpack import unpacked
from contextviz.store.memory import give_back
from contextviz.store.models import SessionArtifactRecord, SessionRecord
from contextviz.store.rows.session import key_of
from contextviz.store.search import last_pack
from contextviz.store.texts import StoreTextPool, TextReader
from contextviz.store.writes import MissingTexts, Saved, save_transcript

logger = logging.getLogger("contextviz.timing")
MOST_TRIES = 3


class Superseded(Exception):
    """The session got other files while this transcript was read: look again."""


class Reading:
    """One batch on its way into the store."""

    def __init__(self, run: JobRun, files: Sequence[BatchFile], audience: Audience) -> None:
        self._run = run
        self._audience = audience
        self._files = {one.name: one for one in files}
        # Which archive a member's name comes from: the archive is what is kept.
        self._origins: dict[str, str] = {}
        self._total = sum(one.size for one in files)
        self._bytes_put = 0
        self._outcome = Outcome()

    def read_all(self) -> Outcome:
        """Read every file and save every session; sessions are there as soon as each is saved."""
        with few_collections():
            return self._read_all()

    def _read_all(self) -> Outcome:
        self._run.progress(0, self._total, force=True)
        known = last_pack()
        saved: list[tuple[int, Transcript]] = []
        for item in self._read(self._files.values()):
            if isinstance(item, SourceFile):
                self._outcome.files.append(item)
            elif isinstance(item, ReadProblem):
                self._outcome.problems.append(item)
            else:
                saved.append((self._keep(item), _head_of(item)))
                index_fresh(known, self._beat)
            del item
        self._link_indexes(saved)
        return self._outcome

    def _read(self, files: Iterable[BatchFile]) -> Iterator[ReadItem]:
        pool = StoreTextPool(on_put=self._on_put)
        options = ReadOptions(pool=pool, now=timezone.now())
        with unpacked([one.named for one in files]) as opened:
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
        own = self._own_files(transcript)
        for _ in range(MOST_TRIES):
            try:
                return self._keep_once(transcript, own)
            except Superseded:
                continue
            except MissingTexts:
                self._run.log("texts were removed by a deletion meanwhile; reading once more")
                transcript = self._again(self._key(transcript), own) or transcript
        raise JobFailed("The store changed again and again while this was read. Try again.")

    def _keep_once(self, transcript: Transcript, own: list[BatchFile]) -> int:
        host = self._other_half(transcript) if _is_store_alone(transcript) else None
        if host is not None and (kept := self._put_into(host, own)) is not None:
            return kept
        store = None if _is_store_alone(transcript) else self._other_half(transcript)
        with_store = own if store is None else merged(files_of_session(store.pk), own)
        existing = SessionRecord.objects.filter(key=self._key(transcript)).first()
        if existing is not None and existing.status == "deleting":
            raise JobFailed("A session of these files is being deleted. Try again when that is done.")
        old = files_of_session(existing.pk) if existing else []
        whole = merged(old, [*with_store, *self._replacing(old, with_store)])
        if existing and contents(whole) == contents(old) and existing.read_by == __version__[:32]:
            self._outcome.unchanged.append(existing.pk)
            return existing.pk
        if contents(whole) != contents(own):
            # Files that came earlier belong to it too (sub-agents, a store, the longer version of one file).
            transcript = self._again(self._key(transcript), whole) or transcript
        saved = self._save(transcript, whole, contents(old))
        if store is not None and transcript.store is not None:
            remove_session(self._run, store.pk)
        return saved

    def _put_into(self, host: SessionRecord, own: list[BatchFile]) -> int | None:
        """Add a store that came alone to the session it belongs to; None where reading both does not join them."""
        old = files_of_session(host.pk)
        whole = merged(old, own)
        if contents(whole) == contents(old) and host.read_by == __version__[:32]:
            self._outcome.unchanged.append(host.pk)
            return host.pk
        joined = self._again(host.key, whole)
        return None if joined is None or joined.store is None else self._save(joined, whole, contents(old))

    def _key(self, transcript: Transcript) -> str:
        return self._audience.key(key_of(transcript.session))

    def _other_half(self, transcript: Transcript) -> SessionRecord | None:
        """The session that is the host of a store, or the store of a host, where it came in another upload."""
        session = transcript.session
        if session.generation != "active" or (transcript.store is not None and not _is_store_alone(transcript)):
            return None
        named = SessionRecord.objects.filter(self._audience.joins(), source_id=session.id, generation="active")
        named = named.exclude(status="deleting")
        stores = {"format": STORE_FORMAT}
        found = named.exclude(**stores) if _is_store_alone(transcript) else named.filter(**stores)
        return found.order_by("-updated_at").first()

    def _replacing(self, old: Sequence[BatchFile], own: Sequence[BatchFile]) -> list[BatchFile]:
        """Files of this batch that are newer versions of what the session has, though no transcript names them."""
        names = {one.name for one in old}
        return [file for name, file in self._files.items() if name in names and file not in own]

    def _again(self, key: str, files: list[BatchFile]) -> Transcript | None:
        for item in self._read(files):
            if isinstance(item, Transcript) and self._key(item) == key:
                return item
        return None

    def _save(self, transcript: Transcript, files: list[BatchFile], expected: frozenset[str]) -> int:
        now = timezone.now()
        fill_window(transcript)
        give_back()
        derived = derive(transcript, TextReader(4))
        give_back()
        with transaction.atomic():
            saved = save_transcript(transcript, derived, now=now, key=self._key(transcript))
            if contents(files_of_session(saved.session_id)) != expected:
                raise Superseded
            _link(saved.session_id, files)
            if saved.is_new:
                SessionRecord.objects.filter(pk=saved.session_id).update(
                    owner_id=self._audience.person_id, is_private=self._audience.is_private
                )
        logger.info(
            "session saved session=%d rows=%d ms=%d", saved.session_id, saved.changed_rows, _milliseconds(now)
        )  # fmt: skip
        self._note(saved)
        return saved.session_id

    def _note(self, saved: Saved) -> None:
        found = self._outcome
        changed = found.updated if saved.changed_rows else found.unchanged
        (found.new if saved.is_new else changed).append(saved.session_id)

    def _own_files(self, transcript: Transcript) -> list[BatchFile]:
        told = [*transcript.files, *([transcript.store.file] if transcript.store else [])]
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
                    SessionArtifactRecord.objects.get_or_create(
                        session_id=session_id, artifact_id=file.artifact_id, defaults=_names(file)
                    )


def _is_store_alone(transcript: Transcript) -> bool:
    return transcript.session.format == STORE_FORMAT


def _head_of(transcript: Transcript) -> Transcript:
    """The transcript without its lists: they are saved, and memory is for the next one."""
    return Transcript(session=transcript.session)


def _link(session_id: int, files: Sequence[BatchFile]) -> None:
    kept = [one.artifact_id for one in files]
    SessionArtifactRecord.objects.filter(session_id=session_id).exclude(artifact_id__in=kept).delete()
    for one in files:
        SessionArtifactRecord.objects.get_or_create(
            session_id=session_id, artifact_id=one.artifact_id, defaults=_names(one)
        )


def _names(file: BatchFile) -> dict[str, Any]:
    return {"name": file.name, "source_path": file.source_path}


def _milliseconds(since: datetime) -> int:
    return round((timezone.now() - since).total_seconds() * 1000)
