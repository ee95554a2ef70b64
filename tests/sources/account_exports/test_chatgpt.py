from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from contextviz.sources.account_exports import ChatGptExportReader
from tests.sources.account_exports.talks import branched, code, conversation, node, output, says, simple
from tests.sources.plain.reading import Result, read, write


def given(folder: Path, *conversations: Any, name: str = "conversations.json") -> Result:
    write(folder / name, list(conversations))
    return read(ChatGptExportReader(), folder)


def test_each_conversation_is_a_session_of_its_own(tmp_path: Path) -> None:
    result = given(tmp_path, simple("c1", "one?", "1"), simple("c2", "two?", "2"))

    assert [one.session.id for one in result.transcripts] == ["c1", "c2"]
    assert [one.session.title for one in result.transcripts] == ["About c1", "About c2"]
    assert [result.texts(number) for number in (0, 1)] == [[["one?"], ["1"]], [["two?"], ["2"]]]
    assert (result.files[0].session, result.files[0].is_counted) == (None, True)
    found = result.transcripts[0]
    assert str(found.session.started_at) == "2026-03-01 10:00:00+00:00"
    assert str(found.session.ended_at) == "2026-03-01 10:00:02+00:00"
    assert (found.lines.total, found.lines.read, found.entries) == (3, 3, 3)


def test_the_shown_path_goes_from_the_current_node_and_the_rest_is_a_side_branch(tmp_path: Path) -> None:
    found = given(tmp_path, branched()).one
    tree = found.tree

    assert [message.id for message in found.messages] == [
        "sys", "ctx", "ask", "call1", "out1", "done1", "think", "call2", "out2", "recap", "done2",
    ]  # fmt: skip
    assert tree is not None
    assert tree.active_path == ["sys", "ctx", "ask", "think", "call2", "out2", "recap", "done2"]
    assert tree.abandoned == ["call1", "out1", "done1"]
    assert (tree.branches, tree.branch_point, tree.active_leaf, tree.segments) == (2, "ask", "done2", 1)
    assert [message.id for message in found.messages if not message.on_active_path] == tree.abandoned
    assert found.context_at_end == tree.active_path
    assert found.session.model == "gpt-y"


def test_content_types_become_blocks(tmp_path: Path) -> None:
    result = given(tmp_path, branched())
    kinds = {message.id: [block.kind for block in message.blocks] for message in result.one.messages}

    assert kinds == {
        "sys": [], "ctx": ["injected", "injected"], "ask": ["image", "text"], "call1": ["tool_call"],
        "out1": ["tool_result"], "done1": ["text"], "think": ["thinking"], "call2": ["tool_call"],
        "out2": ["tool_result"], "recap": ["thinking"], "done2": ["text"],
    }  # fmt: skip
    texts = {message.id: [result.text(block) for block in message.blocks] for message in result.one.messages}
    assert texts["ctx"] == ["a baker", "be short"]
    assert texts["think"] == ["Sum\nadd them"]
    assert texts["call1"] == texts["call2"] == ['{"name": "python", "arguments": {"code": "2+2"}}']
    picture = result.one.messages[2].blocks[0]
    assert (picture.media_type, picture.media_bytes) == ("image/unknown", 300)
    assert [message.id for message in result.one.messages if message.is_human] == ["ask"]


def test_results_belong_to_the_call_above_them_whatever_other_branches_hold(tmp_path: Path) -> None:
    found = given(tmp_path, branched()).one
    ids = [message.id for message in found.messages]

    assert [(pair.call_entry, pair.result_entry) for pair in found.pairs] == [("call1", "out1"), ("call2", "out2")]
    assert found.messages[ids.index("out1")].blocks[0].is_error
    assert not found.messages[ids.index("out2")].blocks[0].is_error
    assert found.orphan_results == []


def test_an_answer_is_a_call_of_unknown_tokens_with_the_window_before_it(tmp_path: Path) -> None:
    result = given(tmp_path, branched())
    found = result.one
    calls = found.calls

    assert [(call.entry, call.on_active_path) for call in calls] == [
        ("call1", False), ("done1", False), ("think", True), ("recap", True),
    ]  # fmt: skip
    assert {call.basis for call in calls} == {"unknown"}
    assert all(call.usage.total_tokens is None for call in calls)
    assert found.session.counters["calls_without_usage"] == 4
    indexes = {message.id: message.call_index for message in found.messages if message.call_index is not None}
    assert indexes == {"call1": 0, "done1": 1, "think": 2, "call2": 2, "recap": 3, "done2": 3}
    asked = [("user", "injected", "a baker"), ("user", "injected", "be short"), ("user", "image", ""),
             ("user", "text", "what is 2+2?")]  # fmt: skip
    tool = ("assistant", "tool_call", '{"name": "python", "arguments": {"code": "2+2"}}')
    windows = result.windows()
    assert windows[0] == windows[2] == asked
    assert windows[1] == [*asked, tool, ("tool", "tool_result", "boom")]
    assert windows[3] == [*asked, tool, ("tool", "tool_result", "4")]
    assert {snapshot.basis for snapshot in found.log.snapshots} == {"partial"}


