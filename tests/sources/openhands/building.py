"""Events and files of OpenHands, written by us."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.sources.plain.reading import write

Json = dict[str, Any]
IMAGE = "data:image/png;base64,QUJDRA=="


def at(number: int) -> str:
    """The time of event `number`, as the application writes it: without a zone."""
    return f"2026-03-01T10:{number // 60:02}:{number % 60:02}.250000"


def event(number: int, source: str = "agent", **more: Any) -> Json:
    return {"id": number, "timestamp": at(number), "source": source, "message": "", **more}


def system(number: int = 0) -> Json:
    tools = [{"type": "function", "function": {"name": "execute_bash", "parameters": {}}}]
    return event(number, action="system", args={"content": "be careful", "tools": tools})


def user(number: int, text: str, **args: Any) -> Json:
    return event(number, "user", action="message", args={"content": text, "wait_for_response": False, **args})


def says(number: int, text: str, **more: Any) -> Json:
    return event(number, action="message", args={"content": text, "wait_for_response": True}, **more)


def usage(prompt: int, output: int = 10, read: int | None = None, written: int | None = None) -> Json:
    found: Json = {"prompt_tokens": prompt, "completion_tokens": output, "total_tokens": prompt + output}
    if read is not None:
        found["prompt_tokens_details"] = {"cached_tokens": read}
    if written is not None:
        found["cache_creation_input_tokens"] = written
    return found


def reply(name: str, calls: list[str], used: Json | None, text: str | None = None) -> Json:
    asked = [{"id": one, "function": {"name": "execute_bash", "arguments": f'{{"command":"{one}"}}'}} for one in calls]
    answer = {"role": "assistant", "content": text, "tool_calls": asked}
    return {"id": name, "model": "m-1", "choices": [{"index": 0, "message": answer}], "usage": used}


def meta(call: str, response: Json) -> Json:
    return {"function_name": "execute_bash", "tool_call_id": call, "model_response": response,
            "total_calls_in_response": 1}  # fmt: skip


def runs(number: int, call: str, response: Json, **more: Any) -> Json:
    return event(number, action="run", args={"command": call, "thought": ""}, tool_call_metadata=meta(call, response),
                 **more)  # fmt: skip


def ran(number: int, call: str, response: Json, text: str, cause: int, code: int = 0) -> Json:
    extras = {"command": call, "metadata": {"exit_code": code, "working_dir": "/w", "prefix": "", "suffix": ""}}
    return event(number, "agent", observation="run", content=text, extras=extras, cause=cause,
                 tool_call_metadata=meta(call, response))  # fmt: skip


def given(text: str, code: int = 0) -> str:
    """What the model is given of what a command printed."""
    return f"{text}\n[Current working directory: /w]\n[Command finished with exit code {code}]"


def totals(prompt: int, output: int, cost: float | None = None) -> Json:
    sums = {"prompt_tokens": prompt, "completion_tokens": output, "cache_read_tokens": 0, "cache_write_tokens": 0,
            "context_window": 0}  # fmt: skip
    return {"accumulated_cost": cost, "accumulated_token_usage": sums, "costs": [], "token_usages": []}


def condensation(number: int, **args: Any) -> Json:
    keys = ("forgotten_event_ids", "forgotten_events_start_id", "forgotten_events_end_id", "summary", "summary_offset")
    return event(number, action="condensation", args=dict.fromkeys(keys) | args)


def save_events(folder: Path, events: list[Json], metadata: Json | None = None) -> None:
    """A conversation of the application."""
    for one in events:
        write(folder / "events" / f"{one['id']}.json", one)
    if metadata is not None:
        write(folder / "metadata.json", metadata)


def sdk(number: int, kind: str, source: str = "agent", **more: Any) -> Json:
    return {"id": f"00000000-0000-4000-8000-{number:012}", "timestamp": at(number), "source": source, "kind": kind,
            **more}  # fmt: skip


def name_of(number: int) -> str:
    return f"00000000-0000-4000-8000-{number:012}"


def text(value: str) -> Json:
    return {"type": "text", "text": value}


def sdk_system(number: int = 0) -> Json:
    tools = [{"kind": "TerminalTool", "name": "terminal", "description": "runs"}]
    return sdk(number, "SystemPromptEvent", system_prompt=text("be careful"), dynamic_context=text("on linux"),
               tools=tools)  # fmt: skip


def sdk_user(number: int, said: str, **more: Any) -> Json:
    return sdk(number, "MessageEvent", "user", llm_message={"role": "user", "content": [text(said)]}, **more)


def sdk_says(number: int, said: str, response: str) -> Json:
    message = {"role": "assistant", "content": [text(said)]}
    return sdk(number, "MessageEvent", llm_message=message, llm_response_id=response)


def sdk_runs(number: int, call: str, response: str, thought: str = "", **more: Any) -> Json:
    asked = {"id": call, "name": "terminal", "arguments": f'{{"command":"{call}"}}', "origin": "completion"}
    return sdk(number, "ActionEvent", thought=[text(thought)] if thought else [], tool_name="terminal",
               tool_call_id=call, tool_call=asked, llm_response_id=response,
               action={"kind": "TerminalAction", "command": call}, **more)  # fmt: skip


def sdk_ran(number: int, call: str, output: str, **more: Any) -> Json:
    seen = {"kind": "TerminalObservation", "content": [text(output)], "is_error": False, **more}
    return sdk(number, "ObservationEvent", "environment", tool_name="terminal", tool_call_id=call, action_id="x",
               observation=seen)  # fmt: skip


def counted(response: str, prompt: int, output: int = 10, window: int = 0, read: int = 0) -> Json:
    return {"model": "m-2", "prompt_tokens": prompt, "completion_tokens": output, "cache_read_tokens": read,
            "cache_write_tokens": 0, "reasoning_tokens": 0, "context_window": window, "per_turn_token": prompt + output,
            "response_id": response}  # fmt: skip


def state(usages: dict[str, list[Json]], **more: Any) -> Json:
    """A conversation's base state, with what must never be kept of it."""
    uses = {
        name: {"model_name": "m-2", "token_usages": found, "costs": [{"model": "m-2", "cost": 0.1} for _ in found]}
        for name, found in usages.items()
    }
    return {"id": "11111111-2222-4333-8444-555555555555", "agent": {"kind": "Agent", "llm": {"model": "m-2",
            "api_key": "sk-never-kept"}}, "workspace": {"working_dir": "/srv/app"}, "execution_status": "finished",
            "max_iterations": 500, "stats": {"usage_to_metrics": uses}, **more}  # fmt: skip


