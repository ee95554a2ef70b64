"""Event streams. Included by contextviz.urls below live/, and at the session's own address."""

from __future__ import annotations

from django.urls import path

from contextviz.live.feed import live_feed, live_stream
from contextviz.live.stream import session_live

urlpatterns = [
    path("sessions/<int:session_id>/", session_live, name="session_live"),
    path("stream", live_stream, name="live_stream"),
    path("feed", live_feed, name="live_feed"),
]
