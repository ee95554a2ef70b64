"""lossless-claw held against a folder of goldens: its sweeps, windows and stores; every file without a check is named.

The functions, and what upstream asserts itself, are in test_golden_lossless_rules.
"""

from __future__ import annotations

import math
import re
import sqlite3
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from contextviz.engines.lossless import (
    Config,
    Conversation,
    Row,
    Selection,
    Summary,
    Sweeper,
    config_of,
    evaluate,
    leaf_chunk,
    message_of,
    raw_outside_tail,
    rendered_line,
    select,
)
from contextviz.engines.lossless.sweep import Pass
from contextviz.engines.summaries import SummaryRequest
from contextviz.engines.summarising.stubs import STUBS
from contextviz.events.javascript import length16, slice16
from contextviz.tokens.estimators import cp_weighted
from tests.engines.golden_files import loaded, name_unknown, part

KNOWN = {
    "transcripts.json", "compaction_expected.json", "compact_until_under.json", "serialized_clamp.json",
    "functions.json", "lcm_deep.db", "lcm_two_level.db", "real_leaf_chunks_numbers_only.json",
}  # fmt: skip
START = int(datetime(2026, 1, 5, 23, 50, tzinfo=UTC).timestamp() * 1000)
STORES = {"lcm_deep.db": "deep_condense_depth3", "lcm_two_level.db": "leaf_then_condense"}


@pytest.fixture
def folder(goldens: Path) -> Path:
    return part(goldens, "lossless")


def test_golden_files_are_all_known(folder: Path) -> None:
    name_unknown(folder, KNOWN)


# ---- sweeps ----


class Swept:
    """A transcript with a sweeper over it, what was asked of the summariser and what was logged; ids become S1, S2…"""

    def __init__(self, rows: list[dict[str, Any]], stub: str, config: dict[str, Any]) -> None:
        self.config = config_of(config)
        self.conversation = Conversation(
            [
                Row(seq, row["role"], row["content"], cp_weighted(row["content"]), START + seq * 60_000)
                for seq, row in enumerate(rows)
            ]
        )
        self.calls: list[dict[str, Any]] = []
        self.passes: list[Pass] = []
        self.lines: list[str] = []
        self._stub = STUBS[stub]
        self.sweeper = Sweeper(
            self.conversation, self.config, self, passed=self.passes.append,
            log=lambda level, text: self.lines.append(f"{level} {text}"),
        )  # fmt: skip

    id = "counting"
    settings: dict[str, Any] = {}

    def __call__(self, request: SummaryRequest) -> str:
        made = self._stub(request)
        self.calls.append(
            {
                "aggressive": request.is_aggressive,
                "isCondensed": request.is_condensed,
                "depth": request.depth if request.is_condensed else None,
                "hasPrevious": request.previous is not None,
                "inputTokens": cp_weighted(request.text),
                "inputChars": length16(request.text),
                "inputHead": slice16(request.text, 0, 90),
                "outputTokens": cp_weighted(made),
            }
        )
        return made

    @property
    def names(self) -> dict[str, str]:
        return {made.summary.id: f"S{number}" for number, made in enumerate(self.passes, 1)}

    def logs(self) -> list[str]:
        return [masked(self.named(line)) for line in self.lines]

    def named(self, text: str) -> str:
        names = self.names
        return re.sub(r"sum_[0-9a-f]{16}", lambda found: names.get(found[0], found[0]), text)

    def after(self) -> dict[str, Any]:
        names = self.names
        items = [
            {"ordinal": at, "type": "message", "seq": item.seq}
            if isinstance(item, Row)
            else {"ordinal": at, "type": "summary", "id": names[item.id]}
            for at, item in enumerate(self.conversation.items)
        ]
        return {"summaries": [self._summary(made.summary) for made in self.passes], "context_items": items}

    def _summary(self, summary: Summary) -> dict[str, Any]:
        return {
            "id": self.names[summary.id],
            "kind": summary.kind,
            "depth": summary.depth,
            "token_count": summary.tokens,
            "descendant_count": summary.descendant_count,
            "descendant_token_count": summary.descendant_tokens,
            "source_message_token_count": summary.source_tokens,
            "earliest_at": instant(summary.earliest),
            "latest_at": instant(summary.latest),
            "source_message_seqs": list(summary.seqs),
            "source_summary_ids": [self.names[source] for source in summary.sources],
            "content_prefix": slice16(summary.content, 0, 120),
            "content_suffix": slice16(summary.content, -60),
            "content_length": length16(summary.content),
        }


