"""What is kept of the logs while they are read."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from contextviz.events.snapshot import TraceSource
from contextviz.sources.openclaw.traces.fingerprints import Imprints

MAX_BODY_BYTES = 256 * 1024 * 1024
Json = dict[str, Any]
# What the client calls one set of tools: the digest of their definitions, and their names.
ToolKey = tuple[str, tuple[str, ...]]


@dataclass(slots=True)
class TracedRow:
    """One request of a cache trace, or the opening of one run in a trajectory.

    `roles` are the client's words, `prints` the fingerprints of the messages, in order; either is None where it was
    cut. `usage` is (input, cache read, cache write) as the trace has it. `prompt` is what opened the run,
    `system_chars` the size of a system prompt that was cut, `until` the run's end where it is known.
    """

    source: TraceSource
    file: str
    line: int | None
    at: datetime
    run: str | None
    roles: tuple[str | None, ...]
    prints: tuple[bytes | None, ...]
    system: str | None = None
    system_chars: int | None = None
    until: datetime | None = None
    tools: tuple[Json, ...] = ()
    prompt: str | None = None
    usage: tuple[int, int, int] | None = None


@dataclass(slots=True)
class SessionTrace:
    """What the logs say of one session.

    `bodies` are whole messages as canonical JSON, by fingerprint; `started` the first moment of each run, `tool_names`
    and `tool_counts` what its requests offered, `by_run` its opening; `apart` the requests of runs that the client
    keeps to itself (memory flushes), with `apart_tokens` the sum of their prompts. `written` counts, by file, the
    events that are entries of the transcript. `imprints` are those of the transcript that was read last.
    """

    session_id: str
    requests: list[TracedRow] = field(default_factory=list)
    openings: list[TracedRow] = field(default_factory=list)
    bodies: dict[bytes, bytes] = field(default_factory=dict)
    started: dict[str, datetime] = field(default_factory=dict)
    tool_names: dict[str, ToolKey] = field(default_factory=dict)
    tool_counts: dict[str, int] = field(default_factory=dict)
    by_run: dict[str, TracedRow] = field(default_factory=dict)
    files: list[str] = field(default_factory=list)
    apart: int = 0
    apart_tokens: int = 0
    written: dict[str, int] = field(default_factory=dict)
    body_bytes: int = 0
    imprints: Imprints = field(default_factory=Imprints)

    def listen(self) -> Imprints:
        """A listener for a transcript of the session that is about to be read."""
        rows = (*self.requests, *self.openings)
        self.imprints = Imprints(frozenset(one for row in rows for one in row.prints if one is not None))
        return self.imprints

    def keep(self, fingerprint: bytes, body: bytes) -> None:
        """Keep a whole message, up to MAX_BODY_BYTES of them; beyond, a message is as good as cut."""
        if fingerprint not in self.bodies and self.body_bytes + len(body) <= MAX_BODY_BYTES:
            self.bodies[fingerprint] = body
            self.body_bytes += len(body)

    def begins(self, run: str | None, at: datetime) -> None:
        """Note a moment of a run; the first one counts."""
        if run is not None and (run not in self.started or at < self.started[run]):
            self.started[run] = at


@dataclass(slots=True)
class Traces:
    """All that the logs of one read say, by session id."""

    by_session: dict[str, SessionTrace] = field(default_factory=dict)

    def of(self, session_id: str) -> SessionTrace:
        """The session's trace, made where there is none yet."""
        return self.by_session.setdefault(session_id, SessionTrace(session_id))
