"""The context at one call."""

from __future__ import annotations
