"""What a summary stands for, from the result of its expand job: the summaries under it, then messages verbatim."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from contextviz.analysis.composition import category_of
from contextviz.events.compaction import StoreMessage
from contextviz.events.message import Message
from contextviz.events.snapshot import ContextItem
from contextviz.events.text import TextRef
from contextviz.store.queries import messages, summaries
from contextviz.store.values import JobRow
from contextviz.web.pages.graph.reading import ROLES
from contextviz.web.pages.held import READER, line_of
from contextviz.web.pages.links import message_url

FEW = 30
MANY = 400
TEXT_CHARS = 3_000
MOST_CHARS = 500_000
MOST_SUMMARIES = 200


@dataclass(frozen=True, slots=True)
class LensSummary:
    """A summary that the node was made from."""

    # The store's own id
    id: str
    # Opens it
    url: str
    # leaf, condensed or rolling, with its depth
    says: str
    # Its first line
    line: str
    # Stored tokens
    tokens: int | None


@dataclass(frozen=True, slots=True)
class LensMessage:
    """A message, or one block of it, exactly as it is kept."""

    # Its place in the store, or its number in the session
    number: str
    # The category's key, for the swatch
    category: str
    # Its first line
    line: str
    # Its text, "" where only the line is shown
    text: str
    # Whether the text goes on
    is_cut: bool
    # Tokens, None where not known
    tokens: int | None
    # The original's page, "" where nothing is held
    original_url: str
    # The message in its session, "" in a store
    url: str


@dataclass(frozen=True, slots=True)
class Lens:
    """What a node stands for."""

    # Summaries directly under it, in order
    summaries: list[LensSummary]
    # How many more there are
    more_summaries: int
    # Messages it stands for at any distance, in order
    messages: list[LensMessage]
    # How many messages it stands for
    total: int
    # How many of them are here
    shown: int
    # Shows more of them, "" where all that can be are here
    all_url: str


def lens_of(session_id: int, job: JobRow, originals: str, *, show_all: bool) -> Lens:
    """The lens of a finished expand job. Twelve queries at most."""
    result = job.result
    children = [str(one["id"]) for one in result.get("children", []) if one.get("kind") == "summary"]
    ids = [str(one) for one in result.get("message_ids", [])]
    limit = MANY if show_all else FEW
    node = str(result.get("node", ""))
    if result.get("message_source") == "store":
        rows, shown = _of_store(session_id, ids[:limit], originals)
    else:
        rows, shown = _of_transcript(session_id, ids[:limit], originals)
    total = int(result.get("message_count", len(ids)))
    query = urlencode({"node": node, "job": str(job.id), "all": "1"})
    return Lens(
        _summaries(session_id, children[:MOST_SUMMARIES]), max(0, len(children) - MOST_SUMMARIES),
        rows, total, shown, f"?{query}#lens" if total > shown and not show_all else "",
    )  # fmt: skip


def _summaries(session_id: int, ids: Sequence[str]) -> list[LensSummary]:
    if not ids:
        return []
    nodes = {node.id: node for node in summaries.nodes(session_id)}
    listed = [nodes[name] for name in ids if name in nodes]
    lines = READER.beginnings([node.text for node in listed], chars=600)
    return [
        LensSummary(
            node.id, "?" + urlencode({"node": node.id}) + "#node", f"{node.kind}, depth {node.depth}",
            line_of(lines[node.text.digest].text) if node.text.digest in lines else "", node.tokens,
        )
        for node in listed
    ]  # fmt: skip


def _of_store(session_id: int, ids: Sequence[str], originals: str) -> tuple[list[LensMessage], int]:
    found = summaries.store_messages(session_id, ids)
    listed = [found[name] for name in ids if name in found]
    silent = [message for message in listed if message.role == "assistant" and not message.text.chars]
    calls = _calls_of(session_id, silent)
    texts = _Texts([message.text for message in listed] + [ref for one in calls.values() for ref in one.texts])
    rows = []
    for message in listed:
        made = calls.get(message.id)
        if made is not None:
            rows.append(texts.calls(message, made, originals))
            continue
        category = ROLES.get(message.role, "result")
        rows.append(texts.row(str(message.id), category, message.text, message.tokens, originals, ""))
    return rows, len(listed)


@dataclass(frozen=True, slots=True)
class _Calls:
    """What a message that only calls tools calls: the store keeps no text of it, the session's transcript does."""

    texts: list[TextRef]
    # Where no text of the calls is known: the tool's name, else the call's id
    name: str


