"""The inspect contract's session object (inspect.md), from a transcript."""

from __future__ import annotations

from collections import Counter
from zoneinfo import ZoneInfo

from contextviz.analysis.findings import findings, main_calls, newer_compaction
from contextviz.analysis.spend import CACHED_IS_INPUT, part, spend_json, total_of
from contextviz.analysis.summary_graph import integrity
from contextviz.events.call import ModelCall
from contextviz.events.compaction import Compaction
from contextviz.events.engine_event import EngineEvent
from contextviz.events.evidence import check_as_dict
from contextviz.events.message import Block, Message
from contextviz.events.problem import ReadProblem
from contextviz.events.session import Configuration, Session, Transcript
from contextviz.events.snapshot import WindowCheck
from contextviz.events.times import iso
from contextviz.events.topic import Topic, TopicEvent

Json = dict[str, object]
_OPENCLAW = ("user", "assistant", "toolResult")
# The words that inspect.md counts messages under: a word of the format is 0 where none was seen.
ROLE_WORDS = {
    "openclaw": _OPENCLAW,
    "openclaw-sqlite": _OPENCLAW,
    "pi": _OPENCLAW,
    "openvole": ("user", "brain"),
    "claude-code": ("user_prompts", "tool_results", "assistant", "compact_summaries"),
}
CODEX_ROLES = frozenset({"user", "assistant", "developer", "system"})


def session_json(transcript: Transcript, *, zone: ZoneInfo) -> Json:
    """The Session object of inspect.md. `zone` decides the days of `messages_per_day`."""
    return {
        **_identity(transcript),
        **_reading(transcript),
        **_conversation(transcript, zone),
        **_tools(transcript),
        **_billing(transcript),
        **_window(transcript),
        **_tree(transcript),
        **_stores(transcript),
        "problems": [problem_json(problem) for problem in findings(transcript)],
    }


def _identity(transcript: Transcript) -> Json:
    session = transcript.session
    return {
        "id": session.id,
        "generation": {"state": session.generation, "at": iso(session.generation_at)},
        "format": session.format,
        "format_version": session.format_version,
        "agent": session.agent,
        "title": session.title,
        "cwd": session.cwd,
        "model": session.model,
        "started_at": iso(session.started_at),
        "ended_at": iso(session.ended_at),
        "parent": session.parent,
        "forked_from": session.forked_from,
        "replayed_lines": session.replayed_lines,
        "first_own_line": session.first_own_line,
        "hints": session.hints,
        "counters": session.counters,
    }


def _reading(transcript: Transcript) -> Json:
    lines = transcript.lines
    return {
        "lines": {
            "total": lines.total,
            "read": lines.read,
            "blank": lines.blank,
            "malformed": lines.malformed,
            "recovered": {str(line): entries for line, entries in lines.recovered.items()},
            "in_progress": lines.in_progress,
            "lone_surrogates": lines.lone_surrogates,
            "surrogate_lines": lines.surrogate_lines,
            "unknown_types": lines.unknown_types,
            "coverage": lines.coverage,
        },
        "entries": transcript.entries,
    }


def _conversation(transcript: Transcript, zone: ZoneInfo) -> Json:
    messages = transcript.messages
    main = [message for message in messages if message.agent is None and is_message(message, transcript)]
    counts: dict[str, int] = dict.fromkeys(ROLE_WORDS.get(transcript.session.format, ("user", "assistant")), 0)
    counts.update(Counter(message.native_role for message in main))
    counts["total"] = len(main)
    days = Counter(message.at.astimezone(zone).date().isoformat() if message.at else "none" for message in main)
    blocks = [block for message in messages for block in message.blocks if block.kind == "image"]
    return {
        "order": [message.id for message in main],
        "messages": counts,
        "held_messages": len(messages),
        "empty_items": [message.id for message in main if message.is_empty],
        "entry_times": {entry: iso(at) for entry, at in transcript.entry_times.items()},
        "messages_per_day": dict(sorted(days.items())),
        "images": {"count": len(blocks), "base64_chars": sum(block.base64_chars or 0 for block in blocks)},
    }


