"""Records into the inbox, a stream for each conversation; what nobody reads is counted."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db import connection, transaction

from contextviz.events.times import instant
from contextviz.services.inbox.posting import Accepted, Posted, accept
from contextviz.services.inbox.streams import join, stream_named
from contextviz.services.otlp.wire import OtlpRecord, Signal, decode
from contextviz.sources.otlp.interest import gateway_of, talk_of
from contextviz.store.bulk import clean
from contextviz.store.models import InboxCountRecord
from contextviz.store.viewing import viewer_of_id, viewing

REJECTED = "what was in the place of a record is not an object"
UNUSED = "otlp"


@dataclass(frozen=True, slots=True)
class Exported:
    """What came of one export: new records, records that were here before, records that no reader uses, records that
    could not be read (with a sentence), and the digests to enqueue after the commit."""

    new: int
    known: int
    unused: int
    rejected: int
    sentence: str
    jobs: tuple[UUID, ...]


def receive_export(
    signal: Signal, body: bytes, *, is_json: bool, now: datetime, sender: str = "", person_id: int | None = None,
    is_private: bool = False,
) -> Exported:  # fmt: skip
    """Keep what an exporter sent; raises BadExport where the body is no export. One transaction; the same body sent
    again changes nothing. What `person_id` sent is theirs, and theirs alone with `is_private`."""
    decoded = decode(signal, body, is_json=is_json)
    with transaction.atomic(), viewing(viewer_of_id(person_id)):
        accepted = [
            accept("otlp", name, rows, now=now, sender=sender, is_private=is_private)
            for name, rows in sorted(_by_stream(decoded.records, sender, now).items())
        ]
        _count(decoded.unused, now)
    return Exported(
        sum(one.new for one in accepted), sum(one.known for one in accepted), sum(decoded.unused.values()),
        decoded.rejected, REJECTED if decoded.rejected else "", _jobs(accepted),
    )  # fmt: skip


def _jobs(accepted: list[Accepted]) -> tuple[UUID, ...]:
    return tuple(one.job_id for one in accepted if one.job_id is not None)


def _by_stream(records: list[OtlpRecord], sender: str, now: datetime) -> dict[str, list[Posted]]:
    """The rows by the stream they belong to: their conversation where any record of their trace names it."""
    talks: dict[str, str] = {}
    for record in records:
        talk = talk_of(record.attributes)
        if talk is not None and record.trace is not None:
            talks.setdefault(record.trace, talk)
    for trace, talk in talks.items():
        join("otlp", sender, part=f"trace-{trace}", whole=talk, now=now)
    found: dict[str, list[Posted]] = {}
    for record in records:
        found.setdefault(_stream_of(record, talks, sender), []).append(_posted(record))
    return found


def _stream_of(record: OtlpRecord, talks: Mapping[str, str], sender: str) -> str:
    talk = talk_of(record.attributes)
    if talk is not None:
        return talk
    body = record.body
    began = body.get("startTimeUnixNano") or body.get("timeUnixNano") or body.get("observedTimeUnixNano")
    gateway = gateway_of(record.name, record.attributes, instant(began))
    if gateway is not None:
        return gateway
    if record.trace is None:
        return "logs"
    return talks.get(record.trace) or stream_named("otlp", sender, f"trace-{record.trace}")


def _posted(record: OtlpRecord) -> Posted:
    envelope = record.envelope
    span = record.body.get("spanId")
    if record.kind == "span" and record.trace and isinstance(span, str) and span:
        return Posted(f"span {record.trace} {span}", envelope)
    return Posted(f"{record.kind} {hashlib.sha256(envelope).hexdigest()}", envelope)


def _count(unused: Mapping[str, int], now: datetime) -> None:
    """Add to what was counted before. Past the ORM: it has no words for "as many more"."""
    if not unused:
        return
    table = InboxCountRecord._meta.db_table
    at = connection.ops.adapt_datetimefield_value(now)
    with connection.cursor() as cursor:
        cursor.executemany(
            f"INSERT INTO {table} (source, what, count, last_at) VALUES (%s, %s, %s, %s) "
            f"ON CONFLICT (source, what) DO UPDATE SET count = {table}.count + excluded.count, "
            "last_at = excluded.last_at",
            # In one order everywhere, so that two senders never wait for each other in a circle.
            [(UNUSED, clean(what), number, at) for what, number in sorted(unused.items())],
        )
