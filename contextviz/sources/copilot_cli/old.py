"""Sessions of Copilot CLI's first versions: one document with the chat as it was sent, and what was shown of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from contextviz.events.message import Block
from contextviz.events.session import Session, Transcript
from contextviz.sources.copilot_cli.kinds import FORMAT
from contextviz.sources.plain.content import blocks_of, role_of, tool_call, tool_results
from contextviz.sources.plain.draft import Draft
from contextviz.sources.plain.growing import title_of
from contextviz.sources.plain.load import load
from contextviz.sources.source import Found, ReadOptions
from contextviz.sources.values import as_dict, as_id, as_list, as_text

Json = dict[str, Any]


def read_old(found: Found, options: ReadOptions) -> Transcript:
    """The transcript of one document; raises NotReadable. It has no usage, and no times but the session's."""
    value, surrogates = load(found.probe)
    document = as_dict(value)
    name = as_id(document.get("sessionId")) or found.probe.basename.rsplit(".", 1)[0]
    draft = Draft(Session(name, FORMAT), found.probe.name, options)
    draft.time(document.get("startTime"), "the session")
    session, lines = draft.session, draft.transcript.lines
    session.model = as_text(document.get("selectedModel"))
    names: dict[str, str] = {}
    for one in map(as_dict, as_list(document.get("chatMessages"))):
        lines.total += 1
        word = as_text(one.get("role")) or "no role"
        role = role_of(word)
        if role is None:
            draft.unknown(word[:80])
            continue
        blocks = list(_blocks(one, draft, names))
        message = draft.message(role, word, blocks, is_human=role == "user")
        draft.put(message, without_thinking=True)
        if role == "user" and session.title is None and isinstance(one.get("content"), str):
            session.title = title_of(one["content"])
    draft.transcript.entries = lines.total
    lines.lone_surrogates = surrogates
    session.counters["shown_events"] = len(as_list(document.get("timeline")))
    return draft.finish()


def _blocks(one: Json, draft: Draft, names: dict[str, str]) -> Iterator[Block]:
    pool = draft.pool
    if one.get("role") == "tool":
        call = as_text(one.get("tool_call_id"))
        yield from tool_results(pool, one.get("content") or "", names.get(call or ""), call)
        return
    yield from blocks_of(one.get("content"), pool, kind="system" if one.get("role") == "system" else "text")
    for value in as_list(one.get("tool_calls")):
        request, function = as_dict(value), as_dict(as_dict(value).get("function"))
        block = tool_call(pool, function.get("name"), function.get("arguments"), request.get("id"))
        names[block.tool_call_id or ""] = block.tool_name or ""
        yield block
