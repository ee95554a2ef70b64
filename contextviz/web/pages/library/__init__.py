"""The Library: what it is asked for (query), its rows (rows, sparkline), and the page (page)."""

from __future__ import annotations
