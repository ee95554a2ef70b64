"""Events of the unified model in: line by line, each kept or refused with its reason."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from uuid import UUID

import orjson
from django.db import transaction
from django.db.models import Max

from contextviz.services.inbox.posting import Posted, accept
from contextviz.services.incoming.unzipping import BadBody
from contextviz.sources.context_events.envelope import Envelope, NoEvent, envelope_of
from contextviz.sources.lines import parse_object
from contextviz.store.models import CompactionRecord, InboxStreamRecord
from contextviz.store.viewing import seen_sessions, viewer_of_id, viewing

MOST_BYTES = 64 * 1024 * 1024
MOST_LINE_BYTES = 4 * 1024 * 1024
MOST_LINES = 500_000
MOST_LISTED = 100
AT_ONCE = 1000
FAR = timedelta(days=1)
OLDER = "it is older than a compaction that is known; it is put where its number says, and the session is read again"
AHEAD = "its time lies more than a day ahead; it is kept, and its time is left out of the session's"
TOO_MANY = f"A post may have {MOST_LINES:,} lines. What came before that is kept; send the rest in a further post."
TOO_LONG = f"it is longer than {MOST_LINE_BYTES // 1024 // 1024} MiB"


@dataclass(frozen=True, slots=True)
class Remark:
    """What is said of one line of a post (from 1)."""

    line: int
    sentence: str


@dataclass(slots=True)
class Post:
    """What came of a post: events that were new, that were here before, lines that are no events (the first 100 with
    their reasons), and what is odd about events that were kept. `jobs` are enqueued after the commit."""

    new: int = 0
    known: int = 0
    refused: int = 0
    rejected: list[Remark] = field(default_factory=list)
    remarks: list[Remark] = field(default_factory=list)
    stream: int | None = None
    jobs: list[UUID] = field(default_factory=list)

    def refuse(self, line: int, sentence: str) -> None:
        """Note that a line is not kept."""
        self.refused += 1
        if len(self.rejected) < MOST_LISTED:
            self.rejected.append(Remark(line, sentence[:300]))

    def remark(self, line: int, sentence: str) -> None:
        """Note what is odd about a line that is kept."""
        if len(self.remarks) < MOST_LISTED:
            self.remarks.append(Remark(line, sentence))


def receive_events(
    session: str, chunks: Iterable[bytes], post: Post, *, now: datetime, person_id: int | None = None,
    is_private: bool = False,
) -> None:  # fmt: skip
    """Keep the events of a body of lines for the session that its sender calls `session`.

    What `person_id` sends is theirs, and theirs alone with `is_private`. Raises what `chunks` raises, and BadBody for
    too many lines; the lines before that are kept and in `post`, and are known when they are sent again.
    """
    sender = f"person-{person_id}" if is_private else ""
    watch = _Watch(session, sender, now, person_id)
    batch: list[Posted] = []

    def keep() -> None:
        with transaction.atomic(), viewing(viewer_of_id(person_id)):
            accepted = accept("events", session, batch, now=now, sender=sender, is_private=is_private)
        post.new += accepted.new
        post.known += accepted.known
        post.stream = accepted.stream
        if accepted.job_id is not None:
            post.jobs.append(accepted.job_id)
        batch.clear()

    try:
        for number, line in _numbered(chunks, post):
            posted = _posted(number, line, watch, post)
            if posted is not None:
                batch.append(posted)
            if len(batch) >= AT_ONCE:
                keep()
    finally:
        if batch:
            keep()


@dataclass(slots=True)
class _Watch:
    """What an event is held against: the session that it is for, the clock, the last compaction that is known."""

    session: str
    sender: str
    now: datetime
    person_id: int | None
    _compacted_at: datetime | None = None
    _is_asked: bool = False

    def compacted_at(self) -> datetime | None:
        """When the session was compacted last, as far as it was read. One query, asked once."""
        if not self._is_asked:
            self._is_asked = True
            with viewing(viewer_of_id(self.person_id)):
                seen = seen_sessions("session__")
            streams = InboxStreamRecord.objects.filter(seen, source="events", sender=self.sender, name=self.session)
            known = CompactionRecord.objects.filter(session__in=streams.values("session"))
            self._compacted_at = known.aggregate(at=Max("at"))["at"]
        return self._compacted_at


def _posted(number: int, line: bytes, watch: _Watch, post: Post) -> Posted | None:
    parsed = parse_object(line)
    if parsed is None:
        post.refuse(number, "it is not one JSON object")
        return None
    value = parsed[0]
    try:
        event = envelope_of(value)
    except NoEvent as why:
        post.refuse(number, str(why))
        return None
    if event.session is not None and event.session != watch.session:
        named = event.session[:80]
        post.refuse(number, f"it names the session {named!r}; this address is that of {watch.session[:80]!r}")
        return None
    value["session"] = watch.session
    _look(number, event, watch, post)
    try:
        return Posted(event.identity, orjson.dumps(value, option=orjson.OPT_SORT_KEYS))
    except (TypeError, ValueError):
        post.refuse(number, "it holds a number beyond 64 bits")
        return None


def _look(number: int, event: Envelope, watch: _Watch, post: Post) -> None:
    if event.at is None:
        return
    if event.at > watch.now + FAR:
        post.remark(number, AHEAD)
        return
    compacted = watch.compacted_at()
    if compacted is not None and event.at < compacted:
        post.remark(number, OLDER)


def _numbered(chunks: Iterable[bytes], post: Post) -> Iterator[tuple[int, bytes]]:
    """Lines with their numbers; blank ones are passed by, those over the limit refused without being held."""
    rest, number, is_skipping = b"", 0, False
    for chunk in chunks:
        *lines, rest = (rest + chunk).split(b"\n")
        if number + len(lines) > MOST_LINES:
            raise BadBody(TOO_MANY, 413)
        for line in lines:
            number += 1
            if is_skipping or len(line) > MOST_LINE_BYTES:
                post.refuse(number, TOO_LONG)
                is_skipping = False
            elif line.strip():
                yield number, line
        if len(rest) > MOST_LINE_BYTES:
            rest, is_skipping = b"", True
    if is_skipping:
        post.refuse(number + 1, TOO_LONG)
    elif rest.strip():
        yield number + 1, rest
