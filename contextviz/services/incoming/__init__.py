"""Forms with files, read while they arrive: the pages and the API take uploads the same way."""

from __future__ import annotations
