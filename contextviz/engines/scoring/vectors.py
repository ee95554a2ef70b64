"""Likeness by meaning: a text is the mean of its tokens' vectors, and the cosine of two of them is their likeness.

Vectors and tokenizer are two files inside the wheel of the package `wordllama`; they are read from there. The package
itself is never imported, since its loader asks the network. Nothing here does.

Equal texts have equal scores to the bit, on every machine. Sums of half-precision vectors are exact in double
precision. A text's vector of length 1 is then rounded to multiples of 2**-11: products are multiples of 2**-22, and no
partial sum exceeds 1 by much, so that single precision adds them exactly in whatever order the machine likes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from contextviz.engines.scoring.scorer import NoSuchScorer, best_of
from contextviz.events.text import sanitised

MOST_CHARS = 8_192
BATCH = 256
INSTALL = "pip install contextviz-dashboard[semantic]"
_WEIGHTS = "weights/l2_supercat_256.safetensors"
_TOKENIZER = "tokenizers/l2_supercat_tokenizer_config.json"
_GRID = 2048.0
_SLICE = 2_048  # rows of the vocabulary that are summed at once: 4 MB in double precision
_LEAST_ROOM = 64


@dataclass(frozen=True, slots=True)
class _Model:
    """A vector of half precision for each token (16 MB), and what makes tokens of a text."""

    weights: np.ndarray
    tokenizer: Any

    def vector(self, text: str) -> np.ndarray:
        """The text's vector of length 1; zeros where it has no tokens."""
        head = sanitised(text[:MOST_CHARS])[0]
        width = self.weights.shape[1]
        # One by one: a batch would start threads, which worker processes that are forked later could not use.
        ids = self.tokenizer.encode(head, add_special_tokens=False).ids if head else []
        tokens, counts = np.unique(np.asarray(ids, dtype=np.int64), return_counts=True)
        total = np.zeros(width)
        for start in range(0, len(tokens), _SLICE):
            rows = self.weights[tokens[start : start + _SLICE]].astype(np.float64)
            total += counts[start : start + _SLICE].astype(np.float64) @ rows
        length = math.sqrt(math.fsum((total * total).tolist()))
        unit = total / length if length else total
        return (np.rint(unit * _GRID) / _GRID).astype(np.float32)


def check() -> None:
    """Raises NoSuchScorer where the extra is not installed; reads no file."""
    _files()


def _files() -> tuple[Path, Path]:
    """Weights and tokenizer inside the package, found without importing it."""
    missing = [name for name in ("wordllama", "tokenizers", "safetensors") if find_spec(name) is None]
    if missing:
        raise NoSuchScorer(f"The scorer {Vectors.id!r} needs what is not installed ({', '.join(missing)}): {INSTALL}.")
    spec = find_spec("wordllama")
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        found = Path(folder) / _WEIGHTS, Path(folder) / _TOKENIZER
        if all(path.is_file() for path in found):
            return found
    raise NoSuchScorer(
        f"The scorer {Vectors.id!r} finds no {_WEIGHTS} and {_TOKENIZER} in the package wordllama that is installed:"
        f" {INSTALL}."
    )


@cache
def _model() -> _Model:
    """Read once a process and kept: 16 MB of vectors and about as much for the tokenizer."""
    weights, tokenizer = _files()
    try:
        tables = import_module("safetensors.numpy").load_file(weights)
        made = import_module("tokenizers").Tokenizer.from_file(str(tokenizer))
        table = tables["embedding.weight"]
    except Exception as error:  # the tokenizer's own errors are plain Exceptions
        raise NoSuchScorer(
            f"The scorer {Vectors.id!r} cannot be read ({type(error).__name__}: {str(error)[:200]}): {INSTALL}."
        ) from error
    if table.dtype != np.float16 or table.shape != (made.get_vocab_size(), Vectors.width):
        raise NoSuchScorer(
            f"The scorer {Vectors.id!r} finds vectors of another shape ({table.shape}, {table.dtype}): {INSTALL}."
        )
    made.no_padding()
    made.no_truncation()
    return _Model(table, made)


class Vectors:
    """Cosine of mean token vectors, by comparing with every text; scores of 0 and below are no likeness.

    Of each text the first 8,192 characters count. Memory: 1 KB for each distinct text, beside the model, and up to 256
    texts that wait to be read. Raises NoSuchScorer when it is made and the extra is not installed.
    """

    id = "wordllama-256"
    width = 256

    def __init__(self) -> None:
        self._model = _model()
        self._vectors = np.empty((0, self.width), dtype=np.float32)
        self._known: dict[bytes, int] = {}  # rows of `_vectors` by the text's hash
        self._rows = np.empty(0, dtype=np.int64)  # by the text's number; equal texts share a row
        self._size = 0
        self._waiting: list[str] = []

    def add(self, text: str) -> int:
        """See Scorer.add."""
        number = self._size + len(self._waiting)
        self._waiting.append(text[:MOST_CHARS])
        if len(self._waiting) >= BATCH:
            self._settle()
        return number

    def top(self, query: str, limit: int) -> list[tuple[int, float]]:
        """See Scorer.top."""
        self._settle()
        if not self._size or limit <= 0:
            return []
        row = self._known.get(_key(query))
        asked = self._model.vector(query) if row is None else self._vectors[row]
        # Not by BLAS, whose threads cost more than they bring at this size where other work has the cores.
        scores = np.einsum("ij,j->i", self._vectors[: len(self._known)], asked)
        return best_of(scores[self._rows[: self._size]], limit)

    def _settle(self) -> None:
        """Read what waits."""
        end = self._size + len(self._waiting)
        self._rows = _with_room(self._rows, self._size, end)
        self._vectors = _with_room(self._vectors, len(self._known), len(self._known) + len(self._waiting))
        for number, text in enumerate(self._waiting, self._size):
            key = _key(text)
            row = self._known.get(key)
            if row is None:
                row = len(self._known)
                self._vectors[row] = self._model.vector(text)
                self._known[key] = row
            self._rows[number] = row
        self._size = end
        self._waiting.clear()


def _key(text: str) -> bytes:
    return blake2b(text[:MOST_CHARS].encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _with_room(column: np.ndarray, used: int, needed: int) -> np.ndarray:
    if needed <= len(column):
        return column
    grown = np.empty((max(needed, 2 * len(column), _LEAST_ROOM), *column.shape[1:]), dtype=column.dtype)
    grown[:used] = column[:used]
    return grown