def test_trees_without_lists_of_children_are_read_by_their_parents(tmp_path: Path) -> None:
    talk = branched()
    for one in talk["mapping"].values():
        del one["children"]
    found = given(tmp_path, talk).one

    assert found.tree is not None
    assert found.tree.abandoned == ["call1", "out1", "done1"]


def test_a_node_that_names_no_parent_follows_the_one_that_lists_it(tmp_path: Path) -> None:
    talk = simple("c1")
    del talk["mapping"]["a"]["parent"]
    result = given(tmp_path, talk)

    assert result.one.tree is not None
    assert result.one.tree.active_path == ["u", "a"]
    assert result.one.messages[1].parent_id == "u"


@pytest.mark.parametrize("current", [None, "nowhere"])
def test_without_a_current_node_the_newest_end_is_shown(tmp_path: Path, current: str | None) -> None:
    talk = branched() | {"current_node": current}
    talk["mapping"]["done1"]["message"]["create_time"] += 500
    result = given(tmp_path, talk)

    assert result.one.tree is not None
    assert result.one.tree.active_leaf == "done1"
    assert "dangling_parent" in result.codes()


def test_a_current_node_in_the_middle_ends_the_path(tmp_path: Path) -> None:
    found = given(tmp_path, branched() | {"current_node": "out2"}).one

    assert found.tree is not None
    assert (found.tree.active_leaf, found.tree.abandoned[-2:]) == ("out2", ["recap", "done2"])
    assert found.context_at_end[-1] == "out2"


def test_parents_that_are_not_there_and_circles_are_told(tmp_path: Path) -> None:
    talk = conversation(
        "c1", "b",
        node("x", "gone", says("user", "lost", 1)),
        node("t", "a", says("assistant", "tail", 4)),
        node("a", "b", says("user", "round", 2)), node("b", "a", says("assistant", "again", 3)),
    )  # fmt: skip
    result = given(tmp_path, talk)

    assert sorted(message.id or "" for message in result.one.messages) == ["a", "b", "t", "x"]
    found = {problem.code: problem.value for problem in result.one.problems if problem.code != "out_of_order"}
    assert found == {"dangling_parent": "gone", "cycle": 1}


def test_unknown_contents_authors_and_parts_are_kept_counted_and_named(tmp_path: Path) -> None:
    widget = {"content_type": "widget", "state": {"n": 1}}
    parts = {"content_type": "multimodal_text", "parts": [{"content_type": "hologram", "n": 2}, {"text": "plain"}, 7]}
    talk = conversation(
        "c1", "d",
        node("root", None, None),
        node("a", "root", says("user", parts, 1)), node("b", "a", says("assistant", widget, 2)),
        node("c", "b", says("ghost", "boo", 3)), node("d", "c", says("assistant", "ok", 4)),
        node("e", "d", "no message"),  # type: ignore[arg-type]
    )  # fmt: skip
    result = given(tmp_path, talk)
    lines = result.one.lines

    assert lines.unknown_types == {"widget": 1, "author ghost": 1, "no message": 1}
    assert (lines.total, lines.read) == (6, 3)
    assert result.texts()[0] == ['{"content_type": "hologram", "n": 2}', "plain", "7"]
    assert result.texts()[1] == ['{"content_type": "widget", "state": {"n": 1}}']
    assert {p.value for p in result.one.problems if p.code == "unknown_type"} >= {"widget", "hologram", "author ghost"}


def test_pages_errors_and_memory_are_read_as_what_they_are(tmp_path: Path) -> None:
    page = {"content_type": "tether_quote", "title": "T", "url": "https://x", "text": "body"}
    shown = {"content_type": "tether_browsing_display", "result": "found", "summary": "s"}
    wrong = {"content_type": "system_error", "name": "E", "text": "bad"}
    memory = {"content_type": "model_editable_context", "model_set_context": "likes rye", "repository": None}
    talk = conversation(
        "c1", "g",
        node("root", None, None), node("m", "root", says("assistant", memory)),
        node("a", "m", says("user", "look", 1)), node("b", "a", code("search('x')", 2, "browser")),
        node("c", "b", says("tool", shown, 3, name="browser")), node("d", "c", says("tool", page, 4, name="browser")),
        node("e", "d", code('{"q": "y"}', 5, "web.run")), node("f", "e", says("tool", wrong, 6, name="web.run")),
        node("g", "f", says("assistant", "no", 7)),
    )  # fmt: skip
    result = given(tmp_path, talk)

    assert result.texts()[0] == ["likes rye"]
    assert result.texts()[3:5] == [["found"], ["T\nhttps://x\nbody"]]
    assert result.texts()[5] == ['{"name": "web.run", "arguments": {"q": "y"}}']
    assert [call.entry for call in result.one.calls] == ["b", "e", "g"]
    pairs = [(pair.call_entry, pair.result_entry) for pair in result.one.pairs]
    assert pairs == [("b", "c"), ("e", "f")]
    assert result.one.messages[6].blocks[0].is_error
    assert result.one.orphan_results == []


