"""The other files of an export: whose they are and why they are passed by. Nothing of them is read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from contextviz.sources.lines import BOM
from contextviz.sources.plain.load import first_elements
from contextviz.sources.source import Probe

NOT_READ = "not a conversation; nothing of it is read"
# By the keys that an object of it has, and that no transcript has together.
_CHATGPT = (
    (frozenset({"email", "chatgpt_plus_user"}), "the account, in ChatGPT's export"),
    (frozenset({"message_id", "conversation_id", "rating"}), "feedback on answers, in ChatGPT's export"),
    (frozenset({"conversation_id", "is_anonymous", "title"}), "shared links, in ChatGPT's export"),
    (frozenset({"export_files", "logical_files"}), "the list of files of ChatGPT's export"),
    (frozenset({"file_id", "library_file_category"}), "the list of files of a ChatGPT account"),
    (frozenset({"user", "generations", "tasks"}), "Sora's videos, in ChatGPT's export"),
)
_CLAUDE_AI = (
    (frozenset({"uuid", "full_name", "email_address"}), "the account, in claude.ai's export"),
    (frozenset({"uuid", "name", "prompt_template", "docs"}), "projects, in claude.ai's export"),
    (frozenset({"uuid", "name", "is_private", "docs"}), "projects, in claude.ai's export"),
    (frozenset({"conversations_memory"}), "what claude.ai remembers, in its export"),
)


def chatgpt_member(probe: Probe) -> str | None:
    """Why a file of ChatGPT's export is passed by; None where it is none that is known."""
    document = probe.document
    if document is not None and document.keys() == {"chats"} and isinstance(document["chats"], list):
        return f"group chats, in ChatGPT's export: {NOT_READ}"
    return _member(probe, _CHATGPT)


def claude_ai_member(probe: Probe) -> str | None:
    """Why a file of claude.ai's export is passed by; None where it is none that is known."""
    return _member(probe, _CLAUDE_AI)


def _member(probe: Probe, known: tuple[tuple[frozenset[str], str], ...]) -> str | None:
    if probe.tables is not None:
        return None
    first = _first(probe)
    found = next((what for keys, what in known if keys <= first.keys()), None)
    return None if found is None else f"{found}: {NOT_READ}"


def _first(probe: Probe) -> Mapping[str, Any]:
    if probe.document is not None:
        return probe.document
    if not probe.head.removeprefix(BOM).lstrip().startswith(b"["):
        return {}
    return next(iter(first_elements(probe, 1)), {})
