"""The palette, the documents and, while developing, the style guide."""

from __future__ import annotations