def test_a_result_that_no_call_above_it_wants_is_an_orphan(tmp_path: Path) -> None:
    talk = conversation(
        "c1", "d",
        node("a", None, code("1", 1)), node("b", "a", says("user", "stop", 2)), node("c", "b", output("late", 3)),
        node("d", "c", says("assistant", "ok", 4)),
    )  # fmt: skip
    found = given(tmp_path, talk).one

    assert found.orphan_results == ["c"]
    assert [(pair.call_entry, pair.result_entry) for pair in found.pairs] == [("a", None)]


def test_older_custom_instructions_and_attached_files_are_not_lost(tmp_path: Path) -> None:
    data = {"about_user_message": "a baker", "about_model_message": "be short"}
    picture = {"content_type": "image_asset_pointer", "asset_pointer": "file-service://file-1", "size_bytes": 300}
    files = [
        {"id": "file-1", "name": "a.png", "size": 300},
        {"id": "file-2", "mime_type": "application/pdf", "size": 9},
    ]
    asked = {"content_type": "multimodal_text", "parts": [picture, "see"]}
    beside = {"is_user_system_message": True, "user_context_message_data": data}
    talk = conversation(
        "c1", "b",
        node("s", None, says("system", "", metadata=beside)),
        node("a", "s", says("user", asked, 1, metadata={"attachments": files})),
        node("b", "a", says("assistant", "ok", 2)),
    )  # fmt: skip
    result = given(tmp_path, talk)

    assert result.texts()[0] == ["a baker", "be short"]
    blocks = result.one.messages[1].blocks
    assert [(block.kind, block.media_type, block.media_bytes) for block in blocks] == [
        ("image", "image/unknown", 300), ("text", None, None), ("image", "application/pdf", 9),
    ]  # fmt: skip


def test_numbered_files_are_read_together_and_a_conversation_in_two_of_them_once(tmp_path: Path) -> None:
    short = branched()
    short["mapping"].pop("done1")
    write(tmp_path / "conversations-000.json", [short, simple("c1")])
    write(tmp_path / "conversations-001.json", [simple("c1"), branched()])
    write(tmp_path / "conversations-002.json", [simple("c1")])
    result = read(ChatGptExportReader(), tmp_path)

    assert [(one.files, one.session.id) for one in result.transcripts] == [
        (["conversations-000.json"], "c1"), (["conversations-001.json"], "talk-1"),
    ]  # fmt: skip
    assert [(one.role, one.session, one.is_counted) for one in result.files] == [
        ("session", "c1", True), ("session", "talk-1", True), ("duplicate", None, False),
    ]  # fmt: skip
    assert [(one.code, one.value) for one in result.problems] == [("duplicate_conversation", 1)] * 3


def test_conversations_without_messages_and_other_elements_are_told(tmp_path: Path) -> None:
    result = given(tmp_path, simple("c1"), conversation("c2", None, node("root", None, None)), {"other": 1}, 7)

    assert [one.session.id for one in result.transcripts] == ["c1"]
    assert {one.code: one.value for one in result.problems} == {"unknown_type": 2, "empty_conversation": 1}


def test_an_odd_current_node_or_title_does_no_harm(tmp_path: Path) -> None:
    talk = simple("c1") | {"title": None, "current_node": ["a"], "create_time": "soon"}
    talk["mapping"]["u"]["message"]["create_time"] = float(10**17)
    result = given(tmp_path, talk)

    assert result.one.session.title is None
    assert {"unreadable_time", "dangling_parent"} <= set(result.codes())


def test_a_single_conversation_and_a_list_with_a_name_are_exports_too(tmp_path: Path) -> None:
    write(tmp_path / "one.json", simple("c1"))
    write(tmp_path / "two.json", {"conversations": [simple("c2")]})
    result = read(ChatGptExportReader(), tmp_path)

    assert [one.session.id for one in result.transcripts] == ["c1", "c2"]


def test_a_long_chain_and_many_branches_take_a_moment_only(tmp_path: Path) -> None:
    nodes = [node("n0", None, says("user", "0"))]
    for number in range(1, 4000):
        role = "assistant" if number % 2 else "user"
        nodes.append(node(f"n{number}", f"n{number - 1}", says(role, str(number), number)))
    nodes += [node(f"s{number}", f"n{number}", says("assistant", "side", number)) for number in range(0, 4000, 2)]
    found = given(tmp_path, conversation("c1", "n3999", *nodes)).one

    assert len(found.calls) == 4000
    assert sum(len(one.tail) for one in found.log.snapshots) < 12_000
    assert found.tree is not None
    assert (len(found.tree.active_path), found.tree.branches) == (4000, 2001)
