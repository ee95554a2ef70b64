"""The reader: all files of one read together, so that nothing is counted twice."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path

import orjson
import zstandard

from contextviz.events.problem import ReadProblem
from contextviz.events.session import LineCounts, SourceFile, Transcript
from contextviz.sources.features import declared
from contextviz.sources.lines import Json, JsonLines
from contextviz.sources.openclaw import kinds
from contextviz.sources.openclaw.draft import Draft
from contextviz.sources.openclaw.finish import Identity, finish
from contextviz.sources.openclaw.index import Claim, Claims, claim_of, claims_of
from contextviz.sources.openclaw.kinds import SQLITE, Generation
from contextviz.sources.openclaw.planning import Plan, plain, planned, shared
from contextviz.sources.openclaw.several import Several, together
from contextviz.sources.openclaw.store import TABLES, Kept, Shelf
from contextviz.sources.openclaw.traces.cache_trace import is_cache_trace, read_cache_trace
from contextviz.sources.openclaw.traces.exported import entry_of, header_of, is_shortened
from contextviz.sources.openclaw.traces.fingerprints import Imprints
from contextviz.sources.openclaw.traces.trajectory import is_event, is_written, read_trajectory
from contextviz.sources.openclaw.traces.values import SessionTrace, Traces
from contextviz.sources.source import ALONE, Detection, Found, Probe, ReadItem, ReadOptions
from contextviz.sources.sqlite import UnreadableStore, open_store
from contextviz.sources.values import as_id, as_text, told

COPY = "the same entries as another file of this session"
EXPORT = (
    "an exported trajectory, read as its session since the transcript is not among these files: it has the entries of "
    "the active branch"
)
INDEX_ALONE = f"the session index; {ALONE}"
ALONE_WITH = frozenset({"session", "index", "ignored"})


@dataclass(slots=True)
class Reading:
    """What one read remembers across files: claims, the names given, and each family's counted entries."""

    options: ReadOptions
    names: frozenset[str]
    claims: Claims = field(default_factory=Claims)
    families: dict[str, set[str]] = field(default_factory=dict)
    shared: set[str] = field(default_factory=set)
    sessions: frozenset[str] = frozenset()
    is_alone: bool = False
    is_index_alone: bool = False
    traces: Traces = field(default_factory=Traces)
    traced: set[str] = field(default_factory=set)
    exports: list[Found] = field(default_factory=list)

    def trace_of(self, *sessions: str) -> SessionTrace | None:
        """What the logs say of the session of one of these ids."""
        found = next((session for session in sessions if session in self.traces.by_session), None)
        if found is None:
            return None
        self.traced.add(found)
        return self.traces.by_session[found]

    def seen(self, family: str) -> frozenset[str]:
        """The entries of a family that were counted already."""
        return frozenset(self.families.get(family, ()))

    def may_share(self, *families: str | None) -> bool:
        """Whether other files may hold copies of the entries of one of these families."""
        return any(family in self.shared for family in families)

    def remember(self, family: str, draft: Draft) -> None:
        """Keep a draft's entries where other files may hold copies of them."""
        if family in self.shared:
            self.families.setdefault(family, set()).update(draft.keys)


class OpenClawReader:
    """Reads OpenClaw and pi transcripts, OpenClaw's index and its SQLite store."""

    name = "openclaw"
    declares = {
        kinds.OPENCLAW: declared(f"{kinds.WRITTEN} injected window trigger subagents", "rebuilt", cached="beside"),
        kinds.PI: declared(f"{kinds.WRITTEN} system_prompt tool_definitions", "rebuilt injected", cached="beside"),
        SQLITE: declared(f"{kinds.WRITTEN} window trigger subagents", "rebuilt injected", cached="beside"),
    }

    def detect(self, probe: Probe) -> Detection | None:
        """See Reader.detect; rules: formats.md A.1 and 0.2."""
        return kinds.detect(probe)

    def read(self, files: Sequence[Found], options: ReadOptions) -> Iterator[ReadItem]:
        """See Reader.read. Index first, then stores, then transcripts: parents before their forks."""
        reading = Reading(options, frozenset(one.probe.basename for one in files))
        plans = planned([one for one in files if one.detection.role in ("session", "archive")])
        reading.shared = shared(plans)
        reading.is_alone = len(plans) == 1 and all(one.detection.role in ALONE_WITH for one in files)
        reading.is_index_alone = all(one.detection.role in ("index", "ignored") for one in files)
        reading.sessions = frozenset(plan.session_id for plan in plans) | frozenset(plan.family for plan in plans)
        for one in files:
            if one.detection.role == "index":
                yield from _read_index(one, reading)
            elif one.detection.role == "trace":
                yield from _read_trace(one, reading)
            elif one.detection.role in ("ignored", "duplicate"):
                yield _source(one, is_counted=False, reason=one.detection.reason)
        for one in files:
            if one.detection.role == "store":
                yield from _read_store(one, reading)
        for group in together(plans):
            yield from _read_file(group[0], reading) if len(group) == 1 else _read_several(group, reading)
        yield from _read_exports(files, reading)
        yield from _traces_alone(reading)


