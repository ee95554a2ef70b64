"""The ASGI application. Server-sent events need it; there is no WSGI entry."""

from __future__ import annotations

import os

import django

from contextviz.web.streaming import StreamingASGIHandler

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "contextviz.settings")
django.setup(set_prefix=False)

application = StreamingASGIHandler()
