"""Markdown to safe HTML: our own documents, and the notes of agents, which are hostile text.

Raw HTML is never passed on, pictures are never loaded, and what markdown-it makes is sanitised once more.
"""

from __future__ import annotations

import hashlib
import re
from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import lru_cache
from threading import Lock

import nh3
from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt
from markdown_it.token import Token

MOST_BYTES = 64 * 1024
KEPT = 128
MOST_UNBROKEN = 32  # characters of a piece of code that still fit a phone
TAGS = {
    "a", "blockquote", "br", "code", "del", "div", "em", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "li", "ol", "p",
    "pre", "s", "strong", "table", "tbody", "td", "th", "thead", "tr", "ul",
}  # fmt: skip
ATTRIBUTES = {
    "a": {"href"}, "code": {"class"}, "div": {"class", "tabindex"}, "ol": {"start"}, "pre": {"tabindex"},
    **{f"h{level}": {"id"} for level in range(1, 7)},
}  # fmt: skip
OUTSIDE = re.compile(r"^https?://[^\s]+$", re.IGNORECASE)
_PARSER = MarkdownIt("js-default", {"maxNesting": 20}).disable("image")
# In what people and models write to each other, a line that ends is a line that ends.
_TALK = MarkdownIt("js-default", {"maxNesting": 20, "breaks": True}).disable("image")
# What Markdown would show in another way than as it stands; a text without any of it is not parsed at all.
_MARKS = re.compile(
    r"[*_`~|\[<\\&]|^ *(?:>|#{1,6}(?:\s|$))|^ *(?:[-+]|\d{1,9}[.)])(?:[ \t]|$)|^(?: {4}|\t)|^ *[-=]{2,} *$",
    re.MULTILINE,
)
_kept: OrderedDict[tuple[str, int], SafeString] = OrderedDict()
_lock = Lock()
LinkOf = Callable[[str], str]


def note(text: str, *, level: int = 3) -> SafeString:
    """An agent's note, at most MOST_BYTES of it, its highest heading on `level`; kept by its SHA-256.

    Links lead out by http or https only; the caller masks secrets before.
    """
    data = text.encode("utf-8", errors="replace")[:MOST_BYTES]
    key = (hashlib.sha256(data).hexdigest(), level)
    with _lock:
        found = _kept.get(key)
        if found is not None:
            _kept.move_to_end(key)
            return found
    html = _html(data.decode("utf-8", errors="ignore"), level, lambda href: href if OUTSIDE.match(href) else "")
    with _lock:
        _kept[key] = html
        while len(_kept) > KEPT:
            _kept.popitem(last=False)
    return html


def has_marks(text: str) -> bool:
    """Whether a text says anything in Markdown."""
    return _MARKS.search(text) is not None


@lru_cache(maxsize=512)  # beginnings of some 2,000 characters: a few megabytes
def talk(text: str) -> SafeString:
    """A message's text, its secrets masked and its length bounded by the caller. Links as in `note`."""
    return _html(text, 4, lambda href: href if OUTSIDE.match(href) else "", parser=_TALK)


def document(text: str, link_of: LinkOf) -> SafeString:
    """One of our documents; `link_of` says where each link leads, "" for nowhere. Headings get GitHub's anchors."""
    return _html(text, 1, link_of, anchored=True)


def slug(title: str) -> str:
    """The anchor of a heading, as GitHub makes it."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def _html(
    text: str, level: int, link_of: LinkOf, *, anchored: bool = False, parser: MarkdownIt = _PARSER
) -> SafeString:
    tokens = parser.parse(text)
    _level(tokens, level)
    for at, token in enumerate(tokens):
        if anchored and token.type == "heading_open":
            token.attrSet("id", slug(_words(tokens[at + 1])))
        for part in token.children or [] if anchored else []:
            # An option stands whole: a line may break after each of its hyphens.
            if part.type == "code_inline" and part.content.startswith("-") and len(part.content) <= MOST_UNBROKEN:
                part.attrSet("class", "nowrap")
    html = parser.renderer.render(tokens, parser.options, {})
    # A block of code and a table may scroll, and what scrolls must be reached by key.
    html = re.sub(r"<pre><code[^>]*>", '<pre tabindex="0"><code>', html)
    html = html.replace("<table>", '<div class="table-wrap" tabindex="0"><table>').replace("</table>", "</table></div>")

    def keep(tag: str, name: str, value: str) -> str | None:
        return value if (tag, name) != ("a", "href") else link_of(value) or None

    return mark_safe(
        nh3.clean(
            html, tags=TAGS, attributes=ATTRIBUTES, attribute_filter=keep, link_rel="noopener noreferrer nofollow"
        )
    )


def _words(token: Token) -> str:
    return "".join(part.content for part in token.children or [] if part.type in ("text", "code_inline"))


def _level(tokens: Sequence[Token], level: int) -> None:
    """Headings from `level` down without a gap: a reader goes through them as through a table of contents."""
    open_ones: list[int] = []
    for token in tokens:
        if token.type not in ("heading_open", "heading_close"):
            continue
        own = int(token.tag[1:])
        if token.type == "heading_open":
            while open_ones and open_ones[-1] >= own:
                open_ones.pop()
            open_ones.append(own)
        token.tag = f"h{min(level + len(open_ones) - 1, 6)}"
