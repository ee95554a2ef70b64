"""Token estimates by a real tokenizer that carries its vocabulary with it (no network)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib import import_module
from typing import Any

ESTIMATOR = "o200k_base"
TOKENIZERS = {ESTIMATOR: "bpe_openai"}
# bpe-openai 0.1.4 refuses a million characters, and texts of more than 200,000 tokens: the smaller limit keeps below
# that with four bytes a character and a token for each byte.
MOST_AT_ONCE = 900_000
SURELY_TAKEN = 50_000


@cache
def _encoding() -> Any:
    # Importing it loads its tables (about 0.5 s and 130 MB), so on first use and by name only: web processes
    # never count tokens.
    return import_module(TOKENIZERS[ESTIMATOR]).get_encoding(ESTIMATOR)


def estimate(text: str) -> int:
    """Estimated tokens of `text` by o200k_base; control words such as `<|endoftext|>` are ordinary text.

    Longer texts than the tokenizer takes are counted in pieces, cut where a line or a word ends.
    """
    return sum(_tokens_of(piece) for piece in _pieces(text, MOST_AT_ONCE))


def _tokens_of(text: str) -> int:
    try:
        return len(_encoding().encode_ordinary(text))
    except ValueError:  # too many tokens
        return sum(len(_encoding().encode_ordinary(piece)) for piece in _pieces(text, SURELY_TAKEN))


def _pieces(text: str, most: int) -> Iterator[str]:
    start = 0
    while len(text) - start > most:
        end = start + most
        # A line's end belongs to the line; a blank belongs to the word after it.
        cut = text.rfind("\n", start + most // 2, end) + 1 or text.rfind(" ", start + most // 2, end)
        end = cut if cut > start else end
        yield text[start:end]
        start = end
    if start < len(text):
        yield text[start:] if start else text
