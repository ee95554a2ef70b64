"""pi's system prompt and tools: patches in order make the current ones (formats.md A.4, `system`)."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from contextviz.events.snapshot import ContextItem
from contextviz.events.text import TextPool, TextRef
from contextviz.sources.openclaw.nodes import Node, PromptPatch
from contextviz.sources.values import as_dict, as_id, as_list, as_text

Json = dict[str, Any]


def patch_of(message: Json, pool: TextPool, *, is_whole: bool = False) -> PromptPatch:
    """A system message, or a compaction's checkpoint of one, as a patch."""
    body = message.get("content")
    text = body if isinstance(body, str) else "\n\n".join(_texts(body))
    sections: list[tuple[str, TextRef | None]] = []
    for name, section in as_dict(message.get("sections")).items():
        sections.append((name, pool.put(section) if isinstance(section, str) else None))
    added = [
        (as_id(tool.get("name")) or "?", _tool(tool, pool)) for tool in map(as_dict, as_list(message.get("toolsAdded")))
    ]
    removed = tuple(name for name in map(_name, as_list(message.get("toolsRemoved"))) if name)
    return PromptPatch(pool.put(text) if text else None, tuple(sections), tuple(added), removed, is_whole)


def _texts(body: Any) -> list[str]:
    return [text for text in (as_text(as_dict(part).get("text")) for part in as_list(body)) if text]


def _name(value: Any) -> str | None:
    return as_id(value) or as_id(as_dict(value).get("name"))


def _tool(tool: Json, pool: TextPool) -> TextRef:
    shown = {key: tool[key] for key in ("name", "description", "parameters") if key in tool}
    return pool.put(json.dumps(shown, ensure_ascii=False))


def prompt_items(nodes: Iterable[Node], pool: TextPool) -> list[ContextItem]:
    """The prompt that the patches of `nodes` (a path, in order) leave: one system item, one item a tool."""
    sections: dict[str, TextRef] = {}
    tools: dict[str, TextRef] = {}
    last: Node | None = None
    content: TextRef | None = None
    for node in nodes:
        patch = node.prompt
        if patch is None:
            continue
        last = node
        if patch.is_whole:
            sections.clear()
            tools = {} if patch.added else tools
        content = patch.content or (None if patch.is_whole else content)
        for name, ref in patch.sections:
            if ref is None:
                sections.pop(name, None)
            else:
                sections[name] = ref
        tools.update(patch.added)
        for name in patch.removed:
            tools.pop(name, None)
    return [] if last is None else _items(last, content, sections, tools, pool)


def _items(
    node: Node, content: TextRef | None, sections: dict[str, TextRef], tools: dict[str, TextRef], pool: TextPool
) -> list[ContextItem]:
    texts = [pool.get(ref) for ref in ([content] if content else []) + list(sections.values())]
    items = [
        ContextItem(
            "system", "tools", ref, entry=node.id, message_index=node.message, reason="tool definition", tool_name=name
        )
        for name, ref in tools.items()
    ]
    if texts:
        joined = pool.put("\n\n".join(texts))
        items.insert(0, ContextItem("system", "system", joined, node.id, node.message, reason="system prompt"))
    return items
