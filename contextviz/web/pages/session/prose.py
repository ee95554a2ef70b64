"""What people and models wrote, as the Markdown that they wrote it in: sanitised, secrets masked, raw on demand."""

from __future__ import annotations

import re

from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe

from contextviz.events.masking.secrets import Secret, find_secrets
from contextviz.web.markdown import has_marks, talk
from contextviz.web.templatetags.masked import masked, secret

# What stands for a secret while Markdown is read: no character of any text, and no mark of Markdown's.
_OPENS, _ENDS = "\ufdd0", "\ufdd1"
_STANDS = re.compile(f"{_OPENS}([0-9]{{1,4}}){_ENDS}")


def prose(text: str) -> SafeString:
    """A message's text as HTML. What is no Markdown is only escaped, as `masked` does it; what is stands in .prose."""
    if not has_marks(text):
        return masked(text)
    clean = text.replace(_OPENS, "\ufffd").replace(_ENDS, "\ufffd")
    found = find_secrets(clean)
    parts, position = [], 0
    for number, one in enumerate(found):
        parts.append(f"{clean[position : one.start]}{_OPENS}{number}{_ENDS}")
        position = one.end
    html = talk("".join([*parts, clean[position:]]))
    if found:
        html = mark_safe(_STANDS.sub(lambda match: _mark_of(found, int(match[1])), html))  # of our own marks
    return format_html('<div class="prose">{}</div>', html)


def _mark_of(found: list[Secret], number: int) -> SafeString:
    one = found[number]
    return secret(one.end - one.start, one.kind.replace("_", " "))
