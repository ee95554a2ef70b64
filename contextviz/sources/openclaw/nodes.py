"""The entry tree of a transcript: parents, navigation, the active path (formats.md A.6, steps 1 to 3)."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from contextviz.events.message import Block
from contextviz.events.text import TextRef

BOUNDARIES = frozenset({"compaction", "reset"})


@dataclass(frozen=True, slots=True)
class PromptPatch:
    """A change of the system prompt (pi): sections set or removed (None), tools added and removed.

    A compaction's checkpoint (`is_whole`) replaces everything before it.
    """

    content: TextRef | None
    sections: tuple[tuple[str, TextRef | None], ...]
    added: tuple[tuple[str, TextRef], ...]
    removed: tuple[str, ...]
    is_whole: bool = False


@dataclass(slots=True)
class Node:
    """One entry. `parent` is a position in Tree.nodes once resolved. `blocks` are what it contributes to a
    window where that is not a message's own content; `target` is what an edit or a leaf entry points at."""

    position: int
    id: str
    kind: str
    line: int | None
    at: datetime | None
    parent: int | None = None
    role: str | None = None
    said_at: datetime | None = None
    message: int | None = None
    call: int | None = None
    is_copied: bool = False
    is_sent: bool = False
    is_listed: bool = False
    summary: TextRef | None = None
    first_kept: str | None = None
    blocks: tuple[Block, ...] = ()
    target: str | None = None
    prompt: PromptPatch | None = None
    is_mirror: bool = False


@dataclass(slots=True)
class Tree:
    """Entries in file order with their parents. `attaches` is version 4's rule: an entry whose parent is not
    in the file, or that names none, hangs on the current leaf."""

    attaches: bool = False
    nodes: list[Node] = field(default_factory=list)
    by_id: dict[str, int] = field(default_factory=dict)
    leaf: int | None = None
    has_prompts: bool = False
    has_edits: bool = False
    dangling: list[tuple[int, str]] = field(default_factory=list)
    _aliases: dict[str, int | None] = field(default_factory=dict)
    _waiting: list[tuple[int, str]] = field(default_factory=list)
    _dangling_before: int = 0

    def add(self, node: Node, parent_id: str | None, *, has_parent: bool, is_side: bool = False) -> None:
        """Place an entry. `has_parent` says whether it has a parent field at all (version 1 has none)."""
        node.parent = self._parent(node, parent_id, has_parent=has_parent, is_side=is_side)
        self.nodes.append(node)
        self.by_id[node.id] = node.position
        if not is_side:
            self.leaf = node.position

    def _parent(self, node: Node, parent_id: str | None, *, has_parent: bool, is_side: bool) -> int | None:
        if not has_parent:
            return self.leaf
        if parent_id is None:
            return self.leaf if self.attaches and not is_side else None
        if parent_id in self._aliases:
            return self._aliases[parent_id]
        known = self.by_id.get(parent_id)
        if known is not None:
            return known
        if self.attaches and not is_side:
            self.dangling.append((node.position, parent_id))
            return self.leaf
        self._waiting.append((node.position, parent_id))
        return None

    def move(self, entry: str, target: str | None) -> bool:
        """Follow a leaf entry: to its target, or to before everything (None); its own children hang on the
        target too. False, and nothing moves, where the target is unknown."""
        known = None if target is None else self.by_id.get(target)
        if target is not None and known is None:
            return False
        self.leaf = known
        self._aliases[entry] = known
        return True

    def settle(self) -> None:
        """Resolve parents that stand later in the file than their children, and list those that never come."""
        self._dangling_before = len(self.dangling)
        for position, parent_id in self._waiting:
            parent = self.by_id.get(parent_id)
            if parent is None or any(node.position == position for node in self.path(parent)):
                self.dangling.append((position, parent_id))
            else:
                self.nodes[position].parent = parent

    @property
    def has_late_parents(self) -> bool:
        """Whether an entry named a parent that was not in the file yet."""
        return bool(self._waiting)

    def unsettle(self) -> None:
        """Take back what `settle` resolved: more entries come, which may be the parents."""
        del self.dangling[self._dangling_before :]
        for position, _ in self._waiting:
            self.nodes[position].parent = None

    def path(self, position: int | None) -> list[Node]:
        """From the root to `position` (cycles are refused in `settle`, so this ends)."""
        found: list[Node] = []
        while position is not None:
            node = self.nodes[position]
            found.append(node)
            position = node.parent
        found.reverse()
        return found


@dataclass(slots=True)
class Walker:
    """The path to an entry, moved along: going on from the last entry costs only the new ones."""

    tree: Tree
    path: list[Node] = field(default_factory=list)

    def go(self, position: int | None) -> list[Node] | None:
        """Move to `position`; the entries added, or None where the path is another one than before."""
        here = self.path[-1].position if self.path else None
        new: list[Node] = []
        while position is not None and position != here:
            node = self.tree.nodes[position]
            new.append(node)
            position = node.parent
        new.reverse()
        if here is None or position != here:
            self.path = new
            return None
        self.path.extend(new)
        return new


def boundary_of(path: list[Node]) -> int | None:
    """Where on a path the last compaction or reset stands."""
    for index in range(len(path) - 1, -1, -1):
        if path[index].kind in BOUNDARIES:
            return index
    return None


def kept_from(path: list[Node], boundary: int) -> int | None:
    """Where the kept range before `boundary` begins; None where nothing is kept (A.6 step 4)."""
    wanted = path[boundary].first_kept
    if not wanted:
        return None
    for index in range(boundary - 1, -1, -1):
        if path[index].id == wanted:
            return index
    return None
