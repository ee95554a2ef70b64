"""Streams that turn out to be one: the parts of a conversation may come before the record that names it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime

from contextviz.services.inbox.posting import MOST_NAME, QUERY_ROWS, Source
from contextviz.store.bulk import bounded, chunks
from contextviz.store.models import InboxRecord, InboxStreamRecord
from contextviz.store.viewing import current_viewer


def streams_named(source: Source, sender: str, names: Iterable[str]) -> dict[str, str]:
    """Of streams that were joined to others: the names of those that take what is sent for them. A query for 500."""
    found: dict[str, str] = {}
    for part in chunks((bounded(name, MOST_NAME) for name in names), QUERY_ROWS):
        joined = InboxStreamRecord.objects.filter(source=source, sender=sender, name__in=part, joined__isnull=False)
        found.update(joined.values_list("name", "joined__name"))
    return found


def join_all(source: Source, sender: str, parts: Mapping[str, str], *, now: datetime) -> None:
    """Join each part to its whole (`join`); parts that nothing was sent for yet are only noted, in bulk."""
    names = {"source": source, "sender": sender}
    known: dict[str, int | None] = {}
    for some in chunks(parts, QUERY_ROWS):
        rows = InboxStreamRecord.objects.filter(**names, name__in=some)
        known.update(rows.values_list("name", "joined_id"))
    for part, whole in parts.items():
        if part in known and known[part] is None:
            join(source, sender, part=part, whole=whole, now=now)
    fresh = {"person_id": current_viewer().user_id, "created_at": now, "posted_at": now}
    wholes: dict[str, InboxStreamRecord] = {}
    noted: list[InboxStreamRecord] = []
    for part, whole in parts.items():
        if part in known:
            continue
        if whole not in wholes:
            wholes[whole], _ = InboxStreamRecord.objects.get_or_create(
                **names, name=bounded(whole, MOST_NAME), defaults=fresh
            )
        noted.append(InboxStreamRecord(**names, **fresh, name=bounded(part, MOST_NAME), joined=wholes[whole]))
    InboxStreamRecord.objects.bulk_create(noted, batch_size=QUERY_ROWS, ignore_conflicts=True)


def join(source: Source, sender: str, *, part: str, whole: str, now: datetime) -> None:
    """From now on `part` is a part of `whole`; the rows that it has go over. Call it inside a transaction.

    The session that was read from the part alone is removed when the whole is digested (services.inbox.gathering).
    """
    names = {"source": source, "sender": sender}
    fresh = {"person_id": current_viewer().user_id, "created_at": now, "posted_at": now}
    target, _ = InboxStreamRecord.objects.get_or_create(**names, name=bounded(whole, MOST_NAME), defaults=fresh)
    found, _ = InboxStreamRecord.objects.get_or_create(**names, name=bounded(part, MOST_NAME), defaults=fresh)
    if found.joined_id is not None or found.pk == target.pk:
        return
    # In the order of their numbers, so that two joins never wait for each other in a circle.
    for number in sorted((found.pk, target.pk)):
        InboxStreamRecord.objects.select_for_update().get(pk=number)
    here = InboxRecord.objects.filter(stream_id=target.pk).values("dedupe")
    InboxRecord.objects.filter(stream_id=found.pk, dedupe__in=here).delete()
    InboxRecord.objects.filter(stream_id=found.pk).update(stream_id=target.pk)
    InboxStreamRecord.objects.filter(pk=found.pk).update(joined=target)