def _source(found: Found, *, is_counted: bool, reason: str | None, session: str | None = None) -> SourceFile:
    probe, detection = found.probe, found.detection
    return SourceFile(probe.name, detection.format, detection.role, is_counted, reason, probe.size, session)


def _read_index(found: Found, reading: Reading) -> Iterator[ReadItem]:
    yield _source(found, is_counted=False, reason=INDEX_ALONE if reading.is_index_alone else found.detection.reason)
    name, document = found.probe.name, found.probe.document
    if document is None and found.probe.size:
        try:
            loaded = orjson.loads(found.probe.path.read_bytes())
        except (orjson.JSONDecodeError, OSError):
            loaded = None
        document = loaded if isinstance(loaded, dict) else None
    if document is None:
        said = "the session index is empty" if found.probe.size == 0 else "the session index is not one JSON object"
        yield ReadProblem("empty_store", f"{said}; sessions are read from their own files", "warning", name)
        return
    for claim in claims_of(document):
        reading.claims.add(claim)


def _read_trace(found: Found, reading: Reading) -> Iterator[ReadItem]:
    """Take in a log of requests; it is listed with the sessions that it speaks of, and counts nothing."""
    probe = found.probe
    try:
        if any(is_cache_trace(record) for record in probe.records[:3]):
            yield from read_cache_trace(found, reading.traces)
        elif any(is_event(record) for record in probe.records[:3]):
            yield from read_trajectory(found, reading.traces)
    except OSError as error:
        yield ReadProblem("unreadable_file", f"{probe.name} cannot be read: {error}", "error", probe.name)
    if any(probe.name in one.written for one in reading.traces.by_session.values()):
        reading.exports.append(found)  # it may have to be the session itself
    else:
        yield _trace_source(found, reading)


def _trace_source(found: Found, reading: Reading) -> SourceFile:
    named = [name for name, one in reading.traces.by_session.items() if found.probe.name in one.files]
    source = _source(
        found, is_counted=False, reason=found.detection.reason, session=named[0] if len(named) == 1 else None
    )
    return replace(source, sessions=tuple(named))


def _read_exports(files: Sequence[Found], reading: Reading) -> Iterator[ReadItem]:
    """Exported trajectories: of a session whose transcript came they are logs; of any other one is read as that, the
    one with the most entries."""
    chosen: dict[str, str] = {}
    for name, trace in reading.traces.by_session.items():
        if trace.written and name not in reading.traced:
            chosen[name] = max(sorted(trace.written), key=trace.written.__getitem__)
    for found in reading.exports:
        sessions = [name for name, file in chosen.items() if file == found.probe.name]
        if not sessions:
            yield _trace_source(found, reading)
            continue
        detection = Detection(kinds.OPENCLAW, "session")
        yield _source(Found(found.probe, detection), is_counted=True, reason=EXPORT, session=sessions[0])
        for session in sessions:
            yield _exported(session, found, files, reading)


def _exported(session: str, found: Found, files: Sequence[Found], reading: Reading) -> Transcript:
    lines = JsonLines(found.probe.path, found.probe.name, id_of=_entry_id)
    draft = Draft(lines.name, kinds.OPENCLAW, reading.options.pool, counts=lines.counts, problems=lines.problems)
    trace = reading.trace_of(session)
    draft.listener = _listener(trace)
    claim = reading.claims.by_session.get(session)
    shortened = 0
    for record in lines:
        event = record.value
        if as_id(event.get("sessionId")) != session or not is_written(event):
            continue
        if not draft.header:
            draft.add(header_of(session, event, files), None)
            claim = claim or claim_of(as_text(event.get("sessionKey")) or "", event)
        shortened += is_shortened(event)
        draft.add(entry_of(event), record.line)
    draft.note("trajectory_only", EXPORT, None, None, None)
    if shortened:
        what = told(shortened, "entry is cut", "entries are cut")
        said = f"{what} in the exported trajectory; what is missing in them reads [Truncated]"
        draft.problems.append(ReadProblem("truncated_content", said, "warning", draft.name, value=shortened))
    identity = Identity(session, claim.agent if claim else None, Generation(), claim, reading.claims.parent_of(claim))
    return finish(draft, identity, reading.options, trace)


