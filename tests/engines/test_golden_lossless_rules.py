"""lossless-claw held against a folder of goldens: its single functions, and the facts that upstream's tests assert."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from contextviz.engines.lossless import (
    Conversation,
    Row,
    Summary,
    Sweeper,
    clamped,
    config_of,
    evaluate,
    fallback,
    meaningful,
    message_of,
    relevance,
    rendered_line,
    sanitized,
    select,
    serialized,
    terms,
    time_text,
    truncated,
    without_injected,
)
from contextviz.engines.lossless.sweep import Pass
from contextviz.engines.summaries import RuleSummariser, SummaryRequest
from contextviz.engines.summarising.stubs import STUBS
from contextviz.tokens.estimators import cp_weighted
from tests.engines.golden_files import loaded, part

START = int(datetime(2026, 1, 5, 23, 50, tzinfo=UTC).timestamp() * 1000)


@pytest.fixture
def folder(goldens: Path) -> Path:
    return part(goldens, "lossless")


# ---- functions ----


def test_golden_clamps_keep_the_same_messages(folder: Path) -> None:
    given = loaded(folder / "serialized_clamp.json")
    assert set(given) == {"convs", "cases"}
    for case in given["cases"]:
        made = clamped(
            given["convs"][case["conv"]], case["tokenBudget"],
            keeps_assistant_tail=case["preserveSubstantiveAssistantTail"],
        )  # fmt: skip
        assert case == {
            "conv": case["conv"],
            "tokenBudget": case["tokenBudget"],
            "preserveSubstantiveAssistantTail": case["preserveSubstantiveAssistantTail"],
            "keptIndexes": list(made.kept),
            "serializedTokens": made.tokens,
            "serializedTokensBefore": made.before,
            "clamped": made.is_clamped,
            "evictedMessages": made.evicted,
            "overBudget": made.is_over,
        }


def spelled(text: str) -> str:
    """`'word ' x 400` means the words that often."""
    found = re.fullmatch(r"'(.*)' x (\d+)", text, re.DOTALL)
    return found[1] * int(found[2]) if found else text


def described(message: dict[str, Any]) -> dict[str, Any]:
    """A message that is told in words: `user image block, data = 'A1b2' x 2000`."""
    if "note" not in message:
        return message
    found = re.fullmatch(r"(\w+) image block, data = ('.*' x \d+)", message["note"])
    assert found is not None, f"cannot make a message of {message['note']!r}"
    return {"role": found[1], "content": [{"type": "image", "data": spelled(found[2])}]}


FUNCTIONS: dict[str, Callable[[dict[str, Any]], bool]] = {
    "estimateTokens": lambda entry: cp_weighted(spelled(entry["text"])) == entry["tokens"],
    "truncate": lambda entry: truncated(spelled(entry["text"]), entry["maxTokens"]) == entry["out"],
    "serialized": lambda entry: serialized(described(entry["message"])) == entry["tokens"],
    "tokenizeText": lambda entry: terms(entry["text"]) == entry["terms"],
    "scoreRelevance": lambda entry: relevance(entry["item"], entry["prompt"]) == entry["score"],
    "formatTimestamp": lambda entry: time_text(milliseconds(entry["date"]), entry["tz"]) == entry["out"],
    "meaningfulText": lambda entry: meaningful(spelled(entry["text"])) == entry["out"],
    "stripInjected": lambda entry: without_injected(entry["content"], entry["tags"]) == entry["out"],
    "fallback": lambda entry: (
        fallback(spelled(entry["text"]), entry["maxTokens"], "[Truncated from 999 tokens]") == entry["out"]
    ),
    "sanitize": lambda entry: (
        dict(zip(("sanitizedText", "omittedDirectiveShapedContent"), sanitized(spelled(entry["text"])), strict=True))
        == entry["out"]
    ),
}


def milliseconds(date: str) -> int:
    return int(datetime.fromisoformat(date).timestamp() * 1000)


def test_golden_functions_give_the_same_values(folder: Path) -> None:
    given = loaded(folder / "functions.json")
    assert set(given) <= set(FUNCTIONS), f"nothing here checks {sorted(set(given) - set(FUNCTIONS))}"
    wrong = [(name, entry) for name, entries in given.items() for entry in entries if not FUNCTIONS[name](entry)]
    assert wrong == []


# ---- what upstream's own tests assert ----


def numbered(tokens: list[int], roles: list[str] | None = None) -> Conversation:
    names = roles or ["user", "assistant"] * len(tokens)
    return Conversation([Row(seq, names[seq], f"text {seq}", size, START) for seq, size in enumerate(tokens)])


def fact_evaluate(given: dict[str, Any], expected: dict[str, Any]) -> None:
    config = config_of({"contextThreshold": 0.75, "freshTailCount": given.get("freshTailCount", 8)})
    made = evaluate(numbered(given["tokens"]), config, given["budget"], observed=given.get("observed"))
    found = {
        "shouldCompact": made.should,
        "threshold": made.threshold,
        "currentTokens": made.current,
        "storedTokens": made.stored,
        "rawTokensOutsideTail": made.raw_outside_tail,
        "projectedTokens": made.current,
    }
    assert {key: found[key] for key in expected} == expected


def fact_sweep(given: dict[str, Any], expected: dict[str, Any]) -> None:
    conversation = numbered([given["tokensEach"]] * given["messages"])
    config = config_of({**given, "contextThreshold": given["threshold"]})
    calls: list[SummaryRequest] = []

    def summary(request: SummaryRequest) -> str:
        calls.append(request)
        return "short"

    summarise = RuleSummariser("recording", summary)
    Sweeper(conversation, config, summarise).sweep(given["tokenBudget"], force=True)
    raw = sum(isinstance(item, Row) for item in conversation.items)
    assert len(calls) == expected["summariserCalls"]
    assert {"message": raw, "summary": len(conversation.items) - raw} == expected["items"]
    assert sum(summary.kind == "leaf" for summary in conversation.summaries.values()) == expected["leaves"]


def fact_compact(given: dict[str, Any], expected: dict[str, Any]) -> None:
    conversation = Conversation()
    for number, name in enumerate(given["contextItems"]):
        depth, tokens = name.removeprefix("d").split(":")
        kind: Any = "condensed" if int(depth) else "leaf"
        conversation.append(Summary(f"sum_{number}", kind, int(depth), f"summary {number}", int(tokens)))
    config = config_of({**given, "condensedTargetTokens": 10, "summaryPrefixTargetTokens": 1, "sweepMaxDepth": 1})
    passes: list[Pass] = []
    Sweeper(conversation, config, STUBS["quarter"], passed=passes.append).sweep(given["budget"], force=given["force"])
    assert expected["firstPassSources"] == "the two depth-0"
    shallow = tuple(f"sum_{at}" for at, name in enumerate(given["contextItems"]) if name.startswith("d0"))
    assert passes[0].summary.sources == shallow


def fact_assemble(given: dict[str, Any], expected: dict[str, Any]) -> None:
    roles = given.get("roles") or ["user", "assistant"] * given["messages"]
    count = len(given["roles"]) if "roles" in given else given["messages"]
    conversation = numbered([given.get("tokensEach", 1)] * count, roles)
    line = rendered_line(conversation)
    chosen = select(conversation.items, line, given["budget"], tail_count=given["freshTailCount"])
    if "messages" in expected:
        assert len(chosen.chosen) == expected["messages"]
    if "roles" in expected:
        assert [message_of(conversation.items[at])["role"] for at in chosen.chosen] == expected["roles"]


FACTS = {
    "evaluate": fact_evaluate, "compactFullSweep": fact_sweep, "compact": fact_compact, "assemble": fact_assemble,
}  # fmt: skip


def test_golden_facts_of_upstream_hold(goldens: Path) -> None:
    path = goldens / "upstream_expected_values.json"
    if not path.is_file():
        pytest.skip("upstream_expected_values.json is not in this part of the set")
    facts = [fact for fact in json.loads(path.read_text(encoding="utf-8")) if fact["engine"] == "lossless"]
    unknown = sorted({fact["function"] for fact in facts} - set(FACTS))
    assert not unknown, f"nothing here checks {unknown}"
    for fact in facts:
        FACTS[fact["function"]](fact["input"], fact["expected"])
