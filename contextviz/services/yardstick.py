"""What a replay is measured against, worked out once from the session: what its calls needed, and its answers.

Engines run and analysis measures; neither knows the other, so they meet here. Nothing of Django's is used: the command
`replay` works without a database.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from contextviz.analysis.replay import (
    CallOutput,
    HistoryMessage,
    Needs,
    SummaryCalls,
    answer_to,
    foreknown,
    history_of,
    needs_of,
)
from contextviz.engines.material import Material
from contextviz.events.run import Run
from contextviz.events.session import Transcript
from contextviz.events.text import TextRef
from contextviz.tokens.estimators import ESTIMATORS

RECORDED = "recorded"  # the id of the engine that gives the session's own windows


@dataclass(frozen=True, slots=True)
class Yardstick:
    """The session's own messages as analysis reads them, what each call needed of them, the recorded answers, and how
    often the session asked a summariser (for a run of what was recorded)."""

    history: list[HistoryMessage]
    needs: Needs
    outputs: list[CallOutput]
    summaries: SummaryCalls

    def summaries_of(self, run: Run) -> SummaryCalls | None:
        """The recorded summariser calls where `run` is what was recorded, None for a replay by an engine's own rule."""
        return self.summaries if run.engine == RECORDED else None


def yardstick(transcript: Transcript, material: Material, *, estimator: str, counted_by: str) -> Yardstick:
    """What a run is held against, counted by `estimator`; each text is read once.

    `counted_by` is the estimator of the pool that made the references: where it is the same, its counts are taken.
    """
    history = history_of(material.messages, _counter(estimator, counted_by))
    points = [point.messages for point in material.points]
    needs = needs_of(history, points, root=transcript.session.cwd)
    return Yardstick(history, needs, _outputs(transcript, material, history, points), _summaries(transcript))


def summary_calls(calls: int, summaries: int) -> SummaryCalls:
    """What a session says of its summariser: its recorded `calls`; unknown where it holds `summaries` and none of the
    calls that made them."""
    if calls or not summaries:
        return SummaryCalls(calls, "The session's own calls for a summary.")
    return SummaryCalls(None, "The session holds summaries, and its format does not write the calls that made them.")


def _summaries(transcript: Transcript) -> SummaryCalls:
    """Of the main chain, as a replay is."""
    own = [one for one in transcript.calls if one.agent is None and one.on_active_path and one.purpose == "summary"]
    made = [one for one in transcript.compactions if one.agent is None and one.on_active_path and one.kind == "summary"]
    return summary_calls(len(own), len(made))


def with_foreknowledge(material: Material, known: Yardstick) -> Material:
    """The material for the control that knows what each call will need, and which messages hold it."""
    by_call, holds = foreknown(known.history, known.needs, len(material.points))
    return replace(material, needs=by_call, holds=holds)


def _counter(estimator: str, counted_by: str) -> Callable[[str, TextRef | None], int]:
    count = ESTIMATORS[estimator]
    known: dict[str, int] = {}

    def tokens(text: str, ref: TextRef | None) -> int:
        if ref is not None and estimator == counted_by:
            return ref.estimated_tokens
        if text not in known:
            known[text] = count(text)
        return known[text]

    return tokens


def _outputs(
    transcript: Transcript, material: Material, history: Sequence[HistoryMessage], points: Sequence[int]
) -> list[CallOutput]:
    """The recorded answers by call: as the provider counted them, else estimated, else unknown."""
    found = []
    for number, point in enumerate(material.points):
        call = transcript.calls[point.model_call] if point.model_call is not None else None
        model = (call.model if call else None) or material.model
        if call is not None and call.usage.output_tokens is not None:
            found.append(CallOutput(call.usage.output_tokens, call.basis == "reported", model))
            continue
        answer = answer_to(history, points, number)
        found.append(CallOutput(sum(one.tokens for one in answer) if answer else None, False, model))
    return found
