"""OpenVole: paw-session transcripts with the log beside them (formats.md E.3 and I, engines.md 2)."""

from __future__ import annotations

from contextviz.sources.openvole.reader import OpenVoleReader

__all__ = ["OpenVoleReader"]
