"""The snapshots of a session: each call by its written request where there is one, else by the rules."""

from __future__ import annotations

from contextviz.events.call import ModelCall
from contextviz.events.compaction import Compaction
from contextviz.events.snapshot import SnapshotLog
from contextviz.events.text import TextPool, TextRef
from contextviz.sources.claude_code.load import Loaded
from contextviz.sources.claude_code.messages import Answer, Conversation
from contextviz.sources.claude_code.windows.items import ItemMaker
from contextviz.sources.claude_code.windows.requests import Archive, RequestWindows
from contextviz.sources.claude_code.windows.rules import RuleWindows

NO_PROMPT = "the system prompt and tools are not in the transcript"


class Windows:
    """Rebuilds the windows of all chains of a session into its log."""

    def __init__(
        self,
        files: list[Loaded],
        conversations: list[Conversation],
        log: SnapshotLog,
        pool: TextPool,
        summaries: dict[str, int],
    ):
        self._log = log
        self._archive = Archive()
        maker = ItemMaker(summaries)
        replacements: dict[str, TextRef] = {}
        for file in files:
            self._archive.add(file)
            replacements.update(file.replacements)
        self._conversations = conversations
        self._requests = {id(one): RequestWindows(one.chain, self._archive, log.table, maker) for one in conversations}
        self._rules = {id(one): RuleWindows(one.chain, log.table, maker, pool, replacements) for one in conversations}
        self._previous: dict[int, int] = {}

    def record(self, calls: list[tuple[ModelCall, Conversation, Answer]]) -> None:
        """Add a snapshot for each call."""
        for call, conversation, answer in calls:
            self._record(call, conversation, answer)

    def _record(self, call: ModelCall, conversation: Conversation, answer: Answer) -> None:
        key = id(conversation)
        row = answer.first
        request = self._archive.request_of(row, call.agent, self._previous.get(key, 0))
        self._previous[key] = row.line
        if request is not None:
            window = self._requests[key].window(request)
            basis = "partial" if window.note else "request"
            self._log.add(call.index, window.positions, basis=basis, agent=call.agent, note=window.note)  # type: ignore[arg-type]
            self._rules[key].forget()
            return
        rules = self._rules[key]
        keep, tail = rules.window(row)
        note = None if rules.knows_prompt else NO_PROMPT
        self._log.add_from(call.index, keep, tail, basis="rules", agent=call.agent, note=note)

    def at_end(self, compactions: list[Compaction]) -> list[str]:
        """What the next call of the main chain would be given: `"summary <id>"` or entry ids."""
        main = self._conversations[0]
        by_summary = {one.message_index: one.id for one in compactions if one.message_index is not None}
        found: list[str] = []
        seen: set[int] = set()
        for row in self._rules[id(main)].entries():
            index = row.message_index
            if index is None or index in seen or row.is_hidden or (row.is_failed and row.is_synthetic):
                continue
            seen.add(index)
            if row.is_summary:
                found.append(f"summary {by_summary.get(index) or row.uuid}")
            elif row.uuid is not None:
                found.append(row.uuid)
        return found
