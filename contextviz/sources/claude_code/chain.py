"""The tree of one agent's rows: parents, the active path, abandoned branches (formats.md B.6)."""

from __future__ import annotations

from dataclasses import dataclass, field

from contextviz.events.problem import ReadProblem
from contextviz.events.session import TreeFacts
from contextviz.sources.claude_code.rows import Row

LEAF_TYPES = frozenset({"user", "assistant", "attachment", "system"})


@dataclass(slots=True)
class Chain:
    """Rows of one agent in file order. `parents` is each row's parent by position (None for a root), the way
    history is read: across a compaction to the row before it, and past a missing parent to the line before."""

    agent: str | None
    rows: list[Row]
    positions: dict[str, int] = field(default_factory=dict)
    parents: list[int | None] = field(default_factory=list)
    active: set[int] = field(default_factory=set)
    problems: list[ReadProblem] = field(default_factory=list)
    leaf: int | None = None
    roots: int = 0

    def is_active(self, row: Row) -> bool:
        """Whether a row lies on the active path, parallel tool calls beside it included."""
        return row.order in self.active


def build_chain(agent: str | None, rows: list[Row]) -> Chain:
    """Number the rows of one agent anew, link them, and find the active path."""
    chain = Chain(agent, rows)
    for position, row in enumerate(rows):
        row.order = position
        if row.uuid is not None:
            chain.positions[row.uuid] = position
    chain.parents = [_parent(chain, row) for row in rows]
    chain.leaf = _leaf(rows)
    path = _ancestors(chain, chain.leaf)
    chain.active = set(path)
    _add_siblings(chain)
    return chain


def _leaf(rows: list[Row]) -> int | None:
    """The last row that can be a leaf. A line of an answer written after a later answer began is a late copy of
    it (case 014), not where the conversation stands."""
    begun: dict[str, int] = {}
    newest = -1
    for row in rows:
        if row.kind == "assistant" and row.message_id:
            newest = max(newest, begun.setdefault(row.message_id, row.order))
    for row in reversed(rows):
        is_late_copy = row.kind == "assistant" and begun.get(row.message_id or "", newest) < newest
        if row.kind in LEAF_TYPES and not is_late_copy:
            return row.order
    return None


def _parent(chain: Chain, row: Row) -> int | None:
    before = row.order - 1 if row.order else None
    if row.parent is None:
        if row.subtype == "compact_boundary":
            logical = chain.positions.get(row.logical_parent or "")
            return logical if logical is not None and logical != row.order else before
        chain.roots += 1
        return None
    known = chain.positions.get(row.parent)
    if known is not None and known != row.order:
        return known
    message = f"the parent {row.parent} of this line is not in the transcript; the line before it is taken"
    chain.problems.append(ReadProblem("dangling_parent", message, "warning", row.file, row.line, row.uuid, row.parent))
    if before is None:
        chain.roots += 1
    return before


def _ancestors(chain: Chain, leaf: int | None) -> list[int]:
    found: list[int] = []
    seen: set[int] = set()
    at = leaf
    while at is not None and at not in seen:
        seen.add(at)
        found.append(at)
        at = chain.parents[at]
    return found[::-1]


def _add_siblings(chain: Chain) -> None:
    """Parallel tool calls: rows of an answer on the path, and their results, belong to it though they are
    siblings of it; so do attachments that hang off those."""
    answers: set[str | None] = {row.message_id for row in chain.rows if row.message_id and row.order in chain.active}
    waiting = _open_calls(chain, answers)
    for row in chain.rows:
        if row.order in chain.active:
            continue
        parent = chain.parents[row.order]
        if row.kind == "assistant":
            belongs = row.message_id in answers
        elif row.is_result:
            calls = {block.tool_call_id for block in row.blocks if block.kind == "tool_result"}
            belongs = bool(calls & waiting)
            waiting -= calls
        else:
            quiet = row.kind in ("attachment", "progress")
            belongs = quiet and parent in chain.active and _hangs_off_sibling(chain, parent)
        if belongs:
            chain.active.add(row.order)
            row.is_sibling = True


def _hangs_off_sibling(chain: Chain, parent: int | None) -> bool:
    return parent is not None and chain.rows[parent].is_sibling


def _open_calls(chain: Chain, answers: set[str | None]) -> set[str | None]:
    calls: set[str | None] = set()
    done: set[str | None] = set()
    for row in chain.rows:
        for block in row.blocks:
            if block.kind == "tool_call" and row.message_id in answers:
                calls.add(block.tool_call_id)
            elif block.kind == "tool_result" and row.order in chain.active:
                done.add(block.tool_call_id)
    return calls - done - {None}


def tree_facts(chain: Chain) -> TreeFacts:
    """Branches, the active leaf and path, and what was abandoned, by entry ids of rows that are shown."""
    shown = [row for row in chain.rows if row.uuid and row.kind in LEAF_TYPES]
    heads: list[int] = []
    inside: set[int] = set()
    for row in chain.rows:
        if row.order in chain.active:
            continue
        parent = chain.parents[row.order]
        if parent in inside:
            inside.add(row.order)
        elif parent is not None and row.kind in ("user", "assistant"):
            heads.append(parent)
            inside.add(row.order)
    point = max(heads, default=None)
    return TreeFacts(
        branches=1 + len(heads) if chain.rows else 0,
        branch_point=chain.rows[point].uuid if point is not None else None,
        active_leaf=chain.rows[chain.leaf].uuid if chain.leaf is not None else None,
        active_path=[row.uuid for row in shown if row.uuid and row.order in chain.active],
        abandoned=[row.uuid for row in shown if row.uuid and row.order not in chain.active],
        segments=max(chain.roots, 1),
    )


def preserved_rows(chain: Chain, boundary: Row) -> tuple[str, ...]:
    """The uuids a compaction kept from before it: as listed, else the segment from its tail back to its head."""
    compact = boundary.compact
    if compact is None:
        return ()
    if compact.preserved:
        return compact.preserved
    head, tail = compact.segment
    found: list[str] = []
    at = chain.positions.get(tail or "")
    while at is not None and len(found) < len(chain.rows):
        uuid = chain.rows[at].uuid
        if uuid is not None:
            found.append(uuid)
        if uuid == head:
            return tuple(reversed(found))
        at = chain.parents[at]
    return ()
