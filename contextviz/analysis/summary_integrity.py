"""Is a summary graph sound? Overlaps, wrong depths, cycles, lost ends and rows that were stored twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from contextviz.analysis.summary_links import Links
from contextviz.events.compaction import StoreMessage, SummaryNode, SummaryStore
from contextviz.events.problem import ReadProblem, Severity

Json = dict[str, object]
SHORTEST_RUN = 3
MAX_CANDIDATES = 32
SHOWN = 12


@dataclass(slots=True)
class Integrity:
    """The `store` object of inspect.md, with findings. Token sums are the store's own counts (`token_count`)."""

    store: SummaryStore
    depths: dict[str, int]
    covers: dict[str, int]
    suspected_reingested_rows: list[str] = field(default_factory=list)
    genuine_repeats_kept: list[str] = field(default_factory=list)
    tokens_rows: int = 0
    tokens_distinct: int = 0
    context_tokens_stored: int = 0
    overlap_tokens: int = 0
    overlapping_messages: list[str] = field(default_factory=list)
    overlapping_summaries: list[str] = field(default_factory=list)
    duplicate_context_messages: list[str] = field(default_factory=list)
    redundant_summary_pairs: list[tuple[str, str]] = field(default_factory=list)
    stored_depth_wrong: list[tuple[str, int, int]] = field(default_factory=list)
    condensed_without_sources: list[str] = field(default_factory=list)
    cycles: list[list[str]] = field(default_factory=list)
    dangling: list[tuple[str, str]] = field(default_factory=list)
    unreachable_summaries: list[str] = field(default_factory=list)
    same_call: list[tuple[str, str]] = field(default_factory=list)
    findings: list[ReadProblem] = field(default_factory=list)

    @property
    def distinct_messages(self) -> int:
        """Message rows without those that only repeat an earlier block."""
        return len(self.store.messages) - len(self.suspected_reingested_rows)

    @property
    def context_tokens_without_overlap(self) -> int:
        """Stored tokens of the context less what a summary in it already stands for."""
        return self.context_tokens_stored - self.overlap_tokens

    def as_json(self) -> Json:
        """The `store` object as inspect.md has it; lossless-claw's message ids are numbers."""
        return {
            "engine": self.store.engine,
            "conversations": len(self.store.conversations),
            "messages": len(self.store.messages),
            "distinct_messages": self.distinct_messages,
            "suspected_reingested_rows": _numbers(self.suspected_reingested_rows),
            "genuine_repeats_kept": _numbers(self.genuine_repeats_kept),
            "tokens_rows": self.tokens_rows,
            "tokens_distinct": self.tokens_distinct,
            "summaries": [self._summary(node) for node in self.store.nodes],
            "context_items": [
                f"summary {item.id}" if item.kind == "summary" else item.id for item in self.store.context
            ],
            "context_tokens_stored": self.context_tokens_stored,
            "context_tokens_without_overlap": self.context_tokens_without_overlap,
            "overlap_tokens": self.overlap_tokens,
            "overlapping": {
                "messages": _numbers(self.overlapping_messages),
                "summaries": self.overlapping_summaries,
            },
            "duplicate_context_messages": _numbers(self.duplicate_context_messages),
            "redundant_summary_pairs": [list(pair) for pair in self.redundant_summary_pairs],
            "stored_depth_wrong": [
                {"summary": name, "stored": stored, "right": right} for name, stored, right in self.stored_depth_wrong
            ],
            "condensed_without_sources": self.condensed_without_sources,
            "cycles": self.cycles,
            "dangling": [{"in": where, "missing": missing} for where, missing in self.dangling],
            "unreachable_summaries": self.unreachable_summaries,
            "facts": dict(self.store.facts),
        }

    def _summary(self, node: SummaryNode) -> Json:
        return {
            "id": node.id,
            "kind": node.kind,
            "depth": self.depths[node.id],
            "stored_depth": node.stored_depth,
            "tokens": node.tokens,
            "made_from": list(node.made_from),
            "consumers": list(node.consumers),
            "covers": self.covers[node.id],
            "in_context": node.in_context,
            "model": node.model,
        }


