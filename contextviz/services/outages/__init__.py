"""When the store or the broker takes nothing for now: what it is (`trouble`), not being held up by it (`telling`)."""

from __future__ import annotations
