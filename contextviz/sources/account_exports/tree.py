"""A conversation as a tree of entries: their order, the path that is shown, and what hangs in the air."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from contextviz.events.message import Block, Role
from contextviz.events.session import TreeFacts
from contextviz.events.times import instant


@dataclass(slots=True)
class Step:
    """What one model call gave: the blocks of its entry from `start` on. `time` is written as in the source."""

    start: int
    time: Any = None


@dataclass(slots=True)
class Entry:
    """One node of a conversation. `blocks` None: it holds no message (the root of ChatGPT's trees). `steps` are the
    model's calls in it, none for what the model did not write; `is_sent` says whether later calls are given it."""

    id: str
    parent: str | None
    role: Role = "system"
    native_role: str = ""
    blocks: tuple[Block, ...] | None = None
    time: Any = None
    model: str | None = None
    is_human: bool = False
    is_sent: bool = True
    steps: tuple[Step, ...] = ()


@dataclass(slots=True)
class Tree:
    """Entries in the order they are shown (a parent before its children, a branch in one piece); `parents` are places
    in that order, -1 for a root. `active` holds the places on the path that is shown."""

    entries: list[Entry] = field(default_factory=list)
    parents: list[int] = field(default_factory=list)
    active: set[int] = field(default_factory=set)
    leaf: int = -1
    dangling: list[Entry] = field(default_factory=list)
    cycles: int = 0
    is_leaf_guessed: bool = False

    def facts(self) -> TreeFacts:
        """What the tree comes to, in entries that hold a message."""
        children = [0] * len(self.entries)
        for parent in self.parents:
            if parent >= 0:
                children[parent] += 1
        shown = [place for place, entry in enumerate(self.entries) if entry.blocks is not None]
        roots = sum(parent < 0 for parent in self.parents)
        forks = [place for place in sorted(self.active) if children[place] > 1]
        path = [self.entries[place].id for place in shown if place in self.active]
        return TreeFacts(
            branches=sum(not children[place] for place in range(len(self.entries))),
            branch_point=self.entries[forks[-1]].id if forks else None,
            active_leaf=path[-1] if path else None,
            active_path=path,
            abandoned=[self.entries[place].id for place in shown if place not in self.active],
            segments=max(1, roots),
        )


def arranged(entries: Sequence[Entry], leaf: str | None, listed: dict[str, int] | None = None) -> Tree:
    """The tree of `entries` (ids are distinct), whose shown path ends at `leaf`, else at the newest one. `listed` is
    an entry's place among its siblings where the source says it."""
    tree = Tree()
    by_id = {entry.id: place for place, entry in enumerate(entries)}
    above = [by_id.get(entry.parent, -1) if entry.parent is not None else -1 for entry in entries]
    above = [-1 if parent == place else parent for place, parent in enumerate(above)]
    tree.dangling = [entry for entry in entries if entry.parent is not None and entry.parent not in by_id]
    below: list[list[int]] = [[] for _ in entries]
    for place, parent in enumerate(above):
        if parent >= 0:
            below[parent].append(place)
    for siblings in below:
        if listed and len(siblings) > 1:
            siblings.sort(key=lambda place: listed.get(entries[place].id, len(entries)))
    moved = [-1] * len(entries)
    for root in [place for place, parent in enumerate(above) if parent < 0]:
        _walk(tree, entries, root, below, above, moved)
    for place in range(len(entries)):
        if moved[place] < 0:
            tree.cycles += 1
            opened = _in_circle(place, above)
            above[opened] = -1
            _walk(tree, entries, opened, below, above, moved)
    _choose(tree, moved[by_id[leaf]] if leaf is not None and leaf in by_id else -1)
    return tree


def _in_circle(place: int, above: Sequence[int]) -> int:
    """An entry of the circle of parents that `place` hangs on."""
    seen: set[int] = set()
    while place not in seen:
        seen.add(place)
        place = above[place]
    return place


def _walk(
    tree: Tree, entries: Sequence[Entry], root: int, below: list[list[int]], above: list[int], moved: list[int]
) -> None:
    waiting = [root]
    while waiting:
        place = waiting.pop()
        if moved[place] >= 0:
            continue
        moved[place] = len(tree.entries)
        tree.entries.append(entries[place])
        tree.parents.append(moved[above[place]] if above[place] >= 0 else -1)
        waiting.extend(reversed(below[place]))


def _choose(tree: Tree, leaf: int) -> None:
    if leaf < 0 and tree.entries:
        tree.is_leaf_guessed = True
        leaf = _newest(tree)
    tree.leaf = leaf
    while leaf >= 0:
        tree.active.add(leaf)
        leaf = tree.parents[leaf]


def _newest(tree: Tree) -> int:
    """The leaf with the latest time; the last one where none is written."""
    inner = set(tree.parents)
    leaves = [place for place in range(len(tree.entries)) if place not in inner]
    dated = [(at, place) for place in leaves if (at := instant(tree.entries[place].time)) is not None]
    return max(dated)[1] if dated else leaves[-1]
