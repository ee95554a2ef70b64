"""The reading cases that only a replay answers, through `replay --json`: every key of their expect.json is asserted.

053: `estimates` of the named texts, and of the session's entries. 079: what flowctx makes of three tool results.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from contextviz.engines.registry import NoSuchEngine, named
from contextviz.tokens.estimators import ESTIMATORS
from tests.cli.replaying import replayed

Json = dict[str, Any]
# The case's words for three of the estimators (docs/replay.md).
WORDS = {"code_point": "cp-weighted", "utf16_div4": "chars4-each", "paw": "ov-json2-text4"}


def case(shared: Path, number: str) -> tuple[Path, Json]:
    folder = next((shared / "cases" / "reading").glob(f"{number}-*"))
    return folder / "input", json.loads((folder / "expect.json").read_text(encoding="utf-8"))


def by_words(entry: Json) -> Json:
    return {word: entry["tokens"][id] for word, id in WORDS.items()}


def test_053_estimates_of_named_texts(shared: Path) -> None:
    folder, expect = case(shared, "053")
    status, out, _ = replayed(folder / "texts.json", "--estimates")
    assert status == 0
    assert {name: by_words(entry) for name, entry in json.loads(out)["estimates"].items()} == expect["estimates"]


def test_053_estimates_of_a_session(shared: Path) -> None:
    folder, expect = case(shared, "053")
    path = next(folder.glob("*.jsonl"))
    found = json.loads(replayed(path, "--engine", "keep-all", "--json")[1])["estimates"]
    said = {
        name: {"chars": entry["chars"], **{word: entry["tokens"][WORDS[word]] for word in ("code_point", "utf16_div4")}}
        for name, entry in found.items()
    }
    assert said == expect["session"]
    assert set(expect) == {"estimates", "session"}
    assert all(set(entry["tokens"]) == set(ESTIMATORS) for entry in found.values())


def test_079_a_replay_of_flowctx_makes_a_result_larger_and_says_so(shared: Path) -> None:
    folder, expect = case(shared, "079")
    try:
        named("flowctx@port-0.1.0")
    except NoSuchEngine:
        pytest.skip("flowctx is not among the engines yet")
    before = {path: hashlib.sha256(path.read_bytes()).digest() for path in folder.iterdir()}
    settings = [f"--set={key}={value}" for key, value in expect["settings"].items()]
    status, out, _ = replayed(folder, "--engine", "flowctx@port-0.1.0", *settings, "--json")
    report = json.loads(out)
    run = report["runs"][0]
    blocks = {block["entry"]: block for block in run["blocks"]}
    results = [name for name, entry in report["estimates"].items() if entry["role"] == "tool"]
    f3, f4 = blocks["f3"], blocks["f4"]
    found = {
        "settings": {key: run["settings"][key] for key in expect["settings"]},
        "tool_results": len(results),
        "projected": len(blocks),
        "untouched": [name for name in results if name not in blocks],
        "f3": {
            "original_chars": f3["originalChars"],
            "original_est_tokens": f3["originalTokens"],
            "strategy": f3["strategy"],
            "kept_chars": f3["keptChars"],
            "projected_utf16_length": f3["projectedChars"],
            "projected_est_tokens": f3["projectedTokens"],
            "saved_est_tokens": f3["savedTokens"],
            "flag": "larger than the original" if f3["largerThanOriginal"] else None,
            "hash": f3["hash"],
        },
        "f4": {
            "original_utf16_length": f4["originalChars"],
            "original_est_tokens": f4["originalTokens"],
            "strategy": f4["strategy"],
            "projected_utf16_length": f4["projectedChars"],
            "hash": f4["hash"],
            "lone_surrogate_in_projection": f4["loneSurrogate"],
            "shown_with": f4["shownWith"],
        },
        "retrieve": {
            one["handle"]: f"byte-identical to {one['identical_to'][0]}"
            for one in run["originals"]
            if one["is_verified"] and one["sha256"].startswith(one["handle"])
        },
        "marker_f3": f3["markerText"],
    }
    assert status == 0
    assert found == expect
    assert {path: hashlib.sha256(path.read_bytes()).digest() for path in folder.iterdir()} == before
