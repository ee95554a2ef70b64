"""What stands around the strip's areas: its table, labels, ticks and lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from contextviz.charts import palette, words
from contextviz.charts.figure import label, nice_step

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
    """Columns of equal length, one entry a call; None is unknown. Known categories + residual = reported."""

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


def compaction_labels(marks: Sequence[Mark], first: int, last: int) -> tuple[list[dict[str, Any]], list[float]]:
    """⟳n under the axis where there is room, and the calls where one stands."""
    labels: list[dict[str, Any]] = []
    taken: list[float] = []
    for mark in marks:
        call = place(mark)
        if call is None or any(abs(call - other) < _NEAR / 1.6 * (last - first) for other in taken):
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
    """Two or three token values beside the axis: halves of the window, or round ones when it is unknown."""
    step = window / 2 if window else nice_step(top, 2)
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

    found = []
    close = window is not None and table.threshold is not None and abs(window - table.threshold) < 0.26 * top
    if window is not None:
        found.append(edge("window", window, "y", 3 if close else 0))
    if table.threshold is not None:
        text = f"auto {words.percent(table.threshold / window)}" if window else "threshold"
        found.append(edge(text, table.threshold, "y", -5 if close else 0))
    pairs = [(c, r) for c, r in zip(table.cache_read, table.reported, strict=True) if c is not None and r]
    if pairs:
        share = sum(c for c, _ in pairs) / sum(r for _, r in pairs)
        found.append(edge(f"cache {words.percent(min(share, 1.0))}", 0.5, "y2", 0))
    return found
