"""What the settings beside a session say of its tokens: all of them, and those of the last call."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from contextviz.events.call import ModelCall
from contextviz.events.problem import ReadProblem
from contextviz.events.session import Transcript
from contextviz.events.snapshot import SnapshotBasis
from contextviz.events.usage import TokenUsage, sum_usage
from contextviz.sources.droid.session import Answer
from contextviz.sources.plain.counts import Counts
from contextviz.sources.values import as_dict, as_int, as_text

NOTE = "the call that the settings tell of is the last one; it is taken for that of the last answer"


@dataclass(frozen=True, slots=True)
class Settings:
    """A session's settings. `thinking` tokens are counted beside or inside the output, which the client leaves open
    (it depends on the provider): they are never added."""

    model: str | None
    total: TokenUsage | None
    last: TokenUsage | None
    thinking: int | None


def settings_of(document: Mapping[str, Any]) -> Settings:
    """What is used of the settings; nothing else of them is kept. Cached tokens stand beside the input."""
    total, last = as_dict(document.get("tokenUsage")), as_dict(document.get("lastCallTokenUsage"))
    return Settings(
        as_text(document.get("model")), _real(total), _call(last), as_int(total.get("thinkingTokens"))
    )  # fmt: skip


def _real(value: Mapping[str, Any]) -> TokenUsage | None:
    usage = TokenUsage(
        input_tokens=as_int(value.get("inputTokens")),
        cache_read_tokens=as_int(value.get("cacheReadTokens")),
        cache_write_tokens=as_int(value.get("cacheCreationTokens")),
        output_tokens=as_int(value.get("outputTokens")),
    )
    return usage if usage.is_real else None


def _call(value: Mapping[str, Any]) -> TokenUsage | None:
    counts = Counts()
    usage = counts.apart(
        counts.prompt(value.get("inputTokens"), "inputTokens"),
        counts.prompt(value.get("cacheReadTokens"), "cacheReadTokens"),
        counts.prompt(value.get("cacheCreationTokens"), "cacheCreationTokens"),
        counts.answer(value.get("outputTokens"), "outputTokens"),
    )
    return usage if usage.is_real else None


def minus(whole: TokenUsage, part: TokenUsage) -> TokenUsage | None:
    """`whole` without `part`, field by field; None where the part has more than the whole somewhere."""
    left: dict[str, int] = {}
    for one in fields(TokenUsage):
        have, had = getattr(whole, one.name), getattr(part, one.name)
        if isinstance(had, int) and had > (have or 0):
            return None
        if isinstance(have, int):
            left[one.name] = have - (had or 0)
    return TokenUsage(**left)


def own_total(settings: Settings, before: Settings | None) -> TokenUsage | None:
    """A session's own tokens. One that was made from another begins with that one's total."""
    if settings.total is None or before is None or before.total is None:
        return settings.total
    return minus(settings.total, before.total) or settings.total


def contradiction(settings: Settings, file: str) -> ReadProblem | None:
    """The finding where the last call alone has more than the total that should hold it; None where all is well. Both
    are kept as they are written: the call's tokens count, and nothing is left over for unlogged calls."""
    total, last = settings.total, settings.last
    if total is None or last is None or minus(total, last) is not None:
        return None
    text = (
        f"the settings say {last.total_tokens} tokens for the last call and {total.total_tokens} for the session, "
        "which should hold it; the call's are counted"
    )
    return ReadProblem("count_mismatch", text, file=file, value=total.total_tokens)


def add_last_call(transcript: Transcript, settings: Settings, answer: Answer | None, basis: SnapshotBasis) -> None:
    """The call of a session's last answer, where no row tells its own: tokens of the settings, window of the rows."""
    agent = answer.message.agent if answer is not None else None
    if settings.last is None or answer is None or any(call.agent == agent for call in transcript.calls):
        return
    message = transcript.messages[answer.message.index]
    call = ModelCall(
        len(transcript.calls), message.id, None, message.at, message.model or settings.model, settings.last, agent,
        message_index=message.index, entry=message.id, line=message.line,
    )  # fmt: skip
    transcript.calls.append(call)
    transcript.messages[message.index] = replace(message, call_index=call.index)
    positions = answer.items[: answer.upto]
    transcript.log.add(call.index, positions, basis=basis, agent=agent, note=NOTE)
    for place, one in enumerate(transcript.compactions):
        is_before = one.line is None or message.line is None or one.line < message.line
        if one.agent == agent and one.after_call is None and is_before:
            transcript.compactions[place] = replace(one, after_call=call.index)


def unlogged(parts: Iterable[tuple[TokenUsage | None, list[ModelCall]]]) -> TokenUsage | None:
    """What the sessions' totals (each with its calls) have beyond the calls."""
    left = []
    for total, calls in parts:
        known = sum_usage(call.usage for call in calls)
        rest = minus(total, known) if total is not None else None
        if rest is not None and rest.is_real:
            left.append(rest)
    return sum_usage(left) if left else None
