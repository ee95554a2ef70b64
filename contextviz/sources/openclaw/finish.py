"""A read transcript: tree facts, compactions, windows, and the findings that follow."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import datetime

from contextviz.events.compaction import Compaction
from contextviz.events.evidence import HIDDEN_NOTE
from contextviz.events.problem import ReadProblem, Severity
from contextviz.events.session import Session, Transcript, TreeFacts
from contextviz.events.snapshot import SnapshotBasis, SnapshotLog
from contextviz.events.times import FIRST_LIKELY, instant, is_suspicious, oddity
from contextviz.sources.openclaw.draft import Draft
from contextviz.sources.openclaw.index import Claim
from contextviz.sources.openclaw.kinds import PI, SQLITE, Generation
from contextviz.sources.openclaw.nodes import Node, Walker, kept_from
from contextviz.sources.openclaw.pairing import Pairing, paired
from contextviz.sources.openclaw.traces.joining import joined, leftovers
from contextviz.sources.openclaw.traces.values import SessionTrace
from contextviz.sources.openclaw.window import Client, Recorded, Selection, Windows, context_of, listed, select
from contextviz.sources.source import ReadOptions
from contextviz.sources.values import as_id

UNSEEN_NOTE = "the message that started this run is not in the transcript (a sub-agent's result arriving)"
ENGINE_NOTE = "a context engine compacts outside the transcript: what was sent is in its own store"


@dataclass(frozen=True, slots=True)
class Identity:
    """What is known of a session from outside its records."""

    session_id: str
    agent: str | None
    generation: Generation
    claim: Claim | None = None
    parent: str | None = None
    forked_from: str | None = None


def finish(draft: Draft, identity: Identity, options: ReadOptions, trace: SessionTrace | None = None) -> Transcript:
    """Turn a draft into a Transcript (formats.md A.6), with what the client's logs say of its calls."""
    draft.tree.settle()
    path = draft.tree.path(draft.tree.leaf)
    on_path = {node.position for node in path}
    pairing = paired(draft.tree, draft.messages)
    transcript = Transcript(
        session=_session(draft, identity, options), files=[draft.name], lines=draft.counts, entries=draft.entries,
        messages=list(draft.messages), calls=list(draft.calls), failed_calls=draft.failed, pairs=pairing.pairs,
        orphan_results=pairing.orphans, tree=_facts(draft, path, on_path), problems=draft.problems,
        entry_times={node.id: node.at for node in draft.tree.nodes},
    )  # fmt: skip
    _mark_path(draft, on_path)
    _compactions(draft, transcript, pairing, on_path, identity.claim)
    if options.with_snapshots or trace is not None:
        _snapshots(draft, transcript, pairing, identity, options)
    transcript.log.table.settle()
    transcript.context_at_end = context_of(select(path, draft.tree, pairing.calls))
    transcript.problems = [
        *draft.problems, *pairing.problems, *_tree_problems(draft), *_time_problems(draft, path, options.now)
    ]  # fmt: skip
    _check_claim(draft, transcript, path, identity.claim)
    if trace is not None:
        _trace(draft, transcript, trace)
    return transcript


def _trace(draft: Draft, transcript: Transcript, trace: SessionTrace) -> None:
    transcript.traced = joined(draft, trace)
    transcript.problems += leftovers(trace, transcript.traced)
    transcript.files += [name for name in trace.files if name not in transcript.files]


def _session(draft: Draft, identity: Identity, options: ReadOptions) -> Session:
    claim, head = identity.claim, draft.header
    times = [node.at for node in draft.tree.nodes if node.at and not is_suspicious(node.at, now=options.now)]
    started = instant(head.get("timestamp"))
    if started is None or started < FIRST_LIKELY:
        started = min(times) if times else None
    session = Session(
        id=identity.session_id, format=draft.format, format_version=str(draft.version),
        generation=identity.generation.state, generation_at=identity.generation.at, agent=identity.agent,
        title=draft.title or (claim.title if claim else None), cwd=as_id(head.get("cwd")),
        model=draft.model or (claim.model if claim else None), started_at=started,
        ended_at=max(times) if times else None, parent=identity.parent, forked_from=identity.forked_from,
    )  # fmt: skip
    if claim is not None and identity.generation.state == "active":
        session.hints = dict(claim.hints)
        session.window, session.window_basis = claim.window, "hint" if claim.window else None
    if draft.replayed:
        session.replayed_lines, session.first_own_line = draft.replayed, draft.first_own_line
    return session


