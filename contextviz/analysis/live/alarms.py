"""What in a session's history somebody may want to be told of: fill, compactions, overflow, broken prompt caches.

Each rule is asked over the whole history and names every place where it came true, so that the same answer serves a
preview of a rule and the live session: what is new is told.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from contextviz.events.call import ModelCall
from contextviz.events.compaction import Compaction

AlarmKind = Literal["fill_above", "compaction", "compactions_within", "overflow", "stuck", "prefix_break"]
MOST_TOLD = 1_000


@dataclass(frozen=True, slots=True)
class Alarm:
    """One place where a rule came true. `call_index` is the call it is of, `compaction` the number of the compaction.
    `sentence` says what, without the session's name; its token numbers are reported by the source."""

    key: str
    at: datetime | None
    sentence: str
    call_index: int | None = None
    compaction: int | None = None


@dataclass(frozen=True, slots=True)
class History:
    """What rules are asked over: the main chain's calls in order, its compactions, the window in tokens (None: not
    known) where a call reports none of its own."""

    calls: Sequence[ModelCall]
    compactions: Sequence[Compaction]
    window: int | None


def alarms(kind: AlarmKind, params: Mapping[str, float], history: History) -> list[Alarm]:
    """Every place where the rule came true, in order, the last 1,000 at most. `stuck` is no matter of history: none."""
    found: Iterator[Alarm]
    if kind == "fill_above":
        found = _fill(history, params["percent"])
    elif kind == "overflow":
        found = _overflow(history)
    elif kind == "prefix_break":
        found = _prefix_breaks(history, params["percent"], params["tokens"])
    elif kind == "compaction":
        found = _compactions(history)
    elif kind == "compactions_within":
        found = _crowded(history, int(params["count"]), timedelta(minutes=params["minutes"]))
    else:
        found = iter(())
    return list(found)[-MOST_TOLD:]


def _fill(history: History, percent: float) -> Iterator[Alarm]:
    """Where the prompt passes the share of the window from below; again only after it was below."""
    was_above = False
    for call in history.calls:
        window, prompt = call.window or history.window, call.usage.prompt_tokens
        if not window or prompt is None:
            continue
        is_above = prompt * 100 >= window * percent
        if is_above and not was_above:
            said = f"the window is {prompt * 100 / window:.0f} % full: {prompt:,} of {window:,} tokens"
            yield Alarm(f"fill {call.id or call.index}", call.at, said, call.index)
        was_above = is_above


def _overflow(history: History) -> Iterator[Alarm]:
    was_over = False
    for call in history.calls:
        window, prompt = call.window or history.window, call.usage.prompt_tokens
        if not window or prompt is None:
            continue
        if prompt > window and not was_over:
            said = f"the prompt is larger than the window: {prompt:,} of {window:,} tokens"
            yield Alarm(f"overflow {call.id or call.index}", call.at, said, call.index)
        was_over = prompt > window


def _prefix_breaks(history: History, percent: float, tokens: float) -> Iterator[Alarm]:
    """Where far less was read from the provider's cache than the call before had sent, with no compaction between."""
    folded = {one.after_call for one in history.compactions}
    before: ModelCall | None = None
    for call in history.calls:
        previous, before = before, call
        if previous is None or call.index in folded or previous.model != call.model:
            continue
        sent, read = previous.usage.prompt_tokens, call.usage.cache_read_tokens
        cached = (previous.usage.cache_read_tokens or 0) + (previous.usage.cache_write_tokens or 0)
        # Of a provider that wrote nothing into its cache before, nothing can be expected.
        if sent is None or read is None or sent < tokens or not cached:
            continue
        if read * 100 < sent * percent:
            said = f"the prompt cache broke: {read:,} tokens read from it after a prompt of {sent:,}"
            yield Alarm(f"prefix {call.id or call.index}", call.at, said, call.index)


def _compactions(history: History) -> Iterator[Alarm]:
    for one in history.compactions:
        before, after = _tokens(one.tokens_before), _tokens(one.tokens_after)
        said = f"compaction {one.number}: {before} → {after} tokens{by_the_client(one.tokens_before, one.tokens_after)}"
        yield Alarm(f"compaction {one.id or one.number}", one.at, said, one.before_call, one.number)


def _crowded(history: History, count: int, within: timedelta) -> Iterator[Alarm]:
    """Where the last `count` compactions lie within the time; again only after they did not."""
    timed = [one for one in history.compactions if one.at is not None]
    was_crowded = False
    for place in range(count - 1, len(timed)):
        first, last = timed[place - count + 1].at, timed[place].at
        is_crowded = first is not None and last is not None and last - first <= within
        if is_crowded and not was_crowded:
            one = timed[place]
            said = f"{count} compactions within {within.total_seconds() / 60:g} minutes"
            yield Alarm(f"crowded {one.id or one.number}", one.at, said, one.before_call, one.number)
        was_crowded = is_crowded


def by_the_client(before: object, after: object) -> str:
    """Words behind a compaction's sizes where the client wrote them: its windows, counted here, may say others."""
    return "" if before is None and after is None else " by the client's count"


def _tokens(number: int | None) -> str:
    return "—" if number is None else f"{number:,}"
