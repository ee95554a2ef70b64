"""Sessions whose numbers depend on each other: forks and what they were forked from, generations and copies of one id,
sub-agents that came without their session.

A line that two files hold is counted in one of them. So that the order in which files come changes no number, a family
is read together whenever one of it changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import NamedTuple

from django.db.models import Exists, OuterRef, Q

from contextviz.services.digest.audience import Audience
from contextviz.services.digest.batch import BatchFile, distinct, files_of_session
from contextviz.sources.joining import EVENTS_FORMAT, TELEMETRY_FORMAT
from contextviz.store.bulk import chunks
from contextviz.store.models import EntryRecord, SessionRecord

AT_ONCE = 300
# A family larger than this is no family: a made-up id would have every session read again each time.
MOST_MEMBERS = 200
_COLUMNS = ("pk", "format", "source_id", "forked_from", "parent", "started_at")
# A resumed or forked session's file of Claude Code repeats the one before it, ids and mostly times included, without
# saying so (formats document, section B.8).
_REPEATING = "claude-code"
# What is posted is one stream for a session and sender; those of others by the same name are others.
_STREAMS = frozenset({EVENTS_FORMAT, TELEMETRY_FORMAT})
# What a sub-agent's transcript is called that came without its session (formats document, section B.8).
_ALONE = "agent-"


class _Member(NamedTuple):
    """A session as its relatives know it; `head` is the id of its first entry where its format repeats entries."""

    pk: int
    format: str
    source_id: str
    forked_from: str
    parent: str
    started_at: datetime | None
    head: str = ""


def families(session_ids: Iterable[int], audience: Audience) -> list[list[int]]:
    """The families of more than one that these sessions are in, as sorted ids. Four queries for 300 sessions, and more
    only for those that have relatives."""
    found: list[list[int]] = []
    seen: set[int] = set()
    for part in chunks(session_ids, AT_ONCE):
        known = _members(Q(pk__in=part), audience)
        near = _near(list(known.values()), audience) | known
        for number in part:
            if number in seen or number not in near:
                continue
            family = _family(near[number], near, audience)
            seen |= family
            if 1 < len(family) <= MOST_MEMBERS:
                found.append(sorted(family))
    return found


def _members(wanted: Q, audience: Audience) -> dict[int, _Member]:
    rows = SessionRecord.objects.filter(wanted, audience.joins()).exclude(status="deleting")
    found = {row[0]: _Member(*row) for row in rows.values_list(*_COLUMNS).distinct()}
    repeating = [number for number, one in found.items() if one.format == _REPEATING]
    heads = EntryRecord.objects.filter(session_id__in=repeating, index=0) if repeating else EntryRecord.objects.none()
    for number, head in heads.values_list("session_id", "entry"):
        found[number] = found[number]._replace(head=head)
    return found


def _near(members: Sequence[_Member], audience: Audience) -> dict[int, _Member]:
    """Those that name one of these, or are named by one."""
    own = {one.source_id for one in members}
    above = {name for one in members for name in _named_by(one)}
    alone = Q(parent__in=own, source_id__startswith=_ALONE)
    wanted = Q(source_id__in=own | above) | Q(forked_from__in=own) | alone
    repeating = [one for one in members if one.format == _REPEATING]
    times = {one.started_at for one in repeating if one.started_at is not None}
    found = _members(wanted | Q(format=_REPEATING, started_at__in=times) if times else wanted, audience)
    heads = {one.head for one in repeating if one.head}
    if heads:
        # By session, each with one look at its first entry: there are many more entries than sessions.
        begins = EntryRecord.objects.filter(session=OuterRef("pk"), index=0, entry__in=heads)
        found |= _members(Q(Exists(begins), format=_REPEATING), audience)
    return found


def _named_by(one: _Member) -> list[str]:
    return [name for name in (one.forked_from, one.parent if one.source_id.startswith(_ALONE) else "") if name]


def _are_related(one: _Member, other: _Member) -> bool:
    if one.format in _STREAMS or other.format in _STREAMS:
        return False
    if one.format.partition("-")[0] != other.format.partition("-")[0]:
        return False  # of another program: an engine's store is joined elsewhere (services.digest.halves)
    if one.format == other.format == _REPEATING and (
        (one.started_at is not None and one.started_at == other.started_at) or (one.head and one.head == other.head)
    ):
        return True
    return one.source_id == other.source_id or one.source_id in _named_by(other) or other.source_id in _named_by(one)


def _family(first: _Member, near: dict[int, _Member], audience: Audience) -> set[int]:
    family = {first.pk: first}
    fresh = [one for one in near.values() if _are_related(one, first) and one.pk not in family]
    while fresh and len(family) <= MOST_MEMBERS:
        family.update((one.pk, one) for one in fresh)
        around = _near(fresh, audience).values()
        last, fresh = fresh, []
        fresh = [one for one in around if one.pk not in family and any(_are_related(one, other) for other in last)]
    return set(family)


def files_of_family(session_ids: Iterable[int]) -> list[BatchFile]:
    """Everything that a family is read from."""
    return distinct(file for number in session_ids for file in files_of_session(number))


def companions(files: Sequence[BatchFile], touched: Iterable[int], audience: Audience) -> list[BatchFile]:
    """What must be read with `files`, which are newer versions of files of the sessions `touched`: the rest of their
    families. The queries of `families`, and one for each relative."""
    paths = {one.source_path for one in files if one.source_path}
    known = sorted(touched) if len(paths) <= AT_ONCE else []
    contents = {one.sha256 for one in files}
    return [
        file
        for family in families(known, audience)
        for file in files_of_family(family)
        if file.source_path not in paths and file.sha256 not in contents
    ]
