"""Values that look like secrets, masked where they are rendered; the store keeps what was read."""

from __future__ import annotations

from django import template
from django.middleware.csrf import get_token
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe

from contextviz.charts import words
from contextviz.events.masking.secrets import find_secrets
from contextviz.store.viewing import current_viewer
from contextviz.web.answers import MAY_UNMASK

register = template.Library()
MARK = '<span class="secret">'


@register.filter
def masked(text: str | None) -> SafeString:
    """Text with words in place of each value that looks like a secret; the value itself is not in the page."""
    if not text:
        return mark_safe("")
    parts: list[tuple[str]] = []
    position = 0
    for found in find_secrets(text):
        parts.append((format_html("{}", text[position : found.start]),))
        parts.append((secret(found.end - found.start, found.kind.replace("_", " ")),))
        position = found.end
    parts.append((format_html("{}", text[position:]),))
    return format_html_join("", "{}", parts)


@register.simple_tag
def secret(chars: int, kind: str = "secret") -> SafeString:
    """What stands for one masked value of so many characters."""
    return format_html('<span class="secret">{}, {} masked</span>', kind, words.counted(chars, "character"))


@register.simple_tag
def may_unmask() -> bool:
    """Whether whoever looks may ask for masked values."""
    return current_viewer().role in MAY_UNMASK


@register.simple_tag(takes_context=True)
def unmask(context: template.Context, url: str) -> SafeString:
    """The button that asks `url` for the text around it (the nearest .veil) with its values; a sentence for whoever
    may not ask, nothing without an address."""
    request = getattr(context, "request", None)
    if not url or request is None:
        return mark_safe("")
    if not may_unmask():
        return mark_safe('<p class="cut-note">An operator or an admin can show the masked values.</p>')
    return format_html(
        '<form class="unmask" method="post" action="{0}" hx-post="{0}" hx-target="closest .veil" hx-swap="outerHTML">'
        '<input type="hidden" name="csrfmiddlewaretoken" value="{1}">'
        '<button class="btn small" title="Who looked at them is written down">Show masked values</button></form>',
        url,
        get_token(request),
    )
