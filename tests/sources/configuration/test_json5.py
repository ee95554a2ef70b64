from __future__ import annotations

import pytest

from contextviz.sources.configuration.json5 import NotJson5, parse

WHOLE = b"""\xef\xbb\xbf// what shapes the window
{
  plugins: { slots: { 'contextEngine': "lossless-claw", }, }, /* the
  engine */
  "n": [0x1F, +2, -3, .5, 1e3, Infinity, NaN, true, false, null,],
  text: 'it\\'s \\u00e9 \\x41 a \\
line',
}
"""


def test_comments_bare_keys_single_quotes_and_commas_at_the_end_are_read() -> None:
    assert parse(WHOLE) == {
        "plugins": {"slots": {"contextEngine": "lossless-claw"}},
        "n": [31, 2, -3, 0.5, 1000.0, None, None, True, False, None],
        "text": "it's \u00e9 A a line",
    }


@pytest.mark.parametrize(
    "raw",
    [b"", b"{", b"{a: 1} {b: 2}", b"{a 1}", b"{a: require('fs')}", b"{a: ${HOME}}", b"{a: `x`}", b"{a: 'x\ny'}",
     b"/* open", b"{a: '\\uZZZZ'}", b"\xff\xfe{", b"[" * 500, b"{a:" * 500, b"{,}", b"[1,,2]"],
)  # fmt: skip
def test_what_is_no_value_is_refused_and_never_run(raw: bytes) -> None:
    with pytest.raises(NotJson5):
        parse(raw)


def test_a_refusal_says_the_line_and_nothing_of_what_stands_there() -> None:
    with pytest.raises(NotJson5) as refusal:
        parse(b"{\n a: 1,\n key sk-planted-0123456789abcdef\n}")

    assert str(refusal.value) == "line 3 is not JSON5"


def test_a_reference_is_text_and_nothing_is_put_in_for_it() -> None:
    assert parse(b"{$include: './keys.json5', a: '${API_KEY}'}") == {"$include": "./keys.json5", "a": "${API_KEY}"}
