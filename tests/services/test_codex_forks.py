"""A fork and what it was forked from, however they come: nothing is counted twice, and the order changes no number."""

from __future__ import annotations

import json

import pytest

from contextviz.store.models import SessionRecord
from tests.services.building import upload
from tests.sources.codex.building import THREAD, Rollout
from tests.sources.codex.test_threads import fork_of, parent_rollout

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]
FORK_ID = "2b6c0000-1111-4222-8333-00000000000c"


def text(rollout: Rollout) -> str:
    return "\n".join(rollout.lines) + "\n"


def slow_fork(parent: Rollout) -> Rollout:
    """A fork whose copy nothing tells but its parent: written over seconds, turns without ids, an id without a time."""
    fork = fork_of(parent, turn=None)
    lines = [json.loads(line) for line in fork.lines]
    lines[0]["payload"]["id"] = FORK_ID
    for second, line in enumerate(lines):
        line["timestamp"] = f"2026-05-02T10:00:{second:02d}Z"
    fork.lines = [json.dumps(line) for line in lines]
    return fork


def spend() -> dict[str, int | None]:
    return dict(SessionRecord.objects.values_list("source_id", "spend_total_tokens"))


@pytest.mark.parametrize("order", ["together", "parent first", "fork first"])
@pytest.mark.parametrize("make", [fork_of, slow_fork])
def test_a_fork_and_its_parent_count_once_in_every_order(order: str, make: object) -> None:
    parent = parent_rollout()
    fork = make(parent)  # type: ignore[operator]
    files = [("sessions/a.jsonl", text(parent)), ("sessions/b.jsonl", text(fork))]
    if order == "together":
        upload(*files)
    else:
        for one in files if order == "parent first" else reversed(files):
            upload(one)

    found = spend()
    assert found.pop(THREAD) == 420
    assert list(found.values()) == [530]