def integrity(store: SummaryStore) -> Integrity:
    """Everything that is wrong with a store, and its sums (cases 063 and 065; engines.md 7.3).

    The right depth of a leaf is 0, of a condensed summary 1 + the largest of its sources (1 without any). A block
    was stored again where at least 3 rows in a row repeat earlier ones in order and carry one single time.
    """
    links = Links.of(store)
    found = Integrity(store, links.depths, links.counts_below())
    originals = _reingested(store.messages)
    _rows(found, originals)
    _context(found, links, originals)
    _graph(found, links, originals)
    found.findings = list(_findings(found))
    return found


def _rows(found: Integrity, originals: dict[str, str]) -> None:
    messages = found.store.messages
    own = [message for message in messages if message.id not in originals]
    found.suspected_reingested_rows = [message.id for message in messages if message.id in originals]
    found.tokens_rows = sum(message.tokens or 0 for message in messages)
    found.tokens_distinct = sum(message.tokens or 0 for message in own)
    found.same_call = list(_answered_twice(own))
    again = {second for _first, second in found.same_call}
    own = [message for message in own if message.text.chars and message.id not in again]
    times = Counter((message.role, message.text.digest) for message in own)
    found.genuine_repeats_kept = [message.id for message in own if times[(message.role, message.text.digest)] > 1]


def _context(found: Integrity, links: Links, originals: dict[str, str]) -> None:
    tokens = {message.id: message.tokens or 0 for message in found.store.messages}
    summary_tokens = {node.id: node.tokens or 0 for node in found.store.nodes}
    covered: set[str] = set()
    covered_summaries: set[str] = set()
    for item in found.store.context:
        if item.kind == "summary" and item.id in links.nodes:
            below = links.summaries_below(item.id)
            covered_summaries.update(name for name in below if name != item.id)
            covered.update(links.messages_below(item.id))
    for item in found.store.context:
        if item.kind == "summary":
            size, is_double = summary_tokens.get(item.id, 0), item.id in covered_summaries
        else:
            size, is_double = tokens.get(item.id, 0), item.id in covered
        found.context_tokens_stored += size
        if is_double:
            found.overlap_tokens += size
            (found.overlapping_summaries if item.kind == "summary" else found.overlapping_messages).append(item.id)
    found.duplicate_context_messages = [
        item.id for item in found.store.context if item.kind == "message" and item.id in originals
    ]


def _graph(found: Integrity, links: Links, originals: dict[str, str]) -> None:
    nodes = found.store.nodes
    found.cycles = links.cycles
    found.stored_depth_wrong = [
        (node.id, node.stored_depth, links.depths[node.id])
        for node in nodes
        if node.stored_depth is not None and node.kind != "rolling" and node.stored_depth != links.depths[node.id]
    ]
    found.condensed_without_sources = [node.id for node in nodes if node.kind == "condensed" and not node.made_from]
    reachable: set[str] = set()
    for item in found.store.context:
        if item.kind == "summary" and item.id not in reachable:
            reachable.update(links.summaries_below(item.id))
    found.unreachable_summaries = [node.id for node in nodes if node.id not in reachable]
    found.dangling = list(_dangling(found.store, links))
    found.redundant_summary_pairs = list(_redundant(nodes, originals))


def _dangling(store: SummaryStore, links: Links) -> Iterator[tuple[str, str]]:
    messages = {message.id for message in store.messages}
    for item in store.context:
        if item.id not in (links.nodes if item.kind == "summary" else messages):
            yield "context_items", item.id
    for node in store.nodes:
        yield from ((node.id, name) for name in node.made_from if name not in links.nodes)
        if messages:
            yield from ((node.id, name) for name in node.covers if name not in messages)