def _traces_alone(reading: Reading) -> Iterator[ReadItem]:
    for name, trace in reading.traces.by_session.items():
        if name not in reading.traced and trace.files:
            said = (
                f"{trace.files[0]} is a log of the requests of session {name}, which is not among these files; it"
                " checks that session's windows once they are read together"
            )
            yield ReadProblem("trace_alone", said, "info", trace.files[0], None, None, name)


def _read_file(plan: Plan, reading: Reading) -> Iterator[ReadItem]:
    found = plan.found
    try:
        with plain(found.probe) as path:
            draft = _read_lines(path, plan, reading)
    except (OSError, zstandard.ZstdError) as error:
        yield _source(found, is_counted=False, reason=f"it cannot be read: {error}")
        yield ReadProblem("unreadable_file", f"{found.probe.name} cannot be read: {error}", "error", found.probe.name)
        return
    session_id = kinds.topic_of(found.probe.basename) or as_id(draft.header.get("id")) or plan.session_id
    if plan.parent_file is None and draft.replayed and draft.replayed == len(draft.tree.nodes):
        detection = Detection(found.detection.format, "duplicate", COPY)
        yield _source(Found(found.probe, detection), is_counted=False, reason=COPY, session=session_id)
        return
    yield _source(found, is_counted=True, reason=None, session=session_id)
    transcript = _finished(draft, plan, session_id, reading)
    del draft  # as large as the transcript; whoever is given that may take long with it
    yield transcript


def _read_several(plans: Sequence[Plan], reading: Reading) -> Iterator[ReadItem]:
    """The files of one session as one transcript; each by itself where one of them cannot be read."""
    first, several = plans[0], Several(plans)
    draft = _draft(first, reading, LineCounts(), [])
    try:
        with ExitStack() as stack:
            probes = [plan.found.probe for plan in plans]
            files = [JsonLines(stack.enter_context(plain(one)), one.name, id_of=_entry_id) for one in probes]
            several.read(files, draft, reading.options.now)
    except (OSError, zstandard.ZstdError):
        for plan in plans:
            yield from _read_file(plan, reading)
        return
    draft.end()
    reading.remember(first.family, draft)
    reading.remember(first.session_id, draft)
    session_id = kinds.topic_of(first.found.probe.basename) or as_id(draft.header.get("id")) or first.session_id
    for plan in several.copies:
        detection = Detection(plan.found.detection.format, "duplicate", COPY)
        yield _source(Found(plan.found.probe, detection), is_counted=False, reason=COPY, session=session_id)
    for plan in several.own:
        yield _source(plan.found, is_counted=True, reason=None, session=session_id)
    transcript = _finished(draft, several.own[0], session_id, reading)
    del draft
    names = [plan.found.probe.name for plan in several.own]
    transcript.files[:] = [*names, *(name for name in transcript.files if name not in names)]
    yield transcript


def _read_lines(path: Path, plan: Plan, reading: Reading) -> Draft:
    probe = plan.found.probe
    # What other files hold decides what is counted here, so only a session read alone is read on from its end.
    memory = reading.options.memory if reading.is_alone and path == probe.path else None
    kept = memory.take(OpenClawReader.name, probe) if memory is not None else None
    lines, draft = _begun(path, plan, reading) if kept is None else kept
    if kept is not None:
        draft.format = plan.found.detection.format  # more of the first records may tell more of who wrote them
        draft.go_on(reading.options.pool)
        lines.go_on(path, probe.size)
    for record in lines:
        if not draft.add(record.value, record.line):
            lines.mark_unknown(record, as_text(record.value.get("type")) or "(none)")
    draft.end()
    if memory is not None and lines.can_go_on:
        memory.keep(OpenClawReader.name, probe, lines.offset, (lines, draft))
    reading.remember(plan.family, draft)
    reading.remember(plan.session_id, draft)
    return draft


def _begun(path: Path, plan: Plan, reading: Reading) -> tuple[JsonLines, Draft]:
    probe = plan.found.probe
    lines = JsonLines(path, probe.name, id_of=_entry_id, size=probe.size if path == probe.path else None)
    return lines, _draft(plan, reading, lines.counts, lines.problems)


def _draft(plan: Plan, reading: Reading, counts: LineCounts, problems: list[ReadProblem]) -> Draft:
    probe = plan.found.probe
    seen = reading.seen(plan.family) | reading.seen(plan.session_id)
    draft = Draft(probe.name, plan.found.detection.format, reading.options.pool, seen, counts, problems)
    draft.keeps_keys = reading.may_share(plan.family, plan.session_id)
    draft.listener = _listener(reading.trace_of(plan.session_id))
    return draft


