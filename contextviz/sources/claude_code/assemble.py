"""From the loaded files of one session to its Transcript."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from contextviz.events.message import Message
from contextviz.events.problem import ReadProblem
from contextviz.events.session import COST_HINT, LineCounts, Session, SubAgent, Transcript
from contextviz.events.times import EARLIEST, by_time, is_suspicious, oddity
from contextviz.events.usage import sum_usage
from contextviz.sources.claude_code.chain import Chain, build_chain, tree_facts
from contextviz.sources.claude_code.compactions import compactions_of, place
from contextviz.sources.claude_code.detect import FORMAT
from contextviz.sources.claude_code.load import Loaded
from contextviz.sources.claude_code.messages import Answer, Conversation, calls_of, converse, pair_tools
from contextviz.sources.claude_code.rows import Row
from contextviz.sources.claude_code.usage import difference
from contextviz.sources.claude_code.windows import Windows
from contextviz.sources.lines import Json
from contextviz.sources.source import ReadOptions
from contextviz.sources.values import as_id, as_text

CallKey = tuple[str, str | None]


@dataclass(slots=True)
class Known:
    """What earlier sessions of this reading own: rows and calls that must not be counted again. With one session
    alone (not `is_shared`) rows are not remembered."""

    rows: dict[str, str] = field(default_factory=dict)
    calls: dict[CallKey, str] = field(default_factory=dict)
    is_shared: bool = True


@dataclass(slots=True)
class Parts:
    """What a transcript is made of."""

    id: str
    files: list[Loaded]
    metas: dict[str, Json]
    alone: str | None = None


def assemble(parts: Parts, known: Known, options: ReadOptions) -> Transcript:
    """Build the transcript of one session; rows and calls that `known` has are replays and not counted."""
    chains = _chains(parts, options.now)
    conversations: list[Conversation] = []
    messages: list[Message] = []
    for chain in chains:
        conversations.append(converse(chain, len(messages)))
        messages.extend(conversations[-1].messages)
    transcript = Transcript(_session(parts, chains, options), [file.name for file in parts.files])
    transcript.lines = _lines(parts.files)
    transcript.entries = sum(file.entries for file in parts.files)
    transcript.messages = messages
    for file in parts.files:
        transcript.problems.extend(file.problems)
        for name, count in file.counters.items():
            transcript.session.counters[name] = transcript.session.counters.get(name, 0) + count
    _replays(transcript, chains, known)
    calls = calls_of(conversations, _not_own(conversations, known, parts.id))
    transcript.calls = [call for call, _, _ in calls]
    own = [a for c in conversations for a in c.answers if not a.first.is_replayed]
    transcript.failed_calls = sum(answer.first.is_failed for answer in own)
    _tools(transcript, conversations)
    summaries = _compactions(transcript, conversations, [(call.index, c, a) for call, c, a in calls])
    transcript.tree = tree_facts(chains[0])
    transcript.subagents = _subagents(chains, conversations, parts)
    _times(transcript, chains, options)
    for chain in chains:
        transcript.problems.extend(chain.problems)
    windows = Windows(parts.files, conversations, transcript.log, options.pool, summaries)
    if options.with_snapshots:
        windows.record(calls)
    transcript.context_at_end = windows.at_end(transcript.compactions)
    transcript.log.table.settle()
    _unlogged(transcript, parts)
    _provider_side(transcript)
    if parts.alone is not None:
        _note_alone(transcript, parts)
    return transcript


def _provider_side(transcript: Transcript) -> None:
    """Tell what the provider did that no row shows (formats document, sections B.4 and B.5)."""
    counters, name = transcript.session.counters, next(iter(transcript.files), None)
    edits, rounds = counters.get("server_context_edits", 0), counters.get("iterated_answers", 0)
    if edits:
        text = (
            f"{edits} line(s) of answers say that the provider cleared old tool results from what the model was given; "
            "which ones is not written, so the windows rebuilt here still hold them"
        )
        transcript.problems.append(ReadProblem("server_context_edits", text, "info", name, value=edits))
    if rounds:
        text = (
            f"{rounds} line(s) of answers were made in several rounds at the provider; their usage is the sum, so the "
            "prompt of those calls is more than the model was given at once"
        )
        transcript.problems.append(ReadProblem("iterated_answers", text, "info", name, value=rounds))


def in_time(files: list[Loaded], now: datetime) -> list[Loaded]:
    """The session's own files first, each kind by when it begins and ends: what a session says last is in the last."""

    def when(file: Loaded) -> tuple[bool, datetime, datetime, str]:
        times = [at for row in file.rows if (at := row.at) is not None and not is_suspicious(at, now=now)]
        return file.is_agent_file, min(times, default=EARLIEST), max(times, default=EARLIEST), file.name

    own = [file for file in files if not file.is_agent_file]
    return files if len(own) == len(files) == 1 else [*sorted(own, key=when), *_agents_in_time(files, when)]


