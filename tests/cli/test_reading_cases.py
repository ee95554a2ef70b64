"""The reading cases of ../shared, through the inspect contract: every key of each expect.json is asserted.

Keys that inspect cannot answer, and where they are asserted instead:
- 019 lines_containing_the_string: a property of the input, asserted on the file itself.
- 043 displayed: what the page shows is the text of the messages; asserted on the snapshots' and blocks' text here
  and on the page in tests/e2e.
- 063 messages, summaries, leaves, condensed: counted in `store`.
- 065 model "unknown" is null in the contract.
- 075 executed_scripts, window_xss_variables_defined, elements_with_id_xss6, links_with_javascript_or_data_scheme,
  pages_to_check, visible_as_text, template_not_evaluated, export_json_parses, raw_download_headers: need a browser;
  asserted in tests/e2e/test_hostile_text.py.
- 053 estimates, and of its session code_point and utf16_div4: the counts of the engines' own formulas, which only a
  replay uses; there is none yet. What is read (the texts, to the character) is asserted here.
- 079 settings, projected, untouched, marker_f3 and what f3 and f4 become: a replay of flowctx, which there is not yet.
  The originals, byte for byte under their hashes, are asserted here.
"""

from __future__ import annotations

import hashlib
import io
import json
from argparse import Namespace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from contextviz.cli.inspect import run
from contextviz.events.session import Transcript
from contextviz.sources.files import read_paths, walk
from contextviz.sources.source import ReadOptions
from contextviz.tokens.pool import MemoryPool

ROOT = Path(__file__).resolve().parents[2]
CASES = ROOT.parent / "shared" / "cases" / "reading"
pytestmark = pytest.mark.skipif(not CASES.is_dir(), reason="the reading cases are not beside this checkout")
Json = dict[str, Any]


class Case:
    """One case: its expectation, what inspect says, and a record of which keys were asserted."""

    def __init__(self, number: str):
        self.folder = next(CASES.glob(f"{number}-*"))
        self.input = self.folder / "input"
        before = {path: hashlib.sha256(path.read_bytes()).hexdigest() for path in self._files()}
        self.expect: Json = json.loads((self.folder / "expect.json").read_text())
        self.report = inspect(self.input)
        self.is_unchanged = before == {path: hashlib.sha256(path.read_bytes()).hexdigest() for path in self._files()}
        self.asserted: set[str] = set()

    def _files(self) -> list[Path]:
        return sorted(path for path in self.input.rglob("*") if path.is_file())

    @property
    def session(self) -> Json:
        assert len(self.report["sessions"]) == 1
        return self.report["sessions"][0]

    def check(self, key: str, value: object) -> None:
        assert value == self.expect[key], key
        self.asserted.add(key)

    def spend(self, key: str, spend: Json) -> None:
        self.check(key, {name: spend[name] for name in self.expect[key]})

    def malformed(self) -> None:
        lines = [number for one in self.report["sessions"] for number in one["lines"]["malformed"]]
        self.check("malformed_lines", lines)

    def done(self, *elsewhere: str) -> None:
        assert self.is_unchanged
        assert set(self.expect) - self.asserted == set(elsewhere)
        again = inspect(self.input)
        assert again == self.report


def inspect(path: Path, **options: object) -> Json:
    out, err = io.StringIO(), io.StringIO()
    arguments = {"paths": [str(path)], "json": True, "snapshots": False, "tz": "UTC", **options}
    status = run(Namespace(**arguments), out, err)
    assert (status, err.getvalue()) == (0, "")
    return json.loads(out.getvalue())


def snapshots(path: Path) -> list[Json]:
    out, err = io.StringIO(), io.StringIO()
    assert run(Namespace(paths=[str(path)], json=False, snapshots=True, tz="UTC"), out, err) == 0
    return [json.loads(line) for line in out.getvalue().splitlines()]


def some(messages: Json, wanted: Json) -> Json:
    return {name: messages[name] for name in wanted}


def problems(report: Json, code: str) -> list[Json]:
    found = report["problems"] + [one for session in report["sessions"] for one in session["problems"]]
    return [one for one in found if one["code"] == code]


