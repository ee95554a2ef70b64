"""Which sub-agent an event is of, and what is known of each."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

from contextviz.events.session import SubAgent
from contextviz.sources.copilot_cli.event import Event
from contextviz.sources.plain.draft import Draft
from contextviz.sources.values import as_dict, as_id, as_text

Json = dict[str, Any]


class Agents:
    """The sub-agents of a session. Events carry the agent's id; those of earlier versions the tool call that started
    it."""

    def __init__(self, draft: Draft) -> None:
        self._draft = draft
        self._by_call: dict[str, str] = {}
        self._asked_by: dict[str, str] = {}
        self._known: dict[str, SubAgent] = {}

    def of(self, value: Json) -> str | None:
        """The agent of an event; None for the main one."""
        agent = as_id(value.get("agentId"))
        if agent is not None:
            return agent
        call = as_id(as_dict(value.get("data")).get("parentToolCallId"))
        if call is None:
            return None
        return self._by_call.setdefault(call, call)

    def asked(self, call: str, entry: str) -> None:
        """An answer (its entry) asked for a tool call, which may start a sub-agent."""
        self._asked_by.setdefault(call, entry)

    def started(self, data: Json, event: Event) -> None:
        """A sub-agent begins."""
        call = as_id(data.get("toolCallId"))
        agent = event.agent or call
        if agent is None:
            return
        if call is not None:
            self._by_call.setdefault(call, agent)
        task = as_text(data.get("agentDisplayName")) or as_text(data.get("agentDescription"))
        self._known.setdefault(
            agent, SubAgent(agent, as_text(data.get("agentName")), task, self._asked_by.get(call or ""))
        )

    def ended(self, data: Json, event: Event) -> None:
        """A sub-agent is done, or failed."""
        self.started(data, event)
        counters = self._draft.session.counters
        name = event.kind.replace(".", "s_")
        counters[name] = counters.get(name, 0) + 1

    def settle(self) -> None:
        """List those that said something, or were started."""
        counts = Counter(message.agent for message in self._draft.transcript.messages if message.agent is not None)
        others = {
            agent: SubAgent(agent, "subagent", None, self._asked_by.get(agent))
            for agent in counts
            if agent not in self._known
        }
        self._draft.transcript.subagents = [
            replace(one, message_count=counts.get(agent, 0)) for agent, one in (self._known | others).items()
        ]
