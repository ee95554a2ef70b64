"""The context window of a session whose source does not report one."""

from __future__ import annotations

from contextviz.events.session import Transcript
from contextviz.tokens.windows import window_of


def fill_window(transcript: Transcript) -> None:
    """Set Session.window from our table, basis "table", where neither the source nor an index gives one."""
    session = transcript.session
    if session.window is not None or any(call.window for call in transcript.calls):
        return
    prompts = [call.usage.prompt_tokens or 0 for call in transcript.calls]
    model = next((call.model for call in reversed(transcript.calls) if call.model), session.model)
    session.window = window_of(model, largest_prompt=max(prompts, default=None))
    session.window_basis = "table" if session.window else None
