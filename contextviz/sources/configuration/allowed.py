"""Which settings of an agent's configuration are kept: those named here, where their value is of the right form.

Everything else (keys, tokens, addresses, prompts, paths, people) is counted and left where it is. A configuration holds
credentials beside what shapes the window, so a list of what is allowed is the only safe one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from contextviz.events.masking.secrets import find_secrets
from contextviz.events.session import Setting
from contextviz.sources.values import as_float, as_int

Path = tuple[str, ...]
Check = Callable[[Any], Setting | None]
ANY = "*"
MOST_LEAVES = 50_000
MOST_KEPT = 500
LARGEST = 1_000_000_000
_NAME = re.compile(r"[A-Za-z0-9@][A-Za-z0-9@._:/+\-\[\]]{0,79}")
# What a random key looks like: long runs of letters and digits mixed, as no name of a model or an engine has.
_RANDOM = re.compile(r"(?=[A-Za-z]{0,80}\d)(?=\d{0,80}[A-Za-z])[A-Za-z0-9]{20,}")
_SPAN = re.compile(r"\d{1,6}(?:ms|s|m|h|d)")


def whole(value: Any) -> Setting | None:
    """A whole number from 0 to a thousand million: tokens, characters, messages."""
    found = as_int(value)
    return found if found is not None and found <= LARGEST else None


def number(value: Any) -> Setting | None:
    """A number that is not negative, with its fraction; -1 for `no limit`."""
    if type(value) is int and value == -1:
        return -1
    found = as_float(value)
    if found is None or found > LARGEST:
        return None
    return int(found) if found.is_integer() else found


def flag(value: Any) -> Setting | None:
    """True or false."""
    return value if isinstance(value, bool) else None


def name(value: Any) -> Setting | None:
    """The name of a model, provider or engine: short, of few signs, and nothing that may be a key."""
    if not isinstance(value, str) or _NAME.fullmatch(value) is None:
        return None
    return None if _RANDOM.search(value) or find_secrets(value) else value


def span(value: Any) -> Setting | None:
    """A length of time such as 5m."""
    return value if isinstance(value, str) and _SPAN.fullmatch(value) else None


def compactor(value: Any) -> Setting | None:
    """The name of OpenVole's paw that compacts; other paws shape no window."""
    return name(value) if isinstance(value, str) and value.endswith("paw-compact") else None


def one_of(*words: str) -> Check:
    """One of these words."""
    return lambda value: value if isinstance(value, str) and value in words else None


_COMPACTION: dict[str, Check] = {
    "mode": one_of("default", "safeguard"), "reserveTokens": whole, "reserveTokensFloor": whole,
    "keepRecentTokens": whole, "maxHistoryShare": number, "recentTurnsPreserve": whole, "notifyUser": flag,
    "truncateAfterCompaction": flag, "timeoutSeconds": whole, "model": name,
    "identifierPolicy": one_of("strict", "off", "custom"), "qualityGuard.enabled": flag,
    "qualityGuard.maxRetries": whole, "midTurnPrecheck.enabled": flag, "memoryFlush.enabled": flag,
    "memoryFlush.softThresholdTokens": whole, "memoryFlush.forceFlushTranscriptBytes": number,
}  # fmt: skip
_PRUNING: dict[str, Check] = {
    "mode": one_of("off", "cache-ttl", "adaptive", "aggressive"), "ttl": span, "keepLastAssistants": whole,
    "softTrimRatio": number, "hardClearRatio": number, "minPrunableToolChars": whole, "softTrim.maxChars": whole,
    "softTrim.headChars": whole, "softTrim.tailChars": whole, "hardClear.enabled": flag,
}  # fmt: skip
_AGENT: dict[str, Check] = {
    "contextTokens": whole, "model": name, "model.primary": name, "bootstrapMaxChars": whole,
    "bootstrapTotalMaxChars": whole, **{f"compaction.{key}": check for key, check in _COMPACTION.items()},
    **{f"contextPruning.{key}": check for key, check in _PRUNING.items()},
}  # fmt: skip
# The settings of lossless-claw, flowctx, Cortext and OpenBrain (engines document, sections 3.1, 4.1, 5.1 and 7.2).
_ENGINES: dict[str, Check] = {
    **dict.fromkeys(
        (
            "contextThreshold", "freshTailCount", "freshTailMaxTokens", "leafChunkTokens", "leafTargetTokens",
            "condensedTargetTokens", "leafMinFanout", "condensedMinFanout", "condensedMinFanoutHard", "sweepMaxDepth",
            "incrementalMaxDepth", "maxSweepIterations", "sweepDeadlineMs", "compactUntilUnderDeadlineMs", "maxRounds",
            "summaryMaxOverageFactor", "fallbackMaxTokens", "summaryPrefixTargetTokens", "summaryMaxCallsPerWindow",
            "largeFileTokenThreshold", "maxExpandTokens", "bootstrapMaxTokens", "newSessionRetainDepth",
            "contextWindowTokens", "projectionThreshold", "freshTailWindow", "kvCacheTailWindow",
            "projectionKeepRecentTurns", "projectionTtlSeconds", "summaryTriggerRatio", "summaryMinTurns",
            "summaryKeepRecentTurns", "condenseFanout", "maxSummaryDepth", "summaryMaxTokens",
            "compactionTriggerRatio", "scratchpadMaxChars", "captureFieldMaxChars", "focus", "sensitivity",
            "stability", "recallLimit", "protectTail", "recentMessages", "semanticSearchLimit",
        ),
        number,
    ),
    **dict.fromkeys(
        (
            "promptAwareEviction", "stubLargeToolPayloads", "shortTermMemory", "summaryReplacesHistory",
            "incrementalSummary", "layeredSummary", "scratchpad", "sessionContinuity", "stripInjectionOnWrite",
            "interruptGate", "ingestReasoning", "forceRepass", "autoConsolidate",
        ),
        flag,
    ),
    "proactiveThresholdCompactionMode": one_of("deferred", "inline"), "compactionMode": one_of("hybrid", "full"),
    "memoryScope": one_of("session", "agent", "global"),
}  # fmt: skip
_CODEX: dict[str, Check] = {
    "model": name, "model_provider": name, "model_context_window": whole, "model_auto_compact_token_limit": whole,
    "model_max_output_tokens": whole, "tool_output_token_limit": whole,
}  # fmt: skip
_MODEL: dict[str, Check] = {"contextWindow": whole, "contextTokens": whole, "maxTokens": whole}


