from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from contextviz.sources.chat import ChatReader
from tests.sources.plain.reading import Result, read, write, write_lines

CALL = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"path": "a.txt"}'}}
ASKED = [{"role": "system", "content": "be brief"}, {"role": "user", "content": "what is in a.txt"}]
CHAT_REPLY = {
    "id": "r1",
    "object": "chat.completion",
    "created": 1772359200,
    "model": "gpt-x",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": None, "tool_calls": [CALL]}}],
    "usage": {
        "prompt_tokens": 100,
        "completion_tokens": 20,
        "prompt_tokens_details": {"cached_tokens": 60},
        "completion_tokens_details": {"reasoning_tokens": 5},
    },
}
NEXT = [
    *ASKED,
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "c1", "content": "forty-two"},
]
CHAT_REPLY_2 = {
    **CHAT_REPLY,
    "id": "r2",
    "created": 1772359260,
    "choices": [{"message": {"role": "assistant", "content": "It says forty-two."}}],
    "usage": {"prompt_tokens": 130, "completion_tokens": 7},
}


def log(path: Path) -> Result:
    tools = [{"type": "function", "function": {"name": "look", "parameters": {}}}]
    write_lines(
        path / "log.jsonl",
        [
            {"request": {"model": "gpt-x", "messages": ASKED, "tools": tools}, "response": CHAT_REPLY},
            {"request": {"model": "gpt-x", "messages": NEXT, "tools": tools}, "response": CHAT_REPLY_2},
        ],
    )
    return read(ChatReader(), path)


def test_a_log_of_exchanges_is_one_conversation_with_a_window_for_each_call(tmp_path: Path) -> None:
    result = log(tmp_path)
    found = result.one

    assert found.session.format == "openai-chat"
    assert [message.native_role for message in found.messages] == ["system", "user", "assistant", "tool", "assistant"]
    assert [(c.id, c.usage.prompt_tokens, c.usage.cache_read_tokens, c.usage.output_tokens) for c in found.calls] == [
        ("r1", 100, 60, 20),
        ("r2", 130, None, 7),
    ]
    assert found.calls[0].usage.input_tokens == 40 and found.calls[0].usage.reasoning_tokens == 5
    assert {one.basis for one in found.log.snapshots} == {"request"}
    first, second = result.windows()
    assert [kind for _, kind, _ in first] == ["system", "tools", "text"]
    assert second[: len(first)] == first
    assert second[len(first) :] == [
        ("assistant", "tool_call", '{"name": "look", "arguments": {"path": "a.txt"}}'),
        ("tool", "tool_result", "forty-two"),
    ]
    assert [(pair.call_message, pair.result_message) for pair in found.pairs] == [(2, 3)]
    assert found.session.started_at is not None and found.problems == []


def test_a_request_and_its_reply_may_stand_on_lines_of_their_own(tmp_path: Path) -> None:
    write_lines(tmp_path / "log.jsonl", [{"model": "gpt-x", "messages": ASKED}, CHAT_REPLY])
    found = read(ChatReader(), tmp_path).one

    assert [call.id for call in found.calls] == ["r1"]
    assert len(found.log.snapshots) == 1 and len(found.messages) == 3


def test_a_request_without_a_reply_is_shown_and_is_no_call(tmp_path: Path) -> None:
    write(tmp_path / "request.json", {"model": "gpt-x", "messages": ASKED})
    found = read(ChatReader(), tmp_path).one

    assert (len(found.messages), found.calls, found.context_at_end) == (2, [], ["m1", "m2"])
    assert found.session.model == "gpt-x"


def test_a_reply_alone_is_a_call_without_a_window(tmp_path: Path) -> None:
    write(tmp_path / "reply.json", CHAT_REPLY)
    found = read(ChatReader(), tmp_path).one

    assert (len(found.calls), len(found.log.snapshots)) == (1, 0)


def test_a_failed_reply_is_counted_and_is_no_call(tmp_path: Path) -> None:
    write_lines(
        tmp_path / "log.jsonl",
        [{"request": {"model": "gpt-x", "messages": ASKED}, "response": {"error": {"message": "overloaded"}}}],
    )
    found = read(ChatReader(), tmp_path).one

    assert (found.calls, found.failed_calls) == ([], 1)


