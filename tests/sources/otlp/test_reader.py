from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from contextviz.sources.otlp import OtlpReader
from tests.sources.plain.reading import read, write, write_lines

Json = dict[str, Any]
T0 = 1_772_359_200
TRACE = "0af7651916cd43dd8448eb211c80319c"


def wrapped(value: Any) -> Json:
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value}
    if isinstance(value, list):
        return {"arrayValue": {"values": [wrapped(one) for one in value]}}
    if isinstance(value, dict):
        return {"kvlistValue": {"values": [{"key": key, "value": wrapped(one)} for key, one in value.items()]}}
    return {"stringValue": value}


def pairs(values: Json) -> list[Json]:
    return [{"key": key, "value": wrapped(value)} for key, value in values.items()]


def span(number: int, attributes: Json, parent: int | None = None, **more: Any) -> Json:
    return {"traceId": TRACE, "spanId": f"{number:016x}", "parentSpanId": "" if parent is None else f"{parent:016x}",
            "name": "chat m", "startTimeUnixNano": str((T0 + number) * 10**9),
            "endTimeUnixNano": str((T0 + number + 1) * 10**9), "attributes": pairs(attributes), **more}  # fmt: skip


def envelope(*spans: Json) -> Json:
    resource = {"attributes": pairs({"service.name": "demo"})}
    return {"resourceSpans": [{"resource": resource, "scopeSpans": [{"scope": {"name": "x"}, "spans": list(spans)}]}]}


def chat(given: int, made: int, **more: Any) -> Json:
    return {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.usage.input_tokens": given,
            "gen_ai.usage.output_tokens": made, "gen_ai.conversation.id": "talk-1", **more}  # fmt: skip


def said(role: str, text: str) -> Json:
    return {"role": role, "parts": [{"type": "text", "content": text}]}


