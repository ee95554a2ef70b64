"""What the palette finds: sessions, calls, compactions, messages, summaries, originals, pages, actions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from django.urls import reverse

from contextviz.charts import words
from contextviz.events.artefacts.markers import find_markers
from contextviz.events.masking import without_secrets
from contextviz.store.queries import sessions, summaries, texts
from contextviz.store.values import JobRow, LibraryFilter, NotFound, SessionRow
from contextviz.web.pages.guide.docs import doc_titles
from contextviz.web.pages.held import title_of
from contextviz.web.pages.links import call_url, compaction_url, message_url
from contextviz.web.pages.tabs import session_tabs
from contextviz.web.shell import origin_of

MOST_CHARS = 2_000
MOST_SESSIONS = 8
MOST_ORIGINALS = 6
MOST = 40
_CALL = re.compile(r"^(?:call\s*|#)?(\d{1,9})$", re.IGNORECASE)
_COMPACTION = re.compile(r"^(?:compaction\s*|c|⟳)\s*(\d{1,6})$", re.IGNORECASE)
_MESSAGE = re.compile(r"^(?:message\s*|m)\s*(\d{1,9})$", re.IGNORECASE)
_SESSION = re.compile(r"^(?:session\s*|s)\s*(\d{1,12})$", re.IGNORECASE)
_NODE = re.compile(r"^sum_[0-9A-Za-z]{1,64}$")
_HEX = re.compile(r"^[0-9a-f]{6,64}$")

# Title, other words for it, URL name.
PAGES = (
    ("Library", "sessions home", "library"),
    ("Live", "growing now watch feed events", "live"),
    ("Search", "find texts messages", "search"),
    ("Topics", "conversation maps", "topics"),
    ("Originals", "hash marker retrieve handle", "originals"),
    ("Alerts", "rules notifications webhook", "alerts"),
    ("Jobs", "imports queue", "jobs"),
    ("Settings", "theme time zone delete", "settings"),
    ("API keys", "settings token", "api_keys"),
    ("Prices and windows", "settings cost", "prices"),
    ("Coverage", "formats readers supported observed", "coverage"),
    ("Docs", "help manual", "docs"),
)
# Title, other words, what the script does, its key.
ACTIONS = (
    ("Switch between light and dark", "theme colour", "t", "t"),
    ("Change the density of rows", "compact roomy", "l", "l"),
    ("Show or hide the side bar", "sessions", "Ctrl-b", "Ctrl B"),
    ("Show all keys", "help shortcuts", "?", "?"),
)


@dataclass(frozen=True, slots=True)
class Found:
    """One result."""

    # What it is: Session, Call, …
    kind: str
    # Its name, and what tells it apart
    title: str
    detail: str
    # Where it leads; "" for an action, which only a script can do
    url: str
    # The action that the script does, and a key that does the same
    action: str = ""
    key: str = ""
    # Whether the words name this one thing and nothing else
    is_exact: bool = False


def palette(query: str, *, current: SessionRow | None, job: JobRow | None = None) -> list[Found]:
    """What `query` finds, the likeliest first, at most MOST. `current` is the session being looked at, `job` the one
    whose id the query is. Five queries at most, however many sessions there are."""
    text = " ".join(query[:MOST_CHARS].split())
    is_reference = any(pattern.match(text) for pattern in (_CALL, _COMPACTION, _MESSAGE, _SESSION))
    search = "" if is_reference and current is None else text
    listed = sessions.sessions_after(LibraryFilter(search=search), after=None, limit=MOST_SESSIONS)
    rows = [row for row, _ in listed]
    found = [
        *_references(text, [current] if current is not None else rows, is_sure=current is not None),
        *_session_by_number(text),
        *([_job(job)] if job is not None else []),
        *_node(text, current),
        *_originals(query[:MOST_CHARS]),
        *(_tabs(text, current) if current is not None else ()),
        *([] if is_reference and current is None else [_session(row, text) for row in rows]),
        *_named(text),
        *_elsewhere(text, current),
    ]
    return found[:MOST]


def _matches(text: str, *names: str) -> bool:
    held = " ".join(names).lower()
    return all(word in held for word in text.lower().split())


def _references(text: str, rows: Sequence[SessionRow], *, is_sure: bool) -> Iterable[Found]:
    """Calls, compactions and messages by number: in the session being looked at, else in the newest that have them."""
    for pattern, kind, count_of, url_of in (
        (_CALL, "Call", "call_count", call_url),
        (_COMPACTION, "Compaction", "compaction_count", compaction_url),
        (_MESSAGE, "Message", "message_count", lambda session, number: message_url(session, number - 1)),
    ):
        asked = pattern.match(text)
        number = int(asked[1]) if asked else 0
        for row in rows:
            if 0 < number <= getattr(row, count_of):
                # Sessions may share their title, or as much of it as there is room for.
                detail = title_of(row) if is_sure else f"session {row.id} · {title_of(row)}"
                yield Found(kind, f"{kind} {number:,}", detail, url_of(row.id, number), is_exact=is_sure)


def _session_by_number(text: str) -> list[Found]:
    asked = _SESSION.match(text)
    return [_session(row, text, is_exact=True) for row in sessions.find_sessions([int(asked[1])])] if asked else []


def _session(row: SessionRow, text: str, *, is_exact: bool = False) -> Found:
    about = [f"session {row.id}", origin_of(row), row.agent or "", words.counted(row.call_count, "call")]
    if row.compaction_count:
        about.append(f"⟳{row.compaction_count}")
    same = bool(text) and text.lower() in (row.source_id.lower(), (row.title or "").lower())
    return Found(
        "Session", title_of(row), " · ".join(part for part in about if part), reverse("session", args=[row.id]),
        is_exact=is_exact or same,
    )  # fmt: skip


def _job(job: JobRow) -> Found:
    return Found(
        "Job", job.kind.replace("_", " ").capitalize(), job.state, reverse("job", args=[job.id]), is_exact=True
    )


def _node(text: str, current: SessionRow | None) -> list[Found]:
    if current is None or not _NODE.match(text):
        return []
    try:
        node = summaries.get_node(current.id, text)
    except NotFound:
        return []
    url = f"{reverse('graph', args=[current.id])}?{urlencode({'node': node.id})}"
    return [Found("Summary", node.id, title_of(current), url, is_exact=True)]


def _originals(query: str) -> list[Found]:
    """Texts by hash or the beginning of one, and the handle of a marker that was pasted."""
    plain = query.strip().strip("\"'`…. ").removeprefix("sha256:").lower()
    marker = next(iter(find_markers(query)), None)
    if marker is not None:
        url = f"{reverse('originals')}?{urlencode({'q': query})}"
        return [Found("Original", f"What the marker {marker.handle[:24]} names", "retrieve it", url, is_exact=True)]
    if not _HEX.match(plain):
        return []
    places = texts.find_texts(plain, limit=MOST_ORIGINALS)
    return [
        Found(
            "Original", place.sha256[:24],
            f"{words.counted(place.chars, 'character')} in {words.counted(place.session_count, 'session')}",
            f"{reverse('originals')}?{urlencode({'q': place.sha256})}",
            is_exact=len(places) == 1,
        )
        for place in places
    ]  # fmt: skip


def _tabs(text: str, row: SessionRow) -> list[Found]:
    return [
        Found("This session", tab.name, title_of(row), tab.url)
        for tab in session_tabs(row, "")
        if _matches(text, tab.name, "this session")
    ]


def _named(text: str) -> list[Found]:
    """Pages, documents and actions by name; documents only when something was asked."""
    found = [
        Found("Page", title, "", reverse(name), is_exact=text.lower() == title.lower())
        for title, more, name in PAGES
        if _matches(text, title, more)
    ]
    found += [
        Found("Action", title, "", "", action, key)
        for title, more, action, key in ACTIONS
        if _matches(text, title, more)
    ]
    if text:
        found += [
            Found("Docs", title, name, reverse("docs_page", args=[name]))
            for name, title in doc_titles()
            if _matches(text, title, name)
        ][:8]
    return found


def _elsewhere(text: str, current: SessionRow | None) -> list[Found]:
    """The same words looked for in the texts themselves."""
    if not text:
        return []
    shown = without_secrets(text)
    shown = shown if len(shown) <= 60 else shown[:59] + "…"
    found = [Found("Search", f"Search all texts for “{shown}”", "", f"{reverse('search')}?{urlencode({'q': text})}")]
    if current is not None:
        url = f"{reverse('session_find', args=[current.id])}?{urlencode({'q': text})}"
        found.insert(0, Found("Search", f"Find “{shown}” in this session", title_of(current), url))
    return found