def _agents_in_time(files: list[Loaded], when: Callable[[Loaded], Any]) -> list[Loaded]:
    """Sub-agents' files in the order they came, those of one sub-agent in time."""
    agents: dict[str | None, list[Loaded]] = {}
    for file in files:
        if file.is_agent_file:
            agents.setdefault(file.agent, []).append(file)
    return [file for found in agents.values() for file in sorted(found, key=when)]


def _rows(files: list[Loaded], now: datetime) -> Iterator[tuple[Loaded, Row]]:
    """The rows of all files. Those of one agent that lie in several (a session that was resumed in another folder,
    halves of one) are put together by their times; what a file has in its own order stays in it."""
    by_agent: dict[str | None, list[Loaded]] = {}
    for file in files:
        by_agent.setdefault(file.agent if file.is_agent_file else None, []).append(file)
    for found in by_agent.values():
        if len(found) == 1:
            yield from _pairs(found[0])
        else:
            yield from by_time(map(_pairs, found), lambda pair: pair[1].at, now=now)


def _pairs(file: Loaded) -> Iterator[tuple[Loaded, Row]]:
    return ((file, row) for row in file.rows)


def _chains(parts: Parts, now: datetime) -> list[Chain]:
    """The main chain first, then each sub-agent's, in the order they appear."""
    rows: list[Row] = []
    by_uuid: dict[str, Row] = {}
    for file, row in _rows(parts.files, now):
        if row.agent is None and file.is_agent_file:
            row.agent = file.agent
        if row.uuid is None or row.uuid not in by_uuid:
            rows.append(row)
            if row.uuid is not None:
                by_uuid[row.uuid] = row
        elif row.agent and by_uuid[row.uuid].agent is None and row.is_sidechain:
            by_uuid[row.uuid].agent = row.agent
    agents: dict[str | None, list[Row]] = {None: []}
    for row in rows:
        if not row.is_sidechain or parts.alone is not None:
            agents[None].append(row)
        else:
            row.agent = _side_chain(row, by_uuid)
            agents.setdefault(row.agent, []).append(row)
    return [build_chain(agent, found) for agent, found in agents.items()]


def _side_chain(row: Row, by_uuid: dict[str, Row]) -> str:
    """The sub-agent of an inline row: as written, else by the root of its side chain (clients before 2.0)."""
    at, steps = row, 0
    while at.agent is None and at.parent is not None and steps < len(by_uuid):
        above = by_uuid.get(at.parent)
        if above is None or not above.is_sidechain:
            break
        at, steps = above, steps + 1
    return at.agent or f"sidechain-{(at.uuid or str(at.line))[:8]}"


def _session(parts: Parts, chains: list[Chain], options: ReadOptions) -> Session:
    root = parts.files[0]
    times = [row.at for chain in chains for row in chain.rows if row.at and not is_suspicious(row.at, now=options.now)]
    models = [row.model for row in chains[0].rows if row.model and not row.is_synthetic]
    return Session(
        id=parts.id,
        format=FORMAT,
        format_version=root.version,
        title=_title(parts.files, chains[0]),
        cwd=root.cwd,
        model=models[-1] if models else None,
        started_at=min(times, default=None),
        ended_at=max(times, default=None),
        forked_from=root.forked_from if root.forked_from != parts.id else None,
        counters={},
    )


def _title(files: list[Loaded], main: Chain) -> str | None:
    """A title somebody gave, else the client's, else a summary of this very session (its leaf is in it); of each the
    newest."""
    newest = [*reversed([file for file in files if not file.is_agent_file]), *(f for f in files if f.is_agent_file)]
    own = [text for file in reversed(newest) for leaf, text in file.summaries if leaf in main.positions]
    given = next((file.custom_title for file in newest if file.custom_title), None)
    return given or next((file.ai_title for file in newest if file.ai_title), None) or (own[-1] if own else None)


def _lines(files: list[Loaded]) -> LineCounts:
    whole = LineCounts()
    for file in files:
        whole.add(file.counts)
    return whole


def _replays(transcript: Transcript, chains: list[Chain], known: Known) -> None:
    """Mark rows an earlier session owns; say what this one was forked from (formats.md B.8)."""
    session = transcript.session
    if not known.is_shared:
        return
    owners: dict[str, int] = {}
    for chain in chains:
        for row in chain.rows:
            owner = known.rows.setdefault(row.uuid, session.id) if row.uuid else session.id
            if owner != session.id:
                row.is_replayed = True
                owners[owner] = owners.get(owner, 0) + 1
    if not owners:
        return
    session.replayed_lines = sum(owners.values())
    session.forked_from = session.forked_from or max(owners, key=lambda owner: owners[owner])
    session.first_own_line = next((row.line for row in chains[0].rows if not row.is_replayed), None)


