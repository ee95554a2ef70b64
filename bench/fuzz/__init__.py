"""Readers against files that nobody would write: `python -m bench.fuzz` (see docs/bench.md)."""
