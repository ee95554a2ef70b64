"""What each engine's log lines say, in the words of the unified event model (engines document, section 8.2).

Only lines that begin as an engine's own lines do are looked at. A line of an engine whose words are not known is
counted by its first words.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from contextviz.events.engine_event import EventType, Scalar
from contextviz.sources.engine_log.pairs import change_of, pairs_of

LOSSLESS, FLOWCTX, CORTEXT = "lossless-claw", "flowctx", "cortext"
LINE_CHARS = 4000
_VALUE = re.compile(r"[=\d(]")
Data = dict[str, Scalar]


@dataclass(slots=True)
class Said:
    """What one line says. `type` None: nothing that the model of events has; then `words` are what it begins with.
    `session` is how the engine calls the session (an id or a scope key), `conversation` its own number for it."""

    engine: str
    type: EventType | None
    data: Data = field(default_factory=dict)
    session: str | None = None
    conversation: str | None = None
    words: str = ""


@dataclass(frozen=True, slots=True)
class _Rule:
    pattern: re.Pattern[str]
    type: EventType
    # our name of a field by the line's; other pairs keep the line's name
    names: Mapping[str, str] = field(default_factory=dict)
    more: Callable[[re.Match[str], Data], None] | None = None


def said_by(message: str) -> Said | None:
    """What a message says, or None where it is no line of an engine that we know. Multi-line messages are read by
    their first line."""
    line = message[:LINE_CHARS].partition("\n")[0].strip()
    for begin, engine, rules in _ENGINES:
        found = begin.match(line)
        if found is not None:
            return _said(engine, line[found.end() :].strip() if found.end() < len(line) else line, line, rules)
    return None


def _said(engine: str, text: str, line: str, rules: tuple[_Rule, ...]) -> Said:
    pairs = pairs_of(text)
    session = _text(pairs.pop("session", None)) or _text(pairs.pop("sessionId", None))
    conversation = _text(pairs.pop("conversation", None))
    for rule in rules:
        found = rule.pattern.search(text)
        if found is None:
            continue
        data: Data = {rule.names.get(name, name): value for name, value in pairs.items()}
        if rule.more is not None:
            rule.more(found, data)
        scope = found.groupdict().get("scope")
        return Said(engine, rule.type, data, scope or session, conversation)
    words = " ".join([word for word in text.split() if _VALUE.search(word) is None][:3])[:60]
    return Said(engine, None, {}, session, conversation, words or engine)


def _text(value: Scalar) -> str | None:
    return None if value is None or isinstance(value, bool) else str(value)


def _passed(found: re.Match[str], data: Data) -> None:
    data |= {"strategy": "sweep", "pass": found.group(1), "level": found.group(2), "compacted": True}
    _changed(found, data)


def _changed(found: re.Match[str], data: Data) -> None:
    change = change_of(found.string)
    if change is not None:
        data["tokensBefore"], data["tokensAfter"] = change


def _sizes(found: re.Match[str], data: Data) -> None:
    """`A -> B` of a block: characters, as flowctx's markers count."""
    change = change_of(found.string)
    if change is not None:
        data["original.chars"], data["kept.chars"] = change


def _error(found: re.Match[str], data: Data) -> None:
    data["message"] = found.string[:300]


def _skipped(found: re.Match[str], data: Data) -> None:
    data["should"] = False
    data["trigger"] = "none"
    data["reason"] = found.string[:300]


def _archived(found: re.Match[str], data: Data) -> None:
    data |= {"strategy": "window", "compacted": True}
    change = change_of(found.string)
    if change is not None:
        data["tokensBefore"], data["tokensAfter"] = change
    count = re.search(r"Archived (\d{1,9}) message", found.string)
    mode = re.search(r"\((hybrid|full) mode\b", found.string, re.IGNORECASE)
    data["dropped"] = int(count.group(1)) if count else None
    data["mode"] = mode.group(1).lower() if mode else None


def _gated(found: re.Match[str], data: Data) -> None:
    data |= {"kind": found.group("kind"), "stream": found.group("stream"), "revise": found.group("kind") == "interrupt"}
    data["stagedCount"] = int(found.group("count"))


def _named(name: str) -> Callable[[re.Match[str], Data], None]:
    def fill(found: re.Match[str], data: Data) -> None:
        data[name] = found.group(1)[:200]

    return fill


