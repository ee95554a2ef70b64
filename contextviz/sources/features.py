"""What can be known of a session, and what each format's reader declares of it; the coverage page is made of both."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from contextviz.events.session import Transcript

Support = Literal["read", "inferred"]
# Inside the input number (OpenAI's and Gemini's words), beside it (Anthropic's), either by exporter, or not written.
Cached = Literal["inside", "beside", "either", "unwritten"]
# By feature, in the order of the page; the place of a key is its bit in the store, so new ones go to the end.
FEATURES: dict[str, str] = {
    "messages": "Messages",
    "times": "Times of messages",
    "title": "Title",
    "tool_pairs": "Tool calls with their results",
    "thinking": "Thinking",
    "images": "Images",
    "system_prompt": "System prompt",
    "tool_definitions": "Tool definitions",
    "injected": "What the client puts in by itself",
    "calls": "Model calls with usage",
    "cache_reads": "Cache reads",
    "cache_writes": "Cache writes",
    "reasoning": "Reasoning tokens",
    "cost": "Cost, as written",
    "failed_calls": "Failed calls",
    "window": "Context window",
    "requests": "Windows as they were sent",
    "rebuilt": "Windows rebuilt by rule",
    "compactions": "Compactions",
    "trigger": "What called for a compaction",
    "summary": "Text of a compaction's summary",
    "branches": "Abandoned branches",
    "forks": "Forks",
    "subagents": "Sub-agents",
    "graph": "Summary graph",
    "topics": "Topics",
    "engine_events": "What an engine wrote down",
}
_PLACES = {key: place for place, key in enumerate(FEATURES)}


@dataclass(frozen=True, slots=True)
class Declaration:
    """What a reader says of one format. `features` are those that the format writes or that follow by a rule; what is
    not among them is not supported. `cached` is where the source's own input number stands to the cached tokens
    (trap 16): the reader takes them apart accordingly."""

    features: dict[str, Support]
    cached: Cached


def declared(read: str, inferred: str = "", *, cached: Cached) -> Declaration:
    """A declaration from the keys of features, blanks between them. Raises ValueError for a key that there is not, or
    that is in both."""
    found: dict[str, Support] = dict.fromkeys(read.split(), "read")
    by_rule: dict[str, Support] = dict.fromkeys(inferred.split(), "inferred")
    wrong = (found.keys() | by_rule.keys()) - FEATURES.keys() | found.keys() & by_rule.keys()
    if wrong:
        raise ValueError(f"no features, or said twice: {', '.join(sorted(wrong))}")
    return Declaration(found | by_rule, cached)


def features_of(transcript: Transcript) -> frozenset[str]:
    """The features that a transcript has, seen in what was read of it."""
    return frozenset(
        (*_of_messages(transcript), *_of_calls(transcript), *_of_windows(transcript), *_of_session(transcript))
    )


def to_bits(features: Iterable[str]) -> int:
    """A set of features as a number, a bit each."""
    return sum(1 << _PLACES[key] for key in set(features))


def from_bits(bits: int) -> frozenset[str]:
    """The features behind a number; bits of a later version are passed by."""
    return frozenset(key for key, place in _PLACES.items() if bits >> place & 1)


def _of_messages(transcript: Transcript) -> Iterator[str]:
    if transcript.messages:
        yield "messages"
    if any(message.at for message in transcript.messages):
        yield "times"
    if any(pair.result_message is not None for pair in transcript.pairs):
        yield "tool_pairs"
    kinds = {block.kind for message in transcript.messages for block in message.blocks}
    yield from (key for kind, key in (("thinking", "thinking"), ("image", "images")) if kind in kinds)


def _of_calls(transcript: Transcript) -> Iterator[str]:
    calls = transcript.calls
    if any(call.basis != "unknown" for call in calls):
        yield "calls"
    if transcript.failed_calls:
        yield "failed_calls"
    found = (
        ("cache_reads", any(call.usage.cache_read_tokens is not None for call in calls)),
        ("cache_writes", any(call.usage.cache_write_tokens is not None for call in calls)),
        ("reasoning", any(call.usage.reasoning_tokens is not None for call in calls)),
        ("cost", any(call.usage.cost_usd is not None for call in calls)),
    )
    yield from (key for key, is_there in found if is_there)


def _of_windows(transcript: Transcript) -> Iterator[str]:
    session, items = transcript.session, transcript.log.table.items
    if session.window_basis in ("reported", "hint") or any(call.window for call in transcript.calls):
        yield "window"
    bases = {snapshot.basis for snapshot in transcript.log.snapshots}
    if "request" in bases:
        yield "requests"
    if bases - {"request"}:
        yield "rebuilt"
    if any(item.kind == "system" and item.text.chars for item in items):
        yield "system_prompt"
    if any(item.kind == "tools" for item in items):
        yield "tool_definitions"
    if any("injected" in (item.state, item.kind) and item.kind not in ("system", "tools") for item in items):
        yield "injected"


def _of_session(transcript: Transcript) -> Iterator[str]:
    session, compactions = transcript.session, transcript.compactions
    found = (
        ("title", session.title),
        ("compactions", compactions),
        ("trigger", any(one.trigger for one in compactions)),
        ("summary", any(one.summary is not None and one.summary.chars for one in compactions)),
        ("branches", any(not message.on_active_path for message in transcript.messages)),
        ("forks", session.forked_from),
        ("subagents", transcript.subagents or session.parent),
        ("graph", transcript.store is not None and transcript.store.nodes),
        ("topics", transcript.topics),
        ("engine_events", transcript.engine_events),
    )
    yield from (key for key, is_there in found if is_there)
