"""What Entire writes beside a transcript: whose it is, and of which session."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson

from contextviz.sources.values import as_dict, as_id, as_text

FORMAT = "entire"
METADATA = "metadata.json"
LARGEST = 4 * 1024 * 1024
# `full.jsonl`, and the numbered files that continue it.
TRANSCRIPT = re.compile(r"full\.jsonl(?:\.(\d{1,6}))?")
_LAYOUT = re.compile(r"(?:^|/)[0-9a-f]{2}/[0-9a-f]{10}(?:/\d{1,6})?$")


def is_metadata(document: Mapping[str, Any]) -> bool:
    """Whether a document tells of a checkpoint or of a session in one."""
    has_id = isinstance(document.get("checkpoint_id"), str)
    return has_id and ("session_id" in document or "sessions" in document or "checkpoints_count" in document)


def is_place(folder: str) -> bool:
    """Whether a folder is called as checkpoints are."""
    return _LAYOUT.search(folder) is not None


def metadata_of(path: Path) -> dict[str, Any]:
    """What is told of a transcript; empty where nothing can be read."""
    try:
        if path.stat().st_size > LARGEST:
            return {}
        document = as_dict(orjson.loads(path.read_bytes()))
    except (OSError, ValueError, RecursionError):
        return {}
    return document if is_metadata(document) else {}


def session_of(document: Mapping[str, Any]) -> str | None:
    """The id of the session that a transcript is of."""
    return as_id(document.get("session_id"))


def agent_of(document: Mapping[str, Any]) -> str | None:
    """The agent that wrote the transcript, in Entire's words."""
    return as_text(document.get("agent"))