def test_anthropic_bodies_keep_cache_writes_and_tool_results_apart(tmp_path: Path) -> None:
    reply = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-x",
        "content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "done"}],
        "usage": {"input_tokens": 5, "cache_creation_input_tokens": 30, "cache_read_input_tokens": 200,
                  "output_tokens": 9},
    }  # fmt: skip
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "QUJDRA=="}}
    request = {
        "model": "claude-x",
        "system": [{"type": "text", "text": "be kind", "cache_control": {"type": "ephemeral"}}],
        "tools": [{"name": "look", "input_schema": {}}],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "see"}, image]},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "look", "input": {"a": 1}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "is_error": True,
                                          "content": [{"type": "text", "text": "no"}]}]},
        ],
    }  # fmt: skip
    write(tmp_path / "one.json", {"request": request, "response": reply})
    result = read(ChatReader(), tmp_path)
    found = result.one

    assert found.session.format == "anthropic-messages"
    usage = found.calls[0].usage
    assert (usage.input_tokens, usage.cache_write_tokens, usage.cache_read_tokens, usage.prompt_tokens) == (
        5, 30, 200, 235,
    )  # fmt: skip
    assert [(role, kind) for role, kind, _ in result.windows()[0]] == [
        ("system", "system"), ("system", "tools"), ("user", "text"), ("user", "image"),
        ("assistant", "tool_call"), ("tool", "tool_result"),
    ]  # fmt: skip
    picture = found.messages[1].blocks[1]
    assert (picture.media_bytes, picture.base64_chars, picture.media_type) == (4, 8, "image/png")
    assert found.messages[3].blocks[0].is_error
    assert len(found.pairs) == 1 and found.pairs[0].result_message == 3


def test_responses_continue_what_the_provider_keeps(tmp_path: Path) -> None:
    def reply(number: int, text: str) -> dict[str, Any]:
        return {
            "id": f"resp_{number}",
            "object": "response",
            "model": "gpt-y",
            "created_at": 1772359200 + number,
            "output": [
                {"type": "reasoning", "summary": [{"type": "summary_text", "text": "think"}]},
                {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]},
            ],
            "usage": {"input_tokens": 10 * number, "output_tokens": 3, "input_tokens_details": {"cached_tokens": 4},
                      "output_tokens_details": {"reasoning_tokens": 1}},
        }  # fmt: skip

    write_lines(
        tmp_path / "r.jsonl",
        [
            {"request": {"model": "gpt-y", "instructions": "short", "input": "hello"}, "response": reply(1, "hi")},
            {"request": {"model": "gpt-y", "previous_response_id": "resp_1",
                         "input": [{"role": "user", "content": "again"}]}, "response": reply(2, "hi again")},
        ],
    )  # fmt: skip
    result = read(ChatReader(), tmp_path)

    assert [one.basis for one in result.one.log.snapshots] == ["request", "rules"]
    assert [text for _, _, text in result.windows()[1]] == ["short", "hello", "think", "hi", "again"]
    assert result.one.calls[0].usage.input_tokens == 6


def test_a_continued_reply_that_is_not_there_is_told(tmp_path: Path) -> None:
    write(tmp_path / "r.json", {"model": "gpt-y", "previous_response_id": "resp_0", "input": "and then?"})

    assert read(ChatReader(), tmp_path).codes() == ["dangling_parent"]


def test_gemini_bodies_count_thoughts_as_output_and_cached_as_input(tmp_path: Path) -> None:
    request = {
        "systemInstruction": {"parts": [{"text": "be exact"}]},
        "contents": [
            {"role": "user", "parts": [{"text": "look"}, {"inlineData": {"mimeType": "image/png", "data": "QUJD"}}]},
            {"role": "model", "parts": [{"functionCall": {"name": "look", "args": {"a": 1}}}]},
            {"role": "user", "parts": [{"functionResponse": {"name": "look", "response": {"ok": True}}}]},
        ],
        "tools": [{"functionDeclarations": [{"name": "look"}, {"name": "list"}]}],
    }
    reply = {
        "candidates": [{"content": {"role": "model", "parts": [{"text": "hm", "thought": True}, {"text": "yes"}]}}],
        "usageMetadata": {"promptTokenCount": 50, "cachedContentTokenCount": 20, "candidatesTokenCount": 4,
                          "thoughtsTokenCount": 6},
        "modelVersion": "gemini-x",
        "responseId": "g1",
    }  # fmt: skip
    write(tmp_path / "g.json", {"request": request, "response": reply})
    result = read(ChatReader(), tmp_path)
    found, usage = result.one, result.one.calls[0].usage

    assert found.session.format == "gemini-api"
    assert (usage.input_tokens, usage.cache_read_tokens, usage.output_tokens, usage.reasoning_tokens) == (30, 20, 10, 6)
    assert [kind for _, kind, _ in result.windows()[0]] == [
        "system", "tools", "tools", "text", "image", "tool_call", "tool_result",
    ]  # fmt: skip
    assert [block.kind for block in found.messages[-1].blocks] == ["thinking", "text"]
    assert len(found.pairs) == 1 and found.orphan_results == []


def test_each_row_of_a_data_set_is_a_conversation(tmp_path: Path) -> None:
    rows = [{"messages": [{"role": "user", "content": "same"}, {"role": "assistant", "content": str(n)}]} for n in "ab"]
    write_lines(tmp_path / "set.jsonl", [*rows, rows[0], "not json"])
    result = read(ChatReader(), tmp_path)

    assert [len(one.messages) for one in result.transcripts] == [2, 2, 2]
    assert len({one.session.id for one in result.transcripts}) == 3
    assert [problem.code for problem in result.problems] == ["malformed_line"]