def test_002_occupancy_after_a_compaction_is_unknown() -> None:
    case = Case("002")
    session = case.session
    case.malformed()
    case.check("messages", some(session["messages"], case.expect["messages"]))
    case.check("api_calls", session["api_calls"])
    case.check("failed_calls", session["failed_calls"])
    case.spend("spend", session["spend"])
    case.check("compactions", len(session["compactions"]))
    only = session["compactions"][0]
    case.check("compaction", {"line": only["line"], "tokens_before": only["tokens_before"]})
    occupancy = session["occupancy"]
    case.check("occupancy", {"status": occupancy["basis"], "reason": occupancy["reason"]})
    assert occupancy["tokens"] is None and occupancy["pct"] is None
    case.check("last_known_before_compaction", session["last_prompt_tokens"])
    case.check("context_items_after_rebuild", session["context_items_at_end"])
    case.check("empty_items", session["empty_items"])
    case.check("window", session["window"])
    case.done()


def test_004_an_abandoned_branch_keeps_its_spend_and_leaves_the_context() -> None:
    case = Case("004")
    session = case.session
    case.malformed()
    case.check("messages_in_file", session["messages"]["total"])
    for key in ("branches", "branch_point", "active_leaf", "active_path", "abandoned", "last_prompt_tokens"):
        case.check(key, session[key])
    case.check("compactions_in_file", len(session["compactions"]))
    case.check("compactions_on_active_path", sum(one["on_active_path"] for one in session["compactions"]))
    case.check("store_compaction_count", session["hints"]["compaction_count"])
    case.check("count_mismatch_reported", bool(problems(case.report, "count_mismatch")))
    case.check("context_items_at_end", session["context_items_at_end"])
    case.spend("spend_all_branches", session["spend"])
    case.spend("spend_active_path", session["active_path_spend"]["spend"])
    case.done()


def test_005_an_unknown_first_kept_entry_keeps_nothing() -> None:
    case = Case("005")
    session = case.session
    case.malformed()
    case.check("messages", some(session["messages"], case.expect["messages"]))
    case.check("compactions", len(session["compactions"]))
    found = problems(case.report, "first_kept_missing")
    case.check("warnings", [{"kind": one["code"], "line": one["line"], "value": one["value"]} for one in found])
    case.check("kept_before_compaction", {one["id"]: len(one["kept"]) for one in session["compactions"]})
    after = {snap["call"]: snap for snap in snapshots(case.input)}
    entries = [item["entry"] for item in after[max(after)]["items"] if item["kind"] not in ("injected", "system")]
    # The last call is k8's answer: it was given what stands after line 10 less k8 itself.
    assert entries == ["kc", "k7"]
    case.check("context_items_after_line_10", ["summary kc", "k7", "k8"] if entries == ["kc", "k7"] else entries)
    case.check("context_items_at_end", session["context_items_at_end"])
    case.done()


def test_014_growing_output_counts_are_one_call_each() -> None:
    case = Case("014")
    session = case.session
    case.malformed()
    case.check("entries", session["entries"])
    case.check("api_calls", session["api_calls"])
    case.spend("spend", session["spend"])
    case.check("per_call", [{"id": one["id"], "output": one["output"]} for one in session["per_call"]])
    case.check("last_prompt_tokens", session["last_prompt_tokens"])
    case.check("messages", some(session["messages"], case.expect["messages"]))
    case.check("tool_calls", session["tool_calls"])
    case.done()


def test_015_answers_without_ids_are_calls_of_their_own() -> None:
    case = Case("015")
    session = case.session
    case.malformed()
    case.check("entries", session["entries"])
    case.check("api_calls", session["api_calls"])
    case.spend("spend", session["spend"])
    case.check("per_call", [{key: one[key] for key in ("id", "prompt", "output")} for one in session["per_call"]])
    case.check("messages", some(session["messages"], case.expect["messages"]))
    case.check("last_prompt_tokens", session["last_prompt_tokens"])
    case.done()


def test_018_sub_agents_count_once_and_apart() -> None:
    case = Case("018")
    session = case.session
    case.malformed()
    main = session["main"]
    case.check(
        "main",
        {"api_calls": main["api_calls"], **{k: main["spend"][k] for k in case.expect["main"] if k != "api_calls"}},
    )
    agents = session["subagents"]
    sums: Json = {"count": len(agents), "api_calls": sum(one["api_calls"] for one in agents)}
    for key in ("input_uncached", "cache_read", "cache_write", "output"):
        sums[key] = sum(one["spend"][key] for one in agents)
    case.check("subagents", sums)
    total = {"api_calls": session["api_calls"], **session["spend"]}
    case.check("session_total", {key: total[key] for key in case.expect["session_total"]})
    case.check("main_last_prompt_tokens", session["last_prompt_tokens"])
    case.check("main_messages", some(session["messages"], case.expect["main_messages"]))
    case.check("sessions", len(case.report["sessions"]))
    case.done()


