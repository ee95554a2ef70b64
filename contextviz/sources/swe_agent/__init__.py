"""SWE-agent's and mini-swe-agent's trajectories (formats.md D)."""

from __future__ import annotations

from contextviz.sources.swe_agent.reader import SweAgentReader

__all__ = ["SweAgentReader"]
