"""Context windows by model name, for sources that do not report them. Always labelled as from this table."""

from __future__ import annotations

import re

TABLE_VERSION = "windows/2"
_EXTENDED = 1_000_000
# The first that fits. None: a newer model of a known family, whose window we could not look up.
_WINDOWS: tuple[tuple[re.Pattern[str], int | None], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), window)
    for pattern, window in (
        (r"\[1m\]", _EXTENDED),
        (r"(^|/)claude-(opus|sonnet|fable|mythos)-5(\D|$)", 1_000_000),
        (r"(^|/)claude-(opus-4-[7-9]|haiku-[5-9])", None),
        (r"(^|/)claude-", 200_000),
        (r"(^|/)gpt-5(\.\d)?-chat", 128_000),
        (r"(^|/)gpt-5(\.[0-3])?(-|$)", 400_000),
        (r"(^|/)gpt-4\.1", 1_047_576),
        (r"(^|/)gpt-4o", 128_000),
        (r"(^|/)o1-(mini|preview)", 128_000),
        (r"(^|/)o[134](-|$)", 200_000),
        (r"(^|/)gemini-(1\.5|2\.0)-pro", 2_097_152),
        (r"(^|/)gemini-(1\.5|2\.\d)-", 1_048_576),
    )
)


def window_of(model: str | None, *, largest_prompt: int | None = None) -> int | None:
    """The context window of `model` in tokens, None for a model that is not in the table.

    A prompt larger than the table's window shows that the extended one was in use (formats.md trap 32); one
    larger than that too is no reason to invent a number.
    """
    found = next((window for pattern, window in _WINDOWS if model and pattern.search(model)), None)
    if found is None or largest_prompt is None or largest_prompt <= found:
        return found
    return _EXTENDED if largest_prompt <= _EXTENDED else None
