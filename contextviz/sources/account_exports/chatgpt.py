"""A conversation of ChatGPT's export as a tree: `mapping` with its nodes, `current_node` where it is shown."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from contextviz.events.message import Block, Role
from contextviz.events.session import Session, Transcript
from contextviz.sources.account_exports.chatgpt_content import CONTEXTS, KNOWN, content_blocks, file_block
from contextviz.sources.account_exports.documents import is_opened
from contextviz.sources.account_exports.talk import Talk
from contextviz.sources.account_exports.tree import Entry, Step, Tree, arranged
from contextviz.sources.plain.content import role_of
from contextviz.sources.plain.draft import Draft
from contextviz.sources.source import ReadOptions
from contextviz.sources.values import as_dict, as_id, as_list, as_text

FORMAT = "chatgpt-export"
UPDATED_KEY = "update_time"
Json = Mapping[str, Any]
_BESIDE = frozenset({"create_time", "update_time", "current_node", "conversation_id", "title"})
# Not models: the app chooses one.
_NO_MODELS = frozenset({"auto", ""})


def looks(value: Json) -> bool:
    """Whether an object is a conversation: a mapping of nodes, beside keys that belong to it."""
    if not is_opened(value.get("mapping"), dict) or not _BESIDE & value.keys():
        return False
    nodes = list(as_dict(value["mapping"]).values())[:3]
    return all(isinstance(node, dict) and {"message", "parent", "children"} & node.keys() for node in nodes)


def id_of(value: Json) -> str:
    """The conversation's id; a hash of its nodes' names where it has none."""
    found = as_id(value.get("conversation_id")) or as_id(value.get("id"))
    if found is None:
        seed = hashlib.sha256("\n".join(list(as_dict(value.get("mapping")))[:3]).encode("utf-8", errors="replace"))
        found = f"chatgpt-{seed.hexdigest()[:16]}"
    return found


def size_of(value: Json) -> int:
    """How many nodes hold a message."""
    return sum(isinstance(as_dict(node).get("message"), dict) for node in as_dict(value.get("mapping")).values())


def transcript_of(value: Json, file: str, options: ReadOptions) -> Transcript:
    """The conversation as a transcript."""
    model = as_text(value.get("default_model_slug"))
    session = Session(id_of(value), FORMAT, title=as_text(value.get("title")) or None)
    session.model = None if model in _NO_MODELS else model
    talk = Talk(session, file, options, pairs_by_place=True)
    draft = talk.draft
    talk.updated(value.get(UPDATED_KEY))
    draft.time(value.get("create_time"), "the conversation")
    mapping = as_dict(value.get("mapping"))
    entries = [_entry(name, as_dict(node), draft) for name, node in mapping.items()]
    listed = _listed(mapping, entries)
    current = as_text(value.get("current_node"))
    tree = arranged(entries, current, listed)
    _told(draft, tree, current)
    talk.add(tree)
    draft.transcript.tree = tree.facts()
    draft.transcript.entries = draft.transcript.lines.total = len(mapping)
    return talk.finish()


def _told(draft: Draft, tree: Tree, current: str | None) -> None:
    for entry in tree.dangling:
        text = f"{entry.id[:80]} follows {str(entry.parent)[:80]}, which is not there; it is shown as a beginning"
        draft.problem("dangling_parent", text, entry=entry.id, value=str(entry.parent)[:80])
    if tree.cycles:
        text = f"messages name each other as the one before them ({tree.cycles} times); such a circle is cut open"
        draft.problem("cycle", text, value=tree.cycles)
    if tree.is_leaf_guessed:
        what = "names no node" if current else "is not written"
        text = f"current_node {what}, so the newest end of the conversation is taken for the one that is shown"
        draft.problem("dangling_parent", text, "info", value=(current or "")[:80] or None)


def _listed(mapping: Json, entries: list[Entry]) -> dict[str, int]:
    """The place of each node among its siblings by their parent's list, which newer exports leave out. A node that
    names no parent gets the one that lists it."""
    listed: dict[str, int] = {}
    lists: dict[str, str] = {}
    for name, node in mapping.items():
        for place, child in enumerate(as_list(as_dict(node).get("children"))):
            if isinstance(child, str):
                listed.setdefault(child, place)
                lists.setdefault(child, name)
    for entry in entries:
        if entry.parent is None:
            entry.parent = lists.get(entry.id)
    return listed


def _entry(name: str, node: Json, draft: Draft) -> Entry:
    parent = as_text(node.get("parent"))
    message = node.get("message")
    if not isinstance(message, dict):
        if message is not None or not node:
            draft.unknown("no message")
        return Entry(name, parent)
    metadata, content = as_dict(message.get("metadata")), as_dict(message.get("content"))
    kind = as_text(content.get("content_type")) or "no content_type"
    native = as_text(as_dict(message.get("author")).get("role")) or "no role"
    role: Role = role_of(native) or "system"
    if role_of(native) is None:
        draft.unknown(f"author {native}")
    elif kind not in KNOWN:
        draft.unknown(kind)
    blocks = content_blocks(message, draft.pool, role, draft.unknown_part)
    is_hidden = metadata.get("is_visually_hidden_from_conversation") is True
    if role == "system" or (role == "user" and is_hidden):
        blocks = [_injected(block) for block in [*blocks, *_instructions(metadata, blocks, draft)]]
    blocks += _attached(metadata, content, draft)
    is_answer = role == "assistant" and kind not in CONTEXTS and bool(blocks)
    return Entry(
        name, parent, role, native, tuple(blocks), message.get("create_time"), _model(metadata),
        is_human=role == "user" and any(block.kind in ("text", "image") for block in blocks),
        steps=(Step(0),) if is_answer else (),
    )  # fmt: skip


def _injected(block: Block) -> Block:
    return Block("injected", block.text) if block.kind == "text" else block


def _instructions(metadata: Json, blocks: list[Block], draft: Draft) -> list[Block]:
    """Custom instructions of older exports, whose message is empty and has them beside it."""
    found = as_dict(metadata.get("user_context_message_data"))
    if blocks or metadata.get("is_user_system_message") is not True:
        return []
    texts = (as_text(found.get(key)) for key in ("about_user_message", "about_model_message"))
    return [Block("injected", draft.pool.put(text)) for text in texts if text]


def _attached(metadata: Json, content: Json, draft: Draft) -> list[Block]:
    """Attached files that are no part of the content: by type and size, since their content is in no document."""
    pointers = {as_text(as_dict(part).get("asset_pointer")) or "" for part in as_list(content.get("parts"))}
    shown = {pointer.rpartition("/")[2].partition("#")[0] for pointer in pointers}
    found = []
    for one in map(as_dict, as_list(metadata.get("attachments"))):
        if one and as_text(one.get("id")) not in shown:
            found.append(file_block(draft.pool, one.get("mime_type") or one.get("mimeType"), one.get("size")))
    return found


def _model(metadata: Json) -> str | None:
    model = as_text(metadata.get("model_slug"))
    return None if model in _NO_MODELS else model
