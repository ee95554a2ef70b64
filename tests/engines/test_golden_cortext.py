"""Cortext held against a folder of goldens: every entry of every file that is known, and every other file named."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from contextviz.engines.cortext import (
    Anchor,
    apply_window,
    bridge_text,
    compact_view,
    format_items,
    found_at,
    message_text,
    not_in_window,
    protect_tail_of,
    read_anchors,
    safe,
    scope_key,
    segments,
    view_of,
    write_anchors,
)
from contextviz.events.javascript import length16
from tests.engines.golden_files import check_keys, loaded, name_unknown, part

KNOWN = {
    "views.json", "compact_expected.json", "anchor_sequences.json", "message_text.json", "format.json",
    "stream_segments.json", "store_dir/compaction.json", "session.jsonl", "upstream_bench_summary.json",
}  # fmt: skip
CLOCK = 1_700_000_000_000  # the clock of the whole set
ROLES = {"u": "user", "a": "assistant", "s": "system"}


@pytest.fixture
def folder(goldens: Path) -> Path:
    return part(goldens, "cortext")


def anchor_of(fields: dict[str, Any] | None) -> Anchor | None:
    return Anchor(fields["role"], fields["textPrefix"], fields["dropped"], fields["ts"]) if fields else None


def test_golden_cortext_files_are_all_known(folder: Path) -> None:
    name_unknown(folder, KNOWN)


def compacted(folder: Path, entry: dict[str, Any], views: dict[str, Any]) -> None:
    name = entry["id"]
    check_keys(
        entry,
        {"id", "view", "mode", "protectTail", "compact", "assembledRoles", "windowed", "estimatedTokens"},
        name,
    )
    view = view_of(views[entry["view"]])
    made = compact_view(view, entry["mode"], protect_tail_of(entry["protectTail"]), CLOCK)
    given: dict[str, Any] = {"ok": True, "compacted": made.compacted, "cut": made.cut}
    if made.anchor is not None:
        given |= {
            "dropped": made.dropped, "anchor": made.anchor.document(), "tokensBefore": made.tokens_before,
            "tokensAfter": made.tokens_after,
        }  # fmt: skip
    expected = entry["compact"]
    check_keys(expected, {*given, "reason", "summary"}, name)
    assert {key: expected[key] for key in expected if key in given} == given, name
    window = apply_window(view, made.anchor, entry["mode"])
    assert [one.role for one in window.view] == entry["assembledRoles"], name
    assert (window.is_windowed, window.tokens) == (entry["windowed"], entry["estimatedTokens"]), name


def test_golden_cortext_compactions(folder: Path) -> None:
    views = loaded(folder / "views.json")
    entries = loaded(folder / "compact_expected.json")

    assert entries
    for entry in entries:
        compacted(folder, entry, views)


def test_golden_cortext_views_hold_messages(folder: Path) -> None:
    views = loaded(folder / "views.json")

    assert views
    for name, messages in views.items():
        assert [one.role for one in view_of(messages)] == [one["role"] for one in messages], name


def test_golden_cortext_anchors_through_sequences(folder: Path) -> None:
    for sequence in loaded(folder / "anchor_sequences.json"):
        check_keys(sequence, {"id", "steps"}, sequence["id"])
        held: Anchor | None = None
        for step in sequence["steps"]:
            where = f"{sequence['id']}: {step['label']}"
            check_keys(
                step, {"label", "view", "anchorBefore", "windowed", "cutIndex", "outLen", "anchorCleared"}, where
            )
            given = anchor_of(step["anchorBefore"])
            assert given is None or given != held, f"{where}: a cleared anchor is there again"
            view = view_of(step["view"])
            window = apply_window(view, given, "hybrid")
            held = given if window.is_cleared else held
            assert (window.is_windowed, window.cut, len(window.view), window.is_cleared) == (
                step["windowed"], step["cutIndex"], step["outLen"], step["anchorCleared"],
            ), where  # fmt: skip


def test_golden_cortext_texts(folder: Path) -> None:
    for entry in loaded(folder / "message_text.json"):
        check_keys(entry, {"content", "text"}, str(entry)[:60])
        assert message_text(entry["content"]) == entry["text"], entry["content"]


def test_golden_cortext_memory_lines(folder: Path) -> None:
    document = loaded(folder / "format.json")

    check_keys(document, {"items", "formatted", "dedupe", "safe", "scopeKeys"}, "format.json")
    for limit, text in document["formatted"].items():
        assert format_items(document["items"], int(limit)) == text, limit
    dedupe = document["dedupe"]
    check_keys(dedupe, {"windowTexts", "kept"}, "dedupe")
    assert not_in_window(document["items"], dedupe["windowTexts"]) == dedupe["kept"]
    for name, made in document["safe"]:
        assert safe(name) == made, name
    for entry in document["scopeKeys"]:
        check_keys(entry, {"scope", "ids", "key"}, str(entry))
        check_keys(entry["ids"], {"sessionKey", "sessionId", "agentId"}, str(entry))
        ids = {"session_key": "sessionKey", "session_id": "sessionId", "agent_id": "agentId"}
        given = {own: entry["ids"].get(name) or "" for own, name in ids.items()}
        assert scope_key(entry["scope"], **given) == entry["key"], entry


def test_golden_cortext_streams(folder: Path) -> None:
    for entry in loaded(folder / "stream_segments.json"):
        check_keys(entry, {"id", "ingestReasoning", "events", "segments"}, entry["id"])
        made = segments(entry["events"], takes_thinking=entry["ingestReasoning"])
        shown = [{"runId": one.run, "stream": one.stream, "segment": one.text} for one in made]
        assert shown == entry["segments"], entry["id"]


def session_messages(folder: Path) -> list[Any]:
    path = folder / "session.jsonl"
    if not path.is_file():
        pytest.skip("session.jsonl is not in this part of the set")
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    return [line["message"] for line in lines if line.get("type") == "message"]


def test_golden_cortext_state_on_disk_round_trips(folder: Path) -> None:
    document = loaded(folder / "store_dir/compaction.json")
    anchors = read_anchors(json.dumps(document))

    assert anchors
    assert write_anchors(anchors) == document


def test_golden_cortext_cold_start_finds_its_window(folder: Path) -> None:
    anchors = read_anchors(json.dumps(loaded(folder / "store_dir/compaction.json")))
    view = view_of(session_messages(folder))

    for key, anchor in anchors.items():
        others = [index for index, one in enumerate(view) if one.role != "system"]
        wanted = others[anchor.dropped]
        window = apply_window(view, anchor, "hybrid")
        assert found_at(view, anchor) == wanted, key
        assert window.is_windowed == (wanted > 0)
        assert window.view[-len(view[wanted:]) :] == view[wanted:]
        # The same state comes of compacting the file's messages alone, as a cold start does, for some protected tail.
        tails = [compact_view(view, "hybrid", tail, anchor.at).anchor for tail in range(65)]
        assert anchor in tails, key


def test_golden_cortext_published_results_are_facts(folder: Path) -> None:
    document = loaded(folder / "upstream_bench_summary.json")

    check_keys(document, {"source", "model", "arms", "probe_ids", "judged_replay"}, "upstream_bench_summary.json")
    for arm in document["arms"]:
        check_keys(arm, {"arm", "recall", "total", "missed"}, arm["arm"])
        assert 0 <= arm["recall"] <= arm["total"] <= len(document["probe_ids"])
        assert set(arm.get("missed", ())) <= set(document["probe_ids"])


def facts(goldens: Path) -> Iterator[dict[str, Any]]:
    path = goldens / "upstream_expected_values.json"
    if not path.is_file():
        pytest.skip("upstream_expected_values.json is not in this part of the set")
    for fact in json.loads(path.read_text(encoding="utf-8")):
        if fact["engine"] == "cortext":
            yield fact


def test_golden_cortext_upstream_facts(goldens: Path, folder: Path) -> None:
    for fact in facts(goldens):
        given, expected, where = fact["input"], fact["expected"], fact["function"]
        if "fixture" in given:
            fixture_fact(folder, given["fixture"], expected, where)
        elif "roles" in given:
            roles = [ROLES.get(role, role) for role in given["roles"]]
            view = view_of([{"role": role, "content": f"message {at}"} for at, role in enumerate(roles)])
            tail = int(given.get("protectTail", number_in(where, "protectTail=")))
            made = compact_view(view, given.get("mode", "hybrid"), tail, CLOCK)
            check_keys(expected, {"compacted", "dropped", "cut"}, where)
            values = {"compacted": made.compacted, "dropped": made.dropped, "cut": made.cut}
            assert {key: values[key] for key in expected} == expected, where
        else:
            pytest.fail(f"a fact that is not checked: {where}")


def number_in(text: str, start: str) -> str:
    rest = text.partition(start)[2]
    return rest[: next((at for at, letter in enumerate(rest) if not letter.isdigit()), len(rest))]


def fixture_fact(folder: Path, named: str, expected: dict[str, Any], where: str) -> None:
    file, _, entry_id = named.partition("#")
    entry = next((one for one in loaded(folder / Path(file).name) if one["id"] == entry_id), None)
    if entry is None:
        return  # that entry is in another part of the set
    if "steps" in entry:
        outcomes = [step_outcome(step) for step in entry["steps"]]
        check_keys(expected, set(outcomes[0]), where)
        assert any(expected.items() <= outcome.items() for outcome in outcomes), where
        return
    view = view_of(loaded(folder / "views.json")[entry["view"]])
    made = compact_view(view, entry["mode"], protect_tail_of(entry["protectTail"]), CLOCK)
    window = apply_window(view, made.anchor, entry["mode"])
    values = {
        "compacted": made.compacted, "dropped": made.dropped, "cut": made.cut, "windowed": window.is_windowed,
        "tokensBefore": made.tokens_before, "tokensAfter": made.tokens_after, "estimatedTokens": window.tokens,
        "messages": len(window.view), "outLen": len(window.view), "roles": [one.role for one in window.view],
    }  # fmt: skip
    check_keys(expected, {*values, "out"}, where)
    assert {key: values[key] for key in expected if key != "out"} == {
        key: value for key, value in expected.items() if key != "out"
    }, where
    if "out" in expected:
        check_out(expected["out"], [one.role for one in window.view], window.view[1].text, entry["mode"], where)


def step_outcome(step: dict[str, Any]) -> dict[str, Any]:
    window = apply_window(view_of(step["view"]), anchor_of(step["anchorBefore"]), "hybrid")
    return {
        "windowed": window.is_windowed, "cleared": window.is_cleared, "cutIndex": window.cut,
        "outLen": len(window.view),
    }  # fmt: skip


def check_out(out: Any, roles: list[str], second: str, mode: Any, where: str) -> None:
    """A window in words: what stands at its beginning, or how many messages it has."""
    if isinstance(out, int):
        assert len(roles) == out, where
        return
    for place, word in enumerate(one.strip() for one in str(out).split(",")):
        if word == "bridge":
            assert place == 1 and second == bridge_text(mode), where
        elif word.split()[0].isdigit():
            assert len(roles) == int(word.split()[0]), where
        else:
            assert roles[place] == word.partition("-")[0], where


def test_golden_cortext_bridges_have_their_length() -> None:
    assert [length16(bridge_text("hybrid")), length16(bridge_text("full"))] == [162, 194]
    assert bridge_text("full").startswith("[Earlier conversation was archived to Cortext durable memory.")
