"""Counts of tokens and costs that cannot be so: unknown, and said. Whatever any reader gives passes here."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from contextviz.events.call import ModelCall
from contextviz.events.compaction import Compaction
from contextviz.events.problem import ReadProblem
from contextviz.events.session import Transcript
from contextviz.events.usage import (
    MOST_COST,
    MOST_SESSION_TOKENS,
    MOST_TOKENS,
    Doubt,
    TokenUsage,
    doubts_of,
)
from contextviz.sources.values import shown

UNREADABLE, BEYOND = "unreadable_tokens", "cached_beyond_prompt"
MOST_LISTED = 50
_PROMPT = ("input_tokens", "cache_read_tokens", "cache_write_tokens")
_FIELDS = (*_PROMPT, "output_tokens", "reasoning_tokens", "cache_write_5m_tokens", "cache_write_1h_tokens")
Finding = tuple[str, str, str]  # code, sentence, value


def check_tokens(transcript: Transcript) -> None:
    """Make unknown what is no count of tokens or no cost, in calls, compactions, the store and the client's total, with
    a problem each; of one code at most 50, and how many more. Twice is the same as once."""
    found: list[ReadProblem] = []
    for place, call in enumerate(transcript.calls):
        kept, findings = _of_call(call)
        if kept is not call:
            transcript.calls[place] = kept
        found += [_problem(transcript, one, call.line, call.entry, call.message_index) for one in findings]
    for place, one in enumerate(transcript.compactions):
        kept_one, findings = _of_compaction(one)
        if kept_one is not one:
            transcript.compactions[place] = kept_one
        found += [_problem(transcript, told, one.line, one.id) for told in findings]
    if transcript.unlogged_usage is not None:
        transcript.unlogged_usage, findings = _bounded(transcript.unlogged_usage, MOST_SESSION_TOKENS, "the session")
        found += [_problem(transcript, one, None, None) for one in findings]
    found += [_problem(transcript, one, None, name) for name, one in _of_store(transcript)]
    if found:
        _add(transcript, found)


def _of_call(call: ModelCall) -> tuple[ModelCall, list[Finding]]:
    usage = call.usage
    doubts = doubts_of(usage)
    total = usage.total_tokens
    is_usual = total is None or total <= MOST_TOKENS  # a part inside another is checked with it, or told by its reader
    if not doubts and is_usual and (usage.cost_usd is None or usage.cost_usd <= MOST_COST):
        return call, []
    kept, findings = _bounded(usage, MOST_TOKENS, f"call {call.index + 1}")
    findings = [_sentence(one, call.index + 1, kept) for one in doubts] + findings
    if kept == usage and (kept.total_tokens is not None or call.basis != "reported"):
        return call, findings
    basis = "unknown" if kept.total_tokens is None and call.basis == "reported" else call.basis
    return replace(call, usage=kept, basis=basis), findings


def _sentence(doubt: Doubt, number: int, usage: TokenUsage) -> Finding:
    if doubt.kind == "cached":
        text = (
            f"call {number} says that {doubt.value} tokens of its prompt of {doubt.whole} were cached; the prompt is "
            "kept as it is written, and how much of it was cached is unknown"
        )
        return BEYOND, text, doubt.value
    so = "; so its prompt is unknown" if doubt.kind == "prompt" and usage.prompt_tokens is None else ""
    return UNREADABLE, f"{doubt.name} of call {number}: {doubt.value} is no count of tokens{so}", doubt.value


def _bounded(usage: TokenUsage, most: int, what: str) -> tuple[TokenUsage, list[Finding]]:
    """The usage without what is above `most` tokens or MOST_COST dollars. Readers that keep running totals, or parse
    lines of a log, come here with such; a prompt of which a part is none is unknown."""
    over = {name: value for name in _FIELDS if (value := getattr(usage, name)) is not None and value > most}
    findings = [(UNREADABLE, f"{name} of {what}: {value} is no count of tokens", shown(value))
                for name, value in over.items()]  # fmt: skip
    gone: dict[str, int | float | None] = dict.fromkeys(over)
    if any(name in over for name in _PROMPT):
        gone |= dict.fromkeys(_PROMPT)
    if usage.cost_usd is not None and not usage.cost_usd <= MOST_COST:
        gone["cost_usd"] = None
        findings.append(("unreadable_cost", f"{usage.cost_usd:g} dollars are no cost of {what}", f"{usage.cost_usd:g}"))
    return (replace(usage, **gone) if gone else usage), findings  # type: ignore[arg-type]  # names of its own fields


def _of_compaction(one: Compaction) -> tuple[Compaction, list[Finding]]:
    over = {
        name: value for name in ("tokens_before", "tokens_after") if (value := getattr(one, name) or 0) > MOST_TOKENS
    }
    if not over:
        return one, []
    findings = [(UNREADABLE, f"{name.replace('_', ' ')} compaction {one.number}: {value} is no count of tokens",
                 shown(value)) for name, value in over.items()]  # fmt: skip
    return replace(one, **dict.fromkeys(over)), findings  # type: ignore[arg-type]  # names of its own fields


def _of_store(transcript: Transcript) -> Iterator[tuple[str, Finding]]:
    """What a summary store says of its messages and summaries."""
    if transcript.store is None:
        return
    nodes, messages = transcript.store.nodes, transcript.store.messages
    for place, node in enumerate(nodes):
        if node.tokens is not None and node.tokens > MOST_TOKENS:
            yield node.id, _of_row(node.id, node.tokens)
            nodes[place] = replace(node, tokens=None)
    for place, message in enumerate(messages):
        if message.tokens is not None and message.tokens > MOST_TOKENS:
            yield message.id, _of_row(message.id, message.tokens)
            messages[place] = replace(message, tokens=None)


def _of_row(name: str, tokens: int) -> Finding:
    return UNREADABLE, f"{name[:80]} of the store: {tokens} is no count of tokens", shown(tokens)


def _problem(
    transcript: Transcript, found: Finding, line: int | None, entry: str | None, message: int | None = None
) -> ReadProblem:
    file = transcript.messages[message].file if message is not None else None
    file = file or next(iter(transcript.files), None)
    return ReadProblem(found[0], found[1], file=file, line=line, entry=entry, value=found[2])


def _add(transcript: Transcript, found: list[ReadProblem]) -> None:
    """Add what is not there yet: a transcript that grows comes by again with what was found before."""
    known, kept = set(transcript.problems), list(transcript.problems)
    counts: dict[str, int] = {}
    for one in found:
        counts[one.code] = counts.get(one.code, 0) + 1
        if counts[one.code] <= MOST_LISTED and one not in known:
            kept.append(one)
    for code, count in counts.items():
        if count > MOST_LISTED:
            text = f"{count - MOST_LISTED} more findings of the kind {code} are not listed"
            kept = [one for one in kept if not (one.code == code and one.severity == "info")]
            kept.append(ReadProblem(code, text, "info", next(iter(transcript.files), None), value=count))
    transcript.problems = kept
