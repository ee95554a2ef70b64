from __future__ import annotations

from pathlib import Path

import pytest

from tests.accounts.cast import Cast, the_cast


@pytest.fixture
def cast(db: None, data_dir: Path) -> Cast:
    """Alice, Bob, Vera and Adam."""
    return the_cast()
