"""Taking things away: copies of sessions."""

from __future__ import annotations
