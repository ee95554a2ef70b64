"""Kiro's logs, the documents beside them and saved conversations, made up by us."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.sources.plain.reading import write, write_lines

Json = dict[str, Any]
MODEL = {"model_id": "model-x", "context_window_tokens": 200_000}
BEGUN = 1_772_359_200  # 2026-03-01T10:00:00Z


def text(value: str) -> Json:
    """A part of text."""
    return {"kind": "text", "data": value}


def use(call: str, name: str = "read", **given: Any) -> Json:
    """A tool that an answer asks for."""
    return {"kind": "toolUse", "data": {"toolUseId": call, "name": name, "input": given}}


def result(call: str, value: Any, *, status: str = "success") -> Json:
    """What a tool gave."""
    kind = "text" if isinstance(value, str) else "json"
    return {"kind": "toolResult", "data": {"toolUseId": call, "content": [{"kind": kind, "data": value}],
                                           "status": status}}  # fmt: skip


class Log:
    """A log under construction; a minute passes with every prompt."""

    def __init__(self, session: str = "k-1") -> None:
        self.id = session
        self.rows: list[Json] = []
        self.turns: list[Json] = []

    def add(self, kind: str, data: Any = None) -> None:
        """Add a line."""
        self.rows.append({"version": "v1", "kind": kind, "data": data})

    def prompt(self, name: str, *parts: Json) -> None:
        """A prompt."""
        at = BEGUN + 60 * len(self.rows)
        self.add("Prompt", {"message_id": name, "content": list(parts), "meta": {"timestamp": at}})

    def answer(self, name: str, *parts: Json) -> None:
        """An answer."""
        self.add("AssistantMessage", {"message_id": name, "content": list(parts)})

    def results(self, name: str, *parts: Json) -> None:
        """What tools gave."""
        self.add("ToolResults", {"message_id": name, "content": list(parts), "results": {}})

    def compacted(self, summary: str, *kept: str) -> None:
        """A compaction that kept messages."""
        snapshot = [{"id": one, "role": "user", "content": []} for one in kept]
        self.add("Compaction", {"summary": summary, "strategy": {}, "messages_snapshot": snapshot})

    def turn(self, *names: str, given: int = 0, output: int = 0, read: int = 0, written: int = 0) -> None:
        """A turn as the document beside the log tells of it."""
        self.turns.append(
            {"message_ids": list(names), "input_token_count": given, "output_token_count": output,
             "cache_read_input_token_count": read, "cache_write_input_token_count": written,
             "total_request_count": sum(name.startswith("a") for name in names), "model": "model-x",
             "context_usage_percentage": 12.5, "end_timestamp": "2026-03-01T10:30:00Z"}
        )  # fmt: skip

    def sidecar(self, **more: Any) -> Json:
        """The document beside the log."""
        state = {"conversation_metadata": {"user_turn_metadatas": self.turns}, "agent_name": "default",
                 "rts_model_state": {"model_info": MODEL}}  # fmt: skip
        return {"session_id": self.id, "cwd": "/srv", "title": "demo", "created_at": "2026-03-01T10:00:00Z",
                "updated_at": "2026-03-01T11:00:00Z", "parent_session_id": None,
                "session_state": state} | more  # fmt: skip

    def save(self, folder: Path, *, alone: bool = False, **more: Any) -> Path:
        """Write it where the client does."""
        place = folder / "sessions" / "cli"
        if not alone:
            write(place / f"{self.id}.json", self.sidecar(**more))
        return write_lines(place / f"{self.id}.jsonl", self.rows)


def made() -> Log:
    """A log with everything that a log tells."""
    log = Log()
    log.prompt(
        "u1", text("look"), {"kind": "image", "data": {"format": "png", "source": {"kind": "bytes", "data": [1, 2]}}}
    )
    log.answer("a1", {"kind": "thinking", "data": {"text": "hm", "signature": "s"}}, use("t1", path="a"))
    log.results("r1", result("t1", {"exit_status": "0"}))
    log.answer("a2", text("done"))
    log.compacted("the gist", "r1", "a2")
    log.prompt("u2", text("more"))
    log.answer("a3", text("yes"))
    log.prompt("u3", text("stop that"))
    log.add("CancelledPrompt")
    log.prompt("u4", text("go on"))
    log.answer("a4", text("ok"))
    log.turn("u1", "a1", "r1", "a2", given=900, output=30)
    log.turn("u2", "a3", given=120, output=6, read=80, written=10)
    log.turn("u4", "a4")
    return log


def saved(**more: Any) -> Json:
    """A conversation as the CLI saves it."""

    def user(content: Json, **beside: Any) -> Json:
        env = {"env_state": {"current_working_directory": "/srv"}}
        return {
            "content": content,
            "additional_context": "",
            "env_context": env,
            "timestamp": None,
            "images": None,
        } | beside

    call = {"id": "t1", "name": "execute_bash", "orig_name": "execute_bash", "args": {"command": "ls"}}
    given = {"tool_use_id": "t1", "content": [{"Json": {"exit_status": "1", "stderr": "no"}}], "status": "Error"}
    history = [
        {"user": user({"Prompt": {"prompt": "old"}}, timestamp="2026-03-01T10:00:00+02:00"),
         "assistant": {"Response": {"message_id": "a0", "content": "before"}}, "request_metadata": None},
        {"user": user({"Prompt": {"prompt": "list"}}, additional_context="hook says hi"),
         "assistant": {"ToolUse": {"message_id": "a1", "content": "", "tool_uses": [call]}},
         "request_metadata": {"request_start_timestamp_ms": 1_772_359_200_000, "model_id": "model-x",
                              "input_tokens": 70, "output_tokens": 9, "cache_read_input_tokens": 40}},
        {"user": user({"ToolUseResults": {"tool_use_results": [given]}}),
         "assistant": {"Response": {"message_id": "a2", "content": "it failed"}}, "request_metadata": None},
    ]  # fmt: skip
    return {"conversation_id": "c-1", "next_message": None, "history": history, "valid_history_range": [1, 3],
            "latest_summary": ["so far", {}], "tools": {}, "transcript": [],
            "model_info": MODEL} | more  # fmt: skip


def full(folder: Path) -> None:
    """Files that show everything that is read."""
    made().save(folder)
    inner = Log("k-2")
    inner.prompt("x1", text("sub task"))
    inner.save(folder, parent_session_id="k-1")
    write(folder / "saved.json", saved())
