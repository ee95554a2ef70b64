"""Reads bodies, data sets and arrays: which of them are one conversation, and a transcript for each."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from contextviz.events.problem import ReadProblem
from contextviz.events.session import Session, SourceFile, Transcript
from contextviz.sources.chat import kinds
from contextviz.sources.chat.bodies import Unit, unit_of
from contextviz.sources.chat.kinds import ARRAY, Body, body_of, is_message, request_format
from contextviz.sources.chat.messages import said_of
from contextviz.sources.lines import JsonLines
from contextviz.sources.plain.draft import Draft
from contextviz.sources.plain.exchange import Exchange, RequestLog, Said
from contextviz.sources.plain.load import NotReadable, first_elements, load, refused
from contextviz.sources.source import Detection, Found, Probe, ReadItem, ReadOptions
from contextviz.sources.values import as_dict, as_id, told

Numbered = tuple[int | None, Any]


@dataclass(slots=True)
class _Talk:
    """A conversation of several exchanges while the file is read."""

    name: str
    format: str
    units: list[Unit] = field(default_factory=list)


class ChatReader:
    """Reader of the providers' bodies and of plain arrays of messages."""

    name = "chat"
    declares = kinds.DECLARED

    def detect(self, probe: Probe) -> Detection | None:
        """See Reader.detect. By the first objects of the file: most of them must be bodies, or all messages."""
        if probe.tables is not None:
            return None
        if probe.document is not None:
            found = body_of(probe.document)
            return None if found is None else Detection(found.format, "session")
        looked = first_elements(probe) or list(probe.records)
        if not looked:
            return None
        if all(map(_is_line, looked)):
            return Detection(ARRAY, "session")
        bodies = [body for body in map(body_of, looked) if body is not None]
        return Detection(bodies[0].format, "session") if len(bodies) * 2 > len(looked) else None

    def read(self, files: Sequence[Found], options: ReadOptions) -> Iterator[ReadItem]:
        """See Reader.read. Rows of a data set come one at a time; a log of exchanges is put together first."""
        taken: dict[str, int] = {}
        for found in files:
            yield from _read(found, options, taken)


def _is_line(value: Any) -> bool:
    return is_message(value) and request_format(value) is None and "type" not in value


def _read(found: Found, options: ReadOptions, taken: dict[str, int]) -> Iterator[ReadItem]:
    probe = found.probe
    lines: JsonLines | None = None
    surrogates = 0
    if probe.document is None and not first_elements(probe, 1):
        lines = JsonLines(probe.path, probe.name, id_of=lambda record: as_id(record.get("id")))
        values: Iterable[Numbered] = ((record.line, record.value) for record in lines)
    else:
        try:
            value, surrogates = load(probe)
        except NotReadable as why:
            yield from refused(found, str(why))
            return
        many = value if isinstance(value, list) else [value]
        values = ((None, one) for one in many)
    made: list[Transcript] = []
    unread: list[Numbered] = []
    try:
        for transcript in _transcripts(found, values, unread, options, taken):
            if made:
                yield made.pop()
            made.append(transcript)
    except OSError as error:
        yield ReadProblem("unreadable_file", f"{probe.name} cannot be read: {error.strerror}", "error", probe.name)
    yield from _told(found, lines, unread, surrogates, made)


def _told(
    found: Found, lines: JsonLines | None, unread: list[Numbered], surrogates: int, last: list[Transcript]
) -> Iterator[ReadItem]:
    """The last transcript, and what is wrong with the file: with the session where the file holds only one."""
    probe = found.probe
    problems = list(lines.problems) if lines is not None else []
    if unread:
        what = told(len(unread), "record is no message or body", "records are no messages or bodies")
        text = f"{probe.name}: {what} that is known here, and not shown"
        problems.append(ReadProblem("unknown_type", text, "info", probe.name, unread[0][0], value=len(unread)))
    if surrogates:
        text = f"{surrogates} half emoji replaced by U+FFFD"
        problems.append(ReadProblem("lone_surrogate", text, "info", probe.name, value=surrogates))
    is_single = len(last) == 1 and last[0].session.counters.pop("only_one", 0) == 1
    session = last[0].session.id if is_single else None
    reason = None if last else "no conversation in it"
    yield SourceFile(probe.name, found.detection.format, "session", bool(last), reason, probe.size, session)
    if not is_single:
        yield from problems
        yield from last
        return
    transcript = last[0]
    if lines is not None:
        counts = transcript.lines = lines.counts
        # What was recovered from a malformed line is not a line that was read.
        whole = sum(number not in counts.recovered for number, _ in unread)
        if whole:
            counts.read -= whole
            counts.unknown_types["no body"] = whole
    transcript.problems.extend(problems)
    yield transcript


def _transcripts(
    found: Found, values: Iterable[Numbered], unread: list[Numbered], options: ReadOptions, taken: dict[str, int]
) -> Iterator[Transcript]:
    """The conversations of a file; `only_one` in a transcript's counters says that there is no other."""
    said: list[tuple[int | None, Said, Any]] = []
    talks = _Talks(options)
    rows = 0
    waiting: Transcript | None = None
    for line, value in values:
        body = body_of(value)
        if body is None:
            if is_message(value):
                message = as_dict(value)
                said.append((line, said_of(message, options.pool), message))
            else:
                unread.append((line, None))
            continue
        unit = unit_of(body, options.pool, line)
        if not unit.is_row:
            talks.add(unit, body)
            continue
        rows += 1
        if waiting is not None:
            yield waiting
        # Ids of rows are unique within their file at best, so what was said names the session.
        waiting = _made(found, _Talk(_name(unit, whole=True), unit.format, [unit]), options, taken)
        waiting.session.title = unit.conversation
    if waiting is not None:
        yield _only(waiting, is_only=rows == 1 and not said and not talks.talks)
    if said:
        yield _only(_array(found, said, options, taken), is_only=not rows and not talks.talks)
    for talk in talks.talks:
        is_only = len(talks.talks) == 1 and not rows and not said
        yield _only(_made(found, talk, options, taken), is_only=is_only)


