"""From estimated to reported tokens: a scale for each model, and what the transcript does not log."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Literal

from contextviz.analysis.composition.categories import Category
from contextviz.events.frozen import frozen

Unlogged = Literal["both", "system", "tools", "none"]
ScaleBasis = Literal["derived", "estimated"]
SCALE_LIMITS = (0.5, 2.5)
LEAST_SLOPES = 3
# Smaller steps are mostly framing tokens and rounding, and say little about a tokenizer.
LEAST_STEP_TOKENS = 40


@frozen
class Sample:
    """One call for calibration: what was reported, what its window is estimated at, and what it lacks.

    `grew` is whether the window kept the whole previous one, so that the two differ by known items only.
    """

    agent: str | None
    model: str | None
    reported: int
    estimated: int
    unlogged: Unlogged
    grew: bool


@frozen
class Calibration:
    """How estimates of one agent's windows by one model become window tokens.

    `scale` multiplies every estimate ("derived" from reported prompts, else 1 and "estimated"). `baseline` is
    the system prompt and tool definitions that no record holds, in tokens; None where it cannot be derived.
    """

    scale: float = 1.0
    scale_basis: ScaleBasis = "estimated"
    baseline: int | None = None
    baseline_category: Category | None = None
    note: str | None = None


Key = tuple[str | None, str | None, Unlogged]


def calibrate(samples: Iterable[Sample]) -> dict[Key, Calibration]:
    """A calibration for each (agent, model, what is not logged).

    The scale is the model's: the median, weighted by size, of reported over estimated growth from call to call
    without a compaction in between, and of the plain ratio where a window logs everything. The baseline is
    the agent's: its first reported prompt minus the scaled estimate (formats.md trap 33).
    """
    known = list(samples)
    scales = _scales(known)
    result: dict[Key, Calibration] = {}
    for sample in known:
        key = (sample.agent, sample.model, sample.unlogged)
        if key not in result:
            result[key] = _calibration(sample, scales.get(sample.model))
    return result


def _scales(samples: list[Sample]) -> dict[str | None, float]:
    slopes: dict[str | None, list[tuple[float, int]]] = defaultdict(list)
    before: dict[tuple[str | None, str | None], Sample] = {}
    for sample in samples:
        last = before.get((sample.agent, sample.model))
        before[(sample.agent, sample.model)] = sample
        if sample.unlogged == "none" and sample.estimated >= LEAST_STEP_TOKENS:
            slopes[sample.model].append((sample.reported / sample.estimated, sample.estimated))
        elif last is not None and sample.grew and last.unlogged == sample.unlogged:
            # Single steps: where a client shrinks its system prompt in mid-session, one step is off and not all later.
            step = sample.estimated - last.estimated
            if step >= LEAST_STEP_TOKENS and sample.reported > last.reported:
                slopes[sample.model].append(((sample.reported - last.reported) / step, step))
    return {model: _weighted_median(found) for model, found in slopes.items() if len(found) >= LEAST_SLOPES}


def _weighted_median(pairs: list[tuple[float, int]]) -> float:
    half = sum(weight for _, weight in pairs) / 2
    running = 0
    for value, weight in sorted(pairs):
        running += weight
        if running >= half:
            return value
    raise ValueError("a median of nothing")


def _calibration(first: Sample, slope: float | None) -> Calibration:
    notes = []
    scale = 1.0
    if slope is None:
        notes.append("Too few reported prompts to compare with; estimates are shown as they are.")
    else:
        scale = min(max(slope, SCALE_LIMITS[0]), SCALE_LIMITS[1])
        if scale != slope:
            notes.append(f"Reported growth is {slope:.2f} times the estimate; the scale is held at {scale}.")
    basis: ScaleBasis = "estimated" if slope is None else "derived"
    if first.unlogged == "none":
        return Calibration(scale, basis, None, None, " ".join(notes) or None)
    rest = first.reported - round(first.estimated * scale)
    if rest < 0:
        notes.append("The first window is estimated larger than reported, so nothing is left for what is not logged.")
    else:
        notes.append(_NOT_LOGGED[first.unlogged])
    category: Category = "tools" if first.unlogged == "tools" else "system"
    return Calibration(scale, basis, max(rest, 0), category, " ".join(notes))


_NOT_LOGGED: dict[Unlogged, str] = {
    "both": "System prompt and tool definitions are not logged; together they are the first prompt's remainder.",
    "system": "The system prompt is not logged; it is the first prompt's remainder.",
    "tools": "The tool definitions are not logged; they are the first prompt's remainder.",
    "none": "",
}
