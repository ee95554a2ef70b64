"""A summariser that gives what the session's own client had written, so that only the engine's rule differs."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from contextviz.engines.material import RecordedSummary
from contextviz.engines.settings import Value
from contextviz.engines.summaries import Summariser, SummaryRequest
from contextviz.engines.summarising.notes import Notes


class RecordedSummaries:
    """The recorded summary whose boundary is nearest to where the replay is (the earlier of two that are equally near).

    `fallbacks` counts the summaries for which none was recorded and `otherwise` (notes) stood in.
    """

    id = "recorded"

    def __init__(self, summaries: Sequence[RecordedSummary], otherwise: Summariser | None = None) -> None:
        told = sorted((one for one in summaries if one.text.strip()), key=lambda one: one.messages)
        self._summaries = told
        self._places = [one.messages for one in told]
        self._otherwise = otherwise if otherwise is not None else Notes()
        self.fallbacks = 0

    @property
    def settings(self) -> dict[str, Value]:
        """How many summaries were recorded, and what stands in where there are none."""
        return {"recorded": len(self._summaries), "otherwise": self._otherwise.id}

    def __call__(self, request: SummaryRequest) -> str:
        """See the class."""
        if not self._summaries:
            self.fallbacks += 1
            return self._otherwise(request)
        at = bisect_left(self._places, request.messages)
        near = self._summaries[max(0, at - 1) : at + 1]
        return min(near, key=lambda one: abs(one.messages - request.messages)).text
