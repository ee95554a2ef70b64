"""Streams that turn out to be one: the parts of a conversation may come before the record that names it."""

from __future__ import annotations

from datetime import datetime

from contextviz.services.inbox.posting import MOST_NAME, Source
from contextviz.store.bulk import bounded
from contextviz.store.models import InboxRecord, InboxStreamRecord
from contextviz.store.viewing import current_viewer

MOST_JOINS = 8


def stream_named(source: Source, sender: str, name: str) -> str:
    """The name of the stream that takes what is sent for `name`: its own, or of what it was joined to."""
    stream = InboxStreamRecord.objects.filter(source=source, sender=sender, name=bounded(name, MOST_NAME)).first()
    for _ in range(MOST_JOINS):
        if stream is None or stream.joined_id is None:
            break
        stream = InboxStreamRecord.objects.filter(pk=stream.joined_id).first()
    return name if stream is None else stream.name


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
