"""Reads Gemini CLI's chats, sub-agents with the chat that started them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from contextviz.events.compaction import Compaction
from contextviz.events.message import Block, Message, Role
from contextviz.events.problem import ReadProblem
from contextviz.events.session import Session, SourceFile, SubAgent, Transcript
from contextviz.events.usage import TokenUsage
from contextviz.sources.features import declared
from contextviz.sources.gemini_cli.record import Chat, Cut, Kept, read_document, read_lines
from contextviz.sources.plain.content import blocks_of, tool_call, tool_results
from contextviz.sources.plain.counts import Counts
from contextviz.sources.plain.draft import Draft
from contextviz.sources.plain.load import NotReadable, refused
from contextviz.sources.plain.usage import plus
from contextviz.sources.source import Detection, Found, Probe, ReadItem, ReadOptions
from contextviz.sources.values import as_dict, as_id, as_int, as_list, as_text

FORMAT = "gemini-cli"
INFERRED = "inferred: the client wrote a new list of messages in which earlier ones are missing"


@dataclass(slots=True)
class _Opened:
    """A chat with its file and the chats of sub-agents it started."""

    found: Found
    chat: Chat
    id: str
    children: list[_Opened] = field(default_factory=list)
    parent: str | None = None


class GeminiCliReader:
    """Reader of `chats/session-*.json` and `.jsonl`."""

    name = "gemini_cli"
    declares = {
        FORMAT: declared(
            "messages times title tool_pairs thinking images calls cache_reads reasoning branches subagents",
            "rebuilt compactions", cached="inside",
        )
    }  # fmt: skip

    def detect(self, probe: Probe) -> Detection | None:
        """See Reader.detect. A session's header with its project, alone or with the messages in it."""
        if probe.document is not None:
            is_ours = _is_header(probe.document) and (isinstance(probe.document.get("messages"), list) or _one(probe))
            return Detection(FORMAT, "session") if is_ours else None
        if any(map(_is_header, probe.records)):
            return Detection(FORMAT, "session")
        return None

    def read(self, files: Sequence[Found], options: ReadOptions) -> Iterator[ReadItem]:
        """See Reader.read. Of one chat kept as JSON and as JSONL the longer counts."""
        opened: dict[str, _Opened] = {}
        for found in files:
            try:
                one = _open(found)
            except NotReadable as why:
                yield from refused(found, str(why))
                continue
            except OSError as error:
                yield from refused(found, f"it cannot be opened: {error.strerror}")
                continue
            other = opened.get(one.id)
            if other is not None and len(other.chat.messages) >= len(one.chat.messages):
                yield _duplicate(one)
                continue
            if other is not None:
                yield _duplicate(other)
            opened[one.id] = one
        for one in opened.values():
            owner = opened.get(one.parent or "")
            if owner is not None and owner is not one and owner.parent is None:
                owner.children.append(one)
        placed = {id(child) for one in opened.values() for child in one.children}
        for one in opened.values():
            if id(one) not in placed:
                yield from _read(one, options)


def _one(probe: Probe) -> bool:
    """Whether a file of one JSON object is a JSONL chat that has only its header yet."""
    return "startTime" in (probe.document or {}) and probe.basename.endswith(".jsonl")


def _is_header(value: Mapping[str, Any]) -> bool:
    return isinstance(value.get("sessionId"), str) and isinstance(value.get("projectHash"), str)


def _open(found: Found) -> _Opened:
    probe = found.probe
    is_document = probe.document is not None and isinstance(probe.document.get("messages"), list)
    chat = read_document(probe) if is_document else read_lines(probe)
    name = as_id(chat.header.get("sessionId")) or probe.basename.rsplit(".", 1)[0]
    parent = as_id(chat.header.get("parentSessionId"))
    if parent is None and chat.header.get("kind") == "subagent":
        folders = probe.name.split("/")
        parent = folders[-2] if len(folders) > 1 else None
    return _Opened(found, chat, name, parent=parent)


def _duplicate(one: _Opened) -> SourceFile:
    probe = one.found.probe
    reason = "a shorter copy of a chat that is read from another file"
    return SourceFile(probe.name, FORMAT, "duplicate", False, reason, probe.size, one.id)


def _read(one: _Opened, options: ReadOptions) -> Iterator[ReadItem]:
    probe, header = one.found.probe, one.chat.header
    session = Session(one.id, FORMAT, parent=one.parent, title=as_text(header.get("summary")))
    folders = as_list(header.get("directories"))
    session.cwd = as_text(folders[0]) if folders else None
    draft = Draft(session, probe.name, options)
    draft.time(header.get("startTime"), "the session")
    for child in [None, *one.children]:
        _fill(draft, one if child is None else child, None if child is None else child.id)
        at = (child or one).found.probe
        yield SourceFile(at.name, FORMAT, "session", True, None, at.size, one.id)
    lines = one.chat.lines
    transcript = draft.finish()
    transcript.lines = lines
    for child in one.children:
        _add_lines(transcript, child)
    yield transcript


def _add_lines(transcript: Transcript, child: _Opened) -> None:
    """The lines of a sub-agent's file add to the counts; its damaged ones are told in its own problems."""
    lines, more = transcript.lines, child.chat.lines
    lines.total += more.total
    lines.read += more.read + len(more.malformed) + (more.in_progress is not None)
    lines.blank += more.blank
    lines.lone_surrogates += more.lone_surrogates
    for kind, count in more.unknown_types.items():
        lines.unknown_types[kind] = lines.unknown_types.get(kind, 0) + count
    transcript.files.append(child.found.probe.name)


