"""The last window against its limits, and how many calls fit in what is left."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from contextviz.analysis.budget.tables import Headroom
from contextviz.analysis.composition import Composition
from contextviz.events.call import ModelCall

LOOKED_AT = 50
LEAST_GROWTHS = 4


def headroom(
    turns: Sequence[ModelCall], compositions: Sequence[Composition], window: int | None, threshold: int | None
) -> Headroom | None:
    """The headroom after the last of `turns`; None without a call whose size is known.

    `window` and `threshold` are the session's, in tokens; a call's own window goes before.
    """
    sized = ((call, compositions[call.index]) for call in turns)
    known = [(call, row) for call, row in sized if row.reported is not None or row.known]
    if not known:
        return None
    totals = [row.total for _, row in known]
    last, row = known[-1]
    peak = max(range(len(totals)), key=totals.__getitem__)
    limits = [call.window or window for call, _ in known]
    over = [total > one for one, total in zip(limits, totals, strict=True) if one is not None]
    low, high = _growth(totals)
    return Headroom(
        call=last.index + 1,
        tokens=totals[-1],
        is_reported=row.reported is not None,
        window=last.window or window,
        threshold=threshold,
        peak=totals[peak],
        peak_call=known[peak][0].index + 1,
        mean=sum(totals) / len(totals),
        over_window=sum(over) if over else None,
        over_threshold=sum(total > threshold for total in totals) if threshold is not None else None,
        growth_low=low,
        growth_high=high,
    )


def _growth(totals: Sequence[int]) -> tuple[int | None, int | None]:
    """The lower and the upper quartile of growth a call, since the window last shrank."""
    growths: list[int] = []
    for after, before in pairwise(reversed(totals)):
        if after < before or len(growths) >= LOOKED_AT:
            break
        growths.append(after - before)
    growths.sort()
    if len(growths) < LEAST_GROWTHS:
        return None, None
    return growths[len(growths) // 4], growths[(3 * len(growths)) // 4]
