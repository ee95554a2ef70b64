"""From a session that was read to a replay's material: what is left out, where calls are, what is beside them."""

from __future__ import annotations

import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from contextviz.engines.material import CallPoint
from contextviz.engines.reading import material_of
from contextviz.events.call import ModelCall
from contextviz.events.message import Block, Message
from contextviz.events.session import Configuration, Session, Transcript, TreeFacts
from contextviz.events.usage import TokenUsage
from contextviz.tokens.pool import MemoryPool
from tests.analysis.building import Builder, words
from tests.engines import samples

START = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


def talk() -> Builder:
    """A turn with two calls: the question, a tool call, its result, the answer."""
    made = Builder()
    system = [made.item("system", "system", words(30, "s")), made.item("system", "tools", words(12, "t"))]
    made.say("user", ("text", words(5, "u")))
    made.call(system, 50, answer=words(3, "a"))
    made.say("tool", ("tool_result", words(7, "r")))
    made.call(system, 60, answer=words(4, "b"))
    return made


def test_messages_calls_and_turns_in_order() -> None:
    made = talk()
    for number, message in enumerate(made.transcript.messages):
        message.at = START + timedelta(seconds=number)
    material = material_of(made.transcript, made.pool)
    assert [(one.seq, one.role, one.turn, one.source_index) for one in material.messages] == [
        (0, "user", 1, 0), (1, "assistant", 1, 1), (2, "tool", 1, 2), (3, "assistant", 1, 3),
    ]  # fmt: skip
    assert material.messages[1].at == round((START + timedelta(seconds=1)).timestamp() * 1000)
    assert material.messages[0].text == words(5, "u")
    assert material.points == [CallPoint(1, 0), CallPoint(3, 1)]
    assert material.notes == []


def test_what_the_client_made_of_messages_is_left_out_and_counted() -> None:
    made = talk()
    made.say("user", ("summary", "what was before"))
    made.say("system", ("system", "prompt"), ("tools", "list"))
    made.say("user", ("text", "of a sub-agent"), agent="sub")
    made.say("user", ("text", "elsewhere"), on_active_path=False)
    made.say("user")
    made.say("user", ("injected", "reminder"), ("text", "go on"))
    repaired = made.say("tool", ("tool_result", "nothing came"))
    repaired.blocks = (replace(repaired.blocks[0], is_synthetic=True),)
    material = material_of(made.transcript, made.pool)
    assert [one.text for one in material.messages[4:]] == ["reminder\ngo on"]
    assert [piece.kind for piece in material.messages[4].pieces] == ["injected", "text"]
    said = "\n".join(material.notes)
    for words_of in (
        "other agents",
        "other branches",
        "(summaries)",
        "repair",
        "system prompt or tools",
        "without content",
    ):
        assert words_of in said
    assert all(note.endswith(": 1.") for note in material.notes)


def test_a_summariser_s_own_answer_is_no_message_of_the_session() -> None:
    made = talk()
    made.call([], 90, answer="Summary of it", purpose="summary")
    made.say("user", ("text", "next"))
    made.call([], 40, answer="answer")
    material = material_of(made.transcript, made.pool)
    assert "Summary of it" not in [one.text for one in material.messages]
    assert material.points[-1] == CallPoint(5, 3)


def test_an_image_is_kept_without_its_content() -> None:
    made = talk()
    shown = made.say("user", ("text", "see"))
    shown.blocks = (*shown.blocks, Block("image", made.pool.put("x" * 900), media_bytes=640))
    material = material_of(made.transcript, made.pool)
    image = material.messages[-1].pieces[1]
    assert (image.kind, image.text, image.ref, image.media_bytes) == ("image", "", None, 640)
    assert material.messages[-1].text == "see"
    assert "images" in material.notes[-1]


def test_a_result_is_given_the_tool_of_its_call() -> None:
    made = Builder()
    call = made.say("assistant", ("tool_call", '{"name": "read", "arguments": {}}'))
    call.blocks = (replace(call.blocks[0], tool_name="read", tool_call_id="t1"),)
    result = made.say("tool", ("tool_result", "text"))
    result.blocks = (replace(result.blocks[0], tool_call_id="t1"),)
    assert material_of(made.transcript, made.pool).messages[1].tool_name == "read"


def test_without_reported_calls_answers_are_the_calls() -> None:
    made = Builder()
    for role in ("user", "assistant", "assistant", "tool", "assistant", "user"):
        made.say(role, ("text", role))
    material = material_of(made.transcript, made.pool)
    assert material.points == [CallPoint(1), CallPoint(4)]
    assert "reports no model calls" in material.notes[0]


def test_without_answers_each_user_message_is_followed_by_a_call() -> None:
    made = Builder()
    made.say("user", ("text", "one"))
    made.say("user", ("text", "two"))
    material = material_of(made.transcript, made.pool)
    assert material.points == [CallPoint(1), CallPoint(2)]
    assert "no answers" in material.notes[0]


def test_nothing_at_all() -> None:
    material = material_of(Transcript(Session(id="s", format="test")), MemoryPool())
    assert (material.messages, material.points, material.system_tokens, material.recorded) == ([], [], None, None)
    assert material.notes == ["No message of this agent is in the session."]


