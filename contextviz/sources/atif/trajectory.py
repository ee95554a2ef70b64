"""One ATIF trajectory into a draft: steps as messages, their metrics as calls."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from contextviz.events.message import Block, Message, Role
from contextviz.events.session import SubAgent
from contextviz.events.text import TextPool
from contextviz.events.usage import TokenUsage, sum_usage
from contextviz.sources.plain.content import blocks_of, dumps, tool_call, tool_results
from contextviz.sources.plain.counts import Counts
from contextviz.sources.plain.draft import Draft
from contextviz.sources.plain.usage import less
from contextviz.sources.values import as_dict, as_float, as_id, as_int, as_list, as_text

Json = Mapping[str, Any]
MAX_DEPTH = 8
SOURCES: dict[str, Role] = {"system": "system", "user": "user", "agent": "assistant", "assistant": "assistant"}


class TrajectoryReader:
    """Reads the steps of one trajectory (the main one, or a sub-agent's with its id in `agent`)."""

    def __init__(self, draft: Draft, agent: str | None = None, depth: int = 0):
        self._draft = draft
        self._agent = agent
        self._depth = depth

    def read(self, trajectory: Json) -> None:
        """Add every step. Copied ones are shown and stand in the windows; their calls were made elsewhere."""
        about = as_dict(trajectory.get("agent"))
        default = as_text(about.get("model_name")) or as_text(about.get("model"))
        self._tools(as_list(about.get("tool_definitions")))
        for number, value in enumerate(as_list(trajectory.get("steps")), start=1):
            self._step(as_dict(value), number, default)
        for inner in as_list(trajectory.get("subagent_trajectories")):
            self._subagent(as_dict(inner))

    def _tools(self, tools: list[Any]) -> None:
        if not tools:
            return
        pool = self._draft.pool
        blocks = []
        for tool in tools:
            inner = as_dict(as_dict(tool).get("function")) or as_dict(tool)
            blocks.append(Block("tools", pool.put(dumps(tool)), as_text(inner.get("name"))))
        self._draft.put(self._draft.message("system", "tools", blocks, agent=self._agent), agent=self._agent)

    def _step(self, step: Json, number: int, default: str | None) -> None:
        draft = self._draft
        draft.transcript.entries += 1
        draft.transcript.lines.total += 1
        source = as_text(step.get("source")) or ""
        if source not in SOURCES:
            draft.unknown(source or "no source")
        role = SOURCES.get(source, "user")
        is_copied = step.get("is_copied_context") is True
        name = f"step-{as_int(step.get('step_id')) or number}"
        if self._agent is not None:
            name = f"{self._agent}/{name}"
        at = draft.time(step.get("timestamp"), name)
        message = draft.message(
            role, source or "unknown", self._blocks(step, role), agent=self._agent, at=at,
            id=name if name not in draft.transcript.entry_times else None,
            model=(as_text(step.get("model_name")) or default) if role == "assistant" else None,
        )  # fmt: skip
        if role == "assistant" and not is_copied:
            self._call(step, message)
        elif is_copied:
            counters = draft.session.counters
            counters["copied_steps"] = counters.get("copied_steps", 0) + 1
        draft.put(message, agent=self._agent)

    def _call(self, step: Json, message: Message) -> None:
        count = as_int(step.get("llm_call_count"))
        if count is not None and count > 1:
            counters = self._draft.session.counters
            counters["calls_folded_into_steps"] = counters.get("calls_folded_into_steps", 0) + count - 1
        call = self._draft.call(
            usage_of(as_dict(step.get("metrics"))), id=message.id, at=message.at, model=message.model,
            agent=self._agent, message=message,
        )  # fmt: skip
        self._draft.snapshot(call)

    def _blocks(self, step: Json, role: Role) -> list[Block]:
        pool = self._draft.pool
        blocks: list[Block] = []
        thought = as_text(step.get("reasoning_content"))
        if thought:
            blocks.append(Block("thinking", pool.put(thought)))
        blocks.extend(blocks_of(step.get("message"), pool, kind="system" if role == "system" else "text"))
        names: dict[str, str] = {}
        for value in as_list(step.get("tool_calls")):
            call = as_dict(value)
            name = as_text(call.get("function_name")) or as_text(call.get("name")) or ""
            names[as_text(call.get("tool_call_id")) or ""] = name
            blocks.append(tool_call(pool, name, call.get("arguments"), call.get("tool_call_id")))
        blocks.extend(_observed(step.get("observation"), names, pool))
        return blocks

    def _subagent(self, inner: Json) -> None:
        draft = self._draft
        if self._depth >= MAX_DEPTH:
            draft.problem("too_deep", f"sub-agents deeper than {MAX_DEPTH} are not read")
            return
        known = {agent.id for agent in draft.transcript.subagents}
        name = as_id(inner.get("trajectory_id")) or as_id(inner.get("session_id")) or f"subagent-{len(known) + 1}"
        if name in known:
            name = f"{name}-{len(known) + 1}"
        agent = SubAgent(name, as_text(as_dict(inner.get("agent")).get("name")))
        draft.transcript.subagents.append(agent)
        before = len(draft.transcript.messages)
        TrajectoryReader(draft, name, self._depth + 1).read(inner)
        agent.message_count = sum(one.agent == name for one in draft.transcript.messages[before:])


def _observed(value: Any, names: Mapping[str, str], pool: TextPool) -> list[Block]:
    """An observation's results: a list under `results`, or (of producers that do not follow the format) one object,
    a list, or text."""
    if value is None:
        return []
    found = as_dict(value)
    results = found.get("results") if found else value
    if results is None:
        results = [found]
    blocks: list[Block] = []
    only = next(iter(names), None) if len(names) == 1 else None
    for one in results if isinstance(results, list) else [results]:
        result = as_dict(one)
        content = one if not result else result.get("content", result.get("output"))
        call = as_text(result.get("source_call_id")) or as_text(result.get("tool_call_id")) or only
        text = "" if content is None else content
        blocks.extend(tool_results(pool, text, names.get(call or ""), call))
    return blocks


def usage_of(metrics: Json) -> TokenUsage | None:
    """A step's metrics; cached tokens are part of the prompt. All zero is a producer that did not measure."""
    if not metrics:
        return None
    counts = Counts()
    return counts.inside(
        counts.prompt(metrics.get("prompt_tokens"), "prompt_tokens"),
        counts.prompt(metrics.get("cached_tokens"), "cached_tokens"),
        output_tokens=counts.answer(metrics.get("completion_tokens"), "completion_tokens"),
        cost_usd=as_float(metrics.get("cost_usd")) or None,
    )


def check_totals(draft: Draft, trajectory: Json) -> None:
    """Put the client's totals beside the sum of the steps: hints, a finding where they differ, and what only the
    totals know as unlogged usage."""
    final = as_dict(trajectory.get("final_metrics"))
    told = {
        key: as_int(final.get(f"total_{key}"))
        for key in ("prompt_tokens", "completion_tokens", "cached_tokens", "steps")
    }
    draft.session.hints.update({key: value for key, value in told.items() if value is not None})
    prompt, output = told["prompt_tokens"], told["completion_tokens"]
    summed = sum_usage(call.usage for call in draft.transcript.calls)
    if prompt and (prompt, output) != (summed.prompt_tokens, summed.output_tokens):
        text = f"the totals say {prompt} prompt tokens, the steps add up to {summed.prompt_tokens or 'none'}"
        draft.problem("count_mismatch", text, "info", value=prompt)
    if prompt and prompt > (summed.prompt_tokens or 0):
        cached = less(told["cached_tokens"], summed.cache_read_tokens)
        draft.transcript.unlogged_usage = TokenUsage(
            input_tokens=less(less(prompt, summed.prompt_tokens), cached),
            cache_read_tokens=cached,
            output_tokens=less(output, summed.output_tokens),
            cost_usd=_cost_left(draft, as_float(final.get("total_cost_usd"))),
        )


def _cost_left(draft: Draft, whole: float | None) -> float | None:
    """What the total cost has beyond the steps' own; None where a step does not tell its cost."""
    costs = [call.usage.cost_usd for call in draft.transcript.calls]
    known = [cost for cost in costs if cost is not None]
    left = whole - sum(known) if whole is not None and len(known) == len(costs) else 0.0
    return left if left > 1e-9 else None  # sums of floats: less than that is none
