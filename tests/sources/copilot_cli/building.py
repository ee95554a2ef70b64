"""Logs of Copilot CLI as its client writes them, made up by us."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.sources.plain.reading import write_lines

Json = dict[str, Any]
SESSION = "5d1c0000-0000-4000-8000-000000000001"


class Log:
    """An events.jsonl under construction; a second passes with every event."""

    def __init__(self, session: str = SESSION) -> None:
        self.events: list[Json] = []
        self.add("session.start", sessionId=session, version=1, producer="copilot-agent", copilotVersion="1.0.88",
                 startTime="2026-03-01T10:00:00.000Z", context={"cwd": "/srv/app"})  # fmt: skip

    def add(self, kind: str, agent: str | None = None, **data: Any) -> str:
        """Add an event; its id."""
        number = len(self.events)
        event: Json = {"type": kind, "data": data, "id": f"e{number}",
                       "timestamp": f"2026-03-01T10:{number // 60:02d}:{number % 60:02d}.000Z",
                       "parentId": f"e{number - 1}" if number else None}  # fmt: skip
        if agent is not None:
            event["agentId"] = agent
        self.events.append(event)
        return str(event["id"])

    def user(self, text: str, **more: Any) -> str:
        """A prompt, with the time that the client puts before it."""
        sent = f"<current_datetime>t</current_datetime>\n\n{text}"
        return self.add("user.message", **{"content": text, "transformedContent": sent, "attachments": []} | more)

    def answer(self, text: str, tokens: int | None = 5, agent: str | None = None, **more: Any) -> str:
        """An answer with its output tokens."""
        data: Json = {"messageId": f"m{len(self.events)}", "content": text, "toolRequests": [], "model": "gpt-x"}
        if tokens is not None:
            data["outputTokens"] = tokens
        return self.add("assistant.message", agent, **data | more)

    def result(self, call: str, text: str, **more: Any) -> str:
        """What a tool gave."""
        return self.add("tool.execution_complete", toolCallId=call, success=True,
                        **{"result": {"content": text, "detailedContent": "shown: " + text}} | more)  # fmt: skip

    def shutdown(self, **usage: int) -> str:
        """The end of a run."""
        metrics = {"gpt-x": {"requests": {"count": 2, "cost": 1}, "usage": usage}}
        return self.add("session.shutdown", shutdownType="routine", modelMetrics=metrics, currentTokens=900)

    def save(self, folder: Path, session: str = SESSION) -> Path:
        """Write it where the client does."""
        return write_lines(folder / "session-state" / session / "events.jsonl", self.events)


def tool(call: str, name: str = "bash", **arguments: Any) -> Json:
    """A tool that an answer asks for."""
    return {"toolCallId": call, "name": name, "arguments": arguments, "type": "function"}


def full() -> Log:
    """A session that has everything that is read."""
    log = Log()
    log.add("system.message", role="system", content="be exact")
    picture = {"type": "blob", "mimeType": "image/png", "data": "QUJDRA=="}
    log.user("see this", attachments=[picture])
    log.answer("", 7, reasoningText="hm", toolRequests=[tool("t1", cmd="ls")], apiCallId="r1")
    log.result("t1", "a.txt")
    log.answer("running it", 3, toolRequests=[tool("t2", "task", prompt="look")], apiCallId="r2")
    log.add("subagent.started", "sub-1", toolCallId="t2", agentName="explore", agentDisplayName="look around")
    log.add("user.message", "sub-1", content="look", transformedContent="look", source="agent-sub-1")
    log.answer("seen", 4, "sub-1", apiCallId="r3")
    log.add("subagent.completed", "sub-1", toolCallId="t2", agentName="explore", agentDisplayName="look around")
    log.result("t2", "seen")
    log.add("session.error", errorType="rate_limit", message="too many requests", statusCode=429)
    wrong = log.user("wrong way")
    log.answer("on it", 2, apiCallId="r4")
    log.add("session.snapshot_rewind", upToEventId=wrong, eventsRemoved=2)
    log.add("session.compaction_start", currentTokens=1000, tokenLimit=128000)
    log.add(
        "session.compaction_complete", success=True, trigger="manual", preCompactionTokens=1000,
        postCompactionTokens=200, summaryContent="the gist",
        compactionTokensUsed={"model": "gpt-x", "inputTokens": 900, "cacheReadTokens": 500, "cacheWriteTokens": 100,
                              "outputTokens": 40, "duration": 4200},
    )  # fmt: skip
    log.user("go on")
    log.answer("done", 6, apiCallId="r5")
    log.shutdown(inputTokens=5000, cacheReadTokens=3000, cacheWriteTokens=500, outputTokens=80, reasoningTokens=9)
    return log
