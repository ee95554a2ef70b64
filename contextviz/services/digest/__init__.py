"""Digesting a batch: read its files, save every session in one transaction, and say what came of it.

Doing it twice changes nothing, so a worker killed anywhere in it costs only time: until a session's transaction
commits readers see what was there before, after it they see all of the new.
"""

from __future__ import annotations

from contextviz.services.digest.job import digest

__all__ = ["digest"]
