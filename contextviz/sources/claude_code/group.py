"""Which files belong together: a session's own file, its sub-agents', what describes them (formats.md B.1, B.8)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from contextviz.sources.claude_code.detect import agent_of_meta, agent_of_name
from contextviz.sources.claude_code.load import first_time
from contextviz.sources.lines import Json
from contextviz.sources.source import Found
from contextviz.sources.values import as_dict, as_id

_UUID = re.compile(r"^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$")
_LATEST = datetime.max.replace(tzinfo=UTC)


@dataclass(slots=True)
class Group:
    """The files of one session: `roots` its own, `agents` its sub-agents', `metas` by sub-agent id."""

    id: str
    roots: list[Found] = field(default_factory=list)
    agents: list[Found] = field(default_factory=list)
    metas: dict[str, Json] = field(default_factory=dict)
    others: list[Found] = field(default_factory=list)

    @property
    def is_named(self) -> bool:
        """Whether the id comes from a file's own name."""
        return _UUID.match(self.id) is not None


def groups(files: Sequence[Found]) -> list[Group]:
    """Files by session, originals before their forks: a fork repeats its original's rows, times included."""
    found: dict[str, Group] = {}
    for one in files:
        if one.detection.role != "session":
            continue
        agent = is_agent_file(one)
        key = _agent_session(one) if agent else _root_session(one)
        group = found.setdefault(key, Group(key))
        (group.agents if agent else group.roots).append(one)
    for group in list(found.values()):
        if not group.roots:
            del found[group.id]
            for number, one in enumerate(group.agents):
                alone = f"{group.id}/{agent_of_name(one.probe.name) or number}"
                found.setdefault(alone, Group(group.id)).agents.append(one)
    for one in files:
        if one.detection.role != "session":
            _attach(one, found)
    for group in found.values():
        group.roots.sort(key=lambda one: (-one.probe.size, one.probe.name))
        group.agents.sort(key=lambda one: one.probe.name)
    return sorted(found.values(), key=_age)


def is_agent_file(one: Found) -> bool:
    """Whether a file is a sub-agent's: every row of the tree among its first records is a side chain's."""
    rows = [record for record in one.probe.records if as_id(record.get("uuid"))]
    if not rows:
        return agent_of_name(one.probe.name) is not None
    has_id = agent_of_name(one.probe.name) is not None or any(as_id(row.get("agentId")) for row in rows)
    return has_id and all(row.get("isSidechain") is True for row in rows)


def _session_ids(one: Found) -> list[str]:
    return [session for session in (as_id(record.get("sessionId")) for record in one.probe.records) if session]


def _agent_session(one: Found) -> str:
    ids = _session_ids(one)
    parts = one.probe.name.split("/")
    folder = next((part for part in reversed(parts) if _UUID.match(part)), None)
    return ids[0] if ids else folder or one.probe.name


def _root_session(one: Found) -> str:
    stem = one.probe.basename.split(".jsonl")[0]
    ids = _session_ids(one)
    if _UUID.match(stem) or stem in ids or not ids:
        return stem
    return ids[-1]


def _attach(one: Found, found: dict[str, Group]) -> None:
    agent = agent_of_meta(one.probe.name)
    folder = next((part for part in one.probe.name.split("/") if _UUID.match(part)), None)
    for group in found.values():
        owns = group.id == folder
        if agent is not None and any(agent_of_name(other.probe.name) == agent for other in group.agents):
            group.metas[agent] = as_dict(one.probe.document)
            owns = True
        if owns:
            group.others.append(one)
            return


def _age(group: Group) -> tuple[bool, datetime, int, str]:
    files = group.roots or group.agents
    is_fork = any("forkedFrom" in record for one in group.roots for record in one.probe.records)
    times = [at for at in map(first_time, files) if at is not None]
    # Of the files of one session the largest: copies of them must not make a session look longer than its resumed one.
    return is_fork, min(times, default=_LATEST), max(one.probe.size for one in files), group.id
