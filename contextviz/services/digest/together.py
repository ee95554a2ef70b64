"""Reading families together after a batch, where its own reading did not."""

from __future__ import annotations

from collections.abc import Sequence

from contextviz.services.delete import remove_session
from contextviz.services.digest.audience import Audience
from contextviz.services.digest.batch import BatchFile, contents, distinct
from contextviz.services.digest.families import families, files_of_family
from contextviz.services.digest.outcome import Outcome, namesakes_of
from contextviz.services.digest.reading import Reading
from contextviz.services.jobs import JobRun
from contextviz.store.bulk import chunks
from contextviz.store.models import SessionRecord

AT_ONCE = 500
MOST_ROUNDS = 3


def read_together(run: JobRun, files: Sequence[BatchFile], outcome: Outcome, audience: Audience) -> None:
    """Bring the families of what was just read (from `files`) to the numbers that reading them at once gives;
    `outcome` is brought up to date."""
    _read_joint(run, outcome, audience)
    changed = [*outcome.new, *outcome.updated]
    read = contents(files)
    for family in families(changed, audience):
        whole = files_of_family(family)
        is_new = not set(outcome.new).isdisjoint(family)
        is_joint = contents(whole) <= read and set(outcome.alone).isdisjoint(family)
        if is_joint and (not is_new or set(family) <= set(changed)):
            continue
        found = Reading(run, whole, audience, is_whole_family=True).read_all()
        outcome.problems.extend(found.problems)
        for one in [*found.new, *found.updated]:
            outcome.is_found(one, is_new=False, is_changed=True)
        _drop_absorbed(run, family, found, outcome)


def _read_joint(run: JobRun, outcome: Outcome, audience: Audience) -> None:
    """Read the files once more whose sessions can only be told apart together: runs of one name in several files."""
    if not outcome.joint:
        return
    found = Reading(run, _with_namesakes(outcome.joint, audience), audience, is_joint=True).read_all()
    for problem in found.problems:
        outcome.add_problem(problem)
    for session in found.sessions:
        is_new, is_changed = session in found.new, session in found.updated
        outcome.is_found(session, is_new=is_new, is_changed=is_changed)
    outcome.alone.extend(found.sessions)


def _with_namesakes(files: Sequence[BatchFile], audience: Audience) -> list[BatchFile]:
    """`files`, and all that sessions are read from which have the name of one of theirs, or that with a number."""
    mine = SessionRecord.objects.filter(audience.joins()).exclude(status="deleting")
    whole = list(files)
    for _ in range(MOST_ROUNDS):
        read = [one.artifact_id for one in whole]
        own = mine.filter(artifacts__artifact_id__in=read).values_list("source_id", "format").distinct()
        formats = {found_format for _, found_format in own}
        names = {name for source_id, _ in own for name in (source_id, *namesakes_of(source_id.rpartition("-")[0]))}
        names |= {name for source_id, _ in own for name in namesakes_of(source_id)}
        names |= {source_id.rpartition("-")[0] for source_id, _ in own}
        found = [
            number
            for part in chunks(sorted(names), AT_ONCE)
            for number in mine.filter(source_id__in=part, format__in=formats).values_list("pk", flat=True)
        ]
        more = distinct([*whole, *files_of_family(found)])
        if len(more) == len(whole):
            break
        whole = more
    return whole


def _drop_absorbed(run: JobRun, family: Sequence[int], found: Outcome, outcome: Outcome) -> None:
    """Remove what were sessions of their own while their session was not here, and are in it now: sub-agents, exports
    of its trajectory."""
    rest = set(family) - set(found.sessions)
    for number in sorted(rest):
        own = contents(files_of_family([number]))
        others = contents(files_of_family(found.sessions))
        if found.sessions and own <= others and SessionRecord.objects.filter(pk=number).exists():
            remove_session(run, number)
            for ids in (outcome.new, outcome.updated, outcome.unchanged):
                while number in ids:
                    ids.remove(number)
            # What came is in these now.
            told = set(outcome.sessions)
            outcome.unchanged.extend(one for one in found.sessions if one not in told)
