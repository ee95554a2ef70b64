"""Where JavaScript and Python differ: what engines written in JavaScript count, cut, match and write."""

from __future__ import annotations

import math
import re
from typing import Any

import pytest

from contextviz.events import javascript as js

FACE = "\U0001f600"  # two UTF-16 units


@pytest.mark.parametrize(
    ("text", "length"), [("", 0), ("abc", 3), ("é", 1), ("今日", 2), (FACE, 2), ("a" + FACE + "b", 4), ("\ud83d", 1)]
)
def test_length_counts_utf16_units(text: str, length: int) -> None:
    assert js.length16(text) == length


@pytest.mark.parametrize(
    ("start", "end", "cut"),
    [(0, None, "a" + FACE + "b"), (0, 1, "a"), (0, 2, "a\ud83d"), (2, 4, "\ude00b"), (1, 3, FACE), (-1, None, "b"),
     (-3, -1, FACE), (3, 1, ""), (0, 99, "a" + FACE + "b"), (-99, 1, "a")],
)  # fmt: skip
def test_slice_cuts_by_utf16_units_and_keeps_half_a_pair(start: int, end: int | None, cut: str) -> None:
    assert js.slice16("a" + FACE + "b", start, end) == cut


def test_slice_of_plain_text_is_pythons() -> None:
    assert js.slice16("abcdef", -4, -1) == "cde"
    assert js.slice16("今日は良い", 1, 3) == "日は"


def test_white_space_has_javascripts_members() -> None:
    around = "\ufeff\xa0\u2028\u3000\t x \u2029\u202f\v"

    assert js.trim(around) == "x"
    assert js.trim_start("\ufeff  a ") == "a "
    assert js.trim_end(" a\u2029\xa0") == " a"
    # Python's own strip() takes the separators of files, which JavaScript leaves, and leaves the byte order mark.
    assert js.trim("\x1ca\x1c") == "\x1ca\x1c"


def test_patterns_refuse_and_anchor_at_javascripts_line_ends() -> None:
    line = re.compile(f"{js.LINE_START}a{js.DOT}*{js.LINE_END}", re.ASCII)

    assert [found[0] for found in line.finditer("ab\u2028ac\rad\nxa\u2029ae")] == ["ab", "ac", "ad", "ae"]
    assert re.fullmatch(js.S, "\ufeff") and not re.fullmatch(js.S, "\x1c")
    assert re.fullmatch(js.NOT_S, "\x1c")


@pytest.mark.parametrize(
    ("number", "rounded"), [(0.5, 1), (-0.5, 0), (1.5, 2), (2.5, 3), (-1.5, -1), (-2.6, -3), (2.4, 2)]
)
def test_halves_are_rounded_up(number: float, rounded: int) -> None:
    assert js.round_half_up(number) == rounded


@pytest.mark.parametrize(
    ("value", "number"),
    [("12", 12), (" 1e3 ", 1000), ("0x10", 16), ("0b11", 3), ("", 0), ("\ufeff7\xa0", 7), (None, 0), (True, 1), ([], 0),
     (["5"], 5), (".5", 0.5), ("5.", 5), ("-Infinity", -math.inf)],
)  # fmt: skip
def test_numbers_are_read_as_number_does(value: Any, number: float) -> None:
    assert js.to_number(value) == number


@pytest.mark.parametrize("value", ["12px", "1_000", "٣", "nan", "inf", "infinity", {}, [1, 2], "0x", "--1", "1e"])
def test_what_is_no_number_is_nan(value: Any) -> None:
    assert math.isnan(js.to_number(value))


@pytest.mark.parametrize("text", ["NaN", "[Infinity]", "[1,]", "\ufeff{}", "{'a':1}", "", "\xa01", "[" * 5000])
def test_json_is_strict(text: str) -> None:
    with pytest.raises(ValueError):  # the module promises no more
        js.parse(text)


def test_json_is_read() -> None:
    assert js.parse(' {"a": [1, 2.0, null, true, "\\ud83d\\ude00"]}\n') == {"a": [1, 2.0, None, True, FACE]}


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"b": 1, "a": [1.0, 2.5, -0.0]}, '{"b":1,"a":[1,2.5,0]}'),
        ({"b": 1, "10": 2, "2": 3, "01": 4}, '{"2":3,"10":2,"b":1,"01":4}'),
        ([None, True, 'é\n"\\', "\ud83d"], '[null,true,"é\\n\\"\\\\","\\ud83d"]'),
        ([math.inf, math.nan], "[null,null]"),
        ([1e21, 1e-7, 1.5e-7, 123456789012345680000.0, 0.000001], "[1e+21,1e-7,1.5e-7,123456789012345680000,0.000001]"),
        (
            [-1.5e-7, 12.5, 1e20, -2e21, 9007199254740993, 100, -7],
            "[-1.5e-7,12.5,100000000000000000000,-2e+21,9007199254740992,100,-7]",
        ),
        ("\x7f\u2028", '"\x7f\u2028"'),
    ],
)
def test_json_is_written_as_stringify_does(value: Any, text: str) -> None:
    assert js.stringify(value) == text


def test_thousands_have_commas() -> None:
    assert (js.thousands(0), js.thousands(1234567)) == ("0", "1,234,567")