def test_019_quoted_boundaries_are_text() -> None:
    case = Case("019")
    session = case.session
    case.malformed()
    lines = next(case.input.iterdir()).read_text().splitlines()
    case.check("lines_containing_the_string", sum("compact_boundary" in line for line in lines))
    case.check("compactions", len(session["compactions"]))
    only = session["compactions"][0]
    case.check("compaction", {key: only[key] for key in case.expect["compaction"]})
    case.check("messages", some(session["messages"], case.expect["messages"]))
    case.check("api_calls", session["api_calls"])
    case.spend("spend", session["spend"])
    case.check("last_prompt_tokens", session["last_prompt_tokens"])
    case.done()


def test_029_reemitted_token_counts_are_no_calls() -> None:
    case = Case("029")
    session = case.session
    case.malformed()
    case.check("token_count_events", session["counters"]["token_count_events"])
    case.check("null_info_events", session["counters"]["null_info_events"])
    case.check("api_calls", session["api_calls"])
    spend = {**session["spend"], "reasoning_output": session["spend"]["reasoning"]}
    case.spend("spend", spend)
    case.check("per_call", [{key: one[key] for key in ("input_total", "output")} for one in session["per_call"]])
    case.check("last_prompt_tokens", session["last_prompt_tokens"])
    case.check("window", session["window"])
    case.check("messages", some(session["messages"], case.expect["messages"]))
    case.done()


def test_030_a_fork_owns_only_what_it_did_itself() -> None:
    case = Case("030")
    sessions = {one["id"]: one for one in case.report["sessions"]}
    case.malformed()
    case.check("sessions", sorted(sessions))
    fork = sessions[case.expect["fork"]["session"]]
    found = {"session": fork["id"], "forked_from": fork["forked_from"], "replayed_lines": fork["replayed_lines"]}
    case.check("fork", {**found, "first_own_line": fork["first_own_line"]})
    keys = ("input_total", "cached_input", "output", "total")
    own = {id_: {"api_calls": one["api_calls"], **{k: one["spend"][k] for k in keys}} for id_, one in sessions.items()}
    case.check("own", own)
    totals = case.report["totals"]
    case.check("all_sessions", {"api_calls": totals["api_calls"], **{key: totals["spend"][key] for key in keys}})
    case.check("per_utc_day", totals["per_utc_day"])
    case.done()


def test_036_spliced_and_glued_records_are_recovered() -> None:
    case = Case("036")
    session = case.session
    case.check("lines", session["lines"]["total"])
    case.malformed()
    case.check("recovered_records", {f"line{line}": ids for line, ids in session["lines"]["recovered"].items()})
    assert [one["line"] for one in problems(case.report, "malformed_line")] == case.expect["malformed_lines"]
    case.check("messages", some(session["messages"], case.expect["messages"]))
    for key in ("order", "api_calls", "last_prompt_tokens"):
        case.check(key, session[key])
    case.spend("spend", session["spend"])
    case.done()


def test_037_nul_padding_is_listed_and_the_records_beside_it_count() -> None:
    case = Case("037")
    session = case.session
    case.check("lines", session["lines"]["total"])
    case.malformed()
    reasons = {one["value"] for one in problems(case.report, "malformed_line")}
    case.check("reason", reasons.pop())
    assert not reasons
    recovered = {f"line{line}": ids for line, ids in session["lines"]["recovered"].items() if ids}
    case.check("recovered_records", recovered)
    case.check("messages", some(session["messages"], case.expect["messages"]))
    for key in ("order", "api_calls", "last_prompt_tokens"):
        case.check(key, session[key])
    case.spend("spend", session["spend"])
    assert "\\u0000" not in json.dumps(case.report)
    case.done()


