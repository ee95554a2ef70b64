"""One page of hits: each with its snippet, and where it leads."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import urlencode

from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from contextviz.events.masking import without_secrets
from contextviz.events.search import Excerpt, excerpt
from contextviz.sources.naming import program_and_format
from contextviz.store.queries import sessions
from contextviz.store.search import Hit, TextPart, digests_of, node_names, texts_of
from contextviz.web.pages.held import title_of
from contextviz.web.pages.links import call_url, compaction_url

SCAN_CHARS = 400_000  # of one text
PAGE_CHARS = 3_000_000  # of all texts of a page together: a page must answer, however long they are
_WHO = {"user": "User", "assistant": "Assistant", "tool": "Tool result", "system": "System", "developer": "Developer"}
_CATEGORIES = {
    "tool_call": "call", "tool_result": "result", "summary": "summary", "node": "summary", "note": "memory",
    "context": "system",
}  # fmt: skip
_ROLES = {"user": "user", "assistant": "assistant", "tool": "result"}


@dataclass(frozen=True, slots=True)
class HitRow:
    """One hit as the page shows it."""

    # Where it leads
    url: str
    # Its category's key, and what it is: "Tool call Bash"
    category: str
    name: str
    # Where it stands: "message 12"
    where: str
    # The session's title and page, and the program that wrote it
    title: str
    session_url: str
    program: str
    # The window of the call that gave it, or was given it first; 0 without one
    call: int
    call_url: str
    at: datetime | None
    # "in the window", "out of the window", "" where that is not known
    window: str
    # Escaped, with <mark> round what was looked for
    snippet: SafeString
    # Why nothing is marked, "" where something is
    note: str


def hit_rows(hits: Sequence[Hit], pattern: re.Pattern[str] | None, q: str) -> list[HitRow]:
    """The rows of a page; `q` goes along into a transcript, to be looked for further. Six queries at most."""
    titles = {row.id: title_of(row) for row in sessions.find_sessions(sorted({hit.session_id for hit in hits}))}
    texts, nodes, digests = texts_of(hits), node_names(hits), digests_of(hits)
    left = PAGE_CHARS
    rows = []
    for hit in hits:
        part = texts.get(hit.text_id, TextPart("", 0))
        scan = max(2_000, min(SCAN_CHARS, left))
        left -= min(len(part.text), scan)
        found = excerpt(part.text, pattern, scan=scan)
        rows.append(_row(hit, titles.get(hit.session_id, ""), found, nodes, digests, q))
    return rows


def _row(
    hit: Hit, title: str, found: Excerpt, nodes: Mapping[tuple[int, int], str], digests: Mapping[int, str], q: str
) -> HitRow:
    url, where = _place(hit, nodes, digests, q)
    number = 0 if hit.call_index is None else hit.call_index + 1
    window = "" if hit.is_in_window is None else "in the window" if hit.is_in_window else "out of the window"
    return HitRow(
        url=url,
        category=_CATEGORIES.get(hit.kind) or _ROLES.get(hit.role, "system"),
        name=_name(hit),
        where=where,
        title=title or f"Session {hit.session_id}",
        session_url=reverse("session", args=[hit.session_id]),
        program=program_and_format(hit.session_format)[0],
        call=number,
        call_url=call_url(hit.session_id, number) if number else "",
        at=hit.at,
        window=window,
        snippet=snippet(found),
        note="" if found.has_hit else "the words stand further in, or further apart, than is shown",
    )


def _name(hit: Hit) -> str:
    tool = without_secrets(hit.tool)[:80]
    if hit.kind in ("tool_call", "tool_result"):
        return f"{'Tool call' if hit.kind == 'tool_call' else 'Tool result'} {tool}".strip()
    names = {"summary": "Summary", "node": "Summary in the store", "original": "Original", "note": "Topic note"}
    if hit.kind == "context":
        return "Tool definitions" if hit.tool or hit.role == "" else f"Context ({hit.role})"
    return names.get(hit.kind) or _WHO.get(hit.role, hit.role or "Message")


def _place(hit: Hit, nodes: Mapping[tuple[int, int], str], digests: Mapping[int, str], q: str) -> tuple[str, str]:
    """Where a hit leads, and how that is called."""
    if hit.kind == "summary" and hit.place is not None:
        return compaction_url(hit.session_id, hit.place), f"compaction {hit.place:,}"
    if hit.kind == "node":
        name = nodes.get((hit.session_id, hit.place or 0), "")
        return f"{reverse('graph', args=[hit.session_id])}?{urlencode({'node': name})}#node", f"node {name[:40]}"
    if hit.kind == "original":
        query = urlencode({"q": digests.get(hit.text_id, ""), "session": hit.session_id})
        return f"{reverse('originals')}?{query}", "only in the summary store"
    if hit.kind == "context" and hit.place is not None:
        return reverse("item", args=[hit.session_id, hit.place]), "an item of the window"
    if hit.kind == "note":
        return reverse("topic_map", args=[hit.session_id]), "conversation map"
    if hit.message_index is not None:
        where = f"message {hit.message_index + 1:,}" + (" of a sub-agent" if hit.agent else "")
        named = {"message": str(hit.message_index), "find": q[:500]} | ({"agent": hit.agent} if hit.agent else {})
        return f"{reverse('session', args=[hit.session_id])}?{urlencode(named)}#m-{hit.message_index}", where
    return reverse("session", args=[hit.session_id]), "session"


def snippet(found: Excerpt) -> SafeString:
    """The excerpt as HTML: every piece escaped, hits in <mark>, dots where the text goes on."""
    pieces = format_html_join(
        "", "{}", ((format_html("<mark>{}</mark>", part.text) if part.is_hit else part.text,) for part in found.parts)
    )
    return format_html("{}{}{}", "… " if found.is_cut_before else "", pieces, " …" if found.is_cut_after else "")