def _not_own(conversations: list[Conversation], known: Known, session: str) -> set[int]:
    """Answers whose call is counted elsewhere: replayed ones, and copies in another chain of this session."""
    found: set[int] = set()
    counted: set[CallKey] = set()
    for conversation in conversations:
        for answer in conversation.answers:
            key = _key(answer)
            owner = known.calls.setdefault(key, session) if key else session
            if answer.first.is_replayed or owner != session or (key is not None and key in counted):
                found.add(id(answer))
            elif key is not None:
                counted.add(key)
    return found


def _key(answer: Answer) -> CallKey | None:
    identity = answer.first.message_id
    return (identity, answer.request_id) if identity else None


def _tools(transcript: Transcript, conversations: list[Conversation]) -> None:
    rows: dict[int, list[Row]] = {}
    for conversation in conversations:
        for row in conversation.chain.rows:
            if row.message_index is not None:
                rows.setdefault(row.message_index, []).append(row)
    transcript.pairs, transcript.orphan_results = pair_tools(transcript.messages, rows)


def _compactions(
    transcript: Transcript, conversations: list[Conversation], calls: list[tuple[int, Conversation, Answer]]
) -> dict[str, int]:
    """Add the compactions of all chains; returns their numbers by the uuid of their summary's row."""
    numbers: dict[str, int] = {}
    for conversation in conversations:
        own = sorted((answer.first.order, index) for index, chain, answer in calls if chain is conversation)
        orders, indexes = [order for order, _ in own], [index for _, index in own]
        for event, summary in compactions_of(conversation):
            row = conversation.chain.rows[conversation.chain.positions[event.id]] if event.id else summary
            if row is None or row.is_replayed:
                continue
            place(event, row, orders, indexes)
            event.number = len(transcript.compactions) + 1
            transcript.compactions.append(event)
            if summary is not None and summary.uuid:
                numbers[summary.uuid] = event.number
    return numbers


def _subagents(chains: list[Chain], conversations: list[Conversation], parts: Parts) -> list[SubAgent]:
    """Each sub-agent with its kind and task, and the tool call of the parent that started it."""
    by_call = {
        block.tool_call_id: row.uuid
        for chain in chains
        for row in chain.rows
        for block in row.blocks
        if block.kind == "tool_call" and block.tool_call_id
    }
    spawned: dict[str, str | None] = {}
    for chain in chains:
        for row in chain.rows:
            if row.spawned and row.blocks:
                spawned.setdefault(row.spawned, by_call.get(row.blocks[0].tool_call_id or ""))
    found: list[SubAgent] = []
    for conversation in conversations:
        agent = conversation.chain.agent
        if agent is None:
            continue
        meta = parts.metas.get(agent, {})
        found.append(
            SubAgent(
                id=agent,
                kind=as_text(meta.get("agentType")),
                task=as_text(meta.get("description")),
                spawned_by_entry=by_call.get(as_id(meta.get("toolUseId")) or "") or spawned.get(agent),
                message_count=len(conversation.messages),
            )
        )
    return found


def _times(transcript: Transcript, chains: list[Chain], options: ReadOptions) -> None:
    for chain in chains:
        latest = None
        for row in chain.rows:
            if row.uuid is not None:
                transcript.entry_times[row.uuid] = row.at
            if row.has_bad_time:
                _problem(transcript, row, "unreadable_time", "the time of this line cannot be read", "warning")
            if row.at is None:
                continue
            odd = oddity(row.at, now=options.now)
            if odd is not None:
                message = f"the time of this line is {odd}; it does not count for the session's end"
                _problem(transcript, row, "suspicious_time", message, "warning")
            elif chain.is_active(row) and row.kind in ("user", "assistant"):
                if latest is not None and row.at < latest:
                    message = "this line is older than one before it; the order of the file is kept"
                    _problem(transcript, row, "out_of_order", message, "info")
                latest = row.at if latest is None else max(latest, row.at)


def _problem(transcript: Transcript, row: Row, code: str, message: str, severity: str) -> None:
    problem = ReadProblem(code, message, severity, row.file, row.line, row.uuid)  # type: ignore[arg-type]
    transcript.problems.append(problem)


def _unlogged(transcript: Transcript, parts: Parts) -> None:
    """What the client billed beyond the calls that have rows: compactions, titles, sub-agents not given."""
    bill = next((file.bill for file in reversed(parts.files) if file.bill is not None), None)
    if bill is None or transcript.session.replayed_lines:
        return
    transcript.unlogged_usage = difference(bill, sum_usage(call.usage for call in transcript.calls))
    if bill.cost_usd is not None:
        transcript.session.hints[COST_HINT] = str(bill.cost_usd)


def _note_alone(transcript: Transcript, parts: Parts) -> None:
    transcript.session.parent = parts.alone
    message = (
        f"a sub-agent's transcript whose session ({parts.alone}) is not among these files; read as a session of its "
        "own until that is here"
    )
    transcript.problems.append(ReadProblem("subagent_alone", message, "info", parts.files[0].name))
