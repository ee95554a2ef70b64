"""What is answered to posted events."""

from __future__ import annotations

from ninja import Schema

from contextviz.services.inbox.events import Post, Remark
from contextviz.store.queries.live import session_of_stream


class LineRemark(Schema):
    """What is said of one line (from 1)."""

    line: int
    sentence: str


class EventsPosted(Schema):
    """What came of a post. `new` events were kept, `known` ones were here before, `refused` lines are no events (the
    first 100 with their reasons in `rejected`); `remarks` is what is odd about events that were kept. `session` is its
    number here, null until it was read for the first time."""

    new: int
    known: int
    refused: int
    rejected: list[LineRemark]
    remarks: list[LineRemark]
    session: int | None


def posted_of(post: Post) -> EventsPosted:
    """The answer to a post."""
    session = None if post.stream is None else session_of_stream(post.stream)
    return EventsPosted(
        new=post.new, known=post.known, refused=post.refused, rejected=_remarks(post.rejected),
        remarks=_remarks(post.remarks), session=session,
    )  # fmt: skip


def _remarks(told: list[Remark]) -> list[LineRemark]:
    return [LineRemark(line=one.line, sentence=one.sentence) for one in told]
