"""The rules by which engines count tokens, each by its id."""

from __future__ import annotations

import pytest

from contextviz.tokens.estimators import ESTIMATORS, chars4, cp_weighted, json2_text4

FACE = "\U0001f600"


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", 0),
        ("abcd", 1),
        ("abcde", 2),
        ("{abc", 2),
        ("  [1]", 3),
        ("a{", 1),
        (FACE * 2, 1),
        (FACE * 3, 2),
        ("\ufeff{}", 2),
    ],
)
def test_text_that_begins_as_json_costs_twice(text: str, tokens: int) -> None:
    assert json2_text4(text) == tokens


@pytest.mark.parametrize(
    ("text", "tokens"),
    [("", 0), ("abcd", 1), ("abcde", 2), ("今", 2), ("今日", 3), ("今日a", 4), (FACE, 2), ("\U00020000", 2),
     ("\U00020000\U00020000", 3), ("é", 1), ("한국", 3), ("（）", 3), ("\U0001f600今", 4)],
)  # fmt: skip
def test_code_points_are_weighed_by_script(text: str, tokens: int) -> None:
    assert cp_weighted(text) == tokens


def test_one_rounding_for_a_list_and_one_for_each() -> None:
    assert chars4(["a", "b", "c"]) == 1
    assert sum(map(ESTIMATORS["chars4-each"], ["a", "b", "c"])) == 3
    assert chars4([]) == 0
    assert chars4([FACE, FACE]) == 1


def test_every_id_counts_any_text() -> None:
    for name, count in ESTIMATORS.items():
        assert count("") == 0, name
        assert count("word " * 10) > 0, name
