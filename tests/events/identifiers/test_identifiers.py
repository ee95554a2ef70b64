from __future__ import annotations

import json
import time
from collections import Counter
from pathlib import Path

import pytest

from contextviz.events.identifiers import GRAMMAR, KINDS, MAX_CHARS, base_name, canonical, extract, read
from contextviz.events.identifiers.kept import Kept
from contextviz.events.identifiers.words import _judged

LABELLED = json.loads((Path(__file__).parent / "labelled.json").read_text("utf-8"))


def _scores() -> dict[str, tuple[float, float, int]]:
    right, found, wanted = Counter[str](), Counter[str](), Counter[str]()
    for case in LABELLED:
        labels = {tuple(label) for label in case["labels"]}
        got = {(one.kind, one.text) for one in extract(case["text"], speaker=case["speaker"])}
        for counter, pairs in ((right, labels & got), (found, got), (wanted, labels)):
            counter.update(kind for kind, _ in pairs)
    return {kind: (right[kind] / (found[kind] or 1), right[kind] / (wanted[kind] or 1), wanted[kind]) for kind in KINDS}


def test_precision_and_recall_of_each_class_hold_on_the_labelled_set(capsys: pytest.CaptureFixture[str]) -> None:
    scores = _scores()
    with capsys.disabled():
        print(f"\n{GRAMMAR}: " + ", ".join(f"{k} P {p:.2f} R {r:.2f} n {n}" for k, (p, r, n) in scores.items()))
    weak = {kind: score for kind, score in scores.items() if score[2] == 0 or min(score[:2]) < 0.8}
    assert weak == {}


def test_spans_point_at_the_text_they_name() -> None:
    for case in LABELLED:
        for one in extract(case["text"]):
            assert case["text"][one.start : one.end] == one.text


@pytest.mark.parametrize(
    ("kind", "text", "form"),
    [
        ("path", "./src//cart.py:118:4", "src/cart.py"),
        ("path", "/srv/shop/src/cart.py", "src/cart.py"),
        ("path", "src\\cart.py", "src/cart.py"),
        ("url", "HTTPS://Shop.example.ORG/Cart/#top", "https://shop.example.org/Cart"),
        ("hash", "9F3C1E7", "9f3c1e7"),
        ("symbol", "reserve_items()", "reserve_items"),
        ("version", "v2.14.0", "2.14.0"),
        ("number", "5,118 lines", "5118 lines"),
        ("number", "30s", "30 s"),
        ("number", "30 seconds", "30 s"),
        ("number", "retries = 5", "retries=5"),
        ("directive", "Never  raise the Timeout!", "never raise the timeout"),
        ("quote", "caf\u0065\u0301 open", "caf\u00e9 open"),
    ],
)
def test_spellings_of_one_thing_have_one_canonical_form(kind: str, text: str, form: str) -> None:
    assert canonical(kind, text, root="/srv/shop") == form  # type: ignore[arg-type]


def test_the_last_name_of_a_path_or_symbol_is_its_base_name() -> None:
    assert base_name("path", "src/checkout/locks.py") == "locks.py"
    assert base_name("symbol", "LockManager.release") == "release"
    assert base_name("path", "locks.py") is None
    assert base_name("hash", "9f3c1e7") is None


def test_a_tools_output_gives_no_directives_and_no_decisions() -> None:
    text = "You must always sign in. We decided to stop."
    assert {one.kind for one in extract(text, speaker="tool")} == set()
    assert {one.kind for one in extract(text, speaker="assistant")} == {"decision"}


def test_a_text_that_is_too_long_is_read_in_part_and_says_so() -> None:
    result = read("a " * (MAX_CHARS // 2) + "src/late.py")
    assert (result.is_cut, result.read_chars, result.identifiers) == (True, MAX_CHARS, [])
    assert not read("src/early.py").is_cut


@pytest.mark.parametrize(
    "piece",
    ["a.", "a/", "a_", "aB", "1.", "`a", '"a b', "error: ", "a-", "[ ] ", "x" * 50, "$ ", "a::b->", "0f", "1,", "A=1 "],
)
def test_hostile_repetition_is_read_in_time_that_follows_its_length(piece: str) -> None:
    started = time.perf_counter()
    extract(piece * (40_000 // len(piece)))
    assert time.perf_counter() - started < 1


def test_what_was_found_is_kept_by_its_text_and_how_it_was_read_and_the_oldest_is_let_go() -> None:
    kept: Kept[list[str]] = Kept(4)
    reads: list[str] = []

    def ask(text: str, how: str = "") -> list[str]:
        return kept.get(text, how, lambda: reads.append(text + how) or [text], len)  # type: ignore[func-returns-value]

    assert ask("a") is ask("a") and ask("a", "user") == ["a"]
    assert reads == ["a", "auser"]
    ask("b")  # each weighs two, and four is the most
    assert ask("auser"[:1], "user") == ["a"] and reads == ["a", "auser", "b"]
    ask("a")
    assert reads == ["a", "auser", "b", "a"]


def test_words_are_judged_once_however_many_a_text_has() -> None:
    words = [f"m/f{number}.py" for number in range(18_000)]
    assert len(extract(" ".join(words))) == len(words)
    before = _judged.cache_info().misses
    assert len(extract("and " + " ".join(words))) == len(words)
    assert _judged.cache_info().misses - before < 10
