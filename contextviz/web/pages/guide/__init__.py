"""What helps people find their way: the palette, the documents, the style guide."""

from __future__ import annotations
