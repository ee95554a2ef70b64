"""The diary beside the map."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from contextviz.sources.conversation_map.contextlog import duration_ms, read_log, zone_shift

LOG = """# Context Log

## 2026-03-02

### 16:45 — [CONTEXT: project-kite] triggered by: user message
- Planned it
  - ctx-02-004-a1: big-model, 1m01s, wrote a list, twice
  - ctx-02-004-a2: big-model, failed, nothing

### 9:05 - [COMPACTION]
- Active contexts at compaction: project-kite, house

## 2026-03-01
### 08:00 – [CONTEXT: house] triggered by: heartbeat
### nonsense
"""


def test_every_dash_and_form_of_the_log_is_read() -> None:
    first, second, third = read_log(LOG)
    assert (first.topic, first.trigger, first.summary) == ("project-kite", "user message", "Planned it")
    assert first.at == datetime(2026, 3, 2, 16, 45, tzinfo=UTC)
    assert [(one.id, one.model, one.duration_ms, one.text) for one in first.spawns] == [
        ("ctx-02-004-a1", "big-model", 61_000, "wrote a list, twice"),
        ("ctx-02-004-a2", "big-model", None, "failed, nothing"),
    ]
    assert (second.kind, second.active) == ("compaction", ["project-kite", "house"])
    assert second.at == datetime(2026, 3, 2, 9, 5, tzinfo=UTC)
    assert (third.topic, third.at) == ("house", datetime(2026, 3, 1, 8, 0, tzinfo=UTC))


@pytest.mark.parametrize(
    ("text", "expected"), [("3m42s", 222_000), ("1h2m", 3_720_000), ("0.5s", 500), ("soon", None), ("", None)]
)
def test_durations_are_read_or_unknown(text: str, expected: int | None) -> None:
    assert duration_ms(text) == expected


def test_a_local_zone_is_found_by_two_entries_and_never_by_one() -> None:
    at = datetime(2026, 3, 1, 8, 0, tzinfo=UTC)
    known = [("a", at), ("b", at + timedelta(hours=3))]
    local = [(topic, time + timedelta(hours=2)) for topic, time in known]
    assert zone_shift(local, known) == timedelta(hours=-2)
    assert zone_shift(local[:1], known) == timedelta()
    assert zone_shift(known, known) == timedelta()
