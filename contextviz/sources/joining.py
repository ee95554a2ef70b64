"""Which session an engine's store or log belongs to.

Stores and logs of context engines name the host's session in their own words: by its id, or by a scope key that
Cortext makes from the host's session key (engines document, section 4.6).
"""

from __future__ import annotations

import re

from contextviz.events.session import Session, Transcript

# Formats whose transcripts are a part of their host's session where that is there, in the order they join it.
LOG_FORMAT = "engine-log"
EVENTS_FORMAT = "events"
TELEMETRY_FORMAT = "otlp"
PART_FORMATS = ("lossless-claw", "flowctx", "cortext", LOG_FORMAT, EVENTS_FORMAT, TELEMETRY_FORMAT)
SCOPE = "s-"
# An OpenVole session is called after its folder; where its files come without that, after its first line.
OPENVOLE, UNNAMED = "openvole", "openvole-"
# A conversation of OpenHands is called as its state says, or after its folder; without either, after its first event.
OPENHANDS, HASHED = "openhands", "openhands-"
_UNSAFE = re.compile(r"[^A-Za-z0-9\-_.@]")


def safe(name: str) -> str:
    """A name as Cortext writes it into a scope key and a file name."""
    return _UNSAFE.sub("_", name) or "session"


def is_part(transcript: Transcript) -> bool:
    """Whether a transcript is an engine's, to be joined to the host's session of that name."""
    return transcript.session.format in PART_FORMATS


def names_of(session: Session) -> list[str]:
    """What an engine may call a host's session: its id, and the scope keys of its session key and id."""
    names = [session.id]
    key = session.hints.get("session_key")
    if isinstance(key, str) and key:
        names.append(SCOPE + safe(key))
    names.append(SCOPE + safe(session.id))
    return list(dict.fromkeys(names))


def fits(name: str, session: Session) -> bool:
    """Whether an engine's `name` for a session can mean this one. Where the host's index is not there, its session
    key is not known; then a scope key of any agent that ends in the session's id will do."""
    if name in names_of(session):
        return True
    has_key = "session_key" in session.hints
    return not has_key and name.startswith(f"{SCOPE}agent_") and name.endswith(ending_of(session))


def ending_of(session: Session) -> str:
    """What a scope key of `agent:<agent>:<session>` ends in."""
    return "_" + safe(session.id)


def key_pattern(name: str) -> str | None:
    """A regular expression that the session keys (or ids) behind a scope key match; None where `name` is no scope
    key of one session. Every `_` stands for any one character, so matches must be checked with `fits`."""
    rest = name.removeprefix(SCOPE)
    if rest == name or not rest or len(rest) > 200:
        return None
    return "^" + re.escape(rest).replace("_", ".") + "$"


class Waiting:
    """Transcripts of engines' stores and logs, until the session that they belong to comes by."""

    def __init__(self) -> None:
        self._parts: dict[str, list[Transcript]] = {}

    def add(self, part: Transcript) -> None:
        """Let `part` wait."""
        self._parts.setdefault(part.session.id, []).append(part)

    def take(self, host: Session) -> list[Transcript]:
        """The parts that belong to `host`, which wait no longer, in the order they join it."""
        if not self._parts or host.generation != "active":
            return []
        scoped = [name for name in self._parts if name.startswith(SCOPE) and fits(name, host)]
        names = [name for name in dict.fromkeys([*names_of(host), *scoped]) if name in self._parts]
        return in_joining_order([part for name in names for part in self._parts.pop(name)])

    def left(self) -> list[list[Transcript]]:
        """What no session came for, by name."""
        found, self._parts = list(self._parts.values()), {}
        return [in_joining_order(parts) for parts in found]


def in_joining_order(parts: list[Transcript]) -> list[Transcript]:
    """Stores before logs, which give their numbers to what the stores tell of."""
    return sorted(parts, key=lambda part: PART_FORMATS.index(part.session.format))
