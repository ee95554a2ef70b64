"""Records into the inbox, a stream for each conversation; what nobody reads is counted."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from uuid import UUID

from django.db import connection, transaction

from contextviz.events.times import instant
from contextviz.services.inbox.posting import Accepted, Posted, accept
from contextviz.services.inbox.streams import join_all, streams_named
from contextviz.services.otlp.wire import OtlpRecord, Signal, decode
from contextviz.sources.otlp.interest import gateway_of, talk_of
from contextviz.store.bulk import clean
from contextviz.store.models import InboxCountRecord
from contextviz.store.viewing import viewer_of_id, viewing

REJECTED = "what was in the place of a record is no object, or is nested too deeply"
MOST_TALKS = 200
MOST_TRACES = 2_000
TOO_MANY = f"one export may have {MOST_TALKS} conversations; send smaller batches"
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
        streams, left_out = _by_stream(decoded.records, sender, now)
        accepted = [
            accept("otlp", name, rows, now=now, sender=sender, is_private=is_private)
            for name, rows in sorted(streams.items())
        ]
        _count(decoded.unused, now)
    return Exported(
        sum(one.new for one in accepted), sum(one.known for one in accepted), sum(decoded.unused.values()),
        decoded.rejected + left_out, TOO_MANY if left_out else REJECTED if decoded.rejected else "", _jobs(accepted),
    )  # fmt: skip


def _jobs(accepted: list[Accepted]) -> tuple[UUID, ...]:
    return tuple(one.job_id for one in accepted if one.job_id is not None)


def _by_stream(records: list[OtlpRecord], sender: str, now: datetime) -> tuple[dict[str, list[Posted]], int]:
    """The rows by the stream they belong to: their conversation where any record of their trace names it; and how many
    are left out, since one export has too many conversations."""
    talks: dict[str, str] = {}
    for record in records:
        talk = talk_of(record.attributes)
        if talk is not None and record.trace is not None:
            talks.setdefault(record.trace, talk)
    parts = {f"trace-{trace}": talk for trace, talk in islice(talks.items(), MOST_TRACES)}
    join_all("otlp", sender, parts, now=now)
    lone = {f"trace-{one.trace}" for one in records if one.trace is not None and one.trace not in talks}
    names = streams_named("otlp", sender, lone)
    found: dict[str, list[Posted]] = {}
    left_out = 0
    for record in records:
        name = _stream_of(record, talks, names)
        if name not in found and len(found) >= MOST_TALKS:
            left_out += 1
        else:
            found.setdefault(name, []).append(_posted(record))
    return found, left_out


def _stream_of(record: OtlpRecord, talks: Mapping[str, str], names: Mapping[str, str]) -> str:
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
    own = f"trace-{record.trace}"
    return talks.get(record.trace) or names.get(own, own)


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
