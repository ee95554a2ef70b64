"""The last look at what a page says: secrets of a certain form are masked wherever they stand.

Templates mask long texts themselves, behind a disclosure that a click opens (templatetags.masked). Names, titles,
tooltips, model names, paths and figures come from the same transcripts, in a hundred places; here none is forgotten.
Addresses and form fields keep their values, or they would lead nowhere.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from html import escape, unescape

from django.http import HttpRequest, HttpResponseBase

from contextviz.events.secrets import find_certain_secrets

MASK = "••••••"
MASKED_KINDS = ("text/html", "application/json")
# What is left alone as a whole, then tags, which are looked at attribute by attribute.
_PARTS = re.compile(r'(<details class="secret">.*?</details>|<textarea\b.*?</textarea>|<[^>]*>)', re.DOTALL)
_SPOKEN = re.compile(r'\b(title|aria-label|aria-description|alt|placeholder|content|label)="([^"]*)"')


class MaskingMiddleware:
    """Masks secrets in pages, fragments and figures. Downloads and the API give what was read, byte for byte."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
        kind = response.headers.get("Content-Type", "").partition(";")[0]
        is_asked_for = "Content-Disposition" in response.headers or request.path_info.startswith("/api/")
        if response.streaming or is_asked_for or kind not in MASKED_KINDS:
            return response
        text = response.content.decode("utf-8", errors="replace")  # type: ignore[attr-defined]  # it does not stream
        if find_certain_secrets(text):
            response.content = (mask_page(text) if kind == "text/html" else mask_text(text)).encode()  # type: ignore[attr-defined]
        return response


def mask_page(html: str) -> str:
    """HTML with the secrets masked in its words and in what its attributes say."""
    return "".join(_tag(part) if number % 2 else _words(part) for number, part in enumerate(_PARTS.split(html)))


def mask_text(text: str) -> str:
    """Plain text, or JSON, with each secret masked."""
    parts, position = [], 0
    for found in find_certain_secrets(text):
        parts += [text[position : found.start], MASK]
        position = found.end
    return "".join([*parts, text[position:]])


def _words(html: str) -> str:
    plain = unescape(html)
    hidden = mask_text(plain)
    return html if hidden == plain else escape(hidden)


def _tag(tag: str) -> str:
    if tag.startswith(('<details class="secret"', "<textarea")):
        return tag
    return _SPOKEN.sub(lambda found: f'{found[1]}="{_words(found[2])}"', tag)
