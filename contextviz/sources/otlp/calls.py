"""Which spans and log records are model calls, and what they say of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from contextviz.events.usage import TokenUsage
from contextviz.sources.otlp.envelope import Attributes, Event, Span
from contextviz.sources.otlp.interest import gateway_of, talk_of
from contextviz.sources.plain.counts import Counts
from contextviz.sources.plain.usage import less
from contextviz.sources.values import as_dict, as_float, as_id, as_text

CALL_NAMES = frozenset({"chat", "generate_content", "text_completion", "completion", "responses", "messages"})
OTHER_NAMES = frozenset(
    {"embeddings", "invoke_agent", "create_agent", "execute_tool", "invoke_workflow", "retrieval", "rerank"}
)
DETAILS = "gen_ai.client.inference.operation.details"
CODEX = "codex.sse_event"
CODEX_SPAN = "handle_responses"
CLAUDE = frozenset({"claude_code.api_request", "api_request"})
RUN_USAGE = "openclaw.model.usage"
TOLD_BY_LOGS = CLAUDE | {CODEX}
MAX_ANCESTORS = 64
Key = tuple[str, str]
_INPUTS = ("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens", "llm.token_count.prompt",
           "llm.usage.prompt_tokens")  # fmt: skip
_OUTPUTS = ("gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens", "llm.token_count.completion",
            "llm.usage.completion_tokens")  # fmt: skip
_READS = ("gen_ai.usage.cache_read.input_tokens", "gen_ai.usage.cache_read_input_tokens",
          "gen_ai.usage.cached_tokens", "llm.token_count.prompt_details.cache_read")  # fmt: skip
_WRITES = ("gen_ai.usage.cache_creation.input_tokens", "gen_ai.usage.cache_creation_input_tokens",
           "llm.token_count.prompt_details.cache_write")  # fmt: skip
_THINKS = ("gen_ai.usage.reasoning.output_tokens", "gen_ai.usage.reasoning_tokens",
           "llm.token_count.completion_details.reasoning")  # fmt: skip
_MODELS = ("gen_ai.response.model", "gen_ai.request.model", "llm.model_name", "llm.request.model", "model")
Teller = Literal["genai", "openclaw", "codex", "claude"]


@dataclass(slots=True)
class Call:
    """One model call: where it belongs, what it cost, and what its content can be read from."""

    conversation: str
    usage: TokenUsage | None
    model: str | None
    response_id: str | None
    at: datetime | None
    attributes: Attributes
    events: list[Event] = field(default_factory=list)
    agent: str | None = None
    is_error: bool = False
    has_usage: bool = True
    teller: Teller = "genai"


def first(attributes: Attributes, keys: Iterable[str]) -> Any:
    """The first value that is written under any of `keys`."""
    return next((attributes[key] for key in keys if attributes.get(key) is not None), None)


def usage_of(attributes: Attributes) -> TokenUsage | None:
    """Token attributes. Input should include what was cached; where the cached part is larger than the input the
    exporter wrote the rest alone (formats.md F)."""
    counts = Counts()
    given = counts.prompt(first(attributes, _INPUTS), "the input tokens")
    made = counts.answer(first(attributes, _OUTPUTS), "the output tokens")
    if given is None and made is None and not counts.has_doubts:
        return None
    read = counts.prompt(first(attributes, _READS), "the tokens read from the cache")
    written = counts.prompt(first(attributes, _WRITES), "the tokens written to the cache")
    cached = (read or 0) + (written or 0)
    is_apart = given is not None and cached > given
    return counts.apart(
        given if is_apart else less(given, cached),
        read,
        written,
        made,
        counts.other(first(attributes, _THINKS), "the reasoning tokens"),
        cost_usd=as_float(attributes.get("gen_ai.usage.cost")) or None,
    )


def is_call(span: Span) -> bool:
    """Whether a span is one request to a model: its operation, or an LLM span of another instrumentation."""
    name = as_text(span.attributes.get("gen_ai.operation.name"))
    if name is not None:
        return name in CALL_NAMES or (name not in OTHER_NAMES and usage_of(span.attributes) is not None)
    kind = as_text(span.attributes.get("openinference.span.kind"))
    if kind is not None:
        return kind.upper() == "LLM"
    if span.name == CODEX_SPAN:
        return usage_of(span.attributes) is not None
    has_model = first(span.attributes, _MODELS[:4]) is not None
    return has_model and (usage_of(span.attributes) is not None or "gen_ai.prompt.0.content" in span.attributes)


class CallFinder:
    """Finds the calls of all the files that are read together."""

    def __init__(self, spans: Iterable[Span], logs: Iterable[Event]):
        self._spans = {(span.trace, span.id): span for span in spans}
        self._logs = list(logs)
        self._talks: dict[str, str] | None = None

    def calls(self) -> list[Call]:
        """The calls in the order they began. A call told by a span and by a log record, or by a wrapper and what it
        wraps, is one."""
        chosen = {key: span for key, span in self._spans.items() if is_call(span) and span.name != RUN_USAGE}
        inner = self._innermost(chosen)
        by_span: dict[Key, list[Event]] = {}
        alone: list[Event] = []
        for event in self._logs:
            key = (event.trace or "", event.span or "")
            if key in self._spans and event.name not in TOLD_BY_LOGS:
                by_span.setdefault(key, []).append(event)
            elif event.name == DETAILS or event.name in TOLD_BY_LOGS:
                alone.append(event)
        found = [self._from_span(key, span, by_span.get(key, [])) for key, span in inner.items()]
        told = [call for event in alone if (call := self._from_log(event)) is not None]
        # Codex tells each call by a span and by a log record, and neither names the other.
        by_logs = {call.conversation for call in told if call.teller == "codex"}
        found = [call for call in found if call.teller != "codex" or call.conversation not in by_logs]
        if not any(call.teller == "openclaw" for call in found):
            found.extend(self.runs())
        return _once(_sorted([*found, *told]))

    def runs(self) -> list[Call]:
        """OpenClaw's usage of whole runs: of each run the calls together."""
        spans = [(key, span) for key, span in self._spans.items() if span.name == RUN_USAGE]
        return _sorted([self._from_span(key, span, []) for key, span in spans])

    def _innermost(self, chosen: dict[Key, Span]) -> dict[Key, Span]:
        """Of spans that wrap each other the innermost with usage; without any usage the innermost."""
        counted = {key for key, span in chosen.items() if usage_of(span.attributes) is not None}
        around = {key for one in counted for key in self._above(chosen[one])}
        kept = counted - around
        silent = {key: self._above(span) for key, span in chosen.items() if key not in counted and key not in around}
        outer = {key for above in silent.values() for key in above}
        kept |= {key for key, above in silent.items() if key not in outer and not kept.intersection(above)}
        return {key: span for key, span in chosen.items() if key in kept}

    def _above(self, span: Span) -> list[Key]:
        keys: list[Key] = []
        at = span
        while at.parent is not None and len(keys) < MAX_ANCESTORS:
            key = (at.trace, at.parent)
            if key in keys or key not in self._spans:
                break
            keys.append(key)
            at = self._spans[key]
        return keys

    def _from_span(self, key: Key, span: Span, logs: list[Event]) -> Call:
        attributes = dict(span.attributes)
        for event in [*span.events, *logs]:
            if event.name == DETAILS:
                attributes = {**event.attributes, **as_dict(event.body), **attributes}
        above = [self._spans[one] for one in self._above(span)]
        talk = self.conversation_of(span, talk_of(attributes))
        usage = usage_of(attributes)
        return Call(
            talk, usage, as_text(first(attributes, _MODELS)), as_id(attributes.get("gen_ai.response.id")), span.start,
            attributes, sorted([*span.events, *logs], key=lambda one: one.at.timestamp() if one.at else 0.0),
            agent=_agent(above), is_error=span.is_error, has_usage=usage is not None, teller=_teller(span),
        )  # fmt: skip

    def conversation_of(self, span: Span, told: str | None = None) -> str:
        """The conversation of a span: what it or a span around it names, else `told` by its log records, else what
        any span of its trace names; OpenClaw's gateway and day; at last its trace."""
        around = [span, *(self._spans[one] for one in self._above(span))]
        talk = next((name for one in around if (name := talk_of(one.attributes))), None)
        talk = talk or told or self._talk_of_trace(span.trace)
        return talk or gateway_of(span.name, span.attributes, span.start) or f"trace-{span.trace}"

    def _talk_of_trace(self, trace: str) -> str | None:
        """The conversation that any span of a trace names, where its own ancestors are not here."""
        if self._talks is None:
            self._talks = {}
            named = [(span.trace, span.attributes) for span in self._spans.values()]
            named += [(event.trace or "", event.attributes) for event in self._logs]
            for name, attributes in named:
                talk = talk_of(attributes)
                if talk is not None:
                    self._talks.setdefault(name, talk)
        return self._talks.get(trace)

    def _from_log(self, event: Event) -> Call | None:
        attributes = {**as_dict(event.body), **event.attributes}
        talk = talk_of(attributes) or (f"trace-{event.trace}" if event.trace else "logs")
        model = as_text(first(attributes, _MODELS))
        if event.name == CODEX:
            usage = _codex_usage(attributes)
            if usage is None:
                return None
            response = as_id(attributes.get("response_id"))
            return Call(talk, usage, model, response, event.at, attributes, teller="codex")
        if event.name in CLAUDE:
            usage = _claude_usage(attributes)
            response = as_id(attributes.get("request_id"))
            return Call(talk, usage, model, response, event.at, attributes, has_usage=usage.is_real, teller="claude")
        usage = usage_of(attributes)
        response = as_id(attributes.get("gen_ai.response.id"))
        return Call(talk, usage, model, response, event.at, attributes, [event], has_usage=usage is not None)