def _only(transcript: Transcript, *, is_only: bool) -> Transcript:
    if is_only:
        transcript.session.counters["only_one"] = 1
    return transcript


class _Talks:
    """Exchanges of a log by conversation: the one they name, the reply they continue, else their first user text."""

    def __init__(self, options: ReadOptions):
        self._options = options
        self.talks: list[_Talk] = []
        self._by: dict[str, _Talk] = {}
        self._last: _Talk | None = None

    def add(self, unit: Unit, body: Body) -> None:
        """Place one exchange."""
        open_one = self._last.units[-1] if self._last is not None else None
        if body.request is None and open_one is not None and _waits(open_one, unit) and self._last is not None:
            exchange = open_one.exchange
            self._last.units[-1] = replace(
                open_one, exchange=replace(unit.exchange, context=exchange.context, has_request=True,
                                           continues=exchange.continues, line=exchange.line,
                                           model=unit.exchange.model or exchange.model),
                time=open_one.time or unit.time, more_answers=unit.more_answers,
            )  # fmt: skip
            self._known(unit, self._last)
            return
        talk = None
        names = [f"reply {unit.previous}", f"named {unit.conversation}", f"first {_name(unit)}"]
        wanted = names[0] if unit.previous else names[1] if unit.conversation else names[2]
        talk = self._by.get(wanted)
        if talk is None:
            talk = _Talk(unit.conversation or _name(unit), unit.format)
            self.talks.append(talk)
        self._by.setdefault(wanted, talk)
        talk.units.append(unit)
        self._known(unit, talk)
        self._last = talk

    def _known(self, unit: Unit, talk: _Talk) -> None:
        if unit.exchange.response_id:
            self._by[f"reply {unit.exchange.response_id}"] = talk


def _waits(request: Unit, reply: Unit) -> bool:
    exchange = request.exchange
    return (
        exchange.has_request and exchange.answer is None and not exchange.is_failed and request.format == reply.format
    )


def _name(unit: Unit, *, whole: bool = False) -> str:
    """An id that follows from what was said: of its first user text, which stays while a conversation grows, or of
    the whole conversation (rows of a data set may begin alike)."""
    context = unit.exchange.context or ([unit.exchange.answer] if unit.exchange.answer else [])
    chosen = context if whole else [next((one for one in context if one.role == "user"), context[0])] if context else []
    seed = hashlib.sha256()
    for said in chosen:
        seed.update(said.role.encode())
        for block in said.blocks:
            seed.update(block.text.digest)
    if not chosen or unit.exchange.context == []:
        seed.update((unit.exchange.response_id or "").encode())
    return f"chat-{seed.hexdigest()[:16]}"


def _free(name: str, taken: dict[str, int]) -> str:
    taken[name] = taken.get(name, 0) + 1
    return name if taken[name] == 1 else f"{name}-{taken[name]}"


def _made(found: Found, talk: _Talk, options: ReadOptions, taken: dict[str, int]) -> Transcript:
    draft = Draft(Session(_free(talk.name, taken), talk.format), found.probe.name, options)
    log = RequestLog(draft)
    for number, unit in enumerate(talk.units, start=1):
        what = f"line {unit.exchange.line}" if unit.exchange.line else f"exchange {number}"
        unit.exchange.at = draft.time(unit.time, what, line=unit.exchange.line)
        if unit.previous and number == 1:
            unit.exchange.note = "what the provider keeps of earlier exchanges is not in the file"
            text = f"{what} continues the reply {unit.previous}, which is not in the file"
            draft.problem("dangling_parent", text, line=unit.exchange.line, value=unit.previous)
        log.add(unit.exchange)
        if unit.more_answers:
            text = f"{what} has {unit.more_answers} more answers than the one shown"
            draft.problem("more_answers", text, "info", line=unit.exchange.line, value=unit.more_answers)
    transcript = draft.transcript
    transcript.entries = transcript.lines.total = len(talk.units)
    if draft.session.model is None:
        draft.session.model = next((unit.exchange.model for unit in talk.units if unit.exchange.model), None)
    return draft.finish()


def _array(
    found: Found, said: list[tuple[int | None, Said, Any]], options: ReadOptions, taken: dict[str, int]
) -> Transcript:
    unit = Unit(ARRAY, Exchange([one for _, one, _ in said]), None, None, None, True)
    draft = Draft(Session(_free(_name(unit), taken), ARRAY), found.probe.name, options)
    for number, (line, one, value) in enumerate(said, start=1):
        written = next((value[key] for key in ("timestamp", "created_at", "ts") if key in value), None)
        at = draft.time(written, f"message {number}", line=line)
        name = one.id if one.id not in draft.transcript.entry_times else None
        draft.put(draft.message(one.role, one.native_role, one.blocks, id=name, at=at, line=line))
    draft.transcript.entries = draft.transcript.lines.total = len(said)
    return draft.finish()
