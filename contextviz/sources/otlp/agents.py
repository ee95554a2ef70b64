"""What agents tell with spans and events of their own: OpenClaw's runs, Codex's and Claude Code's log records.

They carry usage and moments, no windows; so their sessions have calls, messages as far as they are written, and
compactions, and what a call was given stays unknown (formats document, section F, and what was measured of OTLP).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from contextviz.events.call import ModelCall
from contextviz.events.compaction import Compaction
from contextviz.events.message import Message
from contextviz.events.times import EARLIEST
from contextviz.events.usage import TokenUsage
from contextviz.sources.otlp.calls import Call
from contextviz.sources.otlp.envelope import Attributes, Event, Span
from contextviz.sources.plain.content import blocks_of, tool_call, tool_results
from contextviz.sources.plain.draft import Draft
from contextviz.sources.values import as_int, as_text

COMPACTION_SPANS = frozenset({"codex.compaction", "run_auto_compact", "openclaw.compaction"})
PROMPTS = frozenset({"codex.user_prompt", "claude_code.user_prompt", "user_prompt"})
RESULTS = frozenset({"codex.tool_result"})
_WINDOWS = ("context_window", "openclaw.context.token_budget")
RUN_USAGE = (
    "usage is written for the run of {calls} calls together: {given:,} tokens in, of them {cached:,} from the cache, "
    "{made:,} out; what each call took is not known"
)


@dataclass(slots=True)
class Told:
    """What one conversation's own records say beside its calls."""

    spans: list[Span] = field(default_factory=list)
    logs: list[Event] = field(default_factory=list)
    # Usage of a whole run, where its calls carry none (OpenClaw).
    runs: list[Call] = field(default_factory=list)


def assemble(draft: Draft, calls: Sequence[Call], told: Told) -> None:
    """Put the calls and what else was told into the draft, in the order of their times."""
    _settings(draft, [*(one.attributes for one in told.logs), *(one.attributes for one in told.spans)])
    steps: list[tuple[datetime, int, Any]] = []
    steps.extend((one.at or EARLIEST, 0, one) for one in told.logs if one.name in PROMPTS | RESULTS)
    steps.extend((one.at or EARLIEST, 1, one) for one in calls)
    steps.extend((one.end or one.start or EARLIEST, 2, one) for one in _compactions(told.spans))
    for _, _, step in sorted(steps, key=lambda one: one[:2]):
        if isinstance(step, Call):
            _add_call(draft, step)
        elif isinstance(step, Span):
            _add_compaction(draft, step)
        else:
            _add_message(draft, step)
    _sum_up(draft, calls, told.runs)


def _settings(draft: Draft, told: Iterable[Attributes]) -> None:
    session = draft.session
    for attributes in told:
        for key in _WINDOWS:
            window = as_int(attributes.get(key))
            if window and session.window is None:
                session.window, session.window_basis = window, "reported"
        threshold = as_int(attributes.get("auto_compact_token_limit"))
        if threshold and session.compaction_threshold is None:
            session.compaction_threshold = threshold


def _compactions(spans: Iterable[Span]) -> list[Span]:
    """Spans of compactions; of one inside another only the outer."""
    found = {one.id: one for one in spans if one.name in COMPACTION_SPANS}
    return [one for one in found.values() if one.parent not in found]


def _add_call(draft: Draft, call: Call) -> None:
    draft.time(int(call.at.timestamp() * 1000) if call.at else None, "a call")
    calls = draft.transcript.calls
    usage = call.usage or TokenUsage()
    calls.append(
        ModelCall(
            len(calls), call.response_id or f"call-{len(calls) + 1}", call.response_id, call.at, call.model, usage,
            call.agent, basis="reported" if call.has_usage else "unknown",
        )
    )  # fmt: skip
    draft.session.model = call.model or draft.session.model


def _add_message(draft: Draft, event: Event) -> Message | None:
    values = event.attributes
    at = event.at
    if event.name in PROMPTS:
        prompt = as_text(values.get("prompt"))
        if not prompt or prompt == "<REDACTED>":
            return None
        return draft.message("user", "user", blocks_of(prompt, draft.pool), at=at)
    name, call_id = as_text(values.get("tool_name")), as_text(values.get("call_id"))
    call = tool_call(draft.pool, name, values.get("arguments"), call_id)
    draft.message("assistant", "assistant", [call], at=at, is_human=False)
    is_error = values.get("success") in (False, "false")
    results = tool_results(draft.pool, values.get("output") or "", name, call_id, is_error=is_error)
    return draft.message("tool", "tool", results, at=at, is_human=False)


def _add_compaction(draft: Draft, span: Span) -> None:
    words = [as_text(span.attributes.get(key)) for key in ("reason", "phase", "openclaw.compaction.reason", "trigger")]
    seconds = (span.end - span.start).total_seconds() if span.start and span.end else None
    draft.compaction(
        Compaction(
            span.id or None, 0, None, draft.file, span.end or span.start, "summary",
            trigger=", ".join(word for word in words if word) or None,
            tokens_before=as_int(span.attributes.get("openclaw.compaction.tokens_before")),
            tokens_after=as_int(span.attributes.get("openclaw.compaction.tokens_after")),
            duration_seconds=seconds,
            problem="the span says that it was done; the summary is not in it",
        )
    )  # fmt: skip


def _sum_up(draft: Draft, calls: Sequence[Call], runs: Sequence[Call]) -> None:
    counters = draft.session.counters
    unknown = sum(not call.has_usage for call in calls)
    if unknown:
        counters["calls_without_usage"] = unknown
    if not runs:
        return
    usages = [run.usage for run in runs if run.usage is not None]
    given = sum(one.prompt_tokens or 0 for one in usages)
    cached = sum(one.cache_read_tokens or 0 for one in usages)
    made = sum(one.output_tokens or 0 for one in usages)
    counters.update(run_prompt_tokens=given, run_cache_read_tokens=cached, run_output_tokens=made)
    text = RUN_USAGE.format(calls=unknown, given=given, cached=cached, made=made)
    draft.problem("usage_by_run", text, "info", value=given)