def save_sdk(folder: Path, events: list[Json], base: Json | None) -> None:
    """A conversation of the SDK."""
    for number, one in enumerate(events):
        write(folder / "events" / f"event-{number:05}-{one['id']}.json", one)
    if base is not None:
        write(folder / "base_state.json", base)


def everything(folder: Path) -> None:
    """Conversations of both generations that show all that is read of them."""
    first = reply("r1", ["c1"], usage(100, 10, 40, 20), "looking")
    first["choices"][0]["message"]["reasoning_content"] = "hm"
    first["usage"]["completion_tokens_details"] = {"reasoning_tokens": 4}
    second = reply("r2", ["d1"], usage(200, 20, 150))
    recalled = {"recall_type": "knowledge", "microagent_knowledge": [{"name": "git", "content": "use branches"}]}
    asked = {"agent": "BrowsingAgent", "inputs": {"task": "look it up"}}
    events = [
        system(0),
        user(1, "see", image_urls=[IMAGE]),
        event(2, "user", action="recall", args={"query": "see", "recall_type": "knowledge"}),
        event(3, "environment", observation="recall", content="Added microagent knowledge", extras=recalled, cause=2),
        runs(4, "c1", first, llm_metrics=totals(100, 10, 0.25)),
        ran(5, "c1", first, "A", 4),
        event(6, action="delegate", args=asked, tool_call_metadata=meta("d1", second), llm_metrics=totals(300, 30)),
        event(7, "user", action="message", args={"content": "TASK: look it up"}),
        says(8, "found", llm_metrics=totals(400, 40, 0.5)),
        event(9, observation="delegate", content="found it", extras={"outputs": {}}, cause=6,
              tool_call_metadata=meta("d1", second)),
        event(10, action="condensation_request", args={}),
        condensation(11, forgotten_event_ids=[4, 5], summary="in short", summary_offset=2),
        runs(12, "c2", reply("r3", ["c2"], usage(90))),
    ]  # fmt: skip
    about = {"conversation_id": "talk-0", "title": "demo", "selected_repository": None,
             "created_at": "2026-03-01T09:59:00Z"}  # fmt: skip
    save_events(folder / "sessions" / "talk-0", events, about)
    later = [
        sdk_system(0),
        sdk_user(1, "hi"),
        sdk_runs(2, "c1", "r1", "a look"),
        sdk_ran(3, "c1", "A"),
        sdk(4, "ConversationErrorEvent", "environment", code="LLMTimeoutError", detail="slow"),
        sdk(5, "CondensationRequest", "environment", reason="context_limit"),
        sdk(6, "Condensation", "environment", forgotten_event_ids=[name_of(2), name_of(3)], summary="in short",
            summary_offset=2, llm_response_id="rc"),
        sdk_says(7, "done", "r2"),
    ]  # fmt: skip
    usages = {"agent": [counted("r1", 100, window=32_000), counted("r2", 60, window=32_000)],
              "condenser": [counted("rc", 70)]}  # fmt: skip
    save_sdk(folder / "conversations" / "1111", later, state(usages))
