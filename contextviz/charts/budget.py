"""Where the tokens went: areas by category, by tool or by file."""

from __future__ import annotations

import html
import math
import posixpath
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from contextviz.charts import palette, words
from contextviz.charts.figure import Figure, layout
from contextviz.charts.topics import plain

View = Literal["category", "tool", "file"]
Measure = Literal["carry", "now"]
VIEWS: tuple[View, ...] = ("category", "tool", "file")
MEASURES: tuple[Measure, ...] = ("carry", "now")
# Areas beyond these are slivers that nobody can read or hit, and each of them is time before the first chart is seen.
MAX_AREAS = 120
OTHERS = "others"
_SIZE = (560, 240)  # of the figure in pixels, on a page of 1,280
_CHARACTER, _LINE = 6.4, 15  # of a label, in pixels
_HEAD = 24  # pixels of a branch's name over its areas
# A branch of a smaller share is one area: its name alone would fill it, and its areas be the ends of lines.
_LEAST = 0.02
REST = "…"  # the analysis' own name for small groups taken together


class Group(Protocol):
    """Items of one category, tool and target, with tokens in the window now and carry over all calls."""

    @property
    def category(self) -> str: ...
    @property
    def tool(self) -> str: ...
    @property
    def target(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def now(self) -> int: ...
    @property
    def carry(self) -> int: ...
    @property
    def note(self) -> str: ...


@dataclass(slots=True)
class Cell:
    """One area: its name, the whole name for its hover label, its tokens, and its category ("" for the residual)."""

    name: str
    title: str
    category: str
    value: int = 0


@dataclass(slots=True)
class Branch:
    """Areas that stand together under a name."""

    name: str
    cells: dict[tuple[str, str], Cell] = field(default_factory=dict)

    @property
    def value(self) -> int:
        """Tokens of all its areas."""
        return sum(cell.value for cell in self.cells.values())

    def add(self, name: str, title: str, category: str, value: int) -> None:
        """Put `value` on the area of this title and category."""
        cell = self.cells.setdefault((title, category), Cell(name, title, category))
        cell.value += value


def branches(groups: Sequence[Group], view: View, measure: Measure, most: int = MAX_AREAS) -> list[Branch]:
    """The areas of a view, largest first; those beyond `most` nodes are one area of each branch."""
    found: dict[str, Branch] = {}
    for group in groups:
        value = group.carry if measure == "carry" else group.now
        if value <= 0:
            continue
        under, name, title = _place(group, view)
        found.setdefault(under, Branch(under)).add(name, title, group.category, value)
    ordered = sorted(found.values(), key=lambda branch: (-branch.value, branch.name))
    ordered = _few(ordered, max(1, most // 4))
    _shorten(ordered, most)
    return ordered


def _few(ordered: list[Branch], most: int) -> list[Branch]:
    """The largest branches; the others are one more, with an area for each."""
    if len(ordered) <= most:
        return ordered
    rest = Branch(OTHERS)
    for branch in ordered[most - 1 :]:
        for cell in branch.cells.values():
            rest.add(branch.name, branch.name, cell.category, cell.value)
    return [*ordered[: most - 1], rest]


def _place(group: Group, view: View) -> tuple[str, str, str]:
    """Branch, name and whole name of a group's area."""
    category = palette.category(group.category).name
    is_file = group.kind == "file"
    target = OTHERS if group.target == REST else group.target
    short = posixpath.basename(target) if is_file else target
    if view == "category":
        if not group.tool:
            return category, group.note or target or category, group.note or target or category
        if is_file or group.kind == "command":
            return category, short or group.tool, f"{group.tool}: {target}" if target else group.tool
        return category, group.tool, group.tool
    if view == "tool":
        if not group.tool:
            return "No tool", category, f"{category}, {group.note}" if group.note else category
        return group.tool, short or category, target or category
    if not is_file:
        return "No file", group.tool or category, group.tool or category
    return posixpath.dirname(target) or "./", short, target


def _shorten(ordered: Sequence[Branch], most: int) -> None:
    room = most - len(ordered) * 2
    count = sum(len(branch.cells) for branch in ordered)
    if count <= room:
        return
    sizes = sorted((cell.value for branch in ordered for cell in branch.cells.values()), reverse=True)
    least = sizes[max(room, 1) - 1]
    for branch in ordered:
        small = [key for key, cell in branch.cells.items() if cell.value <= least]
        for key in small:
            cell = branch.cells.pop(key)
            branch.add(OTHERS, OTHERS, cell.category, cell.value)


def treemap(groups: Sequence[Group], view: View, measure: Measure, residual: int | None = None) -> Figure:
    """The figure of a view, at most MAX_AREAS areas. A positive residual has one, a negative one only its number."""
    found = branches(groups, view, measure)
    sentence = summary(found, view, measure, residual)
    parts = sum(branch.value for branch in found)
    total = parts + (residual or 0)  # what was reported: the shares are of it, as in the table beside the figure
    if residual is not None and residual > 0:
        found.append(Branch("Residual", {("", ""): Cell("Residual", "Residual", "", residual)}))
    drawn = max(parts, total)
    nodes = [
        node
        for number, branch in enumerate(found)
        for node in _nodes(number, branch if branch.value >= _LEAST * drawn else _whole(branch))
    ]
    marker = {
        "colors": [node["colour"] for node in nodes],
        "line": {"width": 0},
        "pad": {"t": _HEAD, "l": 0, "r": 0, "b": 0},
        "pattern": {"shape": [node["shape"] for node in nodes], "fgcolor": palette.SURFACE, "size": 5, "solidity": 0.4},
    }
    trace: dict[str, Any] = {
        "type": "treemap",
        "ids": [node["id"] for node in nodes],
        "labels": [_wrapped(node["name"], node["value"] / drawn if node["is_cell"] else 1.0) for node in nodes],
        "parents": [node["parent"] for node in nodes],
        "values": [node["value"] for node in nodes],
        "text": [words.compact(node["value"]) for node in nodes],
        "hovertext": [_hover(node, total) for node in nodes],
        "branchvalues": "total",
        "texttemplate": "%{label}<br>%{text}",
        "hovertemplate": "%{hovertext}<extra></extra>",
        "textposition": "top left",
        "textfont": {"size": 11, "color": [node["ink"] for node in nodes]},
        "tiling": {"packing": "squarify", "pad": 1.5},
        "pathbar": {"visible": False},
        "root": {"color": "rgba(0,0,0,0)"},
        "marker": marker,
        "sort": True,
    }
    return {
        "data": [trace] if nodes else [],
        "layout": layout(sentence, (4, 16, 8, 16), uniformtext={"minsize": 10, "mode": "hide"}),
    }


def summary(found: Sequence[Branch], view: View, measure: Measure, residual: int | None) -> str:
    """One sentence: the total, the largest branch with its share of it, and how parts and residual make the total."""
    if not found:
        return "What the windows held is not known."
    parts = sum(branch.value for branch in found)
    total = parts + (residual or 0)
    what = "tokens × calls" if measure == "carry" else "tokens"
    largest = max(found, key=lambda branch: branch.value)
    end = ""
    if residual:
        sign = words.MINUS if residual < 0 else "+"
        end = f": parts {words.tokens(parts)} {sign} residual {words.tokens(abs(residual))} = {words.tokens(total)}"
    share = words.percent(largest.value / total) if total > 0 else words.UNKNOWN
    return f"{words.compact(total)} {what} by {view}, most in {plain(largest.name)} ({share}){end}."


def _whole(branch: Branch) -> Branch:
    """A small branch as one area, in its category's colour where it has one; its hover label counts what it holds."""
    if len(branch.cells) < 2:
        return branch
    held = {cell.category for cell in branch.cells.values()}
    category = held.pop() if len(held) == 1 else ""
    title = f"{branch.name}, {len(branch.cells):,} together"
    return Branch(branch.name, {(title, category): Cell(branch.name, title, category, branch.value)})


def _nodes(number: int, branch: Branch) -> list[dict[str, Any]]:
    cells = list(branch.cells.values())
    if len(cells) == 1:
        # One area alone stands for its branch.
        name = branch.name if branch.name != "No file" else cells[0].name
        return [_node(f"{number}", "", name, cells[0].title, cells[0])]
    found = [_node(f"{number}/{place}", f"{number}", cell.name, cell.title, cell) for place, cell in enumerate(cells)]
    head = Cell(branch.name, branch.name, "", branch.value)
    own = _node(f"{number}", "", branch.name, branch.name, head)
    return [own | {"colour": palette.SURFACE, "is_cell": False}, *found]


def _node(key: str, parent: str, name: str, title: str, cell: Cell) -> dict[str, Any]:
    found = palette.category(cell.category) if cell.category else None
    return {
        "id": key,
        "parent": parent,
        "name": plain(name, 28),
        "title": plain(title, 120) if title != cell.category else "",
        "value": cell.value,
        "is_cell": True,
        "colour": found.colour if found else palette.RULE_2,
        "ink": f"var(--on-{found.key})" if found and found.key in palette.BY_KEY else palette.INK,
        "shape": "/" if found and found.shape == "hatch" else "",
        "category": found.name if found else "",
    }


def _wrapped(name: str, share: float) -> str:
    """A name in lines that an area of this share of the figure has room for, if it is nearly square; else in one."""
    side = 0.85 * math.sqrt(share * _SIZE[0] * _SIZE[1])
    lines = textwrap.wrap(html.unescape(name), max(int(side / _CHARACTER), 6), break_long_words=False)
    fits = (len(lines) + 1) * _LINE <= side and all(len(line) * _CHARACTER <= side for line in lines)
    return "<br>".join(html.escape(line, quote=False) for line in lines) if len(lines) > 1 and fits else name


def _hover(node: dict[str, Any], total: int) -> str:
    first = f"<b>{node['title'] or node['name']}</b>"
    share = words.percent(node["value"] / total) if total > 0 else words.UNKNOWN
    kind = f"<br>{node['category']}" if node["category"] and node["category"] != node["title"] else ""
    return f"{first}{kind}<br>{words.tokens(node['value'])} tok, {share}"
