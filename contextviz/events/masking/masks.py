"""A text without its secrets, for whatever is shown; and a cut that leaves no half of one."""

from __future__ import annotations

from contextviz.events.masking.secrets import find_secrets

MARGIN_CHARS = 4096  # read beyond a cut, so that a secret across it is still recognised
MOST_LOOKED_AT = 8_000_000  # bytes of a download: a second or two at worst


def masked_as(kind: str) -> str:
    """The words that stand for one masked value of this kind, wherever it is shown."""
    return f"[{kind.replace('_', ' ')} masked]"


def without_secrets(text: str) -> str:
    """The text with each value that looks like a secret replaced by words such as `[api key masked]`."""
    parts: list[str] = []
    position = 0
    for found in find_secrets(text):
        parts += [text[position : found.start], masked_as(found.kind)]
        position = found.end
    return "".join([*parts, text[position:]])


def safe_cut(text: str, limit: int) -> str:
    """The first `limit` characters, fewer where a secret would be cut in half."""
    if len(text) <= limit:
        return text
    # Half a secret would no longer look like one.
    for secret in find_secrets(text[: limit + MARGIN_CHARS]):
        if secret.start < limit < secret.end:
            return text[: secret.start]
    return text[:limit]


def holds_secrets(text: str) -> bool:
    """Whether anything in the text is masked where it is shown."""
    return bool(find_secrets(text))


def may_hold_secrets(data: bytes) -> bool:
    """Whether bytes of UTF-8 hold values that are masked where they are shown, or are too many to say."""
    return len(data) > MOST_LOOKED_AT or holds_secrets(data.decode("utf-8", errors="replace"))