def _facts(draft: Draft, path: list[Node], on_path: set[int]) -> TreeFacts:
    nodes = draft.tree.nodes
    children = Counter(node.parent for node in nodes if not node.is_mirror or node.position in on_path)
    leaves = sum(
        not children[node.position] and not (node.is_mirror and node.position not in on_path) for node in nodes
    )
    forks = [node.id for node in path if children[node.position] > 1]
    return TreeFacts(
        branches=leaves,
        branch_point=forks[-1] if forks else None,
        active_leaf=path[-1].id if path else None,
        active_path=[node.id for node in path],
        abandoned=[node.id for node in nodes if node.position not in on_path],
        segments=max(1, sum(node.parent is None for node in nodes)),
    )


def _mark_path(draft: Draft, on_path: set[int]) -> None:
    for message in draft.messages:
        message.on_active_path = draft.tree.by_id[message.id or ""] in on_path
    for call in draft.calls:
        position = draft.tree.by_id[call.entry or ""]
        call.on_active_path = call.index not in draft.windowless and position in on_path


def _compactions(
    draft: Draft, transcript: Transcript, pairing: Pairing, on_path: set[int], claim: Claim | None
) -> None:
    walker = Walker(draft.tree)
    for node in draft.tree.nodes:
        if node.kind not in ("compaction", "reset") or node.is_copied:
            continue
        walker.go(node.position)
        path = walker.path
        chosen = select(path, draft.tree, pairing.calls)
        compaction = _compaction(draft, node, chosen, claim, number=len(transcript.compactions) + 1)
        compaction.on_active_path = node.position in on_path
        compaction.before_call = next((one.call for one in reversed(path) if one.call is not None), None)
        compaction.problem = _kept_problem(draft, node, path)
        transcript.compactions.append(compaction)
    _after_calls(draft, transcript, on_path)


def _compaction(draft: Draft, node: Node, chosen: Selection, claim: Claim | None, *, number: int) -> Compaction:
    facts = draft.triggers[node.id]
    said = claim.checkpoints.get(node.id, {}) if claim else {}
    return Compaction(
        id=node.id, number=number, line=node.line, file=draft.name, at=node.at,
        kind="summary" if node.kind == "compaction" else "reset", trigger=facts["reason"] or said.get("reason"),
        tokens_before=facts["before"], tokens_after=facts["after"] or said.get("after"), summary=node.summary,
        first_kept=node.first_kept, kept=listed(chosen.kept), context_items=context_of(chosen),
        producer="pi" if draft.format == PI else "openclaw",
    )  # fmt: skip


def _kept_problem(draft: Draft, node: Node, path: list[Node]) -> str | None:
    wanted = node.first_kept
    if wanted == node.id or (wanted is None and node.kind == "reset") or kept_from(path, len(path) - 1) is not None:
        return None
    said = f"the first kept entry {wanted!r} of compaction {node.id} is not before it; nothing is kept"
    if wanted is None:
        said = f"compaction {node.id} names no first kept entry; nothing is kept"
    severity: Severity = "info" if wanted is None else "warning"
    draft.problems.append(ReadProblem("first_kept_missing", said, severity, draft.name, node.line, node.id, wanted))
    return "first_kept_missing"


def _after_calls(draft: Draft, transcript: Transcript, on_path: set[int]) -> None:
    """The first call after each compaction: on the active path where the compaction is, else anywhere below it."""
    waiting: dict[int, list[Compaction]] = {}
    own = {compaction.id: compaction for compaction in transcript.compactions}
    for node in draft.tree.nodes:
        open_here = list(waiting.get(node.parent, ())) if node.parent is not None else []
        if node.call is not None:
            still: list[Compaction] = []
            for compaction in open_here:
                if compaction.on_active_path and node.position not in on_path:
                    still.append(compaction)
                elif compaction.after_call is None:
                    compaction.after_call = node.call
            open_here = still
        if node.id in own and node.kind in ("compaction", "reset"):
            open_here.append(own[node.id])
        if open_here:
            waiting[node.position] = open_here


