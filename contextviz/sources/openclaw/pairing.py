"""Tool calls and their results by position: the nearest unanswered call of that id on the result's own path."""

from __future__ import annotations

from dataclasses import dataclass, field

from contextviz.events.message import Message, ToolPair
from contextviz.events.problem import ReadProblem
from contextviz.sources.openclaw.nodes import Node, Tree

Place = tuple[int, int]


@dataclass(slots=True)
class Pairing:
    """What pairing found; `calls` maps a result's entry position to its call's entry position."""

    pairs: list[ToolPair] = field(default_factory=list)
    orphans: list[str] = field(default_factory=list)
    problems: list[ReadProblem] = field(default_factory=list)
    calls: dict[int, int] = field(default_factory=dict)


def paired(tree: Tree, messages: list[Message]) -> Pairing:
    """Pair every tool result of a transcript (ids may be reused in each turn, so an id alone says nothing)."""
    found = Pairing()
    answers: dict[Place, ToolPair] = {}
    known = {block.tool_call_id for message in messages for block in message.blocks if block.kind == "tool_call"}
    for node in tree.nodes:
        if node.role != "toolResult" or node.message is None:
            continue
        message = messages[node.message]
        wanted = message.blocks[0].tool_call_id if message.blocks else None
        place = _call_of(node, wanted, tree, messages) if wanted in known else None
        if place is None:
            found.orphans.append(node.id)
            continue
        position, block, is_adjacent = place
        caller = tree.nodes[position]
        found.calls[node.position] = position
        pair = ToolPair(caller.id, caller.message or 0, block, node.id, node.message, 0)
        answers.setdefault((caller.message or 0, block), pair)
        if answers[(caller.message or 0, block)] is not pair:
            found.pairs.append(pair)  # the same call answered again on another branch
        if not is_adjacent:
            said = f"the result {node.id} does not follow its call {caller.id} directly"
            found.problems.append(
                ReadProblem("result_not_adjacent", said, "warning", message.file, node.line, node.id, caller.id)
            )
    found.pairs = _in_order(messages, answers, found.pairs)
    return found


def _call_of(node: Node, wanted: str | None, tree: Tree, messages: list[Message]) -> tuple[int, int, bool] | None:
    """The call's entry position and block, and whether only results stand between."""
    answered, is_adjacent = 0, True
    position = node.parent
    while position is not None:
        before = tree.nodes[position]
        position = before.parent
        if before.message is None:
            continue
        message = messages[before.message]
        if before.role == "toolResult":
            answered += bool(message.blocks and message.blocks[0].tool_call_id == wanted)
            continue
        for index, block in enumerate(message.blocks):
            if block.kind == "tool_call" and block.tool_call_id == wanted:
                if answered == 0:
                    return before.position, index, is_adjacent
                answered -= 1
        is_adjacent = is_adjacent and before.is_mirror
    return None


def _in_order(messages: list[Message], answers: dict[Place, ToolPair], extra: list[ToolPair]) -> list[ToolPair]:
    pairs: list[ToolPair] = []
    for message in messages:
        for index, block in enumerate(message.blocks):
            if block.kind == "tool_call":
                pairs.append(answers.get((message.index, index)) or ToolPair(message.id, message.index, index))
    return pairs + extra