def _codex_usage(attributes: Attributes) -> TokenUsage | None:
    """Of a finished response; it is written twice, once without its numbers: None for that one."""
    if attributes.get("event.kind") != "response.completed":
        return None
    counts = Counts()
    given = counts.prompt(attributes.get("input_token_count"), "input_token_count")
    made = counts.answer(attributes.get("output_token_count"), "output_token_count")
    if given is None and made is None and not counts.has_doubts:
        return None
    return counts.inside(
        given, counts.prompt(attributes.get("cached_token_count"), "cached_token_count"), output_tokens=made,
        reasoning_tokens=counts.other(attributes.get("reasoning_token_count"), "reasoning_token_count"),
    )  # fmt: skip


def _claude_usage(attributes: Attributes) -> TokenUsage:
    """Claude Code's event of one request: input without both kinds of cache."""
    counts = Counts()
    return counts.apart(
        counts.prompt(attributes.get("input_tokens"), "input_tokens"),
        counts.prompt(attributes.get("cache_read_tokens"), "cache_read_tokens"),
        counts.prompt(attributes.get("cache_creation_tokens"), "cache_creation_tokens"),
        counts.answer(attributes.get("output_tokens"), "output_tokens"),
        cost_usd=as_float(attributes.get("cost_usd")),
    )  # fmt: skip


def _teller(span: Span) -> Teller:
    if span.name.startswith("openclaw."):
        return "openclaw"
    return "codex" if span.name == CODEX_SPAN else "genai"


def _sorted(calls: list[Call]) -> list[Call]:
    return sorted(calls, key=lambda call: (call.at is None, call.at.timestamp() if call.at else 0.0))


def _agent(above: list[Span]) -> str | None:
    """A sub-agent's name: of the innermost agent, where that runs inside another one."""
    agents = [span for span in above if span.attributes.get("gen_ai.operation.name") == "invoke_agent"]
    if len(agents) < 2:
        return None
    inner = agents[0].attributes
    return as_id(inner.get("gen_ai.agent.id")) or as_id(inner.get("gen_ai.agent.name")) or agents[0].id


def _once(calls: list[Call]) -> list[Call]:
    """Each provider's reply once: the telling that has content wins over the one that has none."""
    known: dict[tuple[str, str], int] = {}
    result: list[Call] = []
    for call in calls:
        if call.response_id is None:
            result.append(call)
            continue
        key = (call.conversation, call.response_id)
        if key not in known:
            known[key] = len(result)
            result.append(call)
        elif len(call.attributes) > len(result[known[key]].attributes):
            result[known[key]] = call
    return result
