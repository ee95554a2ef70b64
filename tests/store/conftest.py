from __future__ import annotations

import pytest

from contextviz.store.texts import StoreTextPool


@pytest.fixture
def pool(db: None) -> StoreTextPool:
    """The store's pool; a token is a word, so that no tokenizer is loaded."""
    return StoreTextPool(count=lambda text: len(text.split()), estimator="words")
