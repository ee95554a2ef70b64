"""Log lines of context engines: recognised by their own words, given to the session that they name."""

from __future__ import annotations

from pathlib import Path

import pytest

from contextviz.sources.engine_log import EngineLogReader
from contextviz.sources.engine_log.words import said_by
from tests.sources.plain.reading import read, write_lines

S = "35745d9f-0000-4000-8000-000000000001"
T = "2026-03-01T10:00:0"


def own(second: int, message: str, level: str = "info") -> dict[str, str]:
    return {"time": f"{T}{second}.000Z", "level": level, "plugin": "lossless-claw", "message": message}


def test_lossless_claws_log_becomes_events_of_its_session(tmp_path: Path) -> None:
    write_lines(
        tmp_path / "lossless-claw-2026-03-01.log",
        [
            own(0, f"[lcm] compact: decision conversation=1 session={S} storedTokens=900 currentTokens=950"
                   " observedTokens=950 rawTokensOutsideTail=40 tokenBudget=2000 shouldCompact=false"),
            own(1, "[lcm] LCM compaction leaf pass (normal): 1870 -> 1292 conversation=1 summary=sum_aa"),
            own(2, "[lcm] compact: done conversation=1 ok=true compacted=false reason=below-threshold"),
            own(3, "[lcm] assemble: done conversation=1 contextItems=9 tokenBudget=2000 estimatedTokens=1300"
                   " duration=12ms"),
            own(4, "[lcm] resolveSummarize: FALLING BACK TO EMERGENCY TRUNCATION", "error"),
            own(5, "[lcm] deferred compaction debt recorded: conversation=1 reason=threshold"),
            own(6, "[lcm] something that is new in a later version conversation=1"),
            '{"time": "2026-03-01T10:00:07',
        ],
    )  # fmt: skip
    result = read(EngineLogReader(), tmp_path)
    found = result.one

    assert found.session.id == S and result.files[0].session == S
    assert [event.type for event in found.engine_events] == [
        "compaction.evaluated", "compaction.finished", "compaction.finished", "context.assembled", "engine.error",
        "maintenance.debt",
    ]  # fmt: skip
    decision, fold, nothing, window, *_ = found.engine_events
    assert decision.data["current"] == 950 and decision.data["budget"] == 2000 and decision.did_not_fire
    assert (fold.data["tokensBefore"], fold.data["tokensAfter"], fold.data["createdSummaryId"]) == (
        1870,
        1292,
        "sum_aa",
    )
    assert not fold.did_not_fire and nothing.did_not_fire
    assert (window.data["total"], window.data["duration"], window.line) == (1300, 12, 4)
    (made,) = found.compactions
    assert (made.tokens_before, made.tokens_after, made.line, made.producer) == (1870, 1292, 2, "lossless-claw")
    codes = {(problem.code, problem.line) for problem in result.problems}
    assert ("malformed_line", 8) in codes and ("unknown_type", None) in codes
    assert found.lines.unknown == 1 and found.lines.total == 8


def test_openclaws_log_gives_the_lines_of_its_engine_alone(tmp_path: Path) -> None:
    def host(message: str, plugin: str = "gateway") -> dict[str, object]:
        meta = {"logLevelName": "INFO", "date": f"{T}1.000Z", "name": plugin}
        return {"0": plugin, "1": message, "_meta": meta, "time": f"{T}1.000+00:00", "message": message}

    write_lines(tmp_path / "openclaw.log", [
        host("loading configuration"),
        host(f"[lcm] assemble: serialized budget clamp conversation=1 session={S} tokenBudget=14158 clamped=true"),
        host("[lcm] assemble: bounded live fallback conversation=3 session=internal-session-effects-1 tokenBudget=900"),
        host("[lcm] createLcmSummarize: no summary model candidates resolved"),
        host("gateway ready"),
    ])  # fmt: skip
    result = read(EngineLogReader(), tmp_path)

    event, flush, error = result.one.engine_events
    assert (flush.data["budget"], error.type) == (900, "engine.error"), "the only session has these too"
    assert event.type == "context.assembled" and event.data["clamped"] is True and event.data["budget"] == 14158
    assert result.one.session.id == S and result.problems == []


