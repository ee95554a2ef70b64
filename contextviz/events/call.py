"""Model calls: one request to a model and its answer."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from contextviz.events.usage import TokenUsage

Purpose = Literal["turn", "summary", "branch_summary"]
UsageBasis = Literal["reported", "estimated", "unknown"]


@dataclass(slots=True)
class ModelCall:
    """One model answer with real usage. Errors, aborted answers and synthetic rows are not calls.

    `id` is what per_call shows, `response_id` the provider's id as written. `purpose` is "summary" for a
    summariser's call whose usage the client writes. `basis` says where the usage comes from. `window` is the
    context window in tokens where the source reports it for this call.
    """

    index: int
    id: str | None
    response_id: str | None
    at: datetime | None
    model: str | None
    usage: TokenUsage
    agent: str | None = None
    purpose: Purpose = "turn"
    basis: UsageBasis = "reported"
    window: int | None = None
    message_index: int | None = None
    entry: str | None = None
    line: int | None = None
    on_active_path: bool = True
