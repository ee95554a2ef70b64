"""Whose memory it is: scope keys, names made safe for files, and the anchors on disk (engines document, 4.6)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from contextviz.engines.cortext.window import Anchor
from contextviz.events.javascript import length16, parse

_UNSAFE = re.compile(r"[^A-Za-z0-9\-_.@]")
_AGENT = re.compile(r"agent:([^:]+):")
DEFAULT_FOLDER = "cortext"


def safe(name: str) -> str:
    """A name with every other UTF-16 unit than letters, digits and `-_.@` as `_`; `session` where nothing is left."""
    return _UNSAFE.sub(lambda found: "_" * length16(found[0]), name) or "session"


def scope_key(scope: str, session_key: str = "", session_id: str = "", agent_id: str = "") -> str:
    """The key of a memory: `global`, `s-…` for a session, `a-…` for an agent."""
    if scope == "global":
        return "global"
    if scope == "agent":
        named = _AGENT.match(session_key)
        return f"a-{safe(agent_id or (named[1] if named else 'main'))}"
    return f"s-{safe(session_key or session_id or 'session')}"


def folder_name(db_path: str) -> str:
    """The folder of a `dbPath`; one that is only dots would lead out of it and is the default."""
    made = safe(db_path)
    return DEFAULT_FOLDER if not made.strip(".") or not db_path else made


def read_anchors(text: str) -> dict[str, Anchor]:
    """The anchors of a compaction.json by scope key. A broken file is an empty state; entries that are no anchors are
    left out."""
    try:
        document = parse(text)
    except ValueError:
        return {}
    if not isinstance(document, dict):
        return {}
    found = {key: _anchor(value) for key, value in document.items()}
    return {key: anchor for key, anchor in found.items() if anchor is not None}


def write_anchors(anchors: Mapping[str, Anchor]) -> dict[str, dict[str, Any]]:
    """The document of a compaction.json."""
    return {key: one.document() for key, one in anchors.items()}


def _anchor(value: Any) -> Anchor | None:
    fields = value if isinstance(value, dict) else {}
    role, prefix, dropped, at = (fields.get(key) for key in ("role", "textPrefix", "dropped", "ts"))
    if not isinstance(role, str) or not isinstance(prefix, str):
        return None
    if not isinstance(dropped, int) or isinstance(dropped, bool) or dropped < 0:
        return None
    return Anchor(role, prefix, dropped, int(at) if isinstance(at, int | float) and abs(at) < 2**53 else None)
