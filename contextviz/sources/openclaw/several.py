"""A session whose entries lie in several files: copied to another machine and gone on with on both, cut in two, sent in
parts. They are read as one transcript, in the order in which they were written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime

import orjson

from contextviz.events.times import EARLIEST, by_time, instant
from contextviz.sources.lines import Json, JsonLines, Record
from contextviz.sources.openclaw.draft import Draft
from contextviz.sources.openclaw.planning import Plan
from contextviz.sources.values import as_dict, as_id, as_text


@dataclass(slots=True)
class _File:
    """One of the files; `own` counts the records that no file before it had."""

    lines: JsonLines
    own: int = 0
    records: int = 0


@dataclass(slots=True)
class Several:
    """Files of one session on their way into one draft. `own` and `copies` are the plans of those that added
    something, and of those of which every entry is in another."""

    plans: Sequence[Plan]
    own: list[Plan] = field(default_factory=list)
    copies: list[Plan] = field(default_factory=list)

    def read(self, files: Sequence[JsonLines], draft: Draft, now: datetime) -> None:
        """Put every record into `draft`, each once. `files` are the plans' lines, in their order."""
        seen: set[object] = set()
        opened = [_File(lines) for lines in files]
        for one, record in by_time(map(_records, opened), lambda pair: _time(pair[1].value), now=now):
            one.records += 1
            key = _key(record.value)
            if key in seen or (draft.header and record.value.get("type") == "session"):
                continue
            seen.add(key)
            one.own += 1
            draft.name = one.lines.name
            if not draft.add(record.value, record.line):
                one.lines.mark_unknown(record, as_text(record.value.get("type")) or "(none)")
        for plan, one in zip(self.plans, opened, strict=True):
            (self.own if one.own or not one.records else self.copies).append(plan)
            draft.problems.extend(one.lines.problems)
            draft.counts.add(one.lines.counts)
        draft.name = self.own[0].found.probe.name


def together(plans: Sequence[Plan]) -> list[list[Plan]]:
    """Plans in their order, with those of one session in one list. Earlier generations stay sessions of their own."""
    found: dict[object, list[Plan]] = {}
    for plan in plans:
        is_active = plan.generation.state == "active"
        key = (plan.family, plan.session_id, plan.parent_file) if is_active else plan.found.probe.name
        found.setdefault(key, []).append(plan)
    return [sorted(group, key=_when) if len(group) > 1 else group for group in found.values()]


def _when(plan: Plan) -> tuple[datetime, int, bytes, str]:
    times = [at for record in plan.found.probe.records if record.get("type") != "session" and (at := _time(record))]
    return min(times, default=EARLIEST), -plan.found.probe.size, plan.found.probe.head, plan.found.probe.name


def _records(one: _File) -> Iterator[tuple[_File, Record]]:
    return ((one, record) for record in one.lines)


def _time(record: Json) -> datetime | None:
    return instant(record.get("timestamp")) or instant(as_dict(record.get("message")).get("timestamp"))


def _key(record: Json) -> object:
    """What makes two records the same: an id with its written time, since ids are short; without one all of it."""
    name = as_id(record.get("id"))
    if name is not None and record.get("type") != "session":
        return name, str(record.get("timestamp"))
    return orjson.dumps(record, option=orjson.OPT_SORT_KEYS)