def test_an_agent_of_its_own() -> None:
    made = talk()
    made.say("user", ("text", "a task"), agent="sub")
    made.call([], 20, answer="done", agent="sub")
    material = material_of(made.transcript, made.pool, agent="sub")
    assert [one.text for one in material.messages] == ["a task", "done"]
    assert (material.points, material.agent) == ([CallPoint(1, 2)], "sub")
    assert material_of(made.transcript, made.pool, agent="nobody").messages == []


def test_calls_that_name_no_message_are_placed_by_their_time_or_counted() -> None:
    made = Builder()
    for number, role in enumerate(("user", "tool", "tool")):
        made.say(role, ("text", role)).at = START + timedelta(seconds=10 * number)  # type: ignore[arg-type]
    usage = TokenUsage(9, None, None, 1)
    for number, at in enumerate((START + timedelta(seconds=5), START + timedelta(seconds=15), None)):
        made.transcript.calls.append(ModelCall(number, None, None, at, "m", usage))
    material = material_of(made.transcript, made.pool)
    assert material.points == [CallPoint(1, 0), CallPoint(2, 1)]
    assert [note[-3:] for note in material.notes] == [" 2.", " 1."]


def test_what_is_beside_the_messages_is_of_the_recorded_request_else_derived() -> None:
    made = talk()
    material = material_of(made.transcript, made.pool)
    assert (material.system_tokens, material.system_basis) == (42, "session")
    other = Builder()
    other.say("user", ("text", words(5)))
    other.call([other.item("system", "system", words(30))], 200, answer="a")
    derived = material_of(other.transcript, other.pool)
    assert (derived.system_tokens, derived.system_basis) == (195, "derived")
    unknown = Builder()
    unknown.say("user", ("text", words(5)))
    unknown.call([], None, answer="a")
    none = material_of(unknown.transcript, unknown.pool)
    assert (none.system_tokens, none.system_basis) == (None, "unknown")


@pytest.mark.parametrize(("own", "configured", "model", "expected"), [
    (500, {}, "m", 500), (None, {"p/m": 700, "m2": 9}, "m", 700), (None, {}, "claude-3-opus", 200_000),
    (None, {}, None, None),
])  # fmt: skip
def test_the_window(own: int | None, configured: dict[str, int], model: str | None, expected: int | None) -> None:
    made = talk()
    made.transcript.session.window, made.transcript.session.model = own, model
    made.transcript.session.configuration = Configuration("pi", ("settings.json",), windows=configured)
    material = material_of(made.transcript, made.pool)
    assert material.window == expected
    assert bool(material.notes) == (own is None and expected is not None)


def test_recorded_summaries_know_how_many_messages_were_before_them() -> None:
    made = talk()
    made.say("user", ("text", "next"))
    made.call([], 40, answer="answer")
    path = [message.id or "" for message in made.transcript.messages]
    made.transcript.tree = TreeFacts(1, None, None, [*path[:4], "k1", *path[4:]])
    made.compact(1, 2, summary=made.pool.put("by entry"))
    made.compact(1, 2, summary=made.pool.put("by place"), message_index=2)
    made.compact(1, 2, summary=made.pool.put("by call"))
    made.compact(1, None, summary=made.pool.put("nowhere"))
    made.compact(1, 2, summary=made.pool.put("off"), on_active_path=False)
    made.compact(1, 2)
    material = material_of(made.transcript, made.pool)
    assert [(one.messages, one.text) for one in material.summaries] == [
        (2, "by place"), (4, "by entry"), (5, "by call"), (6, "nowhere"),
    ]  # fmt: skip


@pytest.mark.slow  # sixty thousand messages
def test_thirty_thousand_calls_are_read_in_linear_time() -> None:
    transcript, pool = Transcript(Session(id="s", format="test")), MemoryPool(count=len)
    ref = pool.put("some words")
    usage = TokenUsage(9, None, None, 1)
    for number in range(60_000):
        role = ("user", "assistant")[number % 2]
        block = Block("text", ref)
        call = number // 2 if role == "assistant" else None
        transcript.messages.append(
            Message(number, f"m{number}", None, role, role, (block,), START, number, "f", call_index=call)  # type: ignore[arg-type]
        )
        if call is not None:
            transcript.calls.append(ModelCall(call, None, None, START, "m", usage, message_index=number))
    for number in range(300):
        made = Builder()
        transcript.compactions.append(made.compact(number, number * 90, summary=ref))
    begun = time.process_time()
    material = material_of(transcript, pool)
    assert time.process_time() - begun < 6
    assert (len(material.points), len(material.messages), len(material.summaries)) == (30_000, 60_000, 300)


@pytest.mark.parametrize(("folder", "messages", "points", "summaries", "basis"), [
    ("pi-main", 58, 29, 1, "session"), ("oc-legacy", 164, 82, 3, "derived"), ("codex-main", 141, 54, 7, "derived"),
    ("claude-main", 95, 46, 4, "session"), ("openvole-main", 28, 24, 6, "derived"),
])  # fmt: skip
def test_real_sessions(shared: Path, folder: str, messages: int, points: int, summaries: int, basis: str) -> None:
    material = samples.material(shared / "samples" / folder)
    assert (len(material.messages), len(material.points)) == (messages, points)
    assert (len(material.summaries), material.system_basis) == (summaries, basis)
    places = [point.messages for point in material.points]
    assert places == sorted(places)
    assert material.window
