"""The search page: words in, places out, each with its snippet and the way to it."""

from __future__ import annotations
