"""Who may come in other than by the sign-in page."""

from __future__ import annotations
