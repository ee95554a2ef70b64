"""Scorers: which texts are most like a query, by words (BM25) or by vectors (the extra `semantic`)."""

from __future__ import annotations

from contextviz.engines.scoring.bm25 import K1, B, Bm25, ranked, tokens_of
from contextviz.engines.scoring.scorer import Scorer

__all__ = ["K1", "B", "Bm25", "Scorer", "ranked", "tokens_of"]
