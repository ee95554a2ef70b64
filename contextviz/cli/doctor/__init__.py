"""`contextviz doctor`: every part of the installation looked at, each problem with what to do.

`examine(now)` → [Check]. It changes nothing: no table is made, no folder, no migration applied.
"""

from __future__ import annotations

from contextviz.cli.doctor.check import Check
from contextviz.cli.doctor.examine import examine

__all__ = ["Check", "examine"]