@pytest.mark.parametrize("as_lines", [True, False])
def test_an_array_of_messages_is_one_conversation(tmp_path: Path, *, as_lines: bool) -> None:
    messages = [{"role": "user", "content": "a", "timestamp": "2026-03-01T10:00:00Z"},
                {"role": "assistant", "content": "b"}]  # fmt: skip
    if as_lines:
        write_lines(tmp_path / "chat.jsonl", messages)
    else:
        (tmp_path / "chat.json").write_text(json.dumps(messages, indent=1))
    result = read(ChatReader(), tmp_path)

    assert result.one.session.format == "chat-array"
    assert result.texts() == [["a"], ["b"]]
    assert result.one.lines.total == 2


def test_sharegpt_rows_have_strings_only(tmp_path: Path) -> None:
    turns = [
        {"from": "system", "value": "s"},
        {"from": "human", "value": "q"},
        {"from": "function_call", "value": '{"name": "look", "arguments": {"a": 1}}'},
        {"from": "observation", "value": "seen"},
        {"from": "gpt", "value": "a"},
    ]
    write(tmp_path / "s.json", [{"id": "x1", "conversations": turns}])
    result = read(ChatReader(), tmp_path)

    assert [message.native_role for message in result.one.messages] == [turn["from"] for turn in turns]
    assert result.texts()[2] == ['{"name": "look", "arguments": {"a": 1}}']
    assert len(result.one.pairs) == 1 and result.one.pairs[0].result_message == 3
    assert result.one.session.title == "x1"


def test_a_request_that_lost_most_of_the_window_shows_an_inferred_compaction(tmp_path: Path) -> None:
    long = [{"role": "user", "content": "begin"}]
    for number in range(12):
        long += [{"role": "assistant", "content": f"answer {number} " * 40}, {"role": "user", "content": f"q{number}"}]
    short = [long[0], {"role": "user", "content": "summary of it all"}, long[-1]]
    usage = {"usage": {"prompt_tokens": 10, "completion_tokens": 1}}
    said = [{"choices": [{"message": {"role": "assistant", "content": f"z{n}"}}]} for n in range(3)]
    replies = [{**CHAT_REPLY, "id": f"r{n}", **usage, **one} for n, one in enumerate(said)]
    asked = [long, short, [*short, {"role": "assistant", "content": "z1"}, {"role": "user", "content": "on"}]]
    write_lines(
        tmp_path / "l.jsonl",
        [
            {"request": {"model": "m", "messages": one}, "response": reply}
            for one, reply in zip(asked, replies, strict=True)
        ],
    )
    found = read(ChatReader(), tmp_path).one

    assert [(one.kind, one.before_call, one.after_call) for one in found.compactions] == [("trim", 0, 1)]
    assert found.compactions[0].problem is not None and found.compactions[0].problem.startswith("inferred")


def test_going_back_in_a_conversation_is_no_compaction(tmp_path: Path) -> None:
    long = [{"role": "user", "content": "begin"}, {"role": "assistant", "content": "word " * 500},
            {"role": "user", "content": "more"}]  # fmt: skip
    asked = [long, long[:1]]
    replies = [{**CHAT_REPLY, "id": str(number)} for number in range(2)]
    pairs = zip(asked, replies, strict=True)
    write_lines(
        tmp_path / "l.jsonl", [{"request": {"model": "m", "messages": one}, "response": two} for one, two in pairs]
    )
    found = read(ChatReader(), tmp_path).one

    assert found.compactions == [] and len(found.calls) == 2


def test_half_emoji_unknown_parts_and_odd_values_do_not_stop_reading(tmp_path: Path) -> None:
    text = json.dumps([{"role": "user", "content": [{"type": "hologram", "data": [1]}, None, 7]},
                       {"role": "assistant", "content": "x"}])  # fmt: skip
    (tmp_path / "odd.json").write_text(text.replace('"x"', '"\\ud83d"'))
    result = read(ChatReader(), tmp_path)

    assert result.texts() == [['{"type": "hologram", "data": [1]}', "7"], ["\ufffd"]]
    assert result.codes() == ["lone_surrogate"]


@pytest.mark.parametrize(
    "value",
    [
        {"version": 1, "contexts": {}, "events": []},
        {"messages": []},
        {"messages": [{"kind": "note"}]},
        {"sessionId": "s", "projectHash": "p", "messages": [{"role": "user", "content": "a"}]},
        {"totals": {"calls": 3}, "conversations": 4},
        {"model": "m", "object": "list", "data": [], "input": "x"},
        [1, 2, 3],
        [],
    ],
)
def test_other_json_is_not_ours(tmp_path: Path, value: Any) -> None:
    write(tmp_path / "x.json", value)

    assert read(ChatReader(), tmp_path).files == []


def test_values_of_the_wrong_type_where_words_belong_are_read(tmp_path: Path) -> None:
    write(tmp_path / "x.json", {"messages": [{"role": "user", "content": [{"type": {"a": 1}, "text": "still here"}]}]})
    write(tmp_path / "y.json", {"messages": [{"role": ["user"], "content": "not ours"}]})
    result = read(ChatReader(), tmp_path)

    assert result.texts() == [["still here"]]
    assert [one.path for one in result.files] == ["x.json"]
