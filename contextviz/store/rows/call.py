"""Model calls, compactions and problems."""

from __future__ import annotations

from contextviz.events.call import ModelCall
from contextviz.events.compaction import Compaction
from contextviz.events.problem import ReadProblem
from contextviz.events.usage import TokenUsage
from contextviz.store.models.rows import CallRecord, CompactionRecord, ProblemRecord
from contextviz.store.rows.table import Row, Table, pack_optional, unpack_optional

CALL_COLUMNS = (
    "index", "source_id", "response_id", "at", "model", "input_tokens", "cache_read_tokens", "cache_write_tokens",
    "output_tokens", "reasoning_tokens", "cache_write_5m_tokens", "cache_write_1h_tokens", "cost_usd", "agent",
    "purpose", "basis", "window", "message_index", "entry", "line", "on_active_path", "prompt_tokens",
)  # fmt: skip


def _call_to_row(call: ModelCall) -> Row:
    usage = call.usage
    return (
        call.index, call.id, call.response_id, call.at, call.model, usage.input_tokens, usage.cache_read_tokens,
        usage.cache_write_tokens, usage.output_tokens, usage.reasoning_tokens, usage.cache_write_5m_tokens,
        usage.cache_write_1h_tokens, usage.cost_usd, call.agent, call.purpose, call.basis, call.window,
        call.message_index, call.entry, call.line, call.on_active_path, usage.prompt_tokens,
    )  # fmt: skip


def _to_call(row: Row) -> ModelCall:
    (index, source_id, response_id, at, model, fresh, read, write, output, reasoning, write_5m, write_1h, cost, agent,
     purpose, basis, window, message_index, entry, line, on_active_path, _prompt) = row  # fmt: skip
    return ModelCall(
        index=index, id=source_id or None, response_id=response_id or None, at=at, model=model or None,
        usage=TokenUsage(fresh, read, write, output, reasoning, write_5m, write_1h, cost), agent=agent or None,
        purpose=purpose, basis=basis, window=window, message_index=message_index, entry=entry or None, line=line,
        on_active_path=on_active_path,
    )  # fmt: skip


CALLS = Table[ModelCall](CallRecord, CALL_COLUMNS, _call_to_row, _to_call)

COMPACTION_COLUMNS = (
    "source_id", "number", "line", "file", "at", "kind", "trigger", "tokens_before", "tokens_after", "summary",
    "first_kept", "kept", "context_items", "on_active_path", "problem", "agent", "before_call", "after_call",
    "message_index", "duration_seconds", "producer", "summary_note",
)  # fmt: skip


def _compaction_to_row(event: Compaction) -> Row:
    return (
        event.id, event.number, event.line, event.file, event.at, event.kind, event.trigger, event.tokens_before,
        event.tokens_after, pack_optional(event.summary), event.first_kept, list(event.kept),
        list(event.context_items), event.on_active_path, event.problem, event.agent, event.before_call,
        event.after_call, event.message_index, event.duration_seconds, event.producer, event.summary_note,
    )  # fmt: skip


def _to_compaction(row: Row) -> Compaction:
    (source_id, number, line, file, at, kind, trigger, before, after, summary, first_kept, kept, context_items,
     on_active_path, problem, agent, before_call, after_call, message_index, duration, producer,
     note) = row  # fmt: skip
    return Compaction(
        source_id or None, number, line, file, at, kind, trigger or None, before, after, unpack_optional(summary),
        first_kept or None, kept, context_items, on_active_path, problem or None, agent or None, before_call,
        after_call, message_index, duration, producer or None, note or None,
    )  # fmt: skip


COMPACTIONS = Table[Compaction](CompactionRecord, COMPACTION_COLUMNS, _compaction_to_row, _to_compaction)

PROBLEM_COLUMNS = ("code", "severity", "message", "file", "line", "entry", "value")


def _problem_to_row(problem: ReadProblem) -> Row:
    return (
        problem.code, problem.severity, problem.message, problem.file, problem.line, problem.entry, problem.value
    )  # fmt: skip


def _to_problem(row: Row) -> ReadProblem:
    code, severity, message, file, line, entry, value = row
    return ReadProblem(code, message, severity, file or None, line, entry or None, value)


PROBLEMS = Table[ReadProblem](ProblemRecord, PROBLEM_COLUMNS, _problem_to_row, _to_problem)