def _fixed(**values: Scalar) -> Callable[[re.Match[str], Data], None]:
    def fill(_found: re.Match[str], data: Data) -> None:
        data.update(values)

    return fill


def _rule(
    pattern: str, kind: EventType, more: Callable[[re.Match[str], Data], None] | None = None, **names: str
) -> _Rule:
    return _Rule(re.compile(pattern), kind, names, more)


_LOSSLESS = (
    _rule(r"^LCM compaction (leaf|condensed) pass \((\w{1,20})\):", "compaction.finished", _passed,
          summary="createdSummaryId"),
    _rule(r"^compact: decision\b", "compaction.evaluated", currentTokens="current", shouldCompact="should",
          tokenBudget="budget", rawTokensOutsideTail="rawOutsideTail"),
    _rule(r"^compact: done\b", "compaction.finished", _fixed(strategy="until-under")),
    _rule(r"^compactFullSweep stopped at (\S{1,40}) in", "compaction.finished", _named("reason")),
    _rule(r"^assemble(?:-debug)?\b", "context.assembled", tokenBudget="budget", estimatedTokens="total",
          serializedTokens="total"),
    _rule(r"^afterTurn: done\b", "message.ingested"),
    _rule(r"^bootstrap: done\b", "session.bootstrap"),
    _rule(r"^Plugin loaded\b", "session.bootstrap", _fixed(reason="plugin loaded")),
    _rule(r"^deferred compaction debt recorded", "maintenance.debt", _fixed(pending=True)),
    _rule(r"^background deferred compaction (done|skipped|failed)", "maintenance.debt", _named("state")),
    _rule(r"^compaction telemetry updated", "llm.call", _fixed(purpose="brain"), promptTokenCount="inputTokens"),
    _rule(r"PROVIDER FALLBACK|CIRCUIT BREAKER|EMERGENCY TRUNCATION|no summary model candidates|exceeds target by",
          "engine.error", _error),
)  # fmt: skip
_FLOWCTX = (
    _rule(r"structured compression fired", "block.compressed", _sizes),
    _rule(r"background summary compaction: triggered", "compaction.started", _changed),
    _rule(r"background summary compaction: done", "compaction.finished", _changed),
    _rule(r"layered drain complete", "consolidation", _fixed(where="maintain", ok=True)),
    _rule(r"(?i)\bskip|pass[- ]?through|below (?:the )?threshold", "compaction.evaluated", _skipped),
    _rule(r"(?<!\d)\d{1,12}\s?(?:->|→)\s?~?\d", "block.compressed", _sizes),
    _rule(r"(?i)\bregistered\b|\bregistration\b", "session.bootstrap", _fixed(reason="registered")),
)
_SCOPED = r"\(scope (?P<scope>[\w.@-]{1,520})\)"
_CORTEXT = (
    _rule(r"context engine active", "session.bootstrap", _fixed(reason="engine active")),
    _rule(r"compaction: .{0,2000}(?<!\d)\d{1,12} ?-> ?~?\d{1,12} tokens " + _SCOPED, "compaction.finished", _archived),
    _rule(r"interrupt gate: (?P<kind>interrupt|boundary) on (?P<stream>thinking|assistant) " + _SCOPED
          + r".{0,10}staged (?P<count>\d{1,9}) memor", "gate.fired", _gated),
    _rule(r"gate: observing run (\S{1,200})", "gate.segment", _named("run")),
    _rule(r"revising answer on interrupt \(run ([^)]{1,200})\)", "answer.revised", _named("run")),
    _rule(r"gate error", "engine.error", _error),
)  # fmt: skip
_ENGINES = (
    (re.compile(r"\[lcm\]"), LOSSLESS, _LOSSLESS),
    (re.compile(r"(?=LCM compaction (?:leaf|condensed) pass \()"), LOSSLESS, _LOSSLESS),
    (re.compile(r"\[flowctx(?::\w{1,20})?\]"), FLOWCTX, _FLOWCTX),
    (re.compile(r"flowctx-dsh\b:?"), FLOWCTX, _FLOWCTX),
    (re.compile(r"cortext(?=:| (?:plugin|compaction|interrupt gate|gate)\b)(?: plugin)?:?"), CORTEXT, _CORTEXT),
)
