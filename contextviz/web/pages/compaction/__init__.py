"""The pages of compactions: the list, and one boundary."""

from __future__ import annotations
