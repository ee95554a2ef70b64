"""Following files: agents' homes and folders, looked at whenever something in them changed."""

from __future__ import annotations

from contextviz.services.watching.opening import forget_done
from contextviz.services.watching.roots import NothingToWatch, roots_of
from contextviz.services.watching.watcher import Watcher

__all__ = ["NothingToWatch", "Watcher", "forget_done", "roots_of"]