def _under(prefix: str, rules: dict[str, Check]) -> dict[Path, Check]:
    return {tuple(f"{prefix}.{key}".lstrip(".").split(".")): check for key, check in rules.items()}


RULES: dict[str, dict[Path, Check]] = {
    "openclaw": {
        ("plugins", "slots", "contextEngine"): name,
        **_under("plugins.entries.*.config", _ENGINES),
        **_under("agents.defaults", _AGENT),
        **_under("agents.list.*", _AGENT),
        **_under("models.providers.*.models.*", _MODEL),
    },
    "openvole": {
        **_under("loop", dict.fromkeys(("maxIterations", "compactThreshold", "maxContextTokens", "responseReserve"),
                                       whole) | {"toolHorizon": flag}),
        ("paws", ANY): compactor,
        ("paws", ANY, "name"): compactor,
    },
    "pi": {
        **_under("compaction", {"enabled": flag, "reserveTokens": whole, "keepRecentTokens": whole}),
        **_under("branchSummary", {"reserveTokens": whole}),
        ("defaultProvider",): name,
        ("defaultModel",): name,
        **_under("providers.*.models.*", _MODEL),
        **_under("providers.*.modelOverrides.*", _MODEL),
    },
    "codex": {**_under("", _CODEX), ("profile",): name, **_under("profiles.*", _CODEX)},
}  # fmt: skip


def chosen(agent: str, document: dict[str, Any]) -> tuple[dict[Path, Setting], int]:
    """The allowed settings of a configuration of `agent` by their paths, and how many others it holds."""
    kept: dict[Path, Setting] = {}
    left_out = 0
    for path, value in _leaves(document, ()):
        setting = allowed(agent, path, value)
        if setting is None or len(kept) == MOST_KEPT:
            left_out += 1
        else:
            kept[path] = setting
        if left_out + len(kept) >= MOST_LEAVES:
            break
    return kept, left_out


def allowed(agent: str, path: Path, value: Any) -> Setting | None:
    """`value` where the rules of `agent` allow it at `path`, else None."""
    for pattern, check in RULES.get(agent, {}).items():
        if len(pattern) == len(path) and all(map(_fits, pattern, path)):
            return check(value)
    return None


def _fits(wanted: str, key: str) -> bool:
    return wanted == key if wanted != ANY else name(key) is not None


def _leaves(value: Any, path: Path) -> Iterator[tuple[Path, Any]]:
    """Every value that is no list or mapping, with its path; a list's members are named by their id or name."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _leaves(inner, (*path, str(key)))
    elif isinstance(value, list):
        for at, inner in enumerate(value):
            called = (inner.get("id") or inner.get("name")) if isinstance(inner, dict) else None
            yield from _leaves(inner, (*path, called if isinstance(called, str) else str(at)))
    else:
        yield path, value
