"""Programs that export: a client without cookies, and the server as it is on loopback."""

from __future__ import annotations

from typing import Any

import pytest


@pytest.fixture(autouse=True)
def on_loopback(settings: Any) -> None:
    """As `up` has it by default."""
    settings.LISTENS_ON_LOOPBACK = True
