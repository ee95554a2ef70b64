"""The order of OpenVole's system prompt, and what of each file it takes (engines document, section 2.8)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from contextviz.events.javascript import length16, slice16, trim

MOST_OF_FILE, MOST_OF_IDENTITY = 20_000, 50_000  # UTF-16 units
CUT = "\n\n[... truncated]"
MEMORY_HEADING = "## Agent Memory"
# What can be cached comes first. The session's history is not in it: it goes before the messages of the task.
ORDER = (
    "brain", "identity", "orchestrator", "workspace", "channels", "skills", "tools", "current_context", "volenet",
    "memory",
)  # fmt: skip
IDENTITY = (("SOUL.md", "Agent Identity"), ("USER.md", "User Profile"), ("AGENT.md", "Agent Rules"))


def build_prompt(sections: Mapping[str, str]) -> str:
    """The sections that are there, in their order, an empty line between them. Others are not rendered."""
    return "\n\n".join(sections[name] for name in ORDER if sections.get(name))


def identity_section(files: Mapping[str, str]) -> str:
    """The identity files by name: each cut, and none more once all together would be too long."""
    parts: list[str] = []
    total = 0
    for name, heading in IDENTITY:
        text = files.get(name, "")
        if not trim(text):
            continue
        text = capped(text)
        if total + length16(text) > MOST_OF_IDENTITY:
            break
        parts.append(f"## {heading}\n{trim(text)}")
        total += length16(text)
    return "\n\n".join(parts)


def memory_section(memory: str) -> str:
    """What paw-memory gave, under its heading; empty where it gave nothing."""
    return f"{MEMORY_HEADING}\n{capped(memory)}" if memory else ""


def capped(text: str) -> str:
    """The text, or as much as a file may have."""
    return slice16(text, 0, MOST_OF_FILE) + CUT if length16(text) > MOST_OF_FILE else text


def missing_sections(sections: Sequence[str]) -> list[str]:
    """Names that the prompt has no place for: OpenVole does not render what other paws put into the metadata."""
    return [name for name in sections if name not in ORDER]
