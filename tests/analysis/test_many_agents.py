"""Sessions of very many sub-agents: each call is looked at a few times, however many agents there are."""

from __future__ import annotations

from zoneinfo import ZoneInfo

from contextviz.analysis.inspect import session_json
from contextviz.events.call import ModelCall
from contextviz.events.session import Session, SubAgent, Transcript
from contextviz.events.usage import TokenUsage

AGENTS = 300


class Name(str):
    """An id that counts how often one is compared with another."""

    compared = 0
    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        Name.compared += 1
        return str.__eq__(self, other)


def test_inspecting_many_sub_agents_compares_few_names() -> None:
    # Each agent has a turn of its own and a summary, which is no turn.
    calls: list[ModelCall] = []
    for number in range(AGENTS):
        mine = Name(f"a{number}")
        calls.append(ModelCall(len(calls), None, None, None, "m", TokenUsage(input_tokens=number + 1), mine))
        calls.append(ModelCall(len(calls), None, None, None, "m", TokenUsage(input_tokens=9), mine, "summary"))
    agents = [SubAgent(Name(f"a{number}"), None, None, None, 1) for number in range(AGENTS)]
    transcript = Transcript(Session("s", "copilot-cli"), calls=calls, subagents=agents)
    Name.compared = 0
    found = session_json(transcript, zone=ZoneInfo("UTC"))

    assert Name.compared < 20 * AGENTS
    rows = found["subagents"]
    assert isinstance(rows, list)
    assert [(one["id"], one["api_calls"], one["last_prompt_tokens"]) for one in rows] == [
        (f"a{number}", 1, number + 1) for number in range(AGENTS)
    ]
    main, summaries = found["main"], found["summaries_spend"]
    assert isinstance(main, dict) and isinstance(summaries, dict)
    assert (main["api_calls"], summaries["api_calls"]) == (0, AGENTS)