def is_message(message: Message, transcript: Transcript) -> bool:
    """Whether inspect counts it as a message: Codex rollouts hold reasoning and tool items beside them."""
    return transcript.session.format != "codex" or message.native_role in CODEX_ROLES


def _tools(transcript: Transcript) -> Json:
    blocks: list[Block] = [block for m in transcript.messages if m.agent is None for block in m.blocks]
    calls = [block for block in blocks if block.kind == "tool_call"]
    results = [block for block in blocks if block.kind == "tool_result"]
    done = [pair for pair in transcript.pairs if pair.result_message is not None]
    return {
        "tool_calls": len(calls),
        "tool_errors": sum(block.is_error for block in results),
        "pairs": [[pair.call_entry, pair.result_entry] for pair in done],
        "pending_calls": sum(pair.result_message is None for pair in transcript.pairs),
        "orphan_results": len(transcript.orphan_results),
        "genuine_results": sum(not block.is_synthetic for block in results),
        "synthetic_results": sum(block.is_synthetic for block in results),
    }


def _billing(transcript: Transcript) -> Json:
    name = transcript.session.format
    calls = transcript.calls
    turns = [call for call in calls if call.purpose == "turn"]
    by_agent: dict[str | None, list[ModelCall]] = {}
    for call in turns:
        by_agent.setdefault(call.agent, []).append(call)
    main = by_agent.get(None, [])
    subagents = []
    for agent in transcript.subagents:
        own = by_agent.get(agent.id, [])
        last = own[-1].usage.prompt_tokens if own else None
        extra = {"id": agent.id, "last_prompt_tokens": last, "messages": agent.message_count}
        subagents.append({**extra, **part(own, format_name=name)})
    unlogged = transcript.unlogged_usage
    checks = {one.call_index: one.check for one in transcript.log.snapshots if one.check is not None}
    return {
        "api_calls": len(calls),
        "failed_calls": transcript.failed_calls,
        "spend": spend_json(total_of(calls), format_name=name),
        "main": part(main, format_name=name),
        "subagents": subagents,
        "summaries_spend": part((call for call in calls if call.purpose != "turn"), format_name=name),
        "active_path_spend": part(main_calls(transcript), format_name=name),
        "unlogged_spend": spend_json(unlogged, format_name=name) if unlogged else None,
        "per_call": [_call_json(call, transcript, checks.get(call.index)) for call in calls],
    }


def _call_json(call: ModelCall, transcript: Transcript, check: WindowCheck | None) -> Json:
    usage = call.usage
    row: Json = {
        "id": call.id,
        "index": call.index,
        "at": iso(call.at),
        "model": call.model,
        "agent": call.agent,
        "purpose": call.purpose,
        "prompt": usage.prompt_tokens,
        "input_uncached": usage.input_tokens,
        "cache_read": usage.cache_read_tokens,
        "cache_write": usage.cache_write_tokens,
        "output": usage.output_tokens,
        "window": call.window or transcript.session.window,
        "basis": call.basis,
        "check": None if check is None else check_as_dict(check),
    }
    if transcript.session.format in CACHED_IS_INPUT:
        row["input_total"] = usage.prompt_tokens
    return row


def _window(transcript: Transcript) -> Json:
    main = main_calls(transcript)
    last = main[-1] if main else None
    window = (last.window if last else None) or transcript.session.window
    tokens = last.usage.prompt_tokens if last else None
    return {
        "last_prompt_tokens": tokens,
        "window": window,
        "window_basis": "reported" if last and last.window else transcript.session.window_basis,
        "compaction_threshold": transcript.session.compaction_threshold,
        "compaction_threshold_basis": _threshold_basis(transcript.session),
        "configuration": _configuration(transcript.session.configuration),
        "occupancy": _occupancy(transcript, tokens, window),
        "compactions": [_compaction_json(one) for one in transcript.compactions],
        "context_items_at_end": transcript.context_at_end,
    }


