"""Sessions whose numbers depend on each other: forks and what they were forked from, generations and copies of one id,
sub-agents that came without their session.

A line that two files hold is counted in one of them. So that the order in which files come changes no number, a family
is read together whenever one of it changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from django.db.models import Q

from contextviz.services.digest.audience import Audience
from contextviz.services.digest.batch import BatchFile, distinct, files_of_session
from contextviz.sources.joining import EVENTS_FORMAT, TELEMETRY_FORMAT
from contextviz.store.bulk import chunks
from contextviz.store.models import SessionArtifactRecord, SessionRecord

AT_ONCE = 300
# A family larger than this is no family: a made-up id would have every session read again each time.
MOST_MEMBERS = 200
_COLUMNS = ("pk", "format", "source_id", "forked_from", "parent", "started_at")
_Member = tuple[int, str, str, str, str, datetime | None]
# A resumed session's file of Claude Code repeats the one before it, times included, and does not say so.
_REPEATING = "claude-code"
# What is posted is one stream for a session and sender; those of others by the same name are others.
_STREAMS = frozenset({EVENTS_FORMAT, TELEMETRY_FORMAT})
# What a sub-agent's transcript is called that came without its session (formats document, section B.8).
_ALONE = "agent-"


def families(session_ids: Iterable[int], audience: Audience) -> list[list[int]]:
    """The families of more than one that these sessions are in, as sorted ids. Two queries for 300 sessions, and more
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
    return {row[0]: row for row in rows.values_list(*_COLUMNS)}


def _near(members: Sequence[_Member], audience: Audience) -> dict[int, _Member]:
    """Those that name one of these, or are named by one."""
    own = {one[2] for one in members}
    above = {name for one in members for name in _named_by(one)}
    alone = Q(parent__in=own, source_id__startswith=_ALONE)
    times = {one[5] for one in members if one[1] == _REPEATING and one[5] is not None}
    repeating = Q(format=_REPEATING, started_at__in=times)
    return _members(Q(source_id__in=own | above) | Q(forked_from__in=own) | alone | repeating, audience)


def _named_by(one: _Member) -> list[str]:
    _, _, source_id, forked_from, parent, _ = one
    return [name for name in (forked_from, parent if source_id.startswith(_ALONE) else "") if name]


def _are_related(one: _Member, other: _Member) -> bool:
    if one[1] in _STREAMS or other[1] in _STREAMS:
        return False
    if one[1].partition("-")[0] != other[1].partition("-")[0]:
        return False  # of another program: an engine's store is joined elsewhere (services.digest.halves)
    if one[1] == _REPEATING and one[5] is not None and one[5] == other[5]:
        return True
    return one[2] == other[2] or one[2] in _named_by(other) or other[2] in _named_by(one)


def _family(first: _Member, near: dict[int, _Member], audience: Audience) -> set[int]:
    family = {first[0]: first}
    fresh = [one for one in near.values() if _are_related(one, first) and one[0] not in family]
    while fresh and len(family) <= MOST_MEMBERS:
        family.update((one[0], one) for one in fresh)
        around = _near(fresh, audience).values()
        last, fresh = fresh, []
        fresh = [one for one in around if one[0] not in family and any(_are_related(one, other) for other in last)]
    return set(family)


def files_of_family(session_ids: Iterable[int]) -> list[BatchFile]:
    """Everything that a family is read from."""
    return distinct(file for number in session_ids for file in files_of_session(number))


def companions(files: Sequence[BatchFile], audience: Audience) -> list[BatchFile]:
    """What must be read with `files`, which are newer versions of files of sessions here: the rest of their families.
    Three queries."""
    paths = {one.source_path for one in files if one.source_path}
    links = SessionArtifactRecord.objects.filter(source_path__in=list(paths)[:AT_ONCE])
    known = list(links.values_list("session_id", flat=True).distinct()) if paths and len(paths) <= AT_ONCE else []
    contents = {one.sha256 for one in files}
    return [
        file
        for family in families(known, audience)
        for file in files_of_family(family)
        if file.source_path not in paths and file.sha256 not in contents
    ]
