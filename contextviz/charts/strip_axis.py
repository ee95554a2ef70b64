"""What stands around the strip's areas: its table, labels, ticks and lines."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, Protocol

from contextviz.charts import palette, words
from contextviz.charts.figure import label, nice_step

FAR = 2.0  # limits so many times above what was used are said and not drawn: nothing of the use would be seen
_NEAR = 0.045  # of the width: labels closer than this would touch


class Mark(Protocol):
    """One compaction of the strip; calls are numbers from 1, `kind` as in events ("summary" has a number)."""

    @property
    def number(self) -> int: ...
    @property
    def before_call(self) -> int | None: ...
    @property
    def after_call(self) -> int | None: ...
    @property
    def kind(self) -> str: ...
    @property
    def tokens_before(self) -> int | None: ...
    @property
    def tokens_after(self) -> int | None: ...


class StripTable(Protocol):
    """Columns of equal length, one entry a call; None is unknown. Known categories + residual = reported.

    `agent` is the sub-agent whose calls these are, `reduced_from` how many rows there were before some were left out
    (None: these are all).
    """

    @property
    def agent(self) -> str | None: ...
    @property
    def reduced_from(self) -> int | None: ...
    @property
    def calls(self) -> Sequence[int]: ...
    @property
    def categories(self) -> Mapping[Any, Sequence[int | None]]: ...
    @property
    def reported(self) -> Sequence[int | None]: ...
    @property
    def residual(self) -> Sequence[int | None]: ...
    @property
    def window(self) -> Sequence[int | None]: ...
    @property
    def cache_read(self) -> Sequence[int | None]: ...
    @property
    def threshold(self) -> int | None: ...
    @property
    def compactions(self) -> Sequence[Mark]: ...


def place(mark: Mark) -> int | None:
    """The call number at whose start a compaction stands: the first call after it."""
    if mark.after_call is not None:
        return mark.after_call
    return None if mark.before_call is None else mark.before_call + 1


class CallAxis:
    """Where calls stand: at their numbers. Those of a sub-agent with calls of others between them stand side by side,
    each with its own number under it: an axis of numbers would give it calls that it did not make."""

    def __init__(self, table: StripTable) -> None:
        calls = table.calls
        # What was left out of a reduced table is no gap.
        self._has_gaps = table.reduced_from is None and any(after - one > 1 for one, after in pairwise(calls))
        self._calls = calls
        self.is_even = table.agent is not None and self._has_gaps
        self.x: Sequence[int] = range(1, len(calls) + 1) if self.is_even else calls
        self.first, self.last = self.x[0], self.x[-1] + 1

    @property
    def own(self) -> Sequence[int] | None:
        """The calls that there are, where the numbers between the first and the last do not all belong to it."""
        return self._calls if self._has_gaps else None

    def at(self, call: int) -> int:
        """Where the start of a call stands."""
        return bisect_left(self._calls, call) + 1 if self.is_even else call

    def ticks(self, taken: Sequence[float]) -> list[tuple[float, str]]:
        """Numbers of calls that there are, under the axis; `taken` as for `ticks`."""
        found = ticks(self.first, self.last, taken)
        if self.is_even:
            numbers = [(x, self._calls[int(x) - 1]) for x, _ in found]
            return [(x, f"call {call:,}" if x == self.first else f"{call:,}") for x, call in numbers]
        known = set(self.own or ())
        return [one for one in found if one[0] in known] if known else found


def scale(used: float, limits: Iterable[int | None]) -> float:
    """The top of a scale of tokens: up to the limits (windows, thresholds), but for those more than FAR times above
    the largest use."""
    near = [limit for limit in limits if limit and limit <= FAR * used]
    return float(max(used, *near) * 1.04 if near else max(used, 1) * 1.2)


def far_above(top: float, **limits: int | None) -> str:
    """Which limits a scale up to `top` leaves out: "window 200.0 k and threshold 167.0 k far above"; "" for none."""
    found = [f"{name} {words.compact(limit)}" for name, limit in limits.items() if limit and limit > top]
    return f"{words.listed(found)} far above" if found else ""


def far_label(text: str) -> list[dict[str, Any]]:
    """What `far_above` says, over the areas at the left; nothing for ""."""
    place = {"x": 0, "xref": "paper", "xanchor": "left", "y": 1, "yref": "paper", "yanchor": "bottom"}
    return [label(f"↑ {text}", **place, yshift=-2, align="left", name="far")] if text else []


def compaction_labels(marks: Sequence[Mark], on: CallAxis) -> tuple[list[dict[str, Any]], list[float]]:
    """⟳n under the axis where there is room, and where one stands."""
    labels: list[dict[str, Any]] = []
    taken: list[float] = []
    for mark in marks:
        at = place(mark)
        call = None if at is None else on.at(at)
        if call is None or any(abs(call - other) < _NEAR / 1.6 * (on.last - on.first) for other in taken):
            continue
        text = f"<b>⟳{mark.number}</b>" if mark.kind == "summary" else mark.kind
        font = {"size": 11, "color": palette.ORANGE_INK}
        labels.append(label(text, x=call, y=0, yref="paper", yanchor="top", yshift=1, font=font, name="compaction"))
        taken.append(call)
    return labels, taken


def ticks(first: int, last: int, taken: Sequence[float]) -> list[tuple[float, str]]:
    """Call numbers under the axis: the first, the last, and round ones that touch no other label."""
    near = _NEAR * (last - first)
    step = max(int(nice_step(last - first, 9)), 1)
    end = last - 1
    found: list[tuple[float, str]] = [(first, f"call {first:,}")]
    if end - first >= 1 and all(abs(end - other) >= near for other in taken):
        found.append((end, f"{end:,}"))
    for call in range(step * (first // step + 1), end, step):
        if min(abs(call - other) for other in (*taken, end, first + near / 2)) >= near:
            found.append((call, f"{call:,}"))
    return sorted(found)


def values(window: int | None, top: float) -> dict[str, Any]:
    """Two or three token values beside the axis: halves of the window, or round ones where it is unknown or far."""
    step = window / 2 if window and window <= top else nice_step(top, 2)
    values = [step * count for count in range(int(top / step) + 1)][:4]
    return {"tickvals": values, "ticktext": words.axis_ticks(values)}


def threshold(threshold: int) -> dict[str, Any]:
    """The dashed line of the session's own threshold."""
    line = {"width": 1, "color": palette.INK_2, "dash": "4px,3px"}
    return {
        "type": "line",
        "xref": "paper",
        "x0": 0,
        "x1": 1,
        "y0": threshold,
        "y1": threshold,
        "line": line,
        "name": "threshold",
    }


