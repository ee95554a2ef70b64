"""The pages of conversation maps."""

from __future__ import annotations
