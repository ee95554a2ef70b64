from __future__ import annotations

import pytest

from tests.analysis.building import Builder


@pytest.fixture
def builder() -> Builder:
    return Builder()
