"""Thoughts: what OpenBrain keeps, and a reader of them that takes every likely shape (engines document, 5.2).

The service's answers are nowhere specified, so a thought is read by any of the names that such services use.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

ThoughtType = Literal["message", "summary", "subagent-result"]
LIST_KEYS = ("thoughts", "results", "data", "items")
_IDS, _TEXTS = ("id", "thought_id", "_id"), ("content", "text")
_TIMES, _SCORES = ("created_at", "createdAt", "timestamp"), ("score", "similarity", "relevance")


@dataclass(frozen=True, slots=True)
class Thought:
    """One thought. `source` is `<prefix>:<agent>`; `turn` is as the engine wrote it; `created_at` as it is written
    (ISO text in UTC sorts by time). Empty strings and None are what was not given."""

    id: str
    content: str
    source: str = ""
    session: str = ""
    turn: int | None = None
    role: str = ""
    type: str = "message"
    created_at: str = ""
    more: Mapping[str, Any] = field(default_factory=dict)

    @property
    def likeness(self) -> tuple[str, str]:
        """What two thoughts share that say the same: role and SHA-256 of the content."""
        return self.role, hashlib.sha256(self.content.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True, slots=True)
class Scored:
    """A thought with how well it fits a query; None where the answer gives no score."""

    thought: Thought
    score: float | None = None


def read_thought(value: Any) -> Scored | None:
    """One item of an answer: a thought, or one wrapped as `{"thought": …, "score": …}`; None where it is neither."""
    if not isinstance(value, dict):
        return None
    inner = value.get("thought")
    fields = inner if isinstance(inner, dict) else value
    name, content = _first(fields, _IDS), _first(fields, _TEXTS)
    if not isinstance(name, str | int) or isinstance(name, bool):
        return None
    metadata = fields.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    turn, made = metadata.get("turn"), _first(fields, _TIMES)
    thought = Thought(
        str(name), content if isinstance(content, str) else "", _word(fields.get("source")),
        _word(metadata.get("sessionId")), turn if isinstance(turn, int) and not isinstance(turn, bool) else None,
        _word(metadata.get("role")), _word(metadata.get("type")) or "message",
        str(made) if isinstance(made, str | int | float) else "",
        {key: one for key, one in metadata.items() if key not in ("sessionId", "turn", "role", "type")},
    )  # fmt: skip
    own = score_of(value)
    return Scored(thought, score_of(fields) if own is None else own)


def score_of(fields: Mapping[str, Any]) -> float | None:
    """A score by any of its names; where there is only a distance, one less it."""
    given = _number(_first(fields, _SCORES))
    if given is not None:
        return given
    distance = _number(fields.get("distance"))
    return None if distance is None else 1 - distance


def read_thoughts(body: Any) -> list[Scored]:
    """The thoughts of an answer: a bare list, an object with a list under a usual name, one thought alone, or none."""
    items = body if isinstance(body, list) else None
    if items is None and isinstance(body, dict):
        items = next((body[key] for key in LIST_KEYS if isinstance(body.get(key), list)), [body])
    return [found for item in items or [] if (found := read_thought(item)) is not None]


def source_of(prefix: str, agent: str) -> str:
    """The source of an agent's thoughts."""
    return f"{prefix}:{agent or 'main'}"


def body_of(thought: Thought) -> dict[str, Any]:
    """The body of the request that stores a thought."""
    return {
        "content": thought.content, "source": thought.source,
        "metadata": {"sessionId": thought.session, "turn": thought.turn, "role": thought.role, "type": thought.type},
    }  # fmt: skip


def _first(fields: Mapping[str, Any], names: tuple[str, ...]) -> Any:
    return next((fields[name] for name in names if fields.get(name) is not None), None)


def _word(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value)
