"""When the context was folded: compaction events from what an lcm.db keeps of them.

Three kinds of traces, by the store's age: system rows with a `compaction` part (first generation), published
batches (1.0), and else only the summaries' own creation times. Replaying the folds over the messages gives the
window after each; that the last one equals the stored context shows that the replay is right.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from contextviz.events.compaction import Compaction, ContextRef, StoreMessage, SummaryNode, SummaryStore
from contextviz.events.text import TextPool
from contextviz.events.times import instant
from contextviz.sources.lossless_claw.rows import Row
from contextviz.sources.values import as_int, as_list, as_text

PRODUCER = "lossless-claw"


@dataclass(slots=True)
class Fold:
    """One compaction as the store tells of it. `created` are the summaries it made, in the order made."""

    id: str | None
    at: datetime | None
    created: list[str]
    trigger: str | None = None
    tokens_before: int | None = None
    tokens_after: int | None = None
    message: str | None = None
    note: str = ""


@dataclass(slots=True)
class Window:
    """The context while folds are replayed over messages."""

    nodes: dict[str, SummaryNode]
    items: list[ContextRef] = field(default_factory=list)

    def fold(self, created: Sequence[str]) -> int:
        """Replace what the new summaries stand for; returns how many items went."""
        fresh = set(created)
        before = len(self.items)
        added = 0
        for name in created:
            node = self.nodes.get(name)
            if node is None or fresh.intersection(node.consumers):
                continue
            inside = set(below(self.nodes, name))
            places = [at for at, item in enumerate(self.items) if item.id in inside and item.id != name]
            if places:
                kept = [item for item in self.items[places[0] :] if item.id not in inside]
                self.items[places[0] :] = [ContextRef("summary", name), *kept]
                added += 1
        return before + added - len(self.items)


def below(nodes: dict[str, SummaryNode], name: str) -> Iterator[str]:
    """A summary and everything it stands for, summaries and messages, each once."""
    seen: set[str] = set()
    todo = [name]
    while todo:
        current = todo.pop()
        if current in seen:
            continue
        seen.add(current)
        yield current
        node = nodes.get(current)
        if node is not None:
            todo.extend(node.made_from)
            yield from node.covers


def folds_of(
    batches: Iterable[Row],
    batch_summaries: Iterable[Row],
    logged: Sequence[tuple[str, datetime | None, dict[str, Any]]],
    nodes: Sequence[SummaryNode],
) -> list[Fold]:
    """The compactions of a conversation in the order they happened, each summary in exactly one of them.

    `logged` are the first-generation rows: message id, time and the metadata of their compaction part.
    """
    known = {node.id: node for node in nodes}
    folds = [_logged(message, at, facts, known) for message, at, facts in logged]
    made: dict[str, list[str]] = {}
    for row in batch_summaries:
        if row["canonical_summary_id"] in known:
            made.setdefault(str(row["batch_id"]), []).append(str(row["canonical_summary_id"]))
    for batch in batches:
        if batch["status"] == "published":
            name = str(batch["batch_id"])
            at = instant(batch["published_at"])
            folds.append(Fold(name, at, made.get(name, []), note="published as one batch"))
    told = {name for fold in folds for name in fold.created}
    folds.extend(_by_time(node for node in nodes if node.id not in told))
    order = {node.id: at for at, node in enumerate(nodes)}
    for fold in folds:
        fold.created.sort(key=order.__getitem__)
    return sorted(folds, key=lambda fold: (fold.at is None, fold.at.timestamp() if fold.at else 0.0))


def _logged(message: str, at: datetime | None, facts: dict[str, Any], known: dict[str, SummaryNode]) -> Fold:
    names = [name for name in (as_text(one) for one in as_list(facts.get("createdSummaryIds"))) if name]
    single = as_text(facts.get("createdSummaryId"))
    if single and single not in names:
        names.append(single)
    level = as_text(facts.get("level")) or "unknown"
    note = f"{as_text(facts.get('pass')) or 'unknown'} pass, level {level}"
    return Fold(
        None, at, [name for name in names if name in known], None, as_int(facts.get("tokensBefore")),
        as_int(facts.get("tokensAfter")), message, note,
    )  # fmt: skip


def _by_time(nodes: Iterable[SummaryNode]) -> Iterator[Fold]:
    groups: dict[datetime | None, list[str]] = {}
    for node in nodes:
        groups.setdefault(node.created_at, []).append(node.id)
    for at, names in groups.items():
        yield Fold(None, at, names, note="time and extent taken from the summaries, the store has no event of its own")


def compactions(
    store: SummaryStore, folds: Sequence[Fold], excluded: frozenset[str], pool: TextPool
) -> tuple[list[Compaction], bool]:
    """The folds as compactions with the window after each, and whether the last window with the messages after
    it is the stored context. `excluded` are rows that were never in a context (logged compactions)."""
    window = Window({node.id: node for node in store.nodes})
    waiting = [message for message in store.messages if message.id not in excluded]
    place = {message.id: at for at, message in enumerate(waiting)}
    tokens = _tokens(store)
    entered = 0
    found: list[Compaction] = []
    for number, fold in enumerate(folds, start=1):
        until = _entered_by(waiting, entered, fold, window.nodes, place)
        window.items.extend(ContextRef("message", message.id) for message in waiting[entered:until])
        entered = until
        before = sum(tokens.get(item.id) or 0 for item in window.items)
        gone = window.fold(fold.created)
        after = sum(tokens.get(item.id) or 0 for item in window.items)
        note = f"{len(fold.created)} summaries made, {gone} items of the context replaced; {fold.note}; "
        note += f"stored counts of the context before and after, added up: {before} and {after} tokens"
        found.append(_compaction(store, fold, number, window, note, pool))
    window.items.extend(ContextRef("message", message.id) for message in waiting[entered:])
    return found, window.items == store.context


def _tokens(store: SummaryStore) -> dict[str, int | None]:
    tokens = {message.id: message.tokens for message in store.messages}
    tokens.update({node.id: node.tokens for node in store.nodes})
    return tokens


def _entered_by(
    waiting: Sequence[StoreMessage],
    start: int,
    fold: Fold,
    nodes: dict[str, SummaryNode],
    place: dict[str, int],
) -> int:
    """How many messages had entered the context by a fold: those before its time, and all that it covers."""
    until = start
    while until < len(waiting) and fold.at is not None:
        at = waiting[until].at
        if at is not None and at >= fold.at:
            break
        until += 1
    covered = [place[name] for made in fold.created for name in nodes[made].covers if name in place]
    return max(until, *(at + 1 for at in covered)) if covered else until


def _compaction(store: SummaryStore, fold: Fold, number: int, window: Window, note: str, pool: TextPool) -> Compaction:
    created = set(fold.created)
    shown = [item.id for item in window.items if item.id in created]
    texts = [pool.get(window.nodes[name].text) for name in shown]
    kept = [item.id for item in window.items if item.kind == "message"]
    return Compaction(
        fold.id, number, None, store.file, fold.at, "summary", fold.trigger, fold.tokens_before, fold.tokens_after,
        pool.put("\n\n".join(texts)) if texts else None, kept[0] if kept else None, kept,
        [f"summary {item.id}" if item.kind == "summary" else item.id for item in window.items],
        producer=PRODUCER, summary_note=note,
        problem=None if fold.created else "the store no longer holds the summaries of this compaction",
    )  # fmt: skip
