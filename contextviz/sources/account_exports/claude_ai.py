"""A conversation of claude.ai's export: its messages, a tree where they name the one before them."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from contextviz.events.message import Block, Role
from contextviz.events.session import Session, Transcript
from contextviz.events.text import TextPool
from contextviz.sources.account_exports.documents import is_opened
from contextviz.sources.account_exports.talk import Talk
from contextviz.sources.account_exports.tree import Entry, Step, arranged
from contextviz.sources.plain.content import dumps, part_blocks, tool_call, tool_results
from contextviz.sources.plain.draft import Draft
from contextviz.sources.source import ReadOptions
from contextviz.sources.values import as_dict, as_id, as_int, as_list, as_text

FORMAT = "claude-ai-export"
UPDATED_KEY = "updated_at"
Json = Mapping[str, Any]
LONGEST_NAME = 200
ROLES: dict[str, Role] = {"human": "user", "user": "user", "assistant": "assistant"}
_BESIDE = frozenset({"uuid", "name", "created_at", "account"})
# What the first message names as the one before it.
_NOBODY = re.compile(r"0{8}-0{4}-[04]0{3}-[08]0{3}-0{12}")
# Blocks that say what happened and are no content.
SILENT = frozenset({"token_budget", "flag"})
_CALLS = frozenset({"tool_use", "server_tool_use"})
_AS_THEY_ARE = frozenset({"text", "thinking", "redacted_thinking", "image", "document", "file"})
_PAGES = frozenset({"knowledge", "rag_reference", "webpage_metadata", "search_result"})


def looks(value: Json) -> bool:
    """Whether an object is a conversation: a list of messages, beside keys that belong to it."""
    if not is_opened(value.get("chat_messages"), list) or not _BESIDE & value.keys():
        return False
    messages = as_list(value["chat_messages"])[:3]
    return all(isinstance(one, dict) and ("sender" in one or "content" in one) for one in messages)


def id_of(value: Json) -> str:
    """The conversation's id; a hash of its name and time where it has none."""
    found = as_id(value.get("uuid"))
    if found is None:
        seed = hashlib.sha256(dumps([value.get("name"), value.get("created_at")]).encode("utf-8", errors="replace"))
        found = f"claude-ai-{seed.hexdigest()[:16]}"
    return found


def size_of(value: Json) -> int:
    """How many messages it has."""
    return len(as_list(value.get("chat_messages")))


def transcript_of(value: Json, file: str, options: ReadOptions) -> Transcript:
    """The conversation as a transcript."""
    session = Session(id_of(value), FORMAT, title=as_text(value.get("name")) or None)
    session.model = as_text(value.get("model"))
    talk = Talk(session, file, options)
    draft = talk.draft
    talk.updated(value.get(UPDATED_KEY))
    draft.time(value.get("created_at"), "the conversation")
    messages = as_list(value.get("chat_messages"))
    is_tree = any("parent_message_uuid" in as_dict(one) for one in messages)
    entries: list[Entry] = []
    taken: set[str] = set()
    for number, one in enumerate(messages, start=1):
        entry = _entry(as_dict(one), number, draft, session.model)
        if entry.id in taken:
            entry.id = f"m{number}"
        taken.add(entry.id)
        if not is_tree:
            entry.parent = entries[-1].id if entries else None
        entries.append(entry)
    if is_tree:
        _mend(entries, draft)
    current = as_text(value.get("current_leaf_message_uuid"))
    tree = arranged(entries, current if is_tree else (entries[-1].id if entries else None))
    if tree.cycles:
        text = f"messages name each other as the one before them ({tree.cycles} times); such a circle is cut open"
        draft.problem("cycle", text, value=tree.cycles)
    talk.add(tree)
    if is_tree:
        draft.transcript.tree = tree.facts()
    draft.transcript.entries = draft.transcript.lines.total = len(messages)
    return talk.finish()


def _mend(entries: list[Entry], draft: Draft) -> None:
    """A message that names nobody begins the conversation; one that names a message that is not there follows the one
    before it in the file."""
    known = {entry.id for entry in entries}
    for place, entry in enumerate(entries):
        parent = entry.parent
        if parent is None or parent in known:
            continue
        entry.parent = None
        if _NOBODY.fullmatch(parent) is None and place:
            entry.parent = entries[place - 1].id
            text = f"{entry.id[:80]} follows {parent[:80]}, which is not there; the message before it is taken"
            draft.problem("dangling_parent", text, entry=entry.id, value=parent[:80])