def _listener(trace: SessionTrace | None) -> Imprints | None:
    return None if trace is None else trace.listen()


def _finished(draft: Draft, plan: Plan, session_id: str, reading: Reading) -> Transcript:
    claim = reading.claims.by_session.get(session_id)
    identity = Identity(
        session_id=session_id,
        agent=kinds.agent_of(plan.found.probe.name) or (claim.agent if claim else None),
        generation=plan.generation,
        claim=claim,
        parent=reading.claims.parent_of(claim),
        forked_from=plan.forked_from or (claim.forked_from if claim else None),
    )
    return finish(draft, identity, reading.options, reading.trace_of(session_id, plan.session_id))


def _entry_id(record: Json) -> str | None:
    return as_id(record.get("id"))


def _read_store(found: Found, reading: Reading) -> Iterator[ReadItem]:
    name = found.probe.name
    try:
        with open_store(found.probe.path, TABLES) as connection:
            shelf = Shelf(connection, name)
            shelf.load_index()
            ids = shelf.session_ids()
            reading.shared.update(shelf.shared_ids() | (set(ids) & reading.sessions))
            yield _source(found, is_counted=True, reason=None, session=ids[0] if len(ids) == 1 else None)
            for session in ids:
                yield _stored(shelf, session, found, reading)
            for kept in shelf.archives():
                yield from _read_kept(kept, shelf, set(ids), found, reading)
    except UnreadableStore as error:
        yield _source(found, is_counted=False, reason="it cannot be read as a SQLite store")
        yield ReadProblem("unreadable_file", str(error), "error", name)


def _stored(shelf: Shelf, session: str, found: Found, reading: Reading) -> Transcript:
    claim = shelf.claims.by_session.get(session)
    source = claim.forked_from if claim else None
    seen = reading.seen(session) | (reading.seen(source) if source else frozenset())
    draft = Draft(shelf.name, SQLITE, reading.options.pool, seen, keeps_keys=reading.may_share(session))
    shelf.trace(reading.traces, session)
    trace = reading.trace_of(session)
    draft.listener = _listener(trace)
    shelf.fill(draft, session)
    reading.remember(session, draft)
    identity = Identity(
        session_id=session,
        agent=(claim.agent if claim else None) or shelf.agent or kinds.agent_of(found.probe.name),
        generation=Generation(),
        claim=claim,
        parent=shelf.parent_of(session),
        forked_from=source,
    )
    return finish(draft, identity, reading.options, trace)


def _read_kept(kept: Kept, shelf: Shelf, ids: set[str], found: Found, reading: Reading) -> Iterator[ReadItem]:
    """An archived transcript, where it is not among the files or the store's own rows already."""
    if kept.name in reading.names or (kept.state == "cold" and kept.session_id in ids):
        return
    if kept.body is None:
        said = f"the archived transcript {kept.name} of session {kept.session_id} is not here; add that file to see it"
        yield ReadProblem("archive_missing", said, "warning", found.probe.name, None, None, kept.name)
        return
    with tempfile.TemporaryDirectory(prefix="contextviz-archive-") as folder:
        path = Path(folder) / "transcript.jsonl"
        path.write_bytes(kept.body)
        lines = JsonLines(path, f"{found.probe.name}#{kept.name}", id_of=_entry_id)
        draft = Draft(
            lines.name, SQLITE, reading.options.pool, reading.seen(kept.session_id), lines.counts, lines.problems
        )
        draft.keeps_keys = reading.may_share(kept.session_id)
        trace = reading.trace_of(kept.session_id)
        draft.listener = _listener(trace)
        for record in lines:
            if not draft.add(record.value, record.line):
                lines.mark_unknown(record, as_text(record.value.get("type")) or "(none)")
    reading.remember(kept.session_id, draft)
    claim: Claim | None = shelf.claims.by_session.get(kept.session_id)
    yield finish(draft, _kept_identity(kept, shelf, claim), reading.options, trace)


def _kept_identity(kept: Kept, shelf: Shelf, claim: Claim | None) -> Identity:
    named = kinds.generation_of(kept.name)
    state = kept.state if kept.state in ("reset", "deleted") else "active"
    generation = named if named.state != "active" else Generation("reset" if state == "reset" else "deleted", kept.at)
    if state == "active":
        generation = Generation()
    return Identity(
        session_id=kept.session_id, agent=(claim.agent if claim else None) or shelf.agent, generation=generation,
        claim=claim if state == "active" else None, parent=shelf.parent_of(kept.session_id),
    )  # fmt: skip
