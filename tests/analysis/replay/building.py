"""Runs made by hand: windows are lists of texts, a token is a word."""

from __future__ import annotations

from collections.abc import Sequence

from contextviz.analysis.replay import HistoryMessage, Said
from contextviz.events.compaction import Compaction, NodeKind, SummaryNode
from contextviz.events.message import Kind, Role
from contextviz.events.run import Run, RunBoundary, RunCall, RunMessage, RunOriginal, RunSettings
from contextviz.events.snapshot import ContextItem, ItemState, common_prefix
from tests.analysis.building import WordPool


def words(text: str) -> int:
    """The tokens of a text here."""
    return len(text.split())


def said(*turns: tuple[Role, str], tokens: Sequence[int] = ()) -> list[HistoryMessage]:
    """A history of messages of one text each; `tokens` take the place of its words."""
    return [
        HistoryMessage(seq, role, (Said("text", text, None),), tokens[seq] if tokens else words(text))
        for seq, (role, text) in enumerate(turns)
    ]


class RunBuilder:
    """A run in the making; `call` records a window."""

    def __init__(self, *, window: int = 0, system_tokens: int = 0) -> None:
        self.pool = WordPool()
        self.run = Run("made", "1", "Made", {}, RunSettings(window, 0, system_tokens, "words"))
        self._window: list[int] = []

    def item(self, role: Role, text: str, kind: Kind = "text", state: ItemState = "verbatim", reason: str = "kept",
             entry: str | None = None) -> ContextItem:  # fmt: skip
        """One item of a window."""
        return ContextItem(role, kind, self.pool.put(text), entry, None, state, reason)

    def call(self, *items: ContextItem, messages: int = 0, is_over: bool = False) -> None:
        """The next window."""
        table = self.run.log.table
        after = [table.intern(item) for item in items]
        keep = common_prefix(self._window, after)
        tokens = [table.items[number].text.estimated_tokens for number in after]
        broken = None
        if keep < len(self._window):
            broken = items[keep].reason if keep < len(items) else "nothing follows any more"
        self.run.log.add(self._window, after, keep)
        self.run.calls.append(
            RunCall(len(self.run.calls), messages, None, len(after), sum(tokens), None, keep, sum(tokens[:keep]),
                    str(after), is_over, None, broken)
        )  # fmt: skip
        self._window = after

    def drop(self, *seqs: int, nodes: Sequence[str] = (), messages: int = 0) -> None:
        """A boundary after the last call and before the next."""
        number = len(self.run.boundaries) + 1
        compaction = Compaction(
            f"c{number}", number, None, "", None, "trim", before_call=len(self.run.calls) - 1,
            after_call=len(self.run.calls),
        )  # fmt: skip
        self.run.boundaries.append(RunBoundary(compaction, tuple(seqs), tuple(nodes), messages, "words"))

    def node(self, id: str, covers: Sequence[int] = (), made_from: Sequence[str] = (), *, stands: bool = True) -> None:
        """A summary; those that it is made from stand no longer."""
        depth = 1 if made_from else 0
        kind: NodeKind = "condensed" if made_from else "leaf"
        ref = self.pool.put(f"summary {id}")
        self.run.nodes.append(
            SummaryNode(id, kind, depth, depth, 2, ref, list(made_from), covers=[str(seq) for seq in covers],
                        in_context=stands)
        )  # fmt: skip
        for node in self.run.nodes:
            if node.id in made_from:
                node.consumers.append(id)
                node.in_context = False

    def original(self, handle: str, text: str) -> None:
        """An original that was taken away."""
        self.run.originals.append(RunOriginal(handle, self.pool.put(text), None))

    def turns(self, *turns: int) -> None:
        """The messages that were read, by turn."""
        self.run.messages = [RunMessage(seq, seq, "user", turn, 1) for seq, turn in enumerate(turns)]
