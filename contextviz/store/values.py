"""What queries give where an event of contextviz.events is not enough: rows of lists, pages, windows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, Literal, TypeVar
from uuid import UUID

from contextviz.events.message import Message
from contextviz.events.session import Session, Transcript
from contextviz.events.snapshot import ContextItem, SnapshotBasis, WindowCheck
from contextviz.events.usage import TokenUsage

Basis = Literal["reported", "derived", "estimated", "unknown"]
JobKind = Literal[
    "digest", "expand_summary", "retrieve_original", "delete_session", "index_texts", "look_through", "send_webhook",
    "replay",
]  # fmt: skip
JobState = Literal["queued", "running", "done", "failed", "cancelled"]
Item = TypeVar("Item")


class NotFound(Exception):
    """There is no such row; the text is a sentence for a person."""


class NotAllowed(Exception):
    """The row is there, and it is not for this person to change; the text is a sentence for a person."""


@dataclass(frozen=True, slots=True)
class SessionRow:
    """One session as the Library lists it. None means unknown. Spend is reported, summed over all calls;
    occupancy is of the main chain's last call, `occupancy_share` from 0 to 1 (and above, when exceeded)."""

    id: int
    revision: int
    status: str
    source_id: str
    format: str
    format_version: str | None
    generation: str
    generation_at: datetime | None
    agent: str | None
    title: str | None
    cwd: str | None
    model: str | None
    started_at: datetime | None
    ended_at: datetime | None
    parent: str | None
    forked_from: str | None
    window: int | None
    window_basis: str | None
    compaction_threshold: int | None
    compaction_threshold_basis: str | None
    entry_count: int
    message_count: int
    call_count: int
    failed_call_count: int
    compaction_count: int
    snapshot_count: int
    subagent_count: int
    node_count: int
    topic_count: int
    problem_count: int
    error_count: int
    coverage: float | None
    last_prompt_tokens: int | None
    occupancy_tokens: int | None
    occupancy_share: float | None
    occupancy_basis: str
    spend_input_tokens: int | None
    spend_cache_read_tokens: int | None
    spend_cache_write_tokens: int | None
    spend_output_tokens: int | None
    spend_total_tokens: int | None
    cost_usd: float | None
    cost_basis: str
    cost_unpriced_calls: int
    estimator: str | None
    created_at: datetime
    updated_at: datetime
    owner_id: int | None = None
    is_private: bool = False
    is_kept: bool = False

    @property
    def is_growing(self) -> bool:
        """Whether its last line is half written."""
        return self.status == "growing"


@dataclass(frozen=True, slots=True)
class LibraryFilter:
    """What the Library is asked for. `search` looks in title, id, agent, model and folder; `formats` are those of which
    a session has one, None for any."""

    search: str = ""
    format: str = ""
    agent: str = ""
    has_compactions: bool = False
    has_problems: bool = False
    since: datetime | None = None
    until: datetime | None = None
    formats: tuple[str, ...] | None = None


@dataclass(frozen=True)  # slots and a frozen generic do not go together on Python 3.11
class Page(Generic[Item]):
    """One page of a list: `number` from 1, `total` rows in all."""

    items: list[Item]
    number: int
    size: int
    total: int

    @property
    def pages(self) -> int:
        """How many pages there are, at least one."""
        return max(1, -(-self.total // self.size))


@dataclass(frozen=True, slots=True)
class Facet:
    """One value of a filter with how many sessions have it."""

    value: str
    count: int


@dataclass(frozen=True, slots=True)
class ClientTotal:
    """What a client says of a session as a whole. `beyond` is what its total has more than the calls that are written
    down (tokens, and dollars where it tells them), `cost_usd` what it says that the whole session cost."""

    beyond: TokenUsage | None = None
    cost_usd: float | None = None


@dataclass(frozen=True, slots=True)
class SessionDetail:
    """A session with what only its own pages show. `transcript` has the detail (lines, tree, sub-agents, files,
    context_at_end, store facts, …); its message, call, compaction, item and problem lists are empty here."""

    row: SessionRow
    session: Session
    transcript: Transcript
    client_total: ClientTotal


@dataclass(frozen=True, slots=True)
class MessagePage:
    """Neighbouring messages; `before` and `after` are the indexes to page on from, None at the ends."""

    messages: list[Message]
    before: int | None
    after: int | None


@dataclass(frozen=True, slots=True)
class WindowItem:
    """One item of a window: its place in it (0-based), its position in the session's item table, its category."""

    place: int
    position: int
    item: ContextItem
    category: str


@dataclass(frozen=True, slots=True)
class SnapshotRow:
    """One snapshot without its items. `kept_items` leading ones are those of the previous snapshot of the same
    chain; `sums` are estimated tokens by category, `check` what a log of requests says of it."""

    index: int
    call_index: int
    basis: SnapshotBasis
    note: str | None
    previous: int | None
    kept_items: int
    item_count: int
    estimated_tokens: int
    sums: Mapping[str, int]
    check: WindowCheck | None = None


@dataclass(frozen=True, slots=True)
class Window:
    """What one call was given, in order."""

    snapshot: SnapshotRow
    items: list[WindowItem]


@dataclass(frozen=True, slots=True)
class TextPlace:
    """A text that is held: hash, sizes, estimated tokens, and in how many sessions it occurs."""

    sha256: str
    chars: int
    size: int
    estimated_tokens: int
    session_count: int


@dataclass(frozen=True, slots=True)
class TextUse:
    """One session that holds a text, and its first message with it (None: only in a summary, an item or a note)."""

    session_id: int
    title: str | None
    source_id: str
    message_index: int | None


@dataclass(frozen=True, slots=True)
class JobRow:
    """One job as people see it."""

    id: UUID
    kind: JobKind
    state: JobState
    progress: int
    total: int | None
    outcome: str
    params: dict[str, Any]
    result: dict[str, Any]
    session_id: int | None
    attempts: int
    is_cancel_asked: bool
    can_retry: bool
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    person_id: int | None = None
    is_private: bool = False

    @property
    def is_finished(self) -> bool:
        """Whether it will not change any more by itself."""
        return self.state in ("done", "failed", "cancelled")

    @property
    def share(self) -> float | None:
        """Progress from 0 to 1, None while the total is unknown."""
        return None if not self.total else min(1.0, self.progress / self.total)

    @property
    def may_retry(self) -> bool:
        """Whether a retry is worth offering."""
        return self.state in ("failed", "cancelled") and self.can_retry


@dataclass(frozen=True, slots=True)
class JobLine:
    """One line of a job's log."""

    number: int
    at: datetime
    text: str


@dataclass(frozen=True, slots=True)
class UploadRow:
    """One file that arrives, or did not: `sentence` says what to do."""

    id: UUID
    batch_id: UUID
    name: str
    state: Literal["receiving", "received", "interrupted", "refused"]
    sentence: str
    started_at: datetime
    finished_at: datetime | None


@dataclass(frozen=True, slots=True)
class SourceRow:
    """One raw file that a session is read from. `source_path` is where it was imported from, if it was."""

    sha256: str
    name: str
    size: int
    source_path: str | None
    is_in_place: bool
    received_at: datetime
