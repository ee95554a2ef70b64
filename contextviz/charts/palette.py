"""Which CSS variable stands for what. Figures name variables; the browser resolves them when it draws."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Shape = Literal["square", "diamond", "circle", "hatch", "triangle"]


@dataclass(frozen=True, slots=True)
class Category:
    """One of the eleven categories of a window: its key, its words, and the shape of its swatch (the second cue)."""

    key: str
    name: str
    shape: Shape = "square"

    @property
    def colour(self) -> str:
        """The CSS variable, as a value that a figure may hold."""
        return f"var(--c-{self.key})"


# In the order of the window, from the bottom of a stack.
CATEGORIES: tuple[Category, ...] = (
    Category("system", "System prompt"),
    Category("tools", "Tool definitions"),
    Category("memory", "Recalled memory"),
    Category("summary", "Summaries", "diamond"),
    Category("user", "User", "circle"),
    Category("assistant", "Assistant"),
    Category("thinking", "Thinking"),
    Category("call", "Tool calls"),
    Category("result", "Tool results"),
    Category("stub", "Placeholders", "hatch"),
    Category("error", "Errors", "triangle"),
)
BY_KEY: dict[str, Category] = {category.key: category for category in CATEGORIES}

SURFACE = "var(--surface)"
INSET = "var(--inset)"
INK = "var(--ink)"
INK_2 = "var(--ink-2)"
INK_3 = "var(--ink-3)"
GRID = "var(--grid)"
CTL = "var(--ctl)"
RULE = "var(--rule)"
RULE_2 = "var(--rule-2)"
ORANGE = "var(--orange)"
ORANGE_INK = "var(--orange-ink)"
ORANGE_WASH = "var(--orange-wash)"
LOST = "var(--lost)"
STALE = "var(--stale)"
SELECTED = "var(--selected)"
LANES: tuple[str, ...] = tuple(f"var(--lane-{number})" for number in range(1, 7))


def category(key: str) -> Category:
    """The category of this key; one nobody has named yet keeps its key as its name, in the grey of the system."""
    return BY_KEY.get(key) or Category(key, key.replace("_", " ").capitalize())


def lane(position: int) -> str:
    """The colour variable of the lane at this position (0-based); the sixth is for what has no topic."""
    return LANES[position % (len(LANES) - 1)]
