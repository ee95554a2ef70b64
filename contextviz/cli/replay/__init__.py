"""`contextviz replay` and `contextviz score`: sessions run by other engines and measured, without Django."""

from __future__ import annotations
