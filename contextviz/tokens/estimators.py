"""How engines count tokens: rules over text, each by the id that travels with its numbers (engines document, 0.2)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from contextviz.events.javascript import length16, trim_start
from contextviz.tokens.estimate import ESTIMATOR, estimate

Estimator = Callable[[str], int]

_CJK = re.compile(
    "[\u4e00-\u9fff\u3400-\u4dbf\U00020000-\U0002a6df\U0002a700-\U0002b73f\U0002b740-\U0002b81f\U0002b820-\U0002ceaf"
    "\U0002ceb0-\U0002ebef\u3000-\u303f\u3040-\u30ff\uac00-\ud7af\uff00-\uffef]"
)  # fmt: skip
_WIDE = re.compile("[\U00010000-\U0010ffff]")


def json2_text4(text: str) -> int:
    """`ov-json2-text4` (OpenVole): two UTF-16 units a token where the text begins as JSON does, else four."""
    if not text:
        return 0
    return _up(length16(text), 2 if trim_start(text)[:1] in ("{", "[") else 4)


def cp_weighted(text: str) -> int:
    """`cp-weighted` (flowctx, lossless): CJK is 1.5 a code point, beyond U+FFFF 2, else 0.25; the sum is rounded up."""
    return -(-_quarters(text) // 4)


def _quarters(text: str) -> int:
    if text.isascii():
        return len(text)
    cjk = _CJK.findall(text)
    wide = len(_WIDE.findall(text)) - sum(1 for one in cjk if one > "\uffff")
    return len(text) + 5 * len(cjk) + 7 * wide


def chars4(texts: Iterable[str]) -> int:
    """`chars4` (Cortext): UTF-16 units of all texts together by four, rounded up once for the whole list."""
    return _up(sum(map(length16, texts)), 4)


def chars4_each(text: str) -> int:
    """`chars4-each` (OpenBrain, pi): UTF-16 units by four, rounded up for each item."""
    return _up(length16(text), 4)


def _up(number: int, divisor: int) -> int:
    return -(-number // divisor)


# By id, for one text. `chars4` over one text is `chars4-each`; `cp-serialized` counts messages (engines.lossless).
ESTIMATORS: dict[str, Estimator] = {
    ESTIMATOR: estimate,
    "ov-json2-text4": json2_text4,
    "cp-weighted": cp_weighted,
    "chars4": chars4_each,
    "chars4-each": chars4_each,
}
