"""The JSON interface and its errors; its operations come with the next release."""

from __future__ import annotations

from ninja import NinjaAPI

from contextviz import __version__

# No page of interactive documentation: the one that ships loads its scripts from another host.
api = NinjaAPI(title="contextviz", version=__version__, docs_url=None)