def _redundant(nodes: Sequence[SummaryNode], originals: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Pairs of leaves where one covers nothing that the other does not cover too."""
    sets = {node.id: frozenset(originals.get(name, name) for name in node.covers) for node in nodes if node.covers}
    order = {name: at for at, name in enumerate(sets)}
    users: dict[str, list[str]] = {}
    for name, covered in sets.items():
        pairs = {other for message in covered for other in users.get(message, ())}
        for other in sorted(pairs, key=order.__getitem__):
            if covered <= sets[other] or sets[other] <= covered:
                yield other, name
        for message in covered:
            users.setdefault(message, []).append(name)


def _reingested(messages: Sequence[StoreMessage]) -> dict[str, str]:
    """Rows that were stored again, with the row that each repeats."""
    keys = [(message.role, message.text.digest, message.tool_call_id) for message in messages]
    starts: dict[tuple[object, ...], list[int]] = {}
    originals: dict[str, str] = {}
    at = 0
    indexed = 0
    while at < len(messages):
        while indexed + SHORTEST_RUN <= at:
            places = starts.setdefault(tuple(keys[indexed : indexed + SHORTEST_RUN]), [])
            if len(places) < MAX_CANDIDATES:
                places.append(indexed)
            indexed += 1
        length, start = _longest_run(messages, keys, at, starts.get(tuple(keys[at : at + SHORTEST_RUN]), []))
        for step in range(length):
            earlier = messages[start + step].id
            originals[messages[at + step].id] = originals.get(earlier, earlier)
        at += max(length, 1)
    return originals


def _longest_run(
    messages: Sequence[StoreMessage], keys: Sequence[tuple[str, bytes, str | None]], at: int, starts: Sequence[int]
) -> tuple[int, int]:
    best = (0, 0)
    stamp = messages[at].at
    if stamp is None:
        return best
    for start in starts:
        length = 0
        while (
            at + length < len(messages)
            and start + length < at
            and keys[start + length] == keys[at + length]
            and messages[at + length].at == stamp
        ):
            length += 1
        if length >= SHORTEST_RUN and length > best[0]:
            best = (length, start)
    return best


def _answered_twice(messages: Sequence[StoreMessage]) -> Iterator[tuple[str, str]]:
    """Pairs of tool rows that answer one call. An id that is called again in between is used anew, not doubled."""
    answers: dict[str, tuple[int, StoreMessage]] = {}
    last_call = -1
    for place, message in enumerate(messages):
        call = message.tool_call_id
        if message.role == "assistant" and call is not None:
            last_call = place
            answers.pop(call, None)
        elif message.role in ("tool", "toolResult") and call is not None:
            earlier = answers.get(call)
            if earlier is not None and (earlier[0] > last_call or earlier[1].text.digest == message.text.digest):
                yield earlier[1].id, message.id
            answers[call] = (place, message)


def _findings(found: Integrity) -> Iterator[ReadProblem]:
    for name, stored, right in found.stored_depth_wrong:
        yield _finding(found, "depth_mismatch", f"{name} is stored with depth {stored}, its sources say {right}", name)
    doubled = len(found.overlapping_messages) + len(found.overlapping_summaries)
    if doubled:
        text = (
            f"{doubled} items of the context are also covered by a summary in it ({found.overlap_tokens} tokens twice)"
        )
        yield _finding(found, "overlap", text, None, found.overlap_tokens)
    for cycle in found.cycles:
        yield _finding(found, "cycle", f"summaries are made from each other: {_list(cycle)}", cycle[0], None, "error")
    rows = found.suspected_reingested_rows
    if rows:
        text = f"rows {_list(rows)} repeat earlier rows in order with one single time: stored again after a restart"
        yield _finding(found, "reingested_block", text, rows[0], len(rows))
    for first, second in found.same_call:
        text = f"rows {first} and {second} answer the same tool call"
        yield _finding(found, "duplicate_tool_result", text, second)
    for where, missing in found.dangling:
        yield _finding(found, "dangling_reference", f"{where} names {missing}, which the store does not hold", where)
    for name in found.condensed_without_sources:
        yield _finding(found, "summary_without_sources", f"{name} is condensed but names no sources", name)
    lost = [name for name in found.unreachable_summaries if name not in found.condensed_without_sources]
    if lost and found.store.context:
        text = f"no summary in the context leads to {_list(lost)}"
        yield _finding(found, "unreachable_summary", text, lost[0], len(lost), "info")


def _finding(
    found: Integrity,
    code: str,
    message: str,
    entry: str | None,
    value: int | None = None,
    severity: Severity = "warning",
) -> ReadProblem:
    return ReadProblem(code, message, severity, found.store.file, None, entry, value)


def _list(names: Sequence[str]) -> str:
    shown = ", ".join(names[:SHOWN])
    return shown if len(names) <= SHOWN else f"{shown} and {len(names) - SHOWN} more"


def _numbers(names: Sequence[str]) -> list[int | str]:
    return [int(name) if name.isascii() and name.isdigit() else name for name in names]
