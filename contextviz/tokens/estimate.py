"""Token estimates by a real tokenizer that carries its vocabulary with it (no network)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from importlib.machinery import PathFinder
from importlib.util import find_spec, module_from_spec
from typing import Any

ESTIMATOR = "o200k_base"
TOKENIZERS = {ESTIMATOR: "bpe_openai"}
_NATIVE = "_bindings"
# bpe-openai 0.1.4's own bounds, which say what is counted in pieces: a million characters, and texts of more than
# 200,000 tokens. The smaller limit keeps below that with four bytes a character and a token for each byte.
MOST_AT_ONCE = 900_000
MOST_TOKENS = 200_000
SURELY_TAKEN = 50_000


@cache
def _counter() -> Callable[[str], int]:
    # By name and on first use only: web processes never count tokens.
    package = TOKENIZERS[ESTIMATOR]
    native = _native(package)
    if native is not None:
        count: Callable[[str], int] = native.tokenizer_for_encoding(ESTIMATOR).count
        return count
    encoding = import_module(package).get_encoding(ESTIMATOR)
    return lambda text: len(encoding._encode_plain(text))


def _native(package: str) -> Any:
    """The package's compiled half, past its Python one: that reads the vocabulary a second time into dicts for decoding
    (half a second and 100 MB), which counting never does. None where it is not laid out as we know it."""
    found = find_spec(package)
    spec = PathFinder.find_spec(f"{package}.{_NATIVE}", found.submodule_search_locations if found else [])
    if spec is None or spec.loader is None:
        return None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module if hasattr(module, "tokenizer_for_encoding") else None


def estimate(text: str) -> int:
    """Estimated tokens of `text` by o200k_base; control words such as `<|endoftext|>` are ordinary text.

    Longer texts than the tokenizer takes are counted in pieces, cut where a line or a word ends.
    """
    if len(text) <= MOST_AT_ONCE:
        return _tokens_of(text)
    return sum(_tokens_of(piece) for piece in _pieces(text, MOST_AT_ONCE))


def _tokens_of(text: str) -> int:
    count = _counter()
    tokens = count(text)
    return tokens if tokens <= MOST_TOKENS else sum(map(count, _pieces(text, SURELY_TAKEN)))


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