def _fill(draft: Draft, one: _Opened, agent: str | None) -> None:
    chat, name = one.chat, one.found.probe.name
    transcript = draft.transcript
    transcript.entries += chat.entries
    transcript.problems.extend(chat.problems)
    for kind in chat.lines.unknown_types:
        text = f"records of the unknown type {kind[:80]}"
        transcript.problems.append(ReadProblem("unknown_type", text, "info", name, value=kind[:80]))
    for line, wanted in chat.missing_rewinds:
        text = f"line {line} goes back to the message {wanted[:80]}, which is not there"
        transcript.problems.append(ReadProblem("dangling_parent", text, "warning", name, line, value=wanted[:80]))
    cuts = {cut.position: [one for one in chat.cuts if one.position == cut.position] for cut in chat.cuts}
    before = len(transcript.messages)
    window: list[tuple[Kept, Message]] = []
    for place, kept in enumerate(chat.messages):
        for cut in cuts.get(place, ()):
            window = _cut(draft, cut, window, agent)
        message = _message(draft, kept, agent)
        if message.native_role in ("user", "gemini"):
            draft.put(message, agent=agent, without_thinking=True)
            window.append((kept, message))
    for cut in cuts.get(len(chat.messages), ()):
        window = _cut(draft, cut, window, agent)
    if agent is not None:
        count = len(transcript.messages) - before
        task = as_text(chat.header.get("summary"))
        transcript.subagents.append(SubAgent(agent, "subagent", task, None, count))


def _cut(draft: Draft, cut: Cut, window: list[tuple[Kept, Message]], agent: str | None) -> list[tuple[Kept, Message]]:
    """The window without what was taken out; a new list of messages is an inferred compaction, going back is none."""
    gone = {id(one) for one in cut.gone}
    left = [(kept, message) for kept, message in window if id(kept) not in gone]
    names = [message.id or "" for _, message in left]
    if cut.is_rewind:
        counters = draft.session.counters
        counters["rewinds"] = counters.get("rewinds", 0) + 1
    elif len(left) < len(window):
        number = len(draft.transcript.compactions) + 1
        draft.compaction(
            Compaction(f"replaced-{number}", number, cut.line, draft.file, None, "trim", kept=names,
                       context_items=list(names), problem=INFERRED, agent=agent)
        )  # fmt: skip
    positions = [one for _, message in left for one in draft.items(message, without_thinking=True)]
    draft.restart(positions, names, agent=agent)
    return left


def _message(draft: Draft, kept: Kept, agent: str | None) -> Message:
    value = kept.value
    kind = as_text(value.get("type")) or "unknown"
    at = draft.time(value.get("timestamp"), f"message {kept.id or kept.line or ''}".strip(), line=kept.line)
    role: Role = "user" if kind == "user" else "assistant" if kind == "gemini" else "system"
    name = kept.id if kept.id not in draft.transcript.entry_times else None
    message = draft.message(
        role, kind, _blocks(draft, value), id=name, at=at, line=kept.line, agent=agent,
        model=as_text(value.get("model")), on_active_path=not kept.is_gone,
    )  # fmt: skip
    if kind == "gemini":
        call = draft.call(
            _usage(draft, value.get("tokens")), id=message.id, at=at, model=message.model, agent=agent,
            message=message, line=kept.line, on_active_path=not kept.is_gone,
        )  # fmt: skip
        draft.snapshot(call)
    return message


def _blocks(draft: Draft, value: Mapping[str, Any]) -> list[Block]:
    """What one record holds: thoughts, text, and its tool calls with their results."""
    pool = draft.pool
    blocks: list[Block] = []
    for thought in as_list(value.get("thoughts")):
        found = as_dict(thought)
        parts = [text for key in ("subject", "description") if (text := as_text(found.get(key)))]
        blocks.append(Block("thinking", pool.put("\n".join(parts) or as_text(thought) or "")))
    blocks.extend(blocks_of(value.get("content"), pool))
    calls = [as_dict(one) for one in as_list(value.get("toolCalls"))]
    blocks.extend(tool_call(pool, one.get("name"), one.get("args"), one.get("id")) for one in calls)
    for one in calls:
        if one.get("result") is None and one.get("status") in (None, "executing", "scheduled", "validating"):
            continue  # not answered yet
        blocks.extend(_results(draft, one))
    return blocks


def _results(draft: Draft, call: Mapping[str, Any]) -> list[Block]:
    """A tool call's answer: the text inside its function response, else what was shown."""
    is_error = call.get("status") in ("error", "cancelled")
    parts: list[Any] = []
    result = call.get("result")
    for part in result if isinstance(result, list) else [result]:
        answer = as_dict(as_dict(part).get("functionResponse"))
        response = as_dict(answer.get("response"))
        inner = next((response[key] for key in ("output", "error", "content") if response.get(key) is not None), None)
        parts.append(inner if inner is not None else (answer.get("response") if answer else part))
    found = [part for part in parts if part is not None]
    if not found:
        found = [as_text(call.get("resultDisplay")) or ""]
    return tool_results(draft.pool, found, call.get("name"), call.get("id"), is_error=is_error)


def _usage(draft: Draft, value: Any) -> TokenUsage | None:
    """Cached tokens are part of the input, thoughts are beside the output (formats.md H)."""
    tokens = as_dict(value)
    if not tokens:
        return None
    tool = as_int(tokens.get("tool"))
    if tool:
        counters = draft.session.counters
        counters["tool_prompt_tokens"] = counters.get("tool_prompt_tokens", 0) + tool
    counts = Counts()
    thoughts = counts.answer(tokens.get("thoughts"), "thoughts")
    return counts.inside(
        counts.prompt(tokens.get("input"), "input"),
        counts.prompt(tokens.get("cached"), "cached"),
        output_tokens=plus(counts.answer(tokens.get("output"), "output"), thoughts),
        reasoning_tokens=thoughts,
    )