def _entry(message: Json, number: int, draft: Draft, model: str | None) -> Entry:
    native = as_text(message.get("sender")) or "no sender"
    role = ROLES.get(native)
    if role is None:
        draft.unknown(f"sender {native}")
    blocks: list[Block] = []
    steps: list[Step] = []
    for part in as_list(message.get("content")):
        found = _blocks(part, draft)
        if not found:
            continue
        is_result = any(block.kind == "tool_result" for block in found)
        if role == "assistant" and not is_result and (not steps or _is_answered(blocks, steps[-1])):
            steps.append(Step(len(blocks)))
        if steps and not is_result:
            steps[-1].time = steps[-1].time or as_dict(part).get("start_timestamp")
        blocks.extend(found)
    text = as_text(message.get("text"))
    if not blocks and text:
        blocks.append(Block("text", draft.pool.put(text)))
    if role == "assistant" and blocks and not steps:
        steps.append(Step(0))
    blocks.extend(_attached(message, draft.pool))
    return Entry(
        as_id(message.get("uuid")) or f"m{number}", as_text(message.get("parent_message_uuid")), role or "system",
        native, tuple(blocks), message.get("created_at"), model if role == "assistant" else None,
        is_human=role == "user" and bool(blocks), steps=tuple(steps),
    )  # fmt: skip


def _is_answered(blocks: list[Block], step: Step) -> bool:
    """Whether tool results have come since a step began: what the model writes then is another call."""
    return any(block.kind == "tool_result" for block in blocks[step.start :])


def _blocks(part: Any, draft: Draft) -> list[Block]:
    found, pool = as_dict(part), draft.pool
    if not isinstance(part, dict):
        return part_blocks(part, pool)
    kind = as_text(found.get("type")) or "no type"
    if kind in SILENT:
        counters = draft.session.counters
        counters[f"{kind}_blocks"] = counters.get(f"{kind}_blocks", 0) + 1
        return []
    if kind in _CALLS:
        called = (as_text(found.get("name")) or "")[:LONGEST_NAME]
        return [tool_call(pool, called, _arguments(found.get("input")), found.get("id"))]
    if kind.endswith("tool_result"):
        name = (as_text(found.get("name")) or "")[:LONGEST_NAME] or None
        content = found.get("content")
        parts = [_page(one) for one in (content if isinstance(content, list) else [content])]
        is_error = found.get("is_error") is True
        return _sizes(tool_results(pool, parts, name, as_text(found.get("tool_use_id")), is_error=is_error))
    if kind in _AS_THEY_ARE:
        if kind == "text" and not found.get("text"):
            return []
        return _sizes(part_blocks(found, pool))
    draft.unknown_part(kind)
    return [Block("injected", pool.put(dumps(part)))]


def _sizes(blocks: list[Block]) -> list[Block]:
    """A picture that the export only names has no size that is known."""
    return [
        replace(block, media_bytes=None, base64_chars=None)
        if block.kind == "image" and not block.media_bytes
        else block
        for block in blocks
    ]


def _arguments(value: Any) -> Any:
    """A call's arguments as an object."""
    return value if isinstance(value, dict | str) or value is None else {"raw": value}


def _page(part: Any) -> Any:
    """A page that a search found: its title, its address and its text."""
    found = as_dict(part)
    if as_text(found.get("type")) not in _PAGES:
        return part
    return "\n".join(text for key in ("title", "url", "uri", "text") if (text := as_text(found.get(key)))) or part


def _attached(message: Json, pool: TextPool) -> list[Block]:
    """What a person attached: its text where the export has it, else a file by its type and size."""
    blocks: list[Block] = []
    shown: set[str] = set()
    for one in map(as_dict, as_list(message.get("attachments"))):
        name, text = as_text(one.get("file_name")), as_text(one.get("extracted_content"))
        shown.add(name or "")
        if text:
            blocks.append(Block("text", pool.put(text)))
        elif one:
            blocks.append(_file(pool, one.get("file_type"), one.get("file_size")))
    for one in map(as_dict, [*as_list(message.get("files")), *as_list(message.get("files_v2"))]):
        names = {name for key in ("file_uuid", "file_name") if (name := as_text(one.get(key)))}
        if names and not names & shown:
            blocks.append(_file(pool, one.get("file_kind"), one.get("size_bytes")))
        shown |= names
    return blocks


def _file(pool: TextPool, kind: Any, size: Any) -> Block:
    word = as_text(kind) or "application/octet-stream"
    return Block("image", pool.put(""), media_type=word[:100], media_bytes=as_int(size))