def instant(at: int | None) -> str | None:
    if at is None:
        return None
    return datetime.fromtimestamp(at / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%S.") + f"{at % 1000:03}Z"


def masked(line: str) -> str:
    return re.sub(r"elapsedMs=\d+", "elapsedMs=…", line)


def result_of(swept: Swept, case: dict[str, Any]) -> dict[str, Any]:
    made = swept.sweeper.sweep(
        case["tokenBudget"], force=case["force"], is_hard=case["hardTrigger"], stop_at=case["stopAtTokens"]
    )
    result: dict[str, Any] = {
        "actionTaken": made.action_taken,
        "tokensBefore": made.before,
        "tokensAfter": made.after,
        "condensed": made.condensed,
        "createdSummary": swept.names[made.created] if made.created else None,
    }
    if made.level:
        result["level"] = made.level
    if made.stopped_at_budget:
        result["stoppedAtBudget"] = True
    if made.refused:
        result["authFailure"] = True
    return result


def decision_of(swept: Swept, budget: int) -> tuple[dict[str, Any], dict[str, Any]]:
    decision = evaluate(swept.conversation, swept.config, budget)
    outside = raw_outside_tail(swept.conversation, swept.config)
    size = swept.config.leaf_chunk_tokens
    return (
        {
            "shouldCompact": decision.should,
            "reason": decision.reason,
            "storedTokens": decision.stored,
            "currentTokens": decision.current,
            "threshold": decision.threshold,
        },
        {"shouldCompact": outside >= size, "rawTokensOutsideTail": outside, "threshold": size},
    )


def test_golden_sweeps_are_reproduced_in_every_field(folder: Path) -> None:
    transcripts = loaded(folder / "transcripts.json")
    cases = loaded(folder / "compaction_expected.json")
    fields = {"name", "transcript", "stub", "tokenBudget", "force", "hardTrigger", "stopAtTokens", "config",
              "decision", "leafTrigger", "result", "calls", "logs", "after", "assembles"}  # fmt: skip
    for case in cases:
        assert set(case) <= fields, f"{case['name']} has fields that nothing checks: {sorted(set(case) - fields)}"
        swept = Swept(transcripts[case["transcript"]], case["stub"], case["config"])
        decision, trigger = decision_of(swept, case["tokenBudget"])
        assert decision == case["decision"], case["name"]
        assert trigger == case["leafTrigger"], case["name"]
        assert result_of(swept, case) == case["result"], case["name"]
        assert swept.calls == case["calls"], case["name"]
        assert swept.logs() == list(map(masked, case["logs"])), case["name"]
        assert swept.after() == case["after"], case["name"]
        for expected in case["assembles"]:
            assert assembled(swept, expected["input"], case["config"]) == expected, (case["name"], expected["input"])


def assembled(swept: Swept, given: dict[str, Any], config: dict[str, Any]) -> dict[str, Any]:
    items = swept.conversation.items
    chosen = select(
        items, rendered_line(swept.conversation), given["tokenBudget"], tail_count=swept.config.fresh_tail_count,
        tail_most=swept.config.fresh_tail_max_tokens, prompt=given.get("prompt", ""),
        is_prompt_aware=given.get("promptAwareEviction", False),
    )  # fmt: skip
    raw = sum(isinstance(item, Row) for item in items)
    return {
        "input": given,
        "estimatedTokens": chosen.estimated,
        "stats": {"rawMessageCount": raw, "summaryCount": len(items) - raw, "totalContextItems": len(items)},
        "freshTailOrdinal": "Infinity" if math.isinf(chosen.tail) else chosen.tail,
        "tailTokens": chosen.tail_tokens,
        "remainingBudget": chosen.remaining,
        "evictableTotalTokens": chosen.evictable,
        "selectionMode": chosen.mode,
        "messages": list(shown(swept, chosen)),
    }


def shown(swept: Swept, chosen: Selection) -> Iterator[dict[str, Any]]:
    for at in chosen.chosen:
        item = swept.conversation.items[at]
        message = message_of(item)
        content = message["content"]
        text = content if isinstance(content, str) else "".join(block["text"] for block in content)
        if isinstance(item, Summary):
            yield {"role": message["role"], "summary": swept.names[item.id], "chars": length16(text)}
        else:
            yield {"role": message["role"], "head": slice16(text, 0, 40), "chars": length16(text)}


def test_golden_rounds_towards_targets_are_reproduced(folder: Path) -> None:
    given = loaded(folder / "compact_until_under.json")
    transcripts = loaded(folder / "transcripts.json")
    for case in given if isinstance(given, list) else [given]:
        swept = Swept(transcripts[case["transcript"]], case["stub"], case["config"])
        for step in case["steps"]:
            made = swept.sweeper.until_under(step["tokenBudget"], step["targetTokens"])
            found = {"success": made.success, "rounds": made.rounds, "finalTokens": made.final}
            assert found == step["result"], step["targetTokens"]
            assert swept.conversation.stored == step["stored"], step["targetTokens"]
            after = swept.after()
            if isinstance(step["after"], list):
                assert step["after"] in (after["context_items"], after["summaries"])
            else:
                assert {key: after[key] for key in step["after"]} == step["after"]


def test_golden_public_store_has_the_leaves_of_the_chunk_rule(folder: Path) -> None:
    given = loaded(folder / "real_leaf_chunks_numbers_only.json")
    rows = [Row(seq, role, "", tokens) for seq, role, tokens in given["messages"] if role != "system"]
    conversation = Conversation(rows)
    config = config_of({"leafChunkTokens": given["leafChunkTokens"], "freshTailCount": 0})
    after, stored = -1, 0
    for leaf in given["leaves"]:
        start, last = leaf_chunk(conversation, config, after=after)
        chunk = rows[start : last + 1]
        assert (chunk[0].seq, chunk[-1].seq, len(chunk)) == (
            leaf["source_seqs_first"], leaf["source_seqs_last"], leaf["source_count"],
        )  # fmt: skip
        assert sum(row.size for row in chunk) == leaf["source_message_token_count"]
        after = last
        stored += 1
    for leaf, event in zip(given["leaves"], given["compaction_events"], strict=True):
        assert event["tokensAfter"] == (
            event["tokensBefore"] - leaf["source_message_token_count"] + leaf["summary_tokens"]
        )
    items = given["context_items"]
    assert [number for kind, number in items if kind == "summary"] == list(range(1, stored + 1))
    assert [number for kind, number in items if kind == "message"] == [
        row.seq for row in rows[after + 1 :] if row.seq <= items[-1][1]
    ]


@pytest.mark.parametrize("name", sorted(STORES))
def test_golden_stores_hold_what_the_sweep_makes(folder: Path, name: str) -> None:
    if not (folder / name).is_file():
        pytest.skip(f"{name} is not in this part of the set")
    cases = {case["name"]: case for case in loaded(folder / "compaction_expected.json")}
    if STORES[name] not in cases:
        pytest.skip(f"the case {STORES[name]} is not in this part of the set")
    case = cases[STORES[name]]
    swept = Swept(loaded(folder / "transcripts.json")[case["transcript"]], case["stub"], case["config"])
    result_of(swept, case)
    with sqlite3.connect(f"{(folder / name).resolve().as_uri()}?mode=ro&immutable=1", uri=True) as store:
        assert stored(store, swept) == {
            "messages": [
                (row["role"], row["content"], cp_weighted(row["content"]))
                for row in loaded(folder / "transcripts.json")[case["transcript"]]
            ],
            "summaries": [
                (
                    made.summary.kind, made.summary.depth, made.summary.content, made.summary.tokens,
                    instant(made.summary.earliest), instant(made.summary.latest), made.summary.descendant_count,
                    made.summary.descendant_tokens, made.summary.source_tokens,
                )
                for made in swept.passes
            ],
            "leaves": {
                swept.names[made.summary.id]: list(made.summary.seqs) for made in swept.passes if made.summary.seqs
            },
            "sources": {
                swept.names[made.summary.id]: [swept.names[source] for source in made.summary.sources]
                for made in swept.passes
                if made.summary.sources
            },
            "context": [
                (at, "message", item.seq) if isinstance(item, Row) else (at, "summary", swept.names[item.id])
                for at, item in enumerate(swept.conversation.items)
            ],
        }  # fmt: skip


def stored(store: sqlite3.Connection, swept: Swept) -> dict[str, Any]:
    """The store's own, with its ids as S1, S2… in the order they were made."""
    ids = [row[0] for row in store.execute("SELECT summary_id FROM summaries ORDER BY rowid")]
    names = {id: f"S{number}" for number, id in enumerate(ids, 1)}
    leaves: dict[str, list[int]] = {}
    for id, seq in store.execute(
        "SELECT s.summary_id, m.seq FROM summary_messages s JOIN messages m USING (message_id) ORDER BY 1, s.ordinal"
    ):
        leaves.setdefault(names[id], []).append(seq)
    sources: dict[str, list[str]] = {}
    for id, source in store.execute("SELECT summary_id, parent_summary_id FROM summary_parents ORDER BY 1, ordinal"):
        sources.setdefault(names[id], []).append(names[source])
    context = [
        (ordinal, kind, seq if kind == "message" else names[id])
        for ordinal, kind, seq, id in store.execute(
            "SELECT c.ordinal, c.item_type, m.seq, c.summary_id FROM context_items c"
            " LEFT JOIN messages m USING (message_id) ORDER BY c.ordinal"
        )
    ]
    return {
        "messages": store.execute("SELECT role, content, token_count FROM messages ORDER BY seq").fetchall(),
        "summaries": store.execute(
            "SELECT kind, depth, content, token_count, earliest_at, latest_at, descendant_count,"
            " descendant_token_count, source_message_token_count FROM summaries ORDER BY rowid"
        ).fetchall(),
        "leaves": leaves,
        "sources": sources,
        "context": context,
    }


def test_golden_configurations_are_read_whole(folder: Path) -> None:
    """A setting of a case that no field of ours stands for would silently change nothing."""
    names = {"".join(part.title() for part in name.split("_")).lower() for name in Config.__dataclass_fields__}
    for case in loaded(folder / "compaction_expected.json"):
        given = {key.lower() for key in case["config"]} - {"incrementalmaxdepth", "stripinjectedcontexttags"}
        assert given <= names | {"compactuntilunderdeadlinems"}, sorted(given - names)
