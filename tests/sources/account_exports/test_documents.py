from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from contextviz.events.problem import ReadProblem
from contextviz.events.session import SourceFile, Transcript
from contextviz.services.incoming.configuration import repacked
from contextviz.sources.account_exports import ChatGptExportReader, ClaudeAiExportReader
from contextviz.sources.account_exports.documents import Cut, first_keys
from contextviz.sources.files import NamedPath, probe, read_paths, walk
from contextviz.sources.registry import READERS, detect
from contextviz.sources.source import ReadOptions
from contextviz.sources.unpack import unpacked
from contextviz.tokens.pool import MemoryPool
from tests.sources.account_exports.talks import branched, chat, forked, message, simple
from tests.sources.plain.reading import NOW, read, write

CHATGPT, CLAUDE_AI = "chatgpt-export", "claude-ai-export"
LIMIT = 64 * 1024 * 1024
# The other files of an export, made up: what is in them, and a word of the reason they are passed by for.
MEMBERS: dict[str, tuple[Any, str]] = {
    "user.json": ({"id": "user-1", "email": "a@example.org", "chatgpt_plus_user": True}, "account"),
    "message_feedback.json": ([{"message_id": "m", "conversation_id": "c", "rating": "thumbs_up"}], "feedback"),
    "shared_conversations.json": ([{"id": "s", "conversation_id": "c", "title": "T", "is_anonymous": True}], "shared"),
    "export_manifest.json": ({"version": 1, "export_files": [], "logical_files": {}}, "list of files"),
    "library_files.json": ([{"file_id": "f", "library_file_category": "c"}], "list of files"),
    "group_chats.json": ({"chats": []}, "group chats"),
    "sora.json": ({"user": {}, "generations": [], "tasks": []}, "Sora"),
    "users.json": ([{"uuid": "u", "full_name": "A", "email_address": "a@example.org"}], "account"),
    "projects.json": ([{"uuid": "p", "name": "P", "is_private": True, "prompt_template": "", "docs": []}], "projects"),
    "memories.json": ([{"conversations_memory": "likes rye", "account_uuid": "u"}], "remembers"),
}


def looked(path: Path) -> str | None:
    known = detect(probe(path, path.name))
    return None if known is None else known[1].format


def test_both_are_told_by_their_content_under_any_name_and_by_no_other_reader(tmp_path: Path) -> None:
    files = {
        write(tmp_path / "a.json", [branched()]): CHATGPT,
        write(tmp_path / "b.json", branched()): CHATGPT,
        write(tmp_path / "c.json", {"conversations": [simple("c")]}): CHATGPT,
        write(tmp_path / "d.json", [forked()]): CLAUDE_AI,
        write(tmp_path / "e.json", forked()): CLAUDE_AI,
    }
    (tmp_path / "f.json").write_text("\ufeff" + json.dumps([branched()], indent=1, sort_keys=True))
    (tmp_path / "g.json").write_text(json.dumps([forked()], indent=1, sort_keys=True))
    files |= {tmp_path / "f.json": CHATGPT, tmp_path / "g.json": CLAUDE_AI}

    assert {path.name: looked(path) for path in files} == {path.name: name for path, name in files.items()}
    for path, name in files.items():
        found = [one.detect(probe(path, path.name)) for one in READERS]
        assert [one.format for one in found if one is not None] == [name]


@pytest.mark.parametrize(
    "value",
    [
        [], {}, [[]], [1], [{"mapping": {}}], [{"mapping": [], "title": "t"}], {"mapping": {"a": 1}, "title": "t"},
        [{"chat_messages": {}, "uuid": "u"}], [{"chat_messages": [1], "uuid": "u"}],
        [{"conversations": [{"from": "human", "value": "x"}]}], [{"role": "user", "content": "x"}],
        {"conversations": [{"from": "human", "value": "x"}]}, {"name": "x", "docs": []},
    ],
)  # fmt: skip
def test_what_only_resembles_an_export_is_none(tmp_path: Path, value: Any) -> None:
    assert looked(write(tmp_path / "conversations.json", value)) not in (CHATGPT, CLAUDE_AI)


def test_an_export_is_known_by_its_first_keys_however_long_its_first_conversation_is(tmp_path: Path) -> None:
    talk = simple("c1", "x" * (5 * 1024 * 1024))
    found = chat("c2", message("h", "human", "x" * (5 * 1024 * 1024)))

    assert looked(write(tmp_path / "a.json", [talk])) == CHATGPT
    assert looked(write(tmp_path / "b.json", [found])) == CLAUDE_AI


def test_the_first_keys_end_where_the_text_ends() -> None:
    assert first_keys(b'[ {"a": 1, "b" : {"c": [2]}, "d": {"e') == {"a": 1, "b": {"c": [2]}, "d": Cut("{")}
    assert first_keys(b'{"a": "x"}') == {"a": "x"}
    assert first_keys(b'[{"a"') == first_keys(b"[1") == first_keys(b"[{}]") == first_keys(b"") == {}
    assert first_keys(b'[{"a": ' + b"[" * 100_000) == {"a": Cut("[")}


