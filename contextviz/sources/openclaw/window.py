"""What the model was given at each call: the rules of formats.md A.6 on the path up to the call's parent."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime

from contextviz.events.message import Block, Kind, Message, Role
from contextviz.events.snapshot import ContextItem, ItemTable, SnapshotLog
from contextviz.events.text import TextPool
from contextviz.sources.openclaw.nodes import Node, Tree, Walker, boundary_of, kept_from
from contextviz.sources.openclaw.prompt import prompt_items

# The wrappers as measured on the wire (pi 1.6.0, OpenClaw 2026.9.6); a branch's has no line end before its tag.
COMPACTION_HEAD = "The conversation history before this point was compacted into the following summary:\n\n<summary>\n"
COMPACTION_TAIL = "\n</summary>"
BRANCH_HEAD = "The following is a summary of a branch that this conversation came back from:\n\n<summary>\n"
BRANCH_TAIL = "</summary>"
AFTER_RESET = frozenset({"user", "assistant", "toolResult"})
DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
KEPT, PLAIN = "kept verbatim", "in the transcript"


@dataclass(frozen=True, slots=True)
class Client:
    """What the client puts in by itself: `is_dating` dates user texts, `runtime` is its line on the first one."""

    is_dating: bool = False
    runtime: str | None = None


@dataclass(slots=True)
class Selection:
    """A path as the model sees it: what was kept from before the boundary, and what came after."""

    boundary: Node | None
    kept: list[Node]
    after: list[Node]
    prompts: list[Node]


def select(path: list[Node], tree: Tree, calls: dict[int, int]) -> Selection:
    """Apply A.6 steps 4 and 5 to a path. `calls` ties tool results to their calls (for resets)."""
    at = boundary_of(path)
    start = at if at is not None and path[at].prompt is not None else 0
    prompts = [node for node in path[start:] if node.prompt is not None] if tree.has_prompts else []
    if at is None:
        return Selection(None, [], path, prompts)
    boundary, first = path[at], kept_from(path, at)
    kept = [] if first is None else path[first:at]
    if boundary.kind == "reset":
        inside = {node.position for node in kept}
        kept = [node for node in kept if node.role in AFTER_RESET and _is_whole(node, inside, calls)]
    return Selection(boundary, kept, path[at + 1 :], prompts)


def _is_whole(node: Node, inside: set[int], calls: dict[int, int]) -> bool:
    return node.role != "toolResult" or calls.get(node.position) in inside


def listed(nodes: Iterable[Node]) -> list[str]:
    """Entries of a window as people read them: `"summary <id>"` or an entry id."""
    return [f"summary {node.id}" if node.kind == "branch_summary" else node.id for node in nodes if node.is_listed]


def context_of(selection: Selection) -> list[str]:
    """A window as the contract lists it: the boundary's summary, what was kept, what came after."""
    head = selection.boundary
    first = [f"summary {head.id}"] if head is not None and head.kind == "compaction" else []
    prompts = [node.id for node in selection.prompts if node.role == "system"]
    return [*prompts, *first, *listed(selection.kept), *listed(selection.after)]


