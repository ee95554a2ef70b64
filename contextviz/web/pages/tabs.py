"""The tabs of a session: the same row on all of its pages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from django.urls import reverse

from contextviz.store.values import SessionRow

TabKey = Literal["session", "call", "compactions", "graph", "budget", "lab", "topics"]


@dataclass(frozen=True, slots=True)
class Tab:
    """One tab as components/tabs.html draws it."""

    # What stands on it
    name: str
    # Where it leads
    url: str
    # How many things it holds, None where a number would say nothing
    count: int | None
    # Whether it is the page being shown
    current: bool


def session_tabs(row: SessionRow, current: str) -> list[Tab]:
    """The tabs of a session that have something to show; `current` is a TabKey.

    A session without calls has no context page; a map of topics alone has neither compactions nor a graph.
    """
    found = [_tab("Session", "session", row.id, None, current)]
    if row.call_count:
        url = reverse("call", args=[row.id, row.call_count])
        found.append(Tab("Context", url, None, current == "call"))
    if row.call_count or row.compaction_count or current == "compactions":
        found.append(_tab("Compactions", "compactions", row.id, row.compaction_count, current))
    if row.call_count or row.node_count or row.compaction_count or current == "graph":
        found.append(_tab("Graph", "graph", row.id, row.node_count or None, current))
    if row.call_count or current == "budget":
        found.append(_tab("Budget", "budget", row.id, None, current))
    if row.message_count or current == "lab":
        found.append(_tab("Lab", "lab", row.id, None, current))
    if row.topic_count:
        url = reverse("topic_map", args=[row.id])
        found.append(Tab("Topics", url, row.topic_count, current == "topics"))
    return found


def _tab(name: str, key: TabKey, session_id: int, count: int | None, current: str) -> Tab:
    return Tab(name, reverse(key, args=[session_id]), count, current == key)
