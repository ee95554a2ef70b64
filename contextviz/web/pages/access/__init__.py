"""Pages about people: accounts, what was written down, what is removed."""

from __future__ import annotations
