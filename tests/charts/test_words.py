"""Numbers as words: one spelling, and unknown is a dash."""

from __future__ import annotations

import pytest

from contextviz.charts import words


def plain(text: str) -> str:
    return text.replace("\u00a0", " ")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (1_940, "1,940"),
        (9_999, "9,999"),
        (33_800, "33.8 k"),
        (167_790, "167.8 k"),
        (999_960, "1.00 M"),
        (-134_000, "−134.0 k"),
        (None, "—"),
    ],
)
def test_compact_counts(value, text):
    assert plain(words.compact(value)) == text


def test_signed_differences_carry_their_sign_and_zero_has_none():
    assert [words.signed(v) for v in (896, -702, 0, None)] == ["+896", "−702", "0", "—"]
    assert plain(words.signed_compact(-134_000)) == "−134.0 k"
    assert words.signed_compact(0) == "0"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.12, "120 ms"),
        (41.2, "41.2 s"),
        (59.99, "1 min"),
        (362, "6 min 2 s"),
        (13_260, "3 h 41 min"),
        (187_200, "2 d 4 h"),
        (-2, "−2.0 s"),
        (None, "—"),
    ],
)
def test_durations_use_their_two_largest_units(seconds, text):
    assert plain(words.duration(seconds)) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1_500, "1.5 KB"),
        (369_000, "369 KB"),
        (1_400_000, "1.4 MB"),
        (999_800, "1.0 MB"),
        (None, "—"),
    ],
)
def test_sizes(value, text):
    assert plain(words.size(value)) == text


def test_money_shows_cents_and_more_digits_below_one():
    assert [words.money(v) for v in (18.424, 0, 0.0031, -2.5, None)] == ["$18.42", "$0.00", "$0.0031", "−$2.50", "—"]


def test_percentages_and_ticks():
    assert plain(words.percent(0.8388)) == "83.9 %"
    assert words.percent(None) == "—"
    assert [plain(words.thousands(v)) for v in (0, 100_000, 1_000_000)] == ["0 k", "100 k", "1 M"]
    assert [plain(tick) for tick in words.axis_ticks([0, 100_000, 1_000_000])] == ["0 k", "100 k", "1 M"]
    assert words.axis_ticks([0, 10.5, 21]) == ["0", "10.5", "21"]
    assert [words.counted(1, "call"), words.counted(2, "switch", "switches")] == ["1 call", "2 switches"]


def test_problems_and_notes_are_said_apart() -> None:
    assert words.findings(2, 1) == "2 problems and 1 note in reading"
    assert words.findings(0, 3) == "3 notes in reading" and words.findings(0, 0) == ""