def _snapshots(
    draft: Draft, transcript: Transcript, pairing: Pairing, identity: Identity, options: ReadOptions
) -> None:
    numbers: dict[int, int] = {}
    for node in draft.tree.nodes:
        if node.kind == "compaction":
            numbers[node.position] = len(numbers) + 1
    is_outside = identity.generation.state == "active" and _has_engine(draft, identity.claim)
    basis: SnapshotBasis = "partial" if is_outside else "rules"
    hidden = None if any(node.prompt is not None for node in draft.tree.nodes) else HIDDEN_NOTE
    note = ENGINE_NOTE if is_outside else hidden
    recorded = _recorded(draft, (_client(draft, identity), basis, note, draft.format), options)
    recorded.windows.calls, recorded.windows.numbers = pairing.calls, numbers
    for node in draft.tree.nodes[recorded.nodes :]:
        if node.call is None:
            continue
        keep, tail = recorded.windows.at(node.parent)
        if draft.format != PI and basis == "rules" and _starts_unseen(draft, node):
            recorded.log.add_from(node.call, keep, tail, basis="partial", note=UNSEEN_NOTE)
        else:
            recorded.log.add_from(node.call, keep, tail, basis=basis, note=note)
    recorded.nodes = len(draft.tree.nodes)
    # What is handed out may be changed (an engine's artefacts, a store); what is gone on from may not.
    draft.recorded = None if options.memory is None else recorded
    transcript.log = recorded.log if options.memory is None else recorded.log.copy()


def _recorded(draft: Draft, key: tuple[Client, SnapshotBasis, str | None, str], options: ReadOptions) -> Recorded:
    known = draft.recorded
    if known is not None and known.key == key and not draft.tree.has_late_parents:
        known.windows.pool = options.pool
        return known
    log = SnapshotLog()
    return Recorded(key, Windows(draft.tree, draft.messages, log.table, options.pool, key[0], {}), log)


def _starts_unseen(draft: Draft, node: Node) -> bool:
    """Whether an answer follows an answer: an announce run, whose message is only in the trajectory (section I)."""
    position = node.parent
    while position is not None:
        before = draft.tree.nodes[position]
        if before.kind in ("compaction", "reset"):
            return False
        if before.is_sent:
            return before.role == "assistant"
        position = before.parent
    return False


def _client(draft: Draft, identity: Identity) -> Client:
    if draft.format == PI or draft.version < 4:
        return Client()
    runtime = None
    if identity.claim is not None:
        key = identity.claim.key
        runtime = f"Runtime: agent={identity.agent} | session={key} | sessionId={identity.session_id}"
    return Client(is_dating=True, runtime=runtime)


def _has_engine(draft: Draft, claim: Claim | None) -> bool:
    """Whether compactions happened that left no entry: a context engine keeps the window elsewhere."""
    count = claim.hints.get("compaction_count") if claim is not None else None
    return isinstance(count, int) and count > 0 and not any(node.kind == "compaction" for node in draft.tree.nodes)


def _tree_problems(draft: Draft) -> list[ReadProblem]:
    return [
        ReadProblem(
            "dangling_parent", f"entry {draft.tree.nodes[position].id} names a parent that is not in the file",
            "warning", draft.name, draft.tree.nodes[position].line, draft.tree.nodes[position].id, parent,
        )
        for position, parent in draft.tree.dangling
    ]  # fmt: skip


def _time_problems(draft: Draft, path: list[Node], now: datetime) -> list[ReadProblem]:
    found: list[ReadProblem] = []
    for node in draft.tree.nodes:
        odd = oddity(node.at, now=now) if node.at is not None else None
        if odd is not None:
            said = f"the time of entry {node.id} lies {odd}; it does not set the scale"
            found.append(ReadProblem("suspicious_time", said, "warning", draft.name, node.line, node.id, odd))
    before: datetime | None = None
    for node in path:
        if node.at is None or is_suspicious(node.at, now=now):
            continue
        if before is not None and node.at < before:
            said = f"entry {node.id} is stamped earlier than the one before it; the order of the entries is kept"
            found.append(ReadProblem("out_of_order", said, "info", draft.name, node.line, node.id))
        before = node.at
    return found


def _check_claim(draft: Draft, transcript: Transcript, path: list[Node], claim: Claim | None) -> None:
    count = claim.hints.get("compaction_count") if claim is not None else None
    if not isinstance(count, int) or transcript.session.generation != "active":
        return
    total = sum(node.kind == "compaction" for node in draft.tree.nodes)
    since = 0
    for node in path:
        since = 0 if node.kind == "reset" else since + (node.kind == "compaction")
    if count in (total, since):
        return
    where = "store" if draft.format == SQLITE else "index"
    said = f"the {where} counts {count} compactions, the transcript has {total}"
    transcript.problems.append(ReadProblem("count_mismatch", said, "warning", draft.name, None, None, count))
