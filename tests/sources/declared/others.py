"""Exports, bodies and traces that show everything that their readers declare, written by us."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.sources.account_exports.talks import branched, forked
from tests.sources.atif.test_reader import CALL as ATIF_CALL
from tests.sources.atif.test_reader import metrics, step, trajectory
from tests.sources.chat.test_reader import CALL, CHAT_REPLY
from tests.sources.opencode.test_reader import answer, export, text, tokens, tool, user
from tests.sources.openhands.building import everything
from tests.sources.otlp.test_reader import CALL as OTLP_CALL
from tests.sources.otlp.test_reader import SEEN, chat, envelope, said, span
from tests.sources.plain.reading import write, write_lines

Json = dict[str, Any]
URL = "data:image/png;base64,QUJDRA=="
NAMED = {"conversation_id": "talk-1"}
GIST = {"role": "user", "content": "in short"}
PICTURE = {"type": "image_url", "image_url": {"url": URL}}


def opencode(folder: Path) -> None:
    task = {"type": "tool", "callID": "t1", "tool": "task",
            "state": {"status": "completed", "input": {}, "output": "done, task_id: ses_2"}}  # fmt: skip
    messages = [
        user(1, "look", {"type": "text", "text": "by the client", "synthetic": True}),
        answer(2, [{"type": "reasoning", "text": "hm"}, tool("c1", "A"), task], tokens(100)),
        answer(3, [], error={"name": "APIError", "data": {"message": "overloaded"}}),
        user(4, "", {"type": "compaction", "auto": True}),
        answer(5, [text("in short")], tokens(950), summary=True, agent="compaction"),
        user(6, "go on"),
        answer(7, [text("ok")], tokens(80)),
    ]
    export(folder, "ses_1", messages)
    export(folder, "ses_2", [user(1, "task"), answer(2, [text("done")], tokens(30))], parentID="ses_1")


def openhands(folder: Path) -> None:
    everything(folder)


def atif(folder: Path) -> None:
    inner = trajectory(step(1, "user", "sub task"), step(2, "agent", "sub done", metrics=metrics(20)))
    inner["trajectory_id"] = "sub-1"
    picture = [{"type": "text", "text": "list"}, PICTURE]
    whole = trajectory(
        step(1, "system", "be exact"),
        step(2, "user", picture),
        step(3, "agent", "running", reasoning_content="hm", tool_calls=[ATIF_CALL], metrics=metrics(100, 9, 40),
             observation={"results": [{"source_call_id": "c1", "content": "a.txt"}]}),
        subagent_trajectories=[inner], notes="demo",
    )  # fmt: skip
    write(folder / "t.json", whole)


def swe_agent(folder: Path) -> None:
    usage = {"prompt_tokens": 50, "completion_tokens": 7, "prompt_tokens_details": {"cached_tokens": 30}}
    extra = {"response": {"id": "r1", "model": "m-1", "usage": usage}, "cost": 0.02, "timestamp": 1772359200.5}
    messages = [
        {"role": "system", "content": "s"}, {"role": "user", "content": [{"type": "text", "text": "see"}, PICTURE]},
        {"role": "assistant", "content": "try", "reasoning_content": "hm", "tool_calls": [CALL], "extra": extra},
        {"role": "tool", "tool_call_id": "c1", "content": "found"},
    ]  # fmt: skip
    mini = {"trajectory_format": "mini-swe-agent-1.1", "messages": messages, "info": {"mini_version": "2.0"},
            "instance_id": "demo"}  # fmt: skip
    write(folder / "mini.traj.json", mini)
    history = [{"role": "user", "content": "x", "agent": "main"}, {"role": "user", "content": "y", "agent": "reviewer"}]
    given = {"action": "ls", "observation": "a", "response": "r", "query": [{"role": "user", "content": "x"}]}
    write(folder / "demo.traj", {"environment": "e", "trajectory": [given], "history": history, "info": {}})


def otlp(folder: Path) -> None:
    first = chat(100, 9, **{
        "gen_ai.usage.cache_read.input_tokens": 60, "gen_ai.usage.cache_creation.input_tokens": 5,
        "gen_ai.usage.reasoning.output_tokens": 2, "gen_ai.usage.cost": 0.1,
        "gen_ai.system_instructions": [{"type": "text", "content": "be brief"}],
        "gen_ai.tool.definitions": json.dumps([{"type": "function", "name": "look"}]),
        "gen_ai.input.messages": json.dumps([{"role": "user", "parts": [
            {"type": "text", "content": "see " * 900},
            {"type": "blob", "mime_type": "image/png", "content": "QUJDRA=="}]}, OTLP_CALL, SEEN]),
        "gen_ai.output.messages": json.dumps([{"role": "assistant", "parts": [
            {"type": "reasoning", "content": "hm"}, {"type": "text", "content": "forty-two"}]}]),
    })  # fmt: skip
    whole = json.dumps([said("user", "summary"), said("assistant", "second"), said("user", "third")])
    cut = chat(40, 2, **{"gen_ai.input.messages": whole[:-30]})
    helper = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "helper"}
    outer = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "outer", "gen_ai.conversation.id": "talk-1"}
    failed = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.conversation.id": "talk-1"}
    write(
        folder / "t.json",
        envelope(span(1, outer), span(2, first, 1), span(3, cut, 1), span(4, helper, 1), span(5, chat(20, 2), 4),
                 span(6, failed, 1, status={"code": 2})),
    )  # fmt: skip


def _messages(*more: Json) -> list[Json]:
    return [
        {"role": "system", "content": "be brief"},
        {"role": "user", "content": [{"type": "text", "text": "see"}, PICTURE]},
        {"role": "assistant", "content": None, "reasoning_content": "hm", "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "c1", "content": "forty-two"},
        *more,
    ]


def openai_chat(folder: Path) -> None:
    tools = [{"type": "function", "function": {"name": "look", "parameters": {}}}]
    long = [{"role": "user", "content": f"{number} " * 300} for number in range(9)]
    reply = {**CHAT_REPLY, "usage": CHAT_REPLY["usage"] | {"cost": 0.1}}  # type: ignore[operator]
    rows = [
        {"request": {"model": "gpt-x", "messages": _messages(*long), "tools": tools}, "response": reply},
        {"request": {"model": "gpt-x", "messages": [GIST, long[-1]], "tools": tools},
         "response": {**reply, "id": "r2", "created": 1772359260}},
        {"request": {"model": "gpt-x", "messages": _messages()}, "response": {"error": {"message": "overloaded"}}},
    ]  # fmt: skip
    write_lines(folder / "log.jsonl", rows)


def anthropic_messages(folder: Path) -> None:
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "QUJDRA=="}}
    usage = {"input_tokens": 5, "cache_creation_input_tokens": 30, "cache_read_input_tokens": 200, "output_tokens": 9}
    reply = {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-x", "usage": usage,
             "content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "done"}]}  # fmt: skip
    messages = [
        {"role": "user", "content": [{"type": "text", "text": "see"}, picture]},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "look", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "no"}]},
    ]
    long = [{"role": "user", "content": f"{number} " * 300} for number in range(9)]
    request = {"model": "claude-x", "system": "be kind", "tools": [{"name": "look", "input_schema": {}}]}
    write_lines(
        folder / "log.jsonl",
        [
            {**NAMED, "request": request | {"messages": [*messages, *long]}, "response": reply | {"id": "msg_2"}},
            {**NAMED, "request": request | {"messages": [GIST, long[-1]]}, "response": reply | {"id": "msg_3"}},
            {**NAMED, "request": request | {"messages": messages},
             "response": {"type": "error", "error": {"type": "overloaded_error", "message": "no"}}},
        ],
    )  # fmt: skip


def openai_responses(folder: Path) -> None:
    usage = {"input_tokens": 10, "output_tokens": 3, "input_tokens_details": {"cached_tokens": 4},
             "output_tokens_details": {"reasoning_tokens": 1}}  # fmt: skip

    def reply(number: int, *items: Json) -> Json:
        return {"id": f"resp_{number}", "object": "response", "model": "gpt-y", "created_at": 1772359200 + number,
                "output": list(items), "usage": usage}  # fmt: skip

    think = {"type": "reasoning", "summary": [{"type": "summary_text", "text": "think"}]}
    asked = {"type": "function_call", "call_id": "c1", "name": "look", "arguments": "{}"}
    spoken = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "hi"}]}
    picture = [{"type": "input_text", "text": "see"}, {"type": "input_image", "image_url": URL}]
    tools = [{"type": "function", "name": "look"}]
    long = [{"role": "user", "content": f"{number} " * 300} for number in range(9)]
    first: Json = {
        "model": "gpt-y",
        "instructions": "short",
        "tools": tools,
        "input": [{"role": "user", "content": picture}, {"type": "item_reference", "id": "msg_0"}],
    }
    second = {"model": "gpt-y", "previous_response_id": "resp_1",
              "input": [{"type": "function_call_output", "call_id": "c1", "output": "42"}]}  # fmt: skip
    write_lines(
        folder / "r.jsonl",
        [
            {
                "conversation_id": "talk-1",
                "request": first | {"input": [*first["input"], *long]},
                "response": reply(1, think, asked),
            },
            {"request": second, "response": reply(2, spoken)},
            {**NAMED, "request": first | {"input": [GIST, long[-1]]}, "response": reply(4, spoken)},
            {"request": second, "response": {"error": {"message": "overloaded"}}},
        ],
    )


def gemini_api(folder: Path) -> None:
    usage = {"promptTokenCount": 50, "cachedContentTokenCount": 10, "candidatesTokenCount": 5, "thoughtsTokenCount": 2}
    contents = [
        {"role": "user", "parts": [{"text": "see"}, {"inlineData": {"mimeType": "image/png", "data": "QUJDRA=="}}]},
        {"role": "model", "parts": [{"functionCall": {"name": "look", "args": {}}}]},
        {"role": "user", "parts": [{"functionResponse": {"name": "look", "response": {"a": 1}}}]},
    ]
    request = {"model": "gemini-x", "systemInstruction": {"parts": [{"text": "be brief"}]}, "contents": contents,
               "tools": [{"functionDeclarations": [{"name": "look"}]}]}  # fmt: skip
    long = [{"role": "user", "parts": [{"text": f"{number} " * 300}]} for number in range(9)]
    gist = {"role": "user", "parts": [{"text": "in short"}]}
    parts = [{"text": "hm", "thought": True}, {"text": "done"}]
    reply = {"responseId": "g1", "modelVersion": "gemini-x", "usageMetadata": usage,
             "candidates": [{"content": {"role": "model", "parts": parts}}]}  # fmt: skip
    write_lines(
        folder / "log.jsonl",
        [
            {**NAMED, "request": request, "response": reply},
            {
                "conversation_id": "talk-1",
                "request": request | {"contents": [*contents, *long]},
                "response": reply | {"responseId": "g2"},
            },
            {
                "conversation_id": "talk-1",
                "request": request | {"contents": [gist, long[-1]]},
                "response": reply | {"responseId": "g3"},
            },
            {**NAMED, "request": request, "response": {"error": {"message": "overloaded"}}},
        ],
    )


def chat_array(folder: Path) -> None:
    messages = [one | {"timestamp": "2026-03-01T10:00:00Z"} for one in _messages()]
    write(folder / "talk.json", messages)


def sharegpt(folder: Path) -> None:
    said_by = [("system", "be brief"), ("human", "hi"), ("function_call", '{"name": "look", "arguments": {}}'),
               ("observation", "42"), ("gpt", "hello")]  # fmt: skip
    row = {"id": "demo", "conversations": [{"from": who, "value": value} for who, value in said_by]}
    write(folder / "rows.json", [row])


def chatgpt_export(folder: Path) -> None:
    write(folder / "conversations-000.json", [branched()])


def claude_ai_export(folder: Path) -> None:
    write(folder / "conversations.json", [forked()])
