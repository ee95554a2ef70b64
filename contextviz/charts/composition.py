"""Composition by category: one window, or two beside each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from contextviz.charts import palette, words
from contextviz.charts.figure import Figure, array, axis, layout


class Row(Protocol):
    """Tokens of one category at A and at B; None is unknown."""

    @property
    def key(self) -> str: ...
    @property
    def a(self) -> int | None: ...
    @property
    def b(self) -> int | None: ...


@dataclass(frozen=True, slots=True)
class Laid:
    """A window's parts laid one on the other up to the reported prompt, in the order they were given.

    `within` end at the report, `beyond` is what of each hangs over it, `rest` what the report has above them all (0
    where it has less). Σ within + rest = reported, and Σ beyond is a negative residual. Without a report all parts are
    within. None stays None.
    """

    within: list[int | None]
    beyond: list[int]
    rest: int

    @property
    def over(self) -> int:
        """By how much the parts come to more than was reported."""
        return sum(self.beyond)

    @property
    def top(self) -> int:
        """Where what is drawn ends."""
        return sum(one or 0 for one in self.within) + self.rest + self.over


def laid(parts: Sequence[int | None], reported: int | None) -> Laid:
    """`parts` against the reported prompt; where none was reported nothing hangs over."""
    if reported is None:
        return Laid(list(parts), [0] * len(parts), 0)
    within: list[int | None] = []
    beyond: list[int] = []
    room = max(reported, 0)
    for part in parts:
        inside = None if part is None else min(part, room)
        within.append(inside)
        beyond.append((part or 0) - (inside or 0))
        room -= inside or 0
    return Laid(within, beyond, room)


def figure(rows: Sequence[Row], residual: int | None = None) -> Figure:
    """Horizontal bars in stack order from the top, B in its colour, A as its outline. All categories stay listed."""
    names = [palette.category(row.key).name for row in rows]
    colours = [palette.category(row.key).colour for row in rows]
    two = any(row.a is not None for row in rows)
    data: list[dict[str, Any]] = []
    if two:
        outline = {"color": "rgba(0,0,0,0)", "line": {"color": palette.CTL, "width": 1}}
        data.append(_bars("A", names, [row.a for row in rows], outline))
    pattern = {"shape": ["/" if palette.category(row.key).shape == "hatch" else "" for row in rows], "size": 4}
    data.append(_bars("B", names, [row.b for row in rows], {"color": colours, "pattern": pattern}))
    return {
        "data": data,
        "layout": layout(
            summary(rows, residual),
            (4, 56, 4, 120),
            barmode="group",
            bargap=0.3,
            xaxis=axis(rangemode="tozero", showticklabels=False),
            yaxis=axis(autorange="reversed", tickfont={"size": 11, "color": palette.INK}),
        ),
    }


def summary(rows: Sequence[Row], residual: int | None) -> str:
    """One sentence: the sum at B, the largest category, and the signed residual."""
    known = [(row.b, palette.category(row.key).name) for row in rows if row.b is not None]
    if not known:
        return "The composition is unknown."
    size, name = max(known)
    total = sum(value for value, _ in known)
    return (
        f"{words.tokens(total)} tokens in known categories, most in {name.lower()} ({words.tokens(size)}); "
        f"residual {words.signed(residual)}."
    )


def _bars(name: str, names: list[str], values: list[int | None], marker: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "bar",
        "orientation": "h",
        "name": name,
        "y": names,
        "x": array(values),
        "marker": marker,
        "text": [words.compact(value) for value in values],
        "textposition": "outside",
        "cliponaxis": False,
        "hovertemplate": "%{y} at " + name + ": %{x:,.0f} tokens<extra></extra>",
    }
