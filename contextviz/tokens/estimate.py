"""Token estimates by a real tokenizer that carries its vocabulary with it (no network)."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

ESTIMATOR = "o200k_base"
TOKENIZERS = {ESTIMATOR: "bpe_openai"}


@cache
def _encoding() -> Any:
    # Importing it loads its tables (about 0.5 s and 130 MB), so on first use and by name only: web processes
    # never count tokens.
    return import_module(TOKENIZERS[ESTIMATOR]).get_encoding(ESTIMATOR)


def estimate(text: str) -> int:
    """Estimated tokens of `text` by o200k_base; control words such as `<|endoftext|>` are ordinary text."""
    return len(_encoding().encode_ordinary(text)) if text else 0
