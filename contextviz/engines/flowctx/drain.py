"""flowctx's background work: leaf after leaf, then one condensation (section 3.5)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from contextviz.engines.flowctx.tree import (
    Condense,
    Leaf,
    Node,
    Plan,
    Timeline,
    TreeConfig,
    active,
    cover_end,
    node_id,
    plan,
)
from contextviz.events.javascript import trim
from contextviz.tokens.estimators import cp_weighted

Job = Leaf | Condense
Summarised = Callable[[Job, str], str | None]
SECTIONS = ("## TASK", "## WORKING", "## OPEN STATE")


def is_note(text: str) -> bool:
    """Whether a text has one of the headings that a hand-off note is known by."""
    return any(section in text for section in SECTIONS)


@dataclass(slots=True)
class Done:
    """A job that was run: its id, and its node where the text was taken."""

    id: str
    job: Job
    node: Node | None


@dataclass(slots=True)
class Tree:
    """The nodes of a session and how far leaves have come."""

    config: TreeConfig
    clock: Callable[[], int]
    nodes: list[Node] = field(default_factory=list)
    cursor: int = 0
    accepts: Callable[[str], bool] = is_note

    @classmethod
    def of_nodes(cls, nodes: Sequence[Node], config: TreeConfig, clock: Callable[[], int]) -> Tree:
        """A tree that is loaded again: its leaves have come as far as the furthest of them says."""
        furthest = max((node.cover_end_messages for node in nodes), default=0)
        return cls(config, clock, list(nodes), furthest)

    def plan(self, timeline: Timeline, frozen_start: float) -> Plan:
        """What is to be done next."""
        return plan(timeline, frozen_start, self.nodes, self.cursor, self.config)

    def drain(self, timeline: Timeline, frozen_start: float, summarise: Summarised) -> list[Done]:
        """Fold all that can be, then condense once. `summarise` gives None where it failed; the leaves go on behind the
        range even so, and it is never summarised."""
        done: list[Done] = []
        while (leaf := self.plan(timeline, frozen_start).leaf) is not None:
            done.append(self._run(leaf, node_id(0, leaf.start_turn, leaf.end_turn), summarise))
            self.cursor = leaf.end
        condense = self.plan(timeline, frozen_start).condense
        if condense is not None:
            name = node_id(condense.depth, condense.start_turn, condense.end_turn)
            done.append(self._run(condense, name, summarise))
        return done

    def _run(self, job: Job, name: str, summarise: Summarised) -> Done:
        text = trim(summarise(job, name) or "")
        if not text or not self.accepts(text):
            return Done(name, job, None)
        depth, end, children = 0, 0, tuple[str, ...]()
        if isinstance(job, Leaf):
            end = job.end
        else:
            depth, children = job.depth, tuple(child.id for child in job.children)
        node = Node(name, depth, job.start_turn, job.end_turn, end, text, cp_weighted(text), self.clock(), children)
        others = [one for one in self.nodes if one.id != name]
        self.nodes = sorted([*others, node], key=lambda one: one.start_turn)
        return Done(name, job, node)


@dataclass(slots=True)
class Step:
    """The end of a turn at which something was done: how many messages there were, and how things stood then."""

    messages: int
    frozen_start: int
    done: list[Done]
    active: list[str]
    cover_end: int
    cursor: int


def simulate(
    messages: Iterable[tuple[str, int]], tree: Tree, fresh_tail_window: int, summarise: Summarised
) -> Iterator[Step]:
    """Grow a transcript turn by turn, draining at the end of each; the steps that did something. Messages are role and
    text tokens; the tree holds what came of them."""
    timeline = Timeline()
    given = list(messages)
    for place, (role, tokens) in enumerate(given):
        timeline.add(role, tokens)
        if place + 1 < len(given) and given[place + 1][0] != "user":
            continue
        frozen = max(0, len(timeline) - fresh_tail_window)
        done = tree.drain(timeline, frozen, summarise)
        if done:
            names = [node.id for node in active(tree.nodes)]
            yield Step(len(timeline), frozen, done, names, cover_end(timeline, frozen, tree.nodes), tree.cursor)