CALL = {"role": "assistant", "parts": [{"type": "tool_call", "id": "c1", "name": "look", "arguments": {"a": 1}}]}
SEEN = {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": "forty-two"}]}


def test_spans_of_a_conversation_are_calls_with_the_windows_they_carry(tmp_path: Path) -> None:
    first = chat(100, 9, **{
        "gen_ai.usage.cache_read.input_tokens": 60, "gen_ai.response.id": "r1",
        "gen_ai.system_instructions": [{"type": "text", "content": "be brief"}],
        "gen_ai.tool.definitions": json.dumps([{"type": "function", "name": "look"}]),
        "gen_ai.input.messages": json.dumps([said("user", "what is it")]),
        "gen_ai.output.messages": json.dumps([CALL]),
    })  # fmt: skip
    second = chat(140, 5, **{
        "gen_ai.response.id": "r2",
        "gen_ai.system_instructions": [{"type": "text", "content": "be brief"}],
        "gen_ai.tool.definitions": json.dumps([{"type": "function", "name": "look"}]),
        "gen_ai.input.messages": [said("user", "what is it"), CALL, SEEN],
        "gen_ai.output.messages": [said("assistant", "forty-two")],
    })  # fmt: skip
    # The file exporter writes spans as they end, so not in the order they began.
    write_lines(tmp_path / "traces.jsonl", [envelope(span(2, second)), envelope(span(1, first))])
    result = read(OtlpReader(), tmp_path)
    found = result.one

    assert found.session.id == "talk-1" and found.session.agent == "demo"
    usages = [(c.id, c.usage.input_tokens, c.usage.cache_read_tokens, c.usage.output_tokens) for c in found.calls]
    assert usages == [("r1", 40, 60, 9), ("r2", 140, None, 5)]
    assert {one.basis for one in found.log.snapshots} == {"request"}
    assert [(role, kind) for role, kind, _ in result.windows()[1]] == [
        ("system", "system"), ("system", "tools"), ("user", "text"), ("assistant", "tool_call"),
        ("tool", "tool_result"),
    ]  # fmt: skip
    assert [message.role for message in found.messages] == ["system", "user", "assistant", "tool", "assistant"]
    assert len(found.pairs) == 1 and found.problems == []


def test_cached_tokens_beside_the_input_are_added(tmp_path: Path) -> None:
    write(tmp_path / "t.json", envelope(span(1, chat(10, 2, **{"gen_ai.usage.cache_read.input_tokens": 500}))))
    usage = read(OtlpReader(), tmp_path).one.calls[0].usage

    assert (usage.input_tokens, usage.prompt_tokens) == (10, 510)


def test_agents_and_wrappers_are_not_counted_beside_the_calls_they_hold(tmp_path: Path) -> None:
    agent = chat(999, 99, **{"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "outer"})
    inner = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "helper"}
    write(
        tmp_path / "t.json",
        envelope(span(1, agent), span(2, chat(50, 5), 1), span(3, chat(50, 5), 2), span(4, inner, 1),
                 span(5, chat(20, 2), 4)),
    )  # fmt: skip
    found = read(OtlpReader(), tmp_path).one

    assert [(call.agent, call.usage.prompt_tokens) for call in found.calls] == [(None, 50), ("helper", 20)]
    assert [one.id for one in found.subagents] == ["helper"]


def test_a_span_and_the_log_record_that_names_it_are_one_call(tmp_path: Path) -> None:
    details = {"gen_ai.input.messages": [said("user", "hi")], "gen_ai.output.messages": [said("assistant", "hello")]}
    record = {"timeUnixNano": str(T0 * 10**9), "traceId": TRACE, "spanId": f"{1:016x}",
              "eventName": "gen_ai.client.inference.operation.details",
              "attributes": pairs({**chat(30, 3), **details})}  # fmt: skip
    write(tmp_path / "traces.json", envelope(span(1, chat(30, 3))))
    write(tmp_path / "logs.json", {"resourceLogs": [{"scopeLogs": [{"logRecords": [record]}]}]})
    result = read(OtlpReader(), tmp_path)

    assert len(result.one.calls) == 1
    assert result.windows() == [[("user", "text", "hi")]]
    assert result.texts() == [["hi"], ["hello"]]


def test_the_older_events_for_each_message_are_read(tmp_path: Path) -> None:
    events = [
        {"name": "gen_ai.user.message", "timeUnixNano": "1", "attributes": pairs({"content": "hi"})},
        {"name": "gen_ai.choice", "timeUnixNano": "2", "attributes": pairs({"message": {"content": "hello"}})},
    ]
    write(tmp_path / "t.json", envelope(span(1, chat(30, 3), events=events)))

    assert read(OtlpReader(), tmp_path).texts() == [["hi"], ["hello"]]


def test_other_instrumentations_numbered_attributes_are_read(tmp_path: Path) -> None:
    openinference = {
        "openinference.span.kind": "LLM", "llm.model_name": "m", "session.id": "s", "llm.token_count.prompt": 40,
        "llm.token_count.completion": 4, "llm.input_messages.0.message.role": "user",
        "llm.input_messages.0.message.content": "hi",
        "llm.output_messages.0.message.role": "assistant",
        "llm.output_messages.0.message.tool_calls.0.tool_call.function.name": "look",
        "llm.output_messages.0.message.tool_calls.0.tool_call.function.arguments": '{"a": 1}',
    }  # fmt: skip
    traceloop = {"gen_ai.request.model": "m", "gen_ai.usage.prompt_tokens": 20, "gen_ai.usage.completion_tokens": 2,
                 "gen_ai.prompt.0.role": "user", "gen_ai.prompt.0.content": "yo",
                 "gen_ai.completion.0.content": "hey"}  # fmt: skip
    other = {**span(2, traceloop), "traceId": "1" * 32}
    write(tmp_path / "t.json", envelope(span(1, openinference), other))
    result = read(OtlpReader(), tmp_path)

    assert {one.session.id for one in result.transcripts} == {"s", f"trace-{'1' * 32}"}
    assert result.texts(0) == [["hi"], ['{"name": "look", "arguments": {"a": 1}}']]
    assert result.texts(1) == [["yo"], ["hey"]]


def test_codex_events_are_calls_without_content(tmp_path: Path) -> None:
    fields = {"event.name": "codex.sse_event", "event.kind": "response.completed", "conversation.id": "c-1",
              "input_token_count": 100, "cached_token_count": 80, "output_token_count": 7, "model": "m"}  # fmt: skip
    records = [{"timeUnixNano": str((T0 + n) * 10**9), "attributes": pairs(one)}
               for n, one in enumerate([fields, {**fields, "event.kind": "response.created"}])]  # fmt: skip
    write(tmp_path / "l.json", {"resourceLogs": [{"scopeLogs": [{"logRecords": records}]}]})
    found = read(OtlpReader(), tmp_path).one

    assert [(call.usage.input_tokens, call.usage.cache_read_tokens) for call in found.calls] == [(20, 80)]
    assert [problem.code for problem in found.problems] == ["no_content"]


def test_an_attribute_that_was_cut_off_makes_the_window_partial(tmp_path: Path) -> None:
    whole = json.dumps([said("user", "first"), said("assistant", "second"), said("user", "third")])
    write(tmp_path / "t.json", envelope(span(1, chat(30, 3, **{"gen_ai.input.messages": whole[:-30]}))))
    result = read(OtlpReader(), tmp_path)

    assert [text for _, _, text in result.windows()[0]] == ["first", "second"]
    assert result.one.log.snapshots[0].basis == "partial"
    assert result.codes() == ["truncated_content"]


def test_a_window_that_shrank_is_an_inferred_compaction(tmp_path: Path) -> None:
    long = [said("user", "begin"), *[said("assistant", f"{n} " * 200) for n in range(5)], said("user", "go")]
    short = [said("user", "summary"), said("user", "go")]
    spans = [span(n, chat(10, 1, **{"gen_ai.input.messages": one})) for n, one in enumerate([long, short], start=1)]
    write(tmp_path / "t.json", envelope(*spans))
    found = read(OtlpReader(), tmp_path).one

    assert [(one.before_call, one.after_call) for one in found.compactions] == [(0, 1)]


def test_failed_calls_and_spans_without_usage_are_no_calls(tmp_path: Path) -> None:
    bare = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.conversation.id": "talk-1"}
    write(tmp_path / "t.json", envelope(span(1, bare, status={"code": 2}), span(2, bare), span(3, chat(10, 1))))
    found = read(OtlpReader(), tmp_path).one

    assert (len(found.calls), found.failed_calls) == (1, 1)
    assert found.session.counters["calls_without_usage"] == 1


def test_metrics_and_traces_without_models_are_ignored_with_a_reason(tmp_path: Path) -> None:
    write(tmp_path / "m.json", {"resourceMetrics": []})
    write(tmp_path / "t.json", envelope(span(1, {"http.method": "GET"})))
    result = read(OtlpReader(), tmp_path)

    assert result.transcripts == []
    assert {one.path: one.role for one in result.files} == {"m.json": "ignored", "t.json": "ignored"}
    assert all(one.reason for one in result.files)
