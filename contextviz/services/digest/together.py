"""Reading families together after a batch, where its own reading did not."""

from __future__ import annotations

from collections.abc import Sequence

from contextviz.services.delete import remove_session
from contextviz.services.digest.audience import Audience
from contextviz.services.digest.batch import BatchFile, contents
from contextviz.services.digest.families import families, files_of_family
from contextviz.services.digest.outcome import Outcome
from contextviz.services.digest.reading import Reading
from contextviz.services.jobs import JobRun
from contextviz.store.models import SessionRecord


def read_together(run: JobRun, files: Sequence[BatchFile], outcome: Outcome, audience: Audience) -> None:
    """Bring the families of what was just read (from `files`) to the numbers that reading them at once gives;
    `outcome` is brought up to date."""
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
        outcome.updated.extend(one for one in [*found.new, *found.updated] if one not in changed)
        _drop_absorbed(run, family, found, outcome)


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
            outcome.unchanged.extend(one for one in found.sessions if one not in outcome.sessions)
