"""The last look at what a page or the API says: secrets of a certain form are masked wherever they stand.

Templates mask long texts themselves (templatetags.masked). Names, titles, tooltips, model names, paths and figures come
from the same transcripts, in a hundred places; here none is forgotten. Addresses and form fields keep their values, or
they would lead nowhere. Only an answer that `unmasked` let pass has them all.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from html import escape, unescape
from typing import Any, TypeVar

from django.http import HttpRequest, HttpResponseBase

from contextviz.events.masking import masked_as
from contextviz.events.masking.secrets import find_certain_secrets

MASKED_KINDS = ("text/html", "application/json")
# What is left alone as a whole, then tags, which are looked at attribute by attribute.
_PARTS = re.compile(r"(<textarea\b.*?</textarea>|<[^>]*>)", re.DOTALL)
_SPOKEN = re.compile(r'\b(title|aria-label|aria-description|alt|placeholder|content|label)="([^"]*)"')
Answer = TypeVar("Answer", bound=HttpResponseBase)


def unmasked(response: Answer) -> Answer:
    """The response as it goes out with every value in it, kept by no cache; the caller wrote it down before."""
    response.is_unmasked = True  # type: ignore[attr-defined]
    response.headers["Cache-Control"] = "no-store"
    return response


class MaskingMiddleware:
    """Masks secrets in pages, fragments, figures and the API's answers. Downloads give what was read, byte for byte."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
        kind = response.headers.get("Content-Type", "").partition(";")[0]
        is_asked_for = "Content-Disposition" in response.headers or getattr(response, "is_unmasked", False)
        if response.streaming or is_asked_for or kind not in MASKED_KINDS:
            return response
        text = response.content.decode("utf-8", errors="replace")  # type: ignore[attr-defined]  # it does not stream
        if find_certain_secrets(text):
            response.content = mask_page(text).encode() if kind == "text/html" else mask_json(text)  # type: ignore[attr-defined]
        return response


def mask_page(html: str) -> str:
    """HTML with the secrets masked in its words and in what its attributes say."""
    return "".join(_tag(part) if number % 2 else _words(part) for number, part in enumerate(_PARTS.split(html)))


def mask_json(text: str) -> bytes:
    """A JSON document with each secret masked in its names and strings, and its structure as it was."""
    return json.dumps(_masked(json.loads(text)), separators=(",", ":")).encode()


def mask_text(text: str) -> str:
    """Plain text with words in place of each secret, those of every masked text."""
    parts, position = [], 0
    for found in find_certain_secrets(text):
        parts += [text[position : found.start], masked_as(found.kind)]
        position = found.end
    return "".join([*parts, text[position:]])


def _masked(value: Any) -> Any:
    if isinstance(value, str):
        return mask_text(value)
    if isinstance(value, dict):
        return {mask_text(name): _masked(one) for name, one in value.items()}
    return [_masked(one) for one in value] if isinstance(value, list) else value


def _words(html: str) -> str:
    plain = unescape(html)
    hidden = mask_text(plain)
    return html if hidden == plain else escape(hidden)


def _tag(tag: str) -> str:
    if tag.startswith("<textarea"):
        return tag
    return _SPOKEN.sub(lambda found: f'{found[1]}="{_words(found[2])}"', tag)
