"""What was read, checked: windows against the client's own logs of its requests, counts against what one can be."""

from __future__ import annotations

from contextviz.sources.checking.confirm import confirm
from contextviz.sources.checking.tokens import check_tokens

__all__ = ["check_tokens", "confirm"]
