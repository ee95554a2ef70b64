"""A session that no model was called in, and that nobody could have called one in, is refused in one sentence."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from contextviz.services import replay
from contextviz.store.models import RunRecord
from tests.services.building import NOW, upload

pytestmark = pytest.mark.django_db
SAYS = "there is no model call in it and no user message, so there is nothing to replay."


def lines(role: str) -> str:
    said = {"role": role, "content": [{"type": "text", "text": "alone"}]}
    if role == "toolResult":
        said |= {"toolCallId": "t", "toolName": "read"}
    rows = [
        {"type": "session", "version": 3, "id": "alone", "timestamp": "2026-01-01T00:00:00.000Z", "cwd": "/srv/demo"},
        {"type": "message", "id": "e1", "parentId": None, "timestamp": "2026-01-01T00:00:01.000Z", "message": said},
    ]
    return "".join(json.dumps(row) + "\n" for row in rows)


def brought(role: str) -> int:
    found: int = upload(("alone.jsonl", lines(role))).result["sessions"][0]
    return found


def test_results_alone_are_refused_at_both_doors(data_dir: Path) -> None:
    session_id = brought("toolResult")

    with pytest.raises(replay.ReplayRefused, match=SAYS):
        replay.start_run(session_id, "keep-all", now=NOW)
    with pytest.raises(replay.ReplayRefused, match=SAYS):
        replay.preview(session_id, "keep-tail")
    assert not RunRecord.objects.exists()


@pytest.mark.parametrize("role", ["user", "assistant"])
def test_one_message_of_a_speaker_is_enough(data_dir: Path, role: str) -> None:
    session_id = brought(role)

    assert replay.start_run(session_id, "keep-all", now=NOW).is_new
    assert replay.preview(session_id, "keep-tail").calls == 1
