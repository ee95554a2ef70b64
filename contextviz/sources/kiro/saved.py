"""Whole conversations: as the CLI saves them, and the IDE's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from contextviz.events.compaction import Compaction
from contextviz.events.message import Role
from contextviz.events.session import Session, Transcript
from contextviz.events.snapshot import ContextItem
from contextviz.events.times import instant
from contextviz.events.usage import TokenUsage
from contextviz.sources.kiro.kinds import FORMAT, is_saved, sides_of, wrapped
from contextviz.sources.kiro.parts import answer_blocks, prompt_blocks
from contextviz.sources.plain.content import blocks_of, named, role_of
from contextviz.sources.plain.counts import Counts
from contextviz.sources.plain.draft import Draft
from contextviz.sources.plain.growing import title_of
from contextviz.sources.plain.load import load
from contextviz.sources.source import Found, Probe, ReadOptions
from contextviz.sources.values import as_dict, as_id, as_int, as_list, as_text

Json = dict[str, Any]


def id_of(probe: Probe) -> str:
    """The conversation's id: as it is written, else the file's name."""
    document = probe.document or {}
    stem = probe.basename.rsplit(".", 1)[0]
    return as_id(document.get("conversation_id")) or as_id(document.get("sessionId")) or stem


def read_saved(found: Found, options: ReadOptions) -> Transcript:
    """The transcript of one document; raises NotReadable."""
    value, surrogates = load(found.probe)
    document = as_dict(value)
    draft = Draft(Session(id_of(found.probe), FORMAT), found.probe.name, options)
    if is_saved(document):
        _Saved(draft, document).read()
    else:
        _ide(draft, document)
    draft.transcript.lines.lone_surrogates = surrogates
    draft.transcript.entries = draft.transcript.lines.total
    return draft.finish()


class _Saved:
    """Reads a conversation of the CLI. Its messages have no ids but the answers' own."""

    def __init__(self, draft: Draft, document: Mapping[str, Any]) -> None:
        self._draft = draft
        self._document = document
        self._tools: dict[str, str] = {}

    def read(self) -> None:
        """Read it into the draft."""
        document, draft = self._document, self._draft
        model = as_dict(document.get("model_info"))
        draft.session.model = as_text(model.get("model_id")) or as_text(document.get("model"))
        window = as_int(model.get("context_window_tokens"))
        if window:
            draft.session.window, draft.session.window_basis = window, "reported"
        bounds = as_list(document.get("valid_history_range"))
        begin = (as_int(bounds[0]) or 0) if bounds else 0
        told = as_list(document.get("latest_summary"))
        summary = as_text(told[0]) if told else None
        entries = as_list(document.get("history"))
        for number, entry in enumerate(entries):
            if number == begin and (begin or summary):
                self._cut(summary)
            self._entry(entry, f"entry {number + 1}")
        if begin >= len(entries) and summary:
            self._cut(summary)

    def _cut(self, summary: str | None) -> None:
        """What is before here is not given to the model any more: summarised, or left out."""
        draft = self._draft
        if not summary:
            draft.compaction(Compaction("cut", 0, None, draft.file, None, "trim"), is_here=True)
            draft.restart([], [])
            return
        given = ContextItem(
            "user", "summary", draft.pool.put(wrapped(summary)), "summary", None, "summary",
            "summary of everything before", "derived",
        )  # fmt: skip
        names = ["summary summary"]
        draft.restart([draft.transcript.log.table.intern(given)], names)
        draft.compaction(
            Compaction(
                "summary", 0, None, draft.file, None, "summary", summary=draft.pool.put(summary), context_items=names,
            ),
            is_here=True,
        )  # fmt: skip

    def _entry(self, entry: Any, what: str) -> None:
        draft, (user, answer) = self._draft, sides_of(entry)
        draft.transcript.lines.total += 1
        if not user and not answer:
            draft.unknown("entry without a side")
            return
        at = draft.time(user.get("timestamp"), what)
        state = as_dict(as_dict(user.get("env_context")).get("env_state"))
        draft.session.cwd = draft.session.cwd or as_text(state.get("current_working_directory"))
        blocks = named(prompt_blocks(user, draft.pool), self._tools)
        has_result = any(block.kind == "tool_result" for block in blocks)
        text = next((draft.pool.get(block.text) for block in blocks if block.kind == "text"), "")
        if blocks:
            role: Role = "tool" if has_result and not text else "user"
            draft.put(draft.message(role, role, blocks, at=at))
        if draft.session.title is None:
            draft.session.title = title_of(text)
        if answer:
            self._answer(answer, as_dict(as_dict(entry).get("request_metadata")))

    def _answer(self, answer: Json, request: Json) -> None:
        draft = self._draft
        word = str(next(iter(answer), "assistant"))
        ended = draft.time(request.get("stream_end_timestamp_ms"), "an answer")
        name = as_id(as_dict(answer.get(word)).get("message_id"))
        free = name if name not in draft.transcript.entry_times else None
        blocks = named(answer_blocks(answer, draft.pool), self._tools)
        model = as_text(request.get("model_id"))
        made = draft.message("assistant", "assistant", blocks, id=free, at=ended, model=model)
        call = draft.call(
            _usage(request), at=instant(request.get("request_start_timestamp_ms")) or ended, model=model, message=made
        )
        draft.snapshot(call)
        draft.put(made, without_thinking=True)


def _usage(request: Json) -> TokenUsage | None:
    """A request's tokens, which most versions leave empty."""
    told = as_dict(request.get("token_usage") or request.get("usage")) or request
    counts = Counts()
    given = "input_tokens" if told.get("uncached_input_tokens") is None else "uncached_input_tokens"
    usage = counts.apart(
        counts.prompt(told.get(given), given),
        counts.prompt(told.get("cache_read_input_tokens"), "cache_read_input_tokens"),
        counts.prompt(told.get("cache_write_input_tokens"), "cache_write_input_tokens"),
        counts.answer(told.get("output_tokens"), "output_tokens"),
    )
    return usage if usage.is_real else None


def _ide(draft: Draft, document: Mapping[str, Any]) -> None:
    """A session of the IDE: messages with neither times nor tokens."""
    draft.session.cwd = as_text(document.get("workspaceDirectory"))
    draft.session.title = title_of(as_text(document.get("title")) or "")
    tools: dict[str, str] = {}
    for entry in as_list(document.get("history")):
        message = as_dict(as_dict(entry).get("message"))
        draft.transcript.lines.total += 1
        role = role_of(message.get("role"))
        if role is None:
            draft.unknown(str(message.get("role"))[:80])
            continue
        blocks = named(blocks_of(message.get("content"), draft.pool), tools)
        name = as_id(message.get("id"))
        free = name if name not in draft.transcript.entry_times else None
        made = draft.message(role, str(message["role"]), blocks, id=free)
        draft.put(made, without_thinking=True)
        if role == "user" and draft.session.title is None:
            draft.session.title = title_of(next((draft.pool.get(one.text) for one in blocks if one.kind == "text"), ""))