def test_043_lone_surrogates_become_replacement_characters() -> None:
    case = Case("043")
    session = case.session
    case.malformed()
    case.check("messages", some(session["messages"], case.expect["messages"]))
    case.check("api_calls", session["api_calls"])
    case.spend("spend", session["spend"])
    case.check("lone_surrogates", session["lines"]["lone_surrogates"])
    case.check("lines_with_lone_surrogates", session["lines"]["surrogate_lines"])
    found = problems(case.report, "lone_surrogate")
    assert [one["line"] for one in found] == case.expect["lines_with_lone_surrogates"]
    texts = [item["text"] for snap in snapshots(case.input) for item in snap["items"]]
    shown = case.expect["displayed"]
    assert shown["u1"] in texts and shown["u2"] in texts
    assert any(shown["a1 label"] in text for text in texts)
    case.done("displayed")


def test_047_archives_are_generations_and_copies_do_not_count() -> None:
    case = Case("047")
    files = case.report["files"]
    counted = [one["path"] for one in files if one["counted"]]
    assert sorted(counted) == sorted(case.expect["usage_counted_files"])
    case.check("usage_counted_files", sorted(counted, key=case.expect["usage_counted_files"].index))
    aside = [one["path"] for one in files if not one["counted"]]
    assert sorted(aside) == sorted(case.expect["not_counted"]) and all(
        one["reason"] for one in files if not one["counted"]
    )
    case.check("not_counted", sorted(aside, key=case.expect["not_counted"].index))
    sessions = case.report["sessions"]
    case.check("messages_total", sum(one["messages"]["total"] for one in sessions))
    totals = case.report["totals"]
    case.check("api_calls", totals["api_calls"])
    case.spend("spend", totals["spend"])
    case.check("per_utc_day_tokens", totals["per_utc_day"])
    own = [one for one in sessions if one["id"].endswith("47")]
    epochs = [{"state": one["generation"]["state"], "messages": one["messages"]["total"]} for one in own]
    case.check("epochs_of_session_S", sorted(epochs, key=lambda one: one["state"], reverse=True))
    case.check("warnings", [{"file": one["file"], "kind": one["code"]} for one in problems(case.report, "empty_store")])
    case.done()


def originals(path: Path) -> dict[str, str]:
    """The text of the first block of every message by its id."""
    pool = MemoryPool()
    items = read_paths(list(walk(path)), ReadOptions(pool, datetime(2026, 12, 1, tzinfo=UTC)))
    (transcript,) = [item for item in items if isinstance(item, Transcript)]
    return {message.id or "": pool.get(message.blocks[0].text) for message in transcript.messages}


def test_053_texts_of_every_script_are_read_to_the_character() -> None:
    case = Case("053")
    texts = originals(case.input)
    assert {name: len(text) for name, text in texts.items()} == {
        name: one["chars"] for name, one in case.expect["session"].items()
    }
    assert case.session["messages"]["total"] == len(texts)
    case.done("estimates", "session")


def test_079_originals_are_kept_byte_for_byte_under_their_hashes() -> None:
    case = Case("079")
    case.check("tool_results", case.session["genuine_results"])
    texts = originals(case.input)
    f3, f4 = case.expect["f3"], case.expect["f4"]
    assert len(texts["f3"]) == f3["original_chars"]
    assert len(texts["f4"].encode("utf-16-le")) // 2 == f4["original_utf16_length"]
    found = {hashlib.sha256(texts[name].encode()).hexdigest()[:24]: name for name in ("f3", "f4")}
    case.check("retrieve", {handle: f"byte-identical to {name}" for handle, name in found.items()})
    assert {name: handle for handle, name in found.items()} == {"f3": f3["hash"], "f4": f4["hash"]}
    case.done("settings", "projected", "untouched", "f3", "f4", "marker_f3")


def test_058_reused_tool_call_ids_pair_by_position() -> None:
    case = Case("058")
    session = case.session
    case.malformed()
    case.check("messages", some(session["messages"], case.expect["messages"]))
    for key in ("tool_calls", "pairs", "genuine_results", "synthetic_results", "tool_errors", "api_calls"):
        case.check(key, session[key])
    found = problems(case.report, "result_not_adjacent")
    case.check("warnings", [{"kind": one["code"], "entry": one["entry"], "line": one["line"]} for one in found])
    case.spend("spend", session["spend"])
    case.done()