def _calls_of(session_id: int, silent: Sequence[StoreMessage]) -> dict[str, _Calls]:
    """The calls of messages without text, by message. Five queries where there are any."""
    silent = [message for message in silent if message.tool_call_id]
    if not silent:
        return {}
    # A store that was imported alone is its own transcript.
    entries = {message.id: message.transcript_entry or message.id for message in silent}
    said = messages.by_entries(session_id, set(entries.values()))
    untied = {one.tool_call_id or "" for one in silent if entries[one.id] not in said}
    tied = summaries.entries_of_calls(session_id, untied) if untied else {}
    answers = messages.by_entries(session_id, set(tied.values())) if tied else {}
    made: dict[str, _Calls] = {}
    for message in silent:
        call = message.tool_call_id or ""
        own, answer = said.get(entries[message.id]), answers.get(tied.get(call, ""))
        texts = [block.text for block in own.blocks if block.kind == "tool_call"] if own else []
        names = [block.tool_name for block in answer.blocks if block.tool_call_id == call] if answer else []
        made[message.id] = _Calls(texts, next((name for name in names if name), f"a tool ({call})"))
    return made


def _of_transcript(session_id: int, ids: Sequence[str], originals: str) -> tuple[list[LensMessage], int]:
    found: Mapping[str, Message] = messages.by_entries(session_id, ids)
    listed = [found[name] for name in ids if name in found]
    texts = _Texts([block.text for message in listed for block in message.blocks])
    rows = []
    for message in listed:
        for block in message.blocks:
            item = ContextItem(message.role, block.kind, block.text, is_error=block.is_error)
            url = message_url(session_id, message.index)
            number = str(message.index + 1)
            tokens = block.text.estimated_tokens if block.kind != "image" else None
            rows.append(texts.row(number, category_of(item), block.text, tokens, originals, url))
    return rows, len(listed)


class _Texts:
    """The texts of the lens, handed out until MOST_CHARS are on the page."""

    def __init__(self, refs: Sequence[TextRef]):
        self._found = READER.beginnings(refs, chars=TEXT_CHARS)
        self._left = MOST_CHARS

    def row(
        self, number: str, category: str, ref: TextRef, tokens: int | None, originals: str, url: str
    ) -> LensMessage:
        opened: Any = self._found.get(ref.digest)
        if opened is None:
            return LensMessage(number, category, "This text is not held.", "", False, tokens, "", url)
        text = self._taken(opened.text)
        line = line_of(opened.text) or ("No text" if not ref.chars else "Blank")
        return LensMessage(
            number, category, line, text, opened.is_cut, tokens, f"{originals}?{urlencode({'q': ref.sha256})}", url
        )

    def calls(self, message: StoreMessage, made: _Calls, originals: str) -> LensMessage:
        """The row of a message that only calls tools: each in a line, with its telling field."""
        opened = [self._found[ref.digest] for ref in made.texts if ref.digest in self._found]
        line = " · ".join(line_of(one.text) for one in opened) or f"Calls {made.name}"
        text = self._taken("\n".join(one.text for one in opened))
        url = f"{originals}?{urlencode({'q': made.texts[0].sha256})}" if opened else ""
        return LensMessage(
            str(message.id), "call", line, text, any(one.is_cut for one in opened), message.tokens, url, ""
        )

    def _taken(self, text: str) -> str:
        given = text if self._left > 0 else ""
        self._left -= len(given)
        return given
