"""Values that look like secrets, masked where they are rendered; the store keeps what was read."""

from __future__ import annotations

from django import template
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe

from contextviz.charts import words
from contextviz.events.secrets import find_secrets

register = template.Library()


@register.filter
def masked(text: str | None) -> SafeString:
    """Text with each value that looks like a secret behind a disclosure; opening it needs no script.

    Not for use inside <p>, which a disclosure would close: <div>, <span> and <pre> hold it.
    """
    if not text:
        return mark_safe("")
    parts: list[tuple[str]] = []
    position = 0
    for found in find_secrets(text):
        parts.append((format_html("{}", text[position : found.start]),))
        parts.append((secret(text[found.start : found.end], found.kind.replace("_", " ")),))
        position = found.end
    parts.append((format_html("{}", text[position:]),))
    return format_html_join("", "{}", parts)


@register.simple_tag
def secret(value: str, kind: str = "secret") -> SafeString:
    """One masked value, shown after a click."""
    return format_html(
        '<details class="secret"><summary title="Show this {0}">{0}, {1} masked</summary><code>{2}</code></details>',
        kind,
        words.counted(len(value), "character"),
        value,
    )
