"""What a request for a summary holds beside its items: not what the agent's own requests hold.

The baseline of an agent is derived from its turns. A summariser's request often has a system prompt of its own and no
tools, so that baseline is never taken for it: what is known not to be sent counts nothing, the rest is unknown.
"""

from __future__ import annotations

from collections.abc import Mapping

from contextviz.analysis.composition.calibration import Calibration, Key, Unlogged
from contextviz.events.session import Transcript

# Formats whose client asks for its summaries itself, with the agent's base instructions and without any tool (Codex).
WITHOUT_TOOLS = frozenset({"codex"})
NO_TOOLS = "A request for a summary: the tool definitions are not sent with it."
NOT_KNOWN = "A request for a summary: which system prompt and tool definitions are sent with it is not known."
LESS_TOOLS: Mapping[Unlogged, Unlogged] = {"both": "system", "tools": "none", "system": "system", "none": "none"}


def without_tools(transcript: Transcript) -> frozenset[int]:
    """The calls, by index, that are known to be sent without tool definitions.

    Where the provider made the summary, and only it can read it, what it was sent is not known.
    """
    if transcript.session.format not in WITHOUT_TOOLS:
        return frozenset()
    by_provider: set[int] = set()
    for one in transcript.compactions:
        if one.summary is None and one.before_call is not None:
            end = len(transcript.calls) if one.after_call is None else one.after_call
            by_provider.update(range(one.before_call + 1, end))
    return frozenset(
        call.index for call in transcript.calls if call.purpose == "summary" and call.index not in by_provider
    )


def summary_rates(rates: Mapping[Key, Calibration]) -> dict[str | None, Calibration]:
    """For each model the scale of its turns, without the baseline of any."""
    found: dict[str | None, Calibration] = {}
    for (_, model, _), rate in rates.items():
        found.setdefault(model, Calibration(rate.scale, rate.scale_basis))
    return found