def edges(table: StripTable, window: int | None, top: float) -> list[dict[str, Any]]:
    """Direct labels at the right edge: window, threshold, share of the prompt tokens read from the cache."""

    def edge(text: str, y: float, yref: str, shift: int) -> dict[str, Any]:
        return label(
            text,
            x=1,
            xref="paper",
            xanchor="left",
            xshift=8,
            y=y,
            yref=yref,
            yanchor="middle",
            yshift=shift,
            name="edge",
        )

    found: list[dict[str, Any]] = []
    close = window is not None and table.threshold is not None and abs(window - table.threshold) < 0.26 * top
    if window is not None and window <= top:
        found.append(edge("window", window, "y", 3 if close else 0))
    if table.threshold is not None and table.threshold <= top:
        text = f"auto {words.percent(table.threshold / window)}" if window else "threshold"
        found.append(edge(text, table.threshold, "y", -5 if close else 0))
    pairs = [(c, r) for c, r in zip(table.cache_read, table.reported, strict=True) if c is not None and r]
    if pairs:
        share = sum(c for c, _ in pairs) / sum(r for _, r in pairs)
        read = edge(f"cache {words.percent(min(share, 1.0))}", 0.5, "y2", 0)
        of = f"of the prompts of the {words.counted(len(pairs), 'call')} drawn here that say it"
        found.append(read | {"hovertext": f"Read from the cache, {of}"})
    return found
