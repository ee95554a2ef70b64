"""The Lab's addresses."""

from __future__ import annotations
