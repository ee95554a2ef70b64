"""The page of originals: what a hash, its beginning or a marker names, and the proof that it is it."""

from __future__ import annotations