@pytest.mark.parametrize("name", MEMBERS)
def test_the_other_files_of_an_export_are_passed_by_with_a_reason(tmp_path: Path, name: str) -> None:
    value, word = MEMBERS[name]
    known = detect(probe(write(tmp_path / name, value), name))

    assert known is not None
    assert known[1].role == "ignored"
    assert word in (known[1].reason or "")
    assert "nothing of it is read" in (known[1].reason or "")


def packed(folder: Path, conversations: Any) -> Path:
    path = folder / "export.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("conversations.json", json.dumps(conversations))
        archive.writestr("chat.html", "<html><body>secret page</body></html>")
        archive.writestr("file-1.png", b"\x89PNG\r\n\x1a\n" + bytes(100))
        for name, (value, _) in MEMBERS.items():
            archive.writestr(name, json.dumps(value))
    return path


def read_all(path: Path) -> list[SourceFile | Transcript | ReadProblem]:
    options = ReadOptions(MemoryPool(), NOW)
    with unpacked([NamedPath(path, path.name)]) as opened:
        return list(opened.all_of(read_paths(opened.paths, options)))


@pytest.mark.parametrize("conversations", [[branched(), simple("c1")], [forked()]])
def test_of_a_zip_only_the_conversations_are_read_and_every_other_file_is_told(
    tmp_path: Path, conversations: Any
) -> None:
    items = read_all(packed(tmp_path, conversations))
    files = {one.path: one for one in items if isinstance(one, SourceFile)}

    assert len([one for one in items if isinstance(one, Transcript)]) == len(conversations)
    assert files["export.zip/conversations.json"].is_counted
    others = [one for path, one in files.items() if path not in ("export.zip", "export.zip/conversations.json")]
    assert len(others) == len(MEMBERS) + 2
    assert all(one.role == "ignored" and one.reason for one in others)


def test_of_a_zip_nothing_but_the_conversations_is_kept(tmp_path: Path) -> None:
    path = packed(tmp_path, [branched()])
    kept = repacked("export.zip", path, path.read_bytes()[:512])

    assert kept is not None
    with kept, zipfile.ZipFile(kept) as archive:
        held = {name: archive.read(name) for name in archive.namelist()}
    assert json.loads(held.pop("conversations.json")) == [branched()]
    assert held.keys() == {*MEMBERS, "chat.html", "file-1.png"}
    assert all(text.startswith(b"contextviz kept nothing of this file: ") for text in held.values())
    assert not any(b"example.org" in text or b"rye" in text or b"secret" in text for text in held.values())


def test_a_document_above_the_limit_is_refused_with_what_to_do(tmp_path: Path) -> None:
    for name, value in (("a.json", [simple("c1")]), ("b.json", simple("c2"))):
        with write(tmp_path / name, value).open("r+b") as raw:
            raw.truncate(LIMIT + 1)
    result = read(ChatGptExportReader(), tmp_path)

    assert result.transcripts == []
    assert [(one.role, one.is_counted) for one in result.files] == [("ignored", False)] * 2
    assert all("larger than 64 MB" in problem.message and "split" in problem.message for problem in result.problems)


@pytest.mark.parametrize(("reader", "values", "ids"), [
    (ChatGptExportReader(), [simple("c1"), {"x": 1}, branched()], ["c1"]),
    (ClaudeAiExportReader(), [chat("c1", message("h", "human", "a")), {"x": 1}, forked()], ["c1"]),
])  # fmt: skip
def test_of_a_list_that_is_cut_off_the_whole_conversations_are_read(
    tmp_path: Path, reader: Any, values: Any, ids: list[str]
) -> None:
    (tmp_path / "conversations.json").write_text(json.dumps(values)[:-200])
    result = read(reader, tmp_path)

    assert [one.session.id for one in result.transcripts] == ids
    assert {one.code: one.value for one in result.problems} == {"malformed_document": 2, "unknown_type": 1}


def test_a_list_that_is_cut_off_within_its_first_conversation_is_refused(tmp_path: Path) -> None:
    (tmp_path / "conversations.json").write_text(json.dumps([branched()])[:-200])
    result = read(ChatGptExportReader(), tmp_path)

    assert (result.transcripts, result.files[0].role) == ([], "ignored")
    assert "not whole JSON" in result.problems[0].message


def test_half_emoji_and_deep_nesting_do_no_harm(tmp_path: Path) -> None:
    text = json.dumps([simple("c1", "half \ud83d")])
    (tmp_path / "conversations.json").write_text(text)
    (tmp_path / "conversations-001.json").write_text('[{"title": "t", "mapping": {"a": ' + "[" * 100_000)
    result = read(ChatGptExportReader(), tmp_path)

    assert result.texts()[0] == ["half \ufffd"]
    assert {one.code for one in result.problems} == {"lone_surrogate", "unreadable_file"}


def test_a_folder_of_both_exports_is_read_by_both(tmp_path: Path) -> None:
    write(tmp_path / "one" / "conversations.json", [branched()])
    write(tmp_path / "two" / "conversations.json", [forked()])
    items = read_paths(list(walk(tmp_path)), ReadOptions(MemoryPool(), NOW))

    assert [one.session.key[:2] for one in items if isinstance(one, Transcript)] == [
        (CHATGPT, "talk-1"), (CLAUDE_AI, "chat-1"),
    ]  # fmt: skip
