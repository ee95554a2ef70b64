"""OpenVole's paw-memory: daily files by source, BM25 search over them, what a task leaves (engines document, 2.6)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from contextviz.engines.openvole.messages import AgentMessage
from contextviz.engines.scoring import ranked
from contextviz.events.javascript import length16, round_half_up, slice16, trim

LONG_TERM = "MEMORY.md"
SHARED, ALL = "shared", "all"
LIMIT, SNIPPET = 10, 200
MOST_BYTES = 16 * 1024 * 1024
CHUNK, OVERLAP = 1500, 300  # UTF-16 units
KEPT_MESSAGES = 10
FACT, LEAST_FACT, LARGE_RESULT = 200, 20, 500
_WISHES = ("remember", "always", "never", "prefer", "don't", "my ")
_SUCCESS = ('"ok":true', '"ok": true', '"success"')


@dataclass(frozen=True, slots=True)
class MemoryFile:
    """A file of the memory: `MEMORY.md` and other shared ones, or a day of a source."""

    source: str
    name: str
    text: str


@dataclass(frozen=True, slots=True)
class MemoryHit:
    """A file that was found. `score` is rounded to three places, `snippet` the beginning of the file."""

    file: str
    source: str
    score: float
    snippet: str

    def plain(self) -> dict[str, Any]:
        """By the names that OpenVole gives them."""
        return {"file": self.file, "source": self.source, "score": self.score, "snippet": self.snippet}


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of a file for the vector index; lines are from 1."""

    path: str
    source: str
    content: str
    start_line: int
    end_line: int

    def plain(self) -> dict[str, Any]:
        """By the names that OpenVole gives them."""
        return {"path": self.path, "source": self.source, "content": self.content, "startLine": self.start_line,
                "endLine": self.end_line}  # fmt: skip


def bm25_search(query: str, documents: Sequence[tuple[str, str]], limit: int = LIMIT) -> list[tuple[str, float]]:
    """The best of (id, text) by BM25, best first, with their scores; equal ones in the order given."""
    return [(documents[number][0], score) for number, score in ranked(query, [text for _, text in documents])[:limit]]


def read_memory(folder: Path) -> list[MemoryFile]:
    """The Markdown files of a memory folder, shared ones first, then by source. Links are not followed."""
    found = [MemoryFile(SHARED, path.name, _text(path)) for path in _markdown(folder)]
    for child in sorted(folder.iterdir(), key=_name):
        if child.is_dir() and not child.is_symlink():
            found.extend(MemoryFile(child.name, path.name, _text(path)) for path in _markdown(child))
    return found


def _markdown(folder: Path) -> list[Path]:
    return sorted((path for path in folder.iterdir() if path.name.endswith(".md") and path.is_file()
                   and not path.is_symlink()), key=_name)  # fmt: skip


def _name(path: Path) -> bytes:
    return path.name.encode("utf-8", "surrogateescape")


def _text(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8", "replace") if path.stat().st_size <= MOST_BYTES else ""
    except OSError:
        return ""


def search_memory(
    files: Iterable[MemoryFile], query: str, source: str | None = ALL, limit: int = LIMIT
) -> list[MemoryHit]:
    """What `memory_search` finds: a source searches its own files and the shared ones, `all` (or none) everything.

    Asked for `shared`, OpenVole takes the shared files twice, and so does this: each is found twice.
    """
    by_source: dict[str, list[MemoryFile]] = {SHARED: []}
    for file in files:
        by_source.setdefault(file.source, []).append(file)
    scope = list(by_source) if source in (None, "", ALL) else [str(source), SHARED]
    found = [file for name in scope for file in by_source.get(name, ()) if trim(file.text)]
    best = ranked(query, [file.text for file in found])[:limit]
    return [
        MemoryHit(
            found[number].name, found[number].source, round_half_up(score * 1000) / 1000,
            slice16(found[number].text, 0, SNIPPET),
        )
        for number, score in best
    ]  # fmt: skip


def chunk_markdown(text: str, path: str, source: str, most: int = CHUNK, overlap: int = OVERLAP) -> list[Chunk]:
    """A file by lines in chunks of at most `most` units; each begins with the last `overlap` of the one before it."""
    chunks: list[Chunk] = []
    current, start, number = "", 1, 1
    for line in text.split("\n"):
        if current and length16(current) + length16(line) + 1 > most:
            chunks.append(Chunk(path, source, trim(current), start, number - 1))
            # Not the negative slice: an overlap of 0 leaves nothing.
            current = slice16(current, max(0, length16(current) - overlap))
            start = max(1, number - len(current.split("\n")))
        current += ("\n" if current else "") + line
        number += 1
    if trim(current):
        chunks.append(Chunk(path, source, trim(current), start, number - 1))
    return chunks


def bootstrap_blocks(long_term: str, yesterday: str, today: str, source: str = "user") -> str:
    """What is put into a task's memory when it begins; empty where all three are."""
    blocks = [("## Long-term Memory", long_term), (f"## Yesterday ({source})", yesterday),
              (f"## Today ({source})", today)]  # fmt: skip
    return "\n\n".join(f"{heading}\n{text}" for heading, text in blocks if text)


def appended(existing: str, text: str, clock: str) -> str:
    """A file with an entry more; `clock` is HH:MM:SS."""
    separator = "\n" if existing and not existing.endswith("\n") else ""
    return f"{existing}{separator}\n[{clock}] {text}\n"


def facts_before_compaction(messages: Sequence[AgentMessage]) -> str:
    """What the hook writes down before messages are compacted: wishes, and tools that worked; empty for nothing."""
    if len(messages) <= KEPT_MESSAGES + 2:
        return ""
    facts = [fact for message in messages[1 : len(messages) - KEPT_MESSAGES] if (fact := _fact(message)) is not None]
    return "\n".join(["### Auto-extracted (compaction)", *facts]) if facts else ""


def _fact(message: AgentMessage) -> str | None:
    length = length16(message.content)
    lower = message.content.lower()
    if message.role == "user" and length > LEAST_FACT and any(wish in lower for wish in _WISHES):
        return f'User said: "{slice16(message.content, 0, FACT)}"'
    name = message.tool_call.name if message.role == "tool_result" and message.tool_call is not None else ""
    worked = length > LARGE_RESULT and any(sign in lower for sign in _SUCCESS)
    return f"Used {name} successfully" if name and worked else None
