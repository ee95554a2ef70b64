"""What formats are called in words, wherever a person reads them."""

from __future__ import annotations

from contextviz.sources.naming.formats import format_name, formats_of, program_and_format

__all__ = ["format_name", "formats_of", "program_and_format"]
