"""Values of settings as people give them: what is a number, and what a blank one means."""

from __future__ import annotations

from typing import Any

import pytest

from contextviz.engines.settings import Setting, Value, decimal_of, resolve

COUNT = Setting("count", 8, "How many.", least=2, most=64)
SHARE = Setting("share", 0.75, "How much.", "float", least=0, most=1)


@pytest.mark.parametrize("blank", ["", " ", "\t\n"])
def test_a_blank_text_for_a_number_is_left_to_the_engine(blank: str) -> None:
    values, notes = resolve((COUNT, SHARE), {"count": blank, "share": blank})

    assert values == {"count": 8, "share": 0.75}
    assert notes == [
        "No value was given for count: it is left to the engine, 8.",
        "No value was given for share: it is left to the engine, 0.75.",
    ]


@pytest.mark.parametrize(("given", "taken"), [("0", 2), (0, 2), ("12", 12), ("1e1", 10), ("0x10", 16), ("1_0", 8)])
def test_other_texts_are_taken_as_javascript_takes_them(given: Any, taken: Value) -> None:
    assert resolve((COUNT,), {"count": given})[0] == {"count": taken}


@pytest.mark.parametrize(("given", "taken"), [(9.5, 9), ("9.99", 9), (2.5e0, 2)])
def test_a_whole_number_setting_loses_a_fraction_and_says_so(given: Any, taken: int) -> None:
    values, notes = resolve((COUNT,), {"count": given})

    assert values == {"count": taken}
    assert isinstance(values["count"], int)
    assert notes == [f"count is a whole number; {float(given)!r} became {taken}."]


def test_a_setting_that_upstream_does_not_round_is_kept() -> None:
    exact = Setting("count", 8, "How many.", least=2, most=64, keeps_fractions=True)

    assert resolve((exact,), {"count": 9.5}) == ({"count": 9.5}, [])


@pytest.mark.parametrize("given", [True, False])
def test_true_and_false_are_no_numbers(given: bool) -> None:
    values, notes = resolve((COUNT, SHARE), {"count": given, "share": given})

    assert values == {"count": 8, "share": 0.75}
    assert len(notes) == 2


@pytest.mark.parametrize(
    ("text", "number"),
    [("0", 0.0), ("-1.5", -1.5), ("+2.", 2.0), (".5", 0.5), ("1e-05", 1e-05), ("1E3", 1000.0),
     ("", None), (" 1", None), ("1_0", None), ("\u0661", None), ("\uff19", None), ("nan", None), ("inf", None),
     ("1e999", None), ("0x10", None), ("1,000", None), ("1\n", None), ("9" * 61, None)],
)  # fmt: skip
def test_a_decimal_is_written_in_ascii_digits(text: str, number: float | None) -> None:
    assert decimal_of(text) == number


@pytest.mark.parametrize(
    ("text", "number"),
    [("1,000", 1000.0), ("-12,345,678.5", -12_345_678.5), ("0,5", None), ("1,0", None), (",100", None)],
)
def test_commas_stand_between_thousands_only(text: str, number: float | None) -> None:
    assert decimal_of(text, is_grouped=True) == number
