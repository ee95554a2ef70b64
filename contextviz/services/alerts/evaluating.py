"""When rules come true: at the end of a digest, and by the clock for sessions that stopped in the middle."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from datetime import datetime, timedelta
from itertools import islice
from uuid import UUID

from django.db import transaction

from contextviz.analysis.findings import main_calls
from contextviz.analysis.live.alarms import Alarm, History, alarms
from contextviz.events.session import Transcript
from contextviz.services.alerts.rules import RuleRow, list_rules
from contextviz.services.alerts.webhook import is_due
from contextviz.services.jobs import open_job
from contextviz.services.live.feed import Earlier
from contextviz.store.bulk import clean
from contextviz.store.models import AlertRecord, JobRecord, LiveEventRecord, SessionRecord
from contextviz.store.viewing import SYSTEM, viewing

RECENT = timedelta(minutes=10)
LONGEST_STUCK = timedelta(days=1)
MOST_AT_ONCE = 50
MOST_WAITING = 20  # webhook jobs of one rule; a receiver that is down must not fill the queue
Made = tuple[RuleRow, Alarm]


def evaluate(session_id: int, transcript: Transcript, earlier: Earlier, *, now: datetime) -> int:
    """Write the alerts of what is new in a session, with jobs for their webhooks (waiting_webhooks); how many came
    true. In the transaction that saves it. An old session that is brought in makes none, one read again none twice."""
    rules = [rule for rule in list_rules() if rule.is_on]
    if not rules:
        return 0
    history = history_of(transcript)
    made = [
        (rule, alarm)
        for rule in rules
        for alarm in alarms(rule.kind, rule.params, history)[-MOST_AT_ONCE:]
        if _is_new(alarm, earlier, now)
    ]
    return write(session_id, made, now=now)


def history_of(transcript: Transcript) -> History:
    """What rules are asked over."""
    own = [one for one in transcript.compactions if one.agent is None and one.on_active_path]
    return History(main_calls(transcript), own, transcript.session.window)


def _is_new(alarm: Alarm, earlier: Earlier, now: datetime) -> bool:
    if earlier.is_new:
        return alarm.at is not None and alarm.at >= now - RECENT
    if alarm.compaction is not None:
        return alarm.compaction > earlier.counts.compactions
    return alarm.call_index is not None and alarm.call_index >= earlier.counts.calls


def write(session_id: int, made: Iterable[Made], *, now: datetime) -> int:
    """Write alerts that are not there yet, with a job for each that has a webhook; how many. Where too many of a
    rule's webhooks wait already, the alert says that its own was not called."""
    count = 0
    waiting: dict[int, int] = {}
    session = SessionRecord.objects.filter(pk=session_id).values_list("is_private", "owner_id").first()
    for rule, alarm in made:
        if session is None or (session[0] and rule.person_id != session[1]):
            continue  # of a private session only its owner's own rules tell
        values = {"at": now, "sentence": clean(alarm.sentence), "data": _data(alarm)}
        key = hashlib.sha256(alarm.key.encode("utf-8", "surrogatepass")).hexdigest()
        record, is_new = AlertRecord.objects.get_or_create(
            rule_id=rule.id, session_id=session_id, key=key, defaults=values
        )
        count += is_new
        if not is_new or not rule.webhook:
            continue
        if rule.id not in waiting:
            waiting[rule.id] = AlertRecord.objects.filter(rule_id=rule.id, job__state="queued").count()
        if waiting[rule.id] >= MOST_WAITING:
            _leave_out(record)
            continue
        waiting[rule.id] += 1
        with viewing(SYSTEM):
            job_id = open_job("send_webhook", now=now, params={"alert": record.pk}, session_id=session_id)
        AlertRecord.objects.filter(pk=record.pk).update(webhook_state="queued", job_id=job_id)
    return count


def _leave_out(record: AlertRecord) -> None:
    record.webhook_state = "failed"
    record.sentence += f" (the webhook was not called: {MOST_WAITING} calls of this rule wait already)"
    record.save(update_fields=["webhook_state", "sentence"])


def _data(alarm: Alarm) -> dict[str, int | str | None]:
    return {
        "call": None if alarm.call_index is None else alarm.call_index + 1,
        "compaction": alarm.compaction,
        "happened_at": alarm.at.isoformat() if alarm.at else None,
    }


def look_for_stuck(*, now: datetime) -> int:
    """Write the alerts of sessions that have waited too long for an answer; how many. Called by the worker's timer: one
    query where no rule asks for it."""
    rules = [rule for rule in list_rules() if rule.is_on and rule.kind == "stuck"]
    if not rules:
        return 0
    count = 0
    for row in _last_rows(now):
        waited = now - row.seen_at
        made = [
            (rule, Alarm(f"stuck {row.key}", row.at, _waiting(row, waited), row.call_index))
            for rule in rules
            if waited >= timedelta(minutes=rule.params["minutes"])
        ]
        with transaction.atomic():
            count += write(row.session_id, made, now=now)
    return count


def waiting_webhooks(*, now: datetime) -> list[UUID]:
    """The webhook jobs that wait and are due, the oldest first: to be enqueued after a commit. One query."""
    waiting = JobRecord.objects.filter(kind="send_webhook", state="queued").order_by("created_at", "id")
    due = (pk for pk, params in waiting.values_list("pk", "params") if is_due(params, now))
    return list(islice(due, MOST_AT_ONCE))


def _last_rows(now: datetime) -> list[LiveEventRecord]:
    """The last row of each session that went on within a day and has not been answered."""
    recent = LiveEventRecord.objects.filter(seen_at__gte=now - LONGEST_STUCK).exclude(session__status="deleting")
    newest: dict[int, LiveEventRecord] = {}
    for row in recent.filter(kind__in=["message", "call", "compaction"]).order_by("pk").iterator():
        newest[row.session_id] = row
    return [row for row in newest.values() if _is_unanswered(row)]


def _is_unanswered(row: LiveEventRecord) -> bool:
    if row.kind != "message":
        return False
    return row.data.get("role") in ("user", "tool") or bool(row.data.get("tools"))


def _waiting(row: LiveEventRecord, waited: timedelta) -> str:
    what = "a tool" if row.data.get("tools") else "an answer"
    return f"waiting for {what} for {waited.total_seconds() / 60:.0f} minutes"
