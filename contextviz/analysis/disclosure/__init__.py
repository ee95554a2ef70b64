"""What would a copy of a session give away? Secrets in odd places, on top of what pages mask by pattern.

`find(text)` → [Finding] in one text; `Neighbours` for secrets that are split over texts that follow each other.
docs/export.md says what is looked for, and what is out of its reach.
"""

from __future__ import annotations

from contextviz.analysis.disclosure.finding import Finding, apart, find, left, mask_of, text_key, without
from contextviz.analysis.disclosure.splits import Neighbours, Part, Split

__all__ = ["Finding", "Neighbours", "Part", "Split", "apart", "find", "left", "mask_of", "text_key", "without"]