def _threshold_basis(session: Session) -> str:
    return "unknown" if session.compaction_threshold is None else session.compaction_threshold_basis or "reported"


def _configuration(found: Configuration | None) -> Json | None:
    if found is None:
        return None
    return {
        "agent": found.agent,
        "files": list(found.files),
        "engine": found.engine,
        "settings": found.settings,
        "windows": found.windows,
        "left_out": found.left_out,
    }


def _occupancy(transcript: Transcript, tokens: int | None, window: int | None) -> Json:
    if newer_compaction(transcript) is not None:
        reason = "compaction newer than the last response with real usage"
        return {"tokens": None, "pct": None, "basis": "unknown", "reason": reason}
    if tokens is None:
        return {"tokens": None, "pct": None, "basis": "unknown", "reason": "no response with real usage"}
    pct = round(tokens / window * 100, 1) if window else None
    why = None if window else "the window is not reported"
    return {"tokens": tokens, "pct": pct, "basis": "reported", "reason": why}


def _compaction_json(one: Compaction) -> Json:
    return {
        "id": one.id,
        "line": one.line,
        "at": iso(one.at),
        "trigger": one.trigger,
        "kind": one.kind,
        "tokens_before": one.tokens_before,
        "tokens_after": one.tokens_after,
        "summary_chars": one.summary.chars if one.summary else None,
        "first_kept": one.first_kept,
        "kept": one.kept,
        "context_items": one.context_items,
        "on_active_path": one.on_active_path,
        "agent": one.agent,
        "producer": one.producer,
        "problem": one.problem,
    }


def _tree(transcript: Transcript) -> Json:
    tree = transcript.tree
    return {
        "branches": tree.branches if tree else None,
        "branch_point": tree.branch_point if tree else None,
        "active_leaf": tree.active_leaf if tree else None,
        "active_path": tree.active_path if tree else [],
        "abandoned": tree.abandoned if tree else [],
        "segments": tree.segments if tree else None,
    }


def _stores(transcript: Transcript) -> Json:
    found: Json = {}
    if transcript.store is not None:
        found["store"] = integrity(transcript.store).as_json()
    if transcript.topics or transcript.topic_events:
        found["topics"] = [_topic_json(topic) for topic in transcript.topics]
        found["topic_events"] = [_topic_event_json(event) for event in transcript.topic_events]
    if transcript.engine_events:
        found["engine_events"] = [_engine_event_json(event) for event in transcript.engine_events]
    return found


def _topic_json(topic: Topic) -> Json:
    return {
        "slug": topic.slug,
        "name": topic.name,
        "color": topic.color,
        "status": topic.status,
        "created_at": iso(topic.created_at),
        "last_active_at": iso(topic.last_active_at),
        "declared": topic.is_declared,
    }


def _topic_event_json(event: TopicEvent) -> Json:
    return {
        "id": event.id,
        "type": event.kind,
        "topic": event.topic,
        "at": iso(event.at),
        "at_basis": event.at_basis,
        "trigger": event.trigger,
        "summary": event.summary,
        "parent_id": event.parent_id,
        "model": event.model,
        "task": event.task,
        "duration_ms": event.duration_ms,
        "result": event.result,
        "artifacts": event.artifacts,
        "active_topics": event.active_topics,
        "source": event.source,
    }


def _engine_event_json(event: EngineEvent) -> Json:
    return {
        "type": event.type,
        "engine": event.engine,
        "at": iso(event.at),
        "origin": event.origin,
        "quality": event.quality,
        "file": event.file,
        "line": event.line,
        "data": event.data,
    }


def problem_json(problem: ReadProblem) -> Json:
    """A Problem object of inspect.md."""
    return {
        "code": problem.code,
        "severity": problem.severity,
        "file": problem.file,
        "line": problem.line,
        "entry": problem.entry,
        "value": problem.value,
        "message": problem.message,
    }
