"""Windows by the client's rules over the transcript, where it does not write its requests down.

The context of a call is the chain of its parents back to the last compaction, with the preserved messages put
after their anchor. Between two answers the client moves attachments in front of texts, and puts the reminders it
rendered into the last tool result (formats.md B.5, B.6; measured on 2.1.332).
"""

from __future__ import annotations

from dataclasses import replace

from contextviz.events.snapshot import ContextItem, ItemTable
from contextviz.events.text import TextPool, TextRef
from contextviz.sources.claude_code.chain import Chain, preserved_rows
from contextviz.sources.claude_code.messages import joined
from contextviz.sources.claude_code.rows import Row
from contextviz.sources.claude_code.windows.items import WITH_REMINDERS, ItemMaker, fixed_items

CLEARED = "[Old tool result content cleared]"


class RuleWindows:
    """Follows one chain row by row. `settled` are the items up to the last answer; rows after it wait until the
    next answer, because they are put in order together."""

    def __init__(
        self,
        chain: Chain,
        table: ItemTable,
        maker: ItemMaker,
        pool: TextPool,
        replacements: dict[str, TextRef],
    ):
        self._chain = chain
        self._table = table
        self._maker = maker
        self._pool = pool
        self._replacements = replacements
        self._next = 0
        # What the last window shown begins with, and how many settled items of it are still the same.
        self._shown: list[int] | None = None
        self._unchanged = 0
        self._tools = next((row.tools for row in chain.rows if row.tools), None)
        self._system = next((row.system for row in chain.rows if row.system), None)
        self._reset()

    def _reset(self) -> None:
        self._path: list[Row] = []
        self._on_path: dict[int, int] = {}
        self._settled: list[int] = []
        self._unchanged = 0
        self._pending: list[Row] = []
        self._pending_items: list[int] | None = None
        self._answer: str | None = None
        self._answer_blocks: list[Row] = []
        self._answer_start = 0
        self._answer_at = -1
        self._prompt_at = -1
        self._anchored: dict[str, tuple[str, ...]] = {}

    def window(self, row: Row) -> tuple[int, list[int]]:
        """What the call answered by `row` was given: how many leading items of the window asked for last, and the
        positions after them. Ask in the order of the rows."""
        while self._next < row.order:
            self._push(self._chain.rows[self._next])
            self._next += 1
        parent = self._chain.parents[row.order]
        if parent is not None and not self._continues(row, parent):
            self._rebuild(parent)
        fixed = self._fixed()
        if fixed == self._shown:
            keep, tail = len(fixed) + self._unchanged, self._settled[self._unchanged :]
        else:
            keep, tail = 0, fixed + self._settled
        self._shown, self._unchanged = fixed, len(self._settled)
        return keep, tail + self._waiting()

    def forget(self) -> None:
        """The log's last window is not the one asked for last: the next one is given whole."""
        self._shown = None

    def entries(self) -> list[Row]:
        """The rows of the next call's window, after all rows."""
        while self._next < len(self._chain.rows):
            self._push(self._chain.rows[self._next])
            self._next += 1
        leaf = self._chain.leaf
        if leaf is not None and leaf not in self._on_path:
            self._rebuild(leaf)
        return self._path

    @property
    def knows_prompt(self) -> bool:
        """Whether the transcript holds the system prompt."""
        return self._system is not None

    def _fixed(self) -> list[int]:
        system = (self._system,) if self._system is not None else ()
        return [self._table.intern(item) for item in fixed_items(system, self._tools)]

    def _push(self, row: Row) -> None:
        parent = self._chain.parents[row.order]
        if row.subtype == "compact_boundary" or (parent is None and row.parent is None):
            self._reset()
        elif parent is not None and not self._continues(row, parent):
            self._rebuild(parent)
        self._append(row)

    def _continues(self, row: Row, parent: int) -> bool:
        """Whether a row goes on from the path as it is: from its end, or beside parallel tool calls."""
        if self._path and self._path[-1].order == parent:
            return True
        place = self._on_path.get(parent)
        if place is None:
            return False
        if row.kind == "assistant" and row.message_id is not None and row.message_id == self._answer:
            return True
        if place < self._answer_at or place < self._prompt_at:
            return False
        if row.is_result:
            done = {block.tool_call_id for one in self._pending for block in one.blocks if one.is_result}
            return not any(block.tool_call_id in done for block in row.blocks)
        return row.kind != "assistant" and not row.is_prompt

    def _rebuild(self, leaf: int) -> None:
        """Another branch: walk back from `leaf` to the compaction or the root, and feed those rows."""
        found: list[int] = []
        seen: set[int] = set()
        at: int | None = leaf
        while at is not None and at not in seen:
            seen.add(at)
            found.append(at)
            at = None if self._chain.rows[at].subtype == "compact_boundary" else self._chain.parents[at]
        self._reset()
        for order in sorted(seen | self._siblings(seen)):
            self._append(self._chain.rows[order])

    def _siblings(self, path: set[int]) -> set[int]:
        last = max(path)
        answers = {self._chain.rows[order].message_id for order in path} - {None}
        done = {b.tool_call_id for o in path for b in self._chain.rows[o].blocks if b.kind == "tool_result"}
        calls: set[str | None] = set()
        extra: set[int] = set()
        for row in self._chain.rows[min(path) : last]:
            if row.kind == "assistant" and row.message_id in answers:
                calls |= {block.tool_call_id for block in row.blocks if block.kind == "tool_call"}
                extra.add(row.order)
            elif row.is_result and row.order not in path:
                own = {block.tool_call_id for block in row.blocks if block.kind == "tool_result"}
                if own & calls and not own & done:
                    extra.add(row.order)
                    done |= own
        return extra

    def _append(self, row: Row) -> None:
        self._on_path[row.order] = len(self._path)
        self._path.append(row)
        if row.kind == "assistant":
            self._append_answer(row)
        elif row.compact is not None and row.subtype == "microcompact_boundary":
            self._clear(row)
        elif row.kind in ("user", "attachment") or row.subtype == "local_command":
            self._append_user(row)
        if row.subtype == "compact_boundary" and row.compact is not None:
            self._anchored[row.compact.anchor or row.uuid or ""] = preserved_rows(self._chain, row)
        for uuid in self._anchored.pop(row.uuid or "", ()):
            order = self._chain.positions.get(uuid)
            if order is not None and order not in self._on_path:
                self._append(self._chain.rows[order])

    def _append_user(self, row: Row) -> None:
        self._system = row.system or self._system
        self._tools = row.tools or self._tools
        if row.is_hidden or not row.blocks:
            return
        self._pending.append(row)
        self._pending_items = None
        if row.is_prompt:
            self._prompt_at = len(self._path) - 1

    def _append_answer(self, row: Row) -> None:
        if row.is_failed and row.is_synthetic:
            return
        if row.message_id is None or row.message_id != self._answer:
            self._settle()
            self._answer, self._answer_at = row.message_id, len(self._path) - 1
            self._answer_start, self._answer_blocks = len(self._settled), []
        self._answer_blocks.append(row)
        del self._settled[self._answer_start :]
        self._unchanged = min(self._unchanged, self._answer_start)
        self._settled.extend(self._table.intern(item) for item in self._answer_items())

    def _answer_items(self) -> list[ContextItem]:
        if len(self._answer_blocks) == 1:
            return self._maker.of_row(self._answer_blocks[0])
        blocks = self._answer_blocks[0].blocks
        for row in self._answer_blocks[1:]:
            blocks = joined(blocks, row)
        owner = {id(block): row for row in self._answer_blocks for block in row.blocks}
        return [self._maker.of_block(block, owner[id(block)]) for block in blocks]

    def _settle(self) -> None:
        self._settled.extend(self._waiting())
        self._pending = []
        self._pending_items = None

    def _waiting(self) -> list[int]:
        # Asked for twice: by the call's window, and when its answer begins.
        if self._pending_items is None:
            self._pending_items = [self._table.intern(item) for item in self._ordered()]
        return self._pending_items

    def _ordered(self) -> list[ContextItem]:
        """The rows since the last answer as items: results, then attachments, then texts."""
        results: list[ContextItem] = []
        reminders: list[ContextItem] = []
        folded: list[ContextItem] = []
        texts: list[ContextItem] = []
        has_result = any(row.is_result for row in self._pending)
        for row in self._pending:
            items = [self._replaced(item) for item in self._maker.of_row(row)]
            if row.is_result:
                results.extend(item for item in items if item.kind in ("tool_result", "image"))
                texts.extend(item for item in items if item.kind not in ("tool_result", "image"))
            elif row.kind == "attachment":
                folds = has_result and row.is_rendered and not row.is_beside
                (folded if folds else reminders).extend(items)
            else:
                texts.extend(items)
        return [*self._fold(results, folded), *reminders, *texts]

    def _replaced(self, item: ContextItem) -> ContextItem:
        text = self._replacements.get(item.tool_call_id or "") if item.kind == "tool_result" else None
        if text is None:
            return item
        return replace(item, text=text, state="truncated", reason="spilled to a file; the model sees a preview")

    def _fold(self, results: list[ContextItem], folded: list[ContextItem]) -> list[ContextItem]:
        """Reminders go into the last tool result as further text."""
        last = next((n for n in range(len(results) - 1, -1, -1) if results[n].kind == "tool_result"), None)
        texts = [item for item in folded if item.kind != "image"]
        if last is None or not texts:
            return [*results, *folded]
        parts = [results[last].text, *(item.text for item in texts)]
        text = self._pool.put("\n\n".join(self._pool.get(part).rstrip("\n") for part in parts))
        results[last] = replace(results[last], text=text, basis="derived", reason=WITH_REMINDERS)
        return [*results, *(item for item in folded if item.kind == "image")]

    def _clear(self, row: Row) -> None:
        """A microcompaction: from here on its tool results are a stub, its attachments are gone."""
        if row.compact is None:
            return
        self._settle()
        self._answer = None
        stub = self._pool.put(CLEARED)
        kept: list[int] = []
        for position in self._settled:
            item = self._table.items[position]
            if item.kind == "tool_result" and item.tool_call_id in row.compact.cleared_calls:
                cleared = replace(item, text=stub, state="stub", reason="cleared by a microcompaction", basis="derived")
                kept.append(self._table.intern(cleared))
            elif item.entry is None or item.entry not in row.compact.cleared_rows:
                kept.append(position)
        self._settled = kept
        self._unchanged = 0
