"""Agents' configurations beside their sessions: what shapes the window, by an allow-list, and nothing else."""

from __future__ import annotations

from contextviz.sources.configuration.reader import ConfigurationReader

__all__ = ["ConfigurationReader"]
