"""Rows to messages and model calls: one answer is all rows of one message id (formats.md B.4)."""

from __future__ import annotations

from dataclasses import dataclass, field

from contextviz.events.call import ModelCall
from contextviz.events.message import Block, Message, ToolPair
from contextviz.events.usage import TokenUsage
from contextviz.sources.claude_code.chain import Chain
from contextviz.sources.claude_code.rows import Row
from contextviz.sources.claude_code.usage import greatest


@dataclass(slots=True)
class Answer:
    """The rows of one model answer, its usage being the greatest of what they repeat."""

    rows: list[Row]
    request_id: str | None
    usage: TokenUsage | None
    message: Message | None = None

    @property
    def first(self) -> Row:
        """The row written first."""
        return self.rows[0]

    @property
    def is_call(self) -> bool:
        """Whether a model was called and its provider counted: no error, no `<synthetic>` row, no empty usage."""
        first = self.first
        return not (first.is_synthetic or first.is_failed) and self.usage is not None and self.usage.is_real


@dataclass(slots=True)
class Conversation:
    """What was built of one chain."""

    chain: Chain
    messages: list[Message] = field(default_factory=list)
    answers: list[Answer] = field(default_factory=list)
    answer_of: dict[int, Answer] = field(default_factory=dict)


class Grouping:
    """Answers by message id, and by request id where one id came from two requests."""

    def __init__(self) -> None:
        self._by_id: dict[str, list[Answer]] = {}

    def find(self, row: Row) -> Answer | None:
        """The answer `row` belongs to, or None where it is the first row of one. No id: a call of its own."""
        for answer in reversed(self._by_id.get(row.message_id or "", [])):
            if row.request_id is None or answer.request_id in (None, row.request_id):
                return answer
        return None

    def add(self, row: Row) -> Answer:
        """Open an answer with its first row."""
        answer = Answer([], row.request_id, None)
        if row.message_id is not None:
            self._by_id.setdefault(row.message_id, []).append(answer)
        return answer


def converse(chain: Chain, start: int) -> Conversation:
    """The messages of a chain, numbered from `start`, and the answers among them."""
    built = Conversation(chain)
    grouping = Grouping()
    for row in chain.rows:
        if row.kind == "assistant":
            answer = grouping.find(row)
            if answer is None:
                answer = grouping.add(row)
                answer.message = _message(row, start + len(built.messages), chain)
                built.messages.append(answer.message)
                built.answers.append(answer)
            _extend(answer, row, chain)
            built.answer_of[row.order] = answer
        elif row.kind == "user":
            message = _message(row, start + len(built.messages), chain)
            row.message_index = message.index
            built.messages.append(message)
    return built


def _message(row: Row, index: int, chain: Chain) -> Message:
    role: str = "assistant" if row.kind == "assistant" else "user"
    word = "assistant"
    blocks = row.blocks
    if row.kind == "user":
        word = "compact_summaries" if row.is_summary else "tool_results" if row.is_result else "user_prompts"
        role = "tool" if row.is_result else "user"
    if row.is_summary:
        blocks = tuple(Block("summary", one.text) if one.kind == "text" else one for one in blocks)
    return Message(
        index=index,
        id=row.uuid,
        parent_id=row.parent,
        role=role,  # type: ignore[arg-type]
        native_role=word,
        blocks=blocks if row.kind == "user" else (),
        at=row.at,
        line=row.line,
        file=row.file,
        agent=chain.agent,
        model=row.model,
        on_active_path=chain.is_active(row),
        is_human=row.is_prompt and chain.agent is None,
        entry_ids=(row.uuid,) if row.uuid and row.kind == "user" else (),
    )


def _extend(answer: Answer, row: Row, chain: Chain) -> None:
    message = answer.message
    if message is None:
        return
    answer.rows.append(row)
    answer.request_id = answer.request_id or row.request_id
    answer.usage = greatest(answer.usage, row.usage)
    row.message_index = message.index
    message.blocks = joined(message.blocks, row)
    message.on_active_path = message.on_active_path or chain.is_active(row)
    if row.uuid:
        message.entry_ids = (*message.entry_ids, row.uuid)


def joined(blocks: tuple[Block, ...], row: Row) -> tuple[Block, ...]:
    """An answer's blocks with those of one more row: a growing text replaces its beginning, a tool call that
    is written again is not a second one."""
    kept = blocks[:-1] if row.is_rewrite and blocks and blocks[-1].kind == row.blocks[0].kind else blocks
    calls = {block.tool_call_id for block in kept if block.kind == "tool_call" and block.tool_call_id}
    fresh = (block for block in row.blocks if block.kind != "tool_call" or block.tool_call_id not in calls)
    return (*kept, *fresh)


def pair_tools(messages: list[Message], rows: dict[int, list[Row]]) -> tuple[list[ToolPair], list[str]]:
    """Calls and results by position: a result belongs to the latest open call of its id in its own chain.

    `rows` are the rows of each message, to name entries. Returns the pairs, pending ones too, and the entries
    of results without a call.
    """
    pairs: list[ToolPair] = []
    waiting: dict[tuple[str | None, str], int] = {}
    orphans: list[str] = []
    for message in messages:
        for number, block in enumerate(message.blocks):
            if block.tool_call_id is None or block.kind not in ("tool_call", "tool_result"):
                continue
            key = (message.agent, block.tool_call_id)
            if block.kind == "tool_call":
                waiting[key] = len(pairs)
                pairs.append(ToolPair(_entry(rows[message.index], block), message.index, number))
            elif key in waiting:
                place = waiting.pop(key)
                known = pairs[place]
                pairs[place] = ToolPair(
                    known.call_entry, known.call_message, known.call_block, message.id, message.index, number
                )
            else:
                orphans.append(message.id or "")
    return pairs, orphans


def _entry(rows: list[Row], block: Block) -> str | None:
    return next((row.uuid for row in rows if block in row.blocks), None)


def calls_of(conversations: list[Conversation], seen: set[int]) -> list[tuple[ModelCall, Conversation, Answer]]:
    """The calls of all chains in the order they were made: each chain in its own order, chains merged by time.

    `seen` holds answers (by id()) whose call is counted elsewhere: a replayed row, a copy in another chain.
    """
    found: list[tuple[float, int, int, Conversation, Answer]] = []
    for number, conversation in enumerate(conversations):
        clock = 0.0
        for position, answer in enumerate(conversation.answers):
            if answer.first.at is not None:
                clock = max(clock, answer.first.at.timestamp())
            if answer.is_call and id(answer) not in seen:
                found.append((clock, number, position, conversation, answer))
    found.sort(key=lambda one: one[:3])
    return [(_call(index, one[3], one[4]), one[3], one[4]) for index, one in enumerate(found)]


def _call(index: int, conversation: Conversation, answer: Answer) -> ModelCall:
    first, message = answer.first, answer.message
    if message is not None:
        message.call_index = index
    return ModelCall(
        index=index,
        id=first.message_id,
        response_id=first.message_id,
        at=first.at,
        model=first.model,
        usage=answer.usage or TokenUsage(),
        agent=conversation.chain.agent,
        message_index=message.index if message else None,
        entry=first.uuid,
        line=first.line,
        on_active_path=message.on_active_path if message else True,
    )
