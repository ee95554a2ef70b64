"""The session page: where it stands, its transcript, its context inspector."""

from __future__ import annotations
