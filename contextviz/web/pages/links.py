"""Where the things on pages lead."""

from __future__ import annotations

from urllib.parse import urlencode

from django.urls import reverse


def call_url(session_id: int, number: int) -> str:
    """The context at a call, by the number people read."""
    return reverse("call", args=[session_id, number])


def message_url(session_id: int, index: int) -> str:
    """A message in its session's transcript, by index."""
    return f"{reverse('session', args=[session_id])}?message={index}#m-{index}"


def compaction_url(session_id: int, number: int) -> str:
    """One compaction, by the number people read."""
    return reverse("compaction", args=[session_id, number])


def original_url(handle: str) -> str:
    """Where what a handle names is looked up."""
    return f"{reverse('originals')}?{urlencode({'q': handle})}"