@dataclass(slots=True)
class Windows:
    """The window at any entry, moved along from entry to entry: going on from the last one costs only the new
    entries; a branch, a compaction or an edit builds it anew."""

    tree: Tree
    messages: list[Message]
    table: ItemTable
    pool: TextPool
    client: Client
    calls: dict[int, int]
    numbers: dict[int, int] = field(default_factory=dict)
    walker: Walker = field(init=False)
    items: list[int] = field(default_factory=list)
    _is_first_user: bool = True
    _unchanged: int = 0

    def __post_init__(self) -> None:
        self.walker = Walker(self.tree)

    def at(self, position: int | None) -> tuple[int, list[int]]:
        """The window that ends with entry `position`: how many leading items of the one asked for last, and the
        positions after them."""
        self._go(position)
        keep, self._unchanged = self._unchanged, len(self.items)
        return keep, self.items[keep:]

    def _go(self, position: int | None) -> None:
        new = self.walker.go(position)
        if new is None or any(_rebuilds(node) for node in new):
            self._rebuild()
        else:
            self._extend(new, PLAIN, {})

    def _rebuild(self) -> None:
        path = self.walker.path
        chosen = select(path, self.tree, self.calls)
        edited = path if self.tree.has_edits else []
        edits = {node.target: node for node in edited if node.kind == "context_edit" and node.target}
        self._is_first_user = True
        self._unchanged = 0
        self.items = [self.table.intern(item) for item in prompt_items(chosen.prompts, self.pool)]
        self.items.extend(self.table.intern(item) for item in self._runtime_context(chosen.after))
        if chosen.boundary is not None and chosen.boundary.kind == "compaction":
            self._extend_items(self._summary(chosen.boundary))
        self._extend(chosen.kept, KEPT, edits)
        self._extend(chosen.after, PLAIN, edits)

    def _extend(self, nodes: Iterable[Node], reason: str, edits: dict[str, Node]) -> None:
        for node in nodes:
            if node.is_sent:
                edit = edits.get(node.id)
                items = self._edited(node, edit) if edit is not None else self._items(node, reason)
                self._extend_items(items)

    def _extend_items(self, items: list[ContextItem]) -> None:
        self.items.extend(self.table.intern(item) for item in items)
        if self._is_first_user and any(item.role == "user" for item in items):
            self._is_first_user = False
            if self.client.runtime is not None:
                self.items.append(self.table.intern(self._runtime(items[-1])))

    def _runtime(self, after: ContextItem) -> ContextItem:
        text = self.pool.put(self.client.runtime or "")
        return ContextItem(
            "user", "injected", text, after.entry, after.message_index, "derived",
            "runtime line by the client; its host, system and model are not recorded", "derived",
        )  # fmt: skip

    def _runtime_context(self, nodes: list[Node]) -> list[ContextItem]:
        # The client puts it into the system prompt of the run, not where the entry stands (measured, 2026.4.29).
        last = next((node for node in reversed(nodes) if node.kind == "custom_message" and not node.is_sent), None)
        if last is None:
            return []
        return [
            ContextItem("system", "injected", block.text, last.id, reason="runtime context, part of the system prompt")
            for block in last.blocks
        ]

    def _summary(self, node: Node) -> list[ContextItem]:
        if node.summary is None:
            return []
        is_branch = node.kind == "branch_summary" or node.role == "branchSummary"
        head, tail = (BRANCH_HEAD, BRANCH_TAIL) if is_branch else (COMPACTION_HEAD, COMPACTION_TAIL)
        text = self.pool.put(head + self.pool.get(node.summary) + tail)
        number = self.numbers.get(node.position)
        made = f"summary by compaction {number}" if number else "summary"
        reason = "summary of another branch" if is_branch else made
        return [ContextItem("user", "summary", text, node.id, node.message, "summary", reason)]

    def _items(self, node: Node, reason: str) -> list[ContextItem]:
        if node.summary is not None:
            return self._summary(node)
        message = self.messages[node.message] if node.message is not None else None
        if message is None:
            return self._blocks(node, node.blocks, "user", "added by the client or an extension")
        items = self._blocks(node, message.blocks, message.role, reason)
        if self.client.is_dating and node.role == "user" and items:
            items = self._dated(node, items)
        return items

    def _dated(self, node: Node, items: list[ContextItem]) -> list[ContextItem]:
        at = node.said_at or node.at
        if at is None or self.pool.get(items[0].text).lstrip().startswith(tuple(f"[{day} " for day in DAYS)):
            return items
        text = self.pool.put(date_prefix(at))
        reason = "date in front of a user text, by the client (its time zone taken as UTC)"
        return [ContextItem("user", "injected", text, node.id, node.message, "derived", reason, "derived"), *items]

    def _edited(self, node: Node, edit: Node) -> list[ContextItem]:
        role = self.messages[node.message].role if node.message is not None else "user"
        return self._blocks(node, edit.blocks, role, "replaced by a later edit", is_edit=True)

    def _blocks(
        self, node: Node, blocks: tuple[Block, ...], role: Role, reason: str, *, is_edit: bool = False
    ) -> list[ContextItem]:
        kind: Kind | None = "tool_result" if is_edit and node.role == "toolResult" else None
        return [
            ContextItem(
                role=role, kind=kind or block.kind, text=block.text, entry=node.id, message_index=node.message,
                state="injected" if block.kind == "injected" else "stub" if is_edit else "verbatim", reason=reason,
                is_error=block.is_error, tool_name=block.tool_name, tool_call_id=block.tool_call_id,
                media_bytes=block.media_bytes,
            )
            for block in blocks
        ]  # fmt: skip


@dataclass(slots=True)
class Recorded:
    """The windows of a draft's first `nodes` entries, to be gone on from where they were recorded under the same
    circumstances (`key`): what comes later in a transcript changes none of them, but for an entry's late parent."""

    key: tuple[object, ...]
    windows: Windows
    log: SnapshotLog
    nodes: int = 0


def _rebuilds(node: Node) -> bool:
    return (
        node.kind in ("compaction", "reset", "context_edit")
        or node.prompt is not None
        or (node.kind == "custom_message" and not node.is_sent)
    )


def date_prefix(at: datetime) -> str:
    """What OpenClaw 2026.9 writes in front of a user text on the wire."""
    return f"[{DAYS[at.weekday()]} {at:%Y-%m-%d %H:%M} UTC] "
