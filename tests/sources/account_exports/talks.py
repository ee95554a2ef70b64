"""Small exports of ChatGPT and claude.ai, written by hand."""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]
START = 1772359200.0  # 2026-03-01T10:00:00Z
NOBODY = "00000000-0000-4000-8000-000000000000"


def node(name: str, parent: str | None, message: Json | None, *children: str) -> Json:
    """A node of ChatGPT's mapping."""
    return {"id": name, "parent": parent, "children": list(children), "message": message}


def says(role: str, content: Any, second: float = 0, **more: Any) -> Json:
    """A message of ChatGPT: a text, or a content."""
    if isinstance(content, str):
        content = {"content_type": "text", "parts": [content]}
    author = {"role": role, "name": more.pop("name", None), "metadata": {}}
    metadata = more.pop("metadata", {"model_slug": "gpt-x"} if role == "assistant" else {})
    return {"author": author, "create_time": START + second, "content": content, "recipient": "all",
            "status": "finished_successfully", "metadata": metadata} | more  # fmt: skip


def code(text: str, second: float = 0, to: str = "python") -> Json:
    """A call of a tool by the model."""
    return says("assistant", {"content_type": "code", "language": "unknown", "text": text}, second, recipient=to)


def output(text: str, second: float = 0, name: str = "python", **result: Any) -> Json:
    """What code that was run gave."""
    content = {"content_type": "execution_output", "text": text}
    return says("tool", content, second, name=name, metadata={"aggregate_result": result or {"status": "success"}})


def conversation(name: str, current: str | None, *nodes: Json, **more: Any) -> Json:
    """A conversation of ChatGPT's export."""
    return {"title": f"About {name}", "create_time": START, "update_time": START + 99,
            "mapping": {one["id"]: one for one in nodes}, "current_node": current, "conversation_id": name, "id": name,
            "default_model_slug": "auto"} | more  # fmt: skip


def simple(name: str, question: str = "hello", answer: str = "hi") -> Json:
    """A conversation of one question and its answer."""
    return conversation(
        name,
        "a",
        node("root", None, None, "u"),
        node("u", "root", says("user", question, 1), "a"),
        node("a", "u", says("assistant", answer, 2)),
    )


def branched() -> Json:
    """Instructions, a question, an answer with a tool that was made anew; the second one is shown."""
    profile = {"content_type": "user_editable_context", "user_profile": "a baker", "user_instructions": "be short"}
    thoughts = {"content_type": "thoughts", "thoughts": [{"summary": "Sum", "content": "add them", "chunks": []}]}
    picture = {"content_type": "image_asset_pointer", "asset_pointer": "sediment://file_1", "size_bytes": 300}
    question = {"content_type": "multimodal_text", "parts": [picture, "what is 2+2?"]}
    return conversation(
        "talk-1",
        "done2",
        node("root", None, None, "sys"),
        node("sys", "root", says("system", ""), "ctx"),
        node("ctx", "sys", says("user", profile, metadata={"is_visually_hidden_from_conversation": True}), "ask"),
        node("ask", "ctx", says("user", question, 10), "call1", "think"),
        node("call1", "ask", code("2+2", 11), "out1"),
        node("out1", "call1", output("boom", 12, in_kernel_exception={"name": "E"}), "done1"),
        node("done1", "out1", says("assistant", "it failed", 13)),
        node("think", "ask", says("assistant", thoughts, 21), "call2"),
        node("call2", "think", code('{"code": "2+2"}', 22), "out2"),
        node("out2", "call2", output("4", 23), "recap"),
        node(
            "recap", "out2", says("assistant", {"content_type": "reasoning_recap", "content": "Took 3s"}, 24), "done2"
        ),
        node("done2", "recap", says("assistant", "it is 4", 25, metadata={"model_slug": "gpt-y"})),
    )


def message(name: str, sender: str, content: Any, second: int = 0, **more: Any) -> Json:
    """A message of claude.ai: a text, or a list of blocks."""
    at = f"2026-03-01T10:00:{second:02d}.000000Z"
    blocks = [{"type": "text", "text": content, "citations": []}] if isinstance(content, str) else content
    return {"uuid": name, "sender": sender, "text": "", "content": blocks, "created_at": at, "updated_at": at,
            "attachments": [], "files": []} | more  # fmt: skip


def chat(uuid: str, *messages: Json, **more: Any) -> Json:
    """A conversation of claude.ai's export."""
    return {"uuid": uuid, "name": f"About {uuid}", "summary": "", "created_at": "2026-03-01T10:00:00.000000Z",
            "updated_at": "2026-03-01T11:00:00.000000Z", "account": {"uuid": "acc"},
            "chat_messages": list(messages)} | more  # fmt: skip


def used(name: str, call: str, at: str | None = None, **given: Any) -> Json:
    """A tool call's block of claude.ai."""
    return {"type": "tool_use", "id": call, "name": name, "input": given, "start_timestamp": at}


def gave(name: str, call: str, text: str, *, is_error: bool = False) -> Json:
    """A tool result's block of claude.ai."""
    content = [{"type": "text", "text": text}]
    return {"type": "tool_result", "tool_use_id": call, "name": name, "content": content, "is_error": is_error}


def forked() -> Json:
    """A question with a file, an answer that looks twice, and the same question asked anew, which is shown."""
    blocks = [
        {"type": "thinking", "thinking": "look first", "summaries": []},
        used("web_search", "t1", at="2026-03-01T10:00:03.000000Z", query="bread"),
        gave("web_search", "t1", "rye"),
        {"type": "token_budget"},
        used("web_search", "t2", at="2026-03-01T10:00:05.000000Z", query="rye"),
        gave("web_search", "t2", "none", is_error=True),
        {"type": "text", "text": "Rye bread.", "start_timestamp": "2026-03-01T10:00:07.000000Z"},
    ]
    attached = {"file_name": "notes.txt", "file_type": "txt", "file_size": 9, "extracted_content": "my notes"}
    return chat(
        "chat-1",
        message("h1", "human", "what bread?", 1, parent_message_uuid=NOBODY, attachments=[attached],
                files=[{"file_name": "loaf.png"}, {"file_name": "notes.txt"}]),
        message("a1", "assistant", blocks, 9, parent_message_uuid="h1"),
        message("h2", "human", "which flour?", 10, parent_message_uuid="a1"),
        message("a2", "assistant", "rye flour", 11, parent_message_uuid="h2"),
        message("h3", "human", "which oven?", 20, parent_message_uuid="a1"),
        message("a3", "assistant", "a hot one", 21, parent_message_uuid="h3"),
    )  # fmt: skip