def test_a_text_log_holds_cortexts_lines_by_scope(tmp_path: Path) -> None:
    write_lines(tmp_path / "gateway.log", [
        f"{T}0.000Z [plugins] cortext plugin: context engine active (scope=session, gate=true, repass=true)",
        f"{T}1.000Z [INFO] cortext compaction: Archived 12 message(s) to Cortext durable memory (hybrid mode; kept 7)"
        " ~4000 -> ~1500 tokens (scope s-agent_main_S)",
        f"{T}2.000Z cortext interrupt gate: interrupt on thinking (scope s-agent_main_S) — staged 3 memories",
        f"{T}3.000Z [DEBUG] cortext gate: observing run r-1",
        f"{T}4.000Z cortext: revising answer on interrupt (run r-1)",
        "a line of something else",
    ])  # fmt: skip
    found = read(EngineLogReader(), tmp_path).one

    assert found.session.id == "s-agent_main_S", "lines that name no scope go to the only one there is"
    types = [event.type for event in found.engine_events]
    assert types == ["session.bootstrap", "compaction.finished", "gate.fired", "gate.segment", "answer.revised"]
    assert found.engine_events[1].data["dropped"] == 12 and found.engine_events[1].data["mode"] == "hybrid"
    gate = found.engine_events[2].data
    assert (gate["kind"], gate["stream"], gate["stagedCount"], gate["revise"]) == ("interrupt", "thinking", 3, True)
    (made,) = found.compactions
    assert (made.tokens_before, made.tokens_after, made.kind) == (4000, 1500, "trim")


def test_flowctxs_lines_say_what_was_compressed_and_what_was_not(tmp_path: Path) -> None:
    write_lines(tmp_path / "out.log", [
        f"{T}0.000Z info: [flowctx:trigger] structured compression fired tool=read 9000->1200 session=s-1",
        "[flowctx:engine] skip: below threshold chars=300",
        "[flowctx:trigger] background summary compaction: triggered turns=9",
        "flowctx-dsh layered drain complete: session=s-1 leaves=2",
        "[flowctx] engine registered",
    ])  # fmt: skip
    found = read(EngineLogReader(), tmp_path).one

    assert [event.type for event in found.engine_events if event.at is None] == [
        "compaction.evaluated", "compaction.started", "consolidation", "session.bootstrap",
    ]  # fmt: skip
    by_type = {event.type: event for event in found.engine_events}
    assert by_type["compaction.evaluated"].did_not_fire
    assert by_type["block.compressed"].data["original.chars"] == 9000
    assert by_type["block.compressed"].data["kept.chars"] == 1200
    assert by_type["consolidation"].data["leaves"] == 2 and found.session.id == "s-1"


@pytest.mark.parametrize(
    "line",
    [
        "I read that `cortext compaction: x ~4 -> ~2 tokens (scope s-a)` is what it writes",
        "see [lcm] compact: decision for what that means",
        "[flowctx-dsh: tool-result:json compressed 1699→350 chars.]",
        "notes on cortext",
        "",
    ],
)
def test_words_about_an_engine_are_no_lines_of_it(tmp_path: Path, line: str) -> None:
    (tmp_path / "notes.md").write_text(f"{line}\n" * 3)

    assert read(EngineLogReader(), tmp_path).files == []


def test_hostile_lines_are_bounded(tmp_path: Path) -> None:
    said = said_by("[lcm] compact: decision " + " ".join(f"k{n}={'v' * 900}" for n in range(900)))

    assert said is not None and len(said.data) <= 40 and all(len(str(value)) <= 300 for value in said.data.values())
    assert said_by("cortext compaction: " + "9" * 200_000 + " -> ") is not None
    assert said_by("[lcm] " + "a=" * 100_000) is not None


def test_a_log_without_an_engine_says_so(tmp_path: Path) -> None:
    meta = {"logLevelName": "INFO", "date": f"{T}1.000Z"}
    write_lines(tmp_path / "openclaw.log", [{"0": "x", "_meta": meta, "time": f"{T}1.000Z", "message": "ready"}])
    result = read(EngineLogReader(), tmp_path)

    assert result.transcripts == [] and not result.files[0].is_counted
    assert result.files[0].reason == "a log without a line of a context engine"