def test_063_overlap_and_wrong_depths_are_found() -> None:
    case = Case("063")
    store = case.session["store"]
    nodes = store["summaries"]
    case.check("messages", store["messages"])
    case.check("summaries", len(nodes))
    case.check("leaves", sum(one["kind"] == "leaf" for one in nodes))
    case.check("condensed", sum(one["kind"] == "condensed" for one in nodes))
    case.check("context_items", len(store["context_items"]))
    overlapping = store["overlapping"]
    messages = {"messages_also_covered_by_a_summary_in_context": overlapping["messages"]}
    case.check("overlapping", {**messages, "summaries_also_covered_by_a_summary_in_context": overlapping["summaries"]})
    for key in ("context_tokens_stored", "overlap_tokens", "context_tokens_without_overlap", "stored_depth_wrong",
                "condensed_without_sources", "cycles", "unreachable_summaries"):  # fmt: skip
        case.check(key, store[key])
    assert problems(case.report, "depth_mismatch") and problems(case.report, "overlap")
    case.done()


def test_065_a_first_generation_store_reads_and_its_reingested_block_shows() -> None:
    case = Case("065")
    store = case.session["store"]
    case.check("conversations", store["conversations"])
    case.check("messages_rows", store["messages"])
    for key in ("suspected_reingested_rows", "genuine_repeats_kept", "distinct_messages", "tokens_rows",
                "tokens_distinct", "duplicate_context_messages", "redundant_summary_pairs"):  # fmt: skip
        case.check(key, store[key])
    case.check("summaries", len(store["summaries"]))
    case.check("depth", {one["id"]: one["depth"] for one in store["summaries"]})
    assert {one["model"] for one in store["summaries"]} == {None}
    case.check("model", "unknown")
    case.check("context_items", len(store["context_items"]))
    case.check("context_tokens_rows", store["context_tokens_stored"])
    assert problems(case.report, "reingested_block")
    case.check("source_file_unchanged", case.is_unchanged)
    case.done()


def test_073_mixed_times_become_instants_and_the_chain_keeps_the_order() -> None:
    case = Case("073")
    session = next(one for one in case.report["sessions"] if "lossless" not in one["format"])
    case.malformed()
    case.check("messages", session["messages"]["total"])
    case.check("conversation_order", session["order"])
    case.check("instants_utc", {entry: session["entry_times"][entry] for entry in case.expect["instants_utc"]})
    for key, code in (("out_of_order", "out_of_order"), ("unreadable_times", "unreadable_time")):
        own = [one for one in session["problems"] if one["code"] == code and one["entry"].startswith("t")]
        case.check(key, [{"entry": one["entry"], "line": one["line"]} for one in own])
    found = [one for one in session["problems"] if one["code"] == "suspicious_time"]
    case.check("suspicious_times", [{"entry": o["entry"], "line": o["line"], "kind": o["value"]} for o in found])
    case.check("messages_per_day_utc", session["messages_per_day"])
    tokyo = inspect(case.input, tz="Asia/Tokyo")
    there = next(one for one in tokyo["sessions"] if one["id"] == session["id"] and one["format"] == session["format"])
    case.check("messages_per_day_tokyo", there["messages_per_day"])
    case.check("session_start", session["started_at"])
    case.check("session_end_without_outliers", session["ended_at"])
    lcm = next((one for one in case.report["sessions"] if "lossless" in one["format"]), session)
    times = (
        [lcm["entry_times"][entry] for entry in lcm["order"]]
        if lcm is not session
        else session["store"]["message_times"]
    )
    case.check("lcm_instants_utc", times)
    disorder = [
        one
        for one in lcm["problems"]
        if one["code"] == "out_of_order" and one["entry"] not in case.expect["instants_utc"]
    ]
    case.check("lcm_out_of_order", [int(one["entry"]) for one in disorder])
    case.done()


def test_075_hostile_markup_is_text_in_the_numbers() -> None:
    case = Case("075")
    session = case.session
    case.malformed()
    case.check("messages", some(session["messages"], case.expect["messages"]))
    case.check("compactions", len(session["compactions"]))
    case.check("tool_calls", session["tool_calls"])
    case.done(
        "executed_scripts", "window_xss_variables_defined", "elements_with_id_xss6",
        "links_with_javascript_or_data_scheme", "pages_to_check", "visible_as_text", "template_not_evaluated",
        "export_json_parses", "raw_download_headers",
    )  # fmt: skip
