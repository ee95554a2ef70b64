"""The demo's conversation map: four topics over two days, with switches, spawns and compactions."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path

from contextviz.services.demo.story import START, iso

TOPICS = {
    "checkout-flake": ("Flaky checkout test", "#3f7d8c", "active"),
    "release-notes": ("Release notes 4.12", "#8a6d3b", "dormant"),
    "price-import": ("Nightly price import", "#6b6fae", "active"),
    "support-inbox": ("Support inbox", "#5c7d4a", "dormant"),
}
SWITCHES = [
    (0, "checkout-flake", "user asks about the failing test", "Looked for the cause of the flaky checkout test."),
    (55, "support-inbox", "a customer's message arrives", "Answered two questions about refunds."),
    (80, "checkout-flake", "back to the test", "Found the early release in session.py."),
    (190, "price-import", "the nightly import failed", "The feed changed its decimal separator."),
    (260, "release-notes", "notes are due today", "Drafted the notes for 4.12."),
    (330, "checkout-flake", "regression test", "Added the regression test and closed the issue."),
    (1_420, "price-import", "import failed again", "Handled the second feed; the import is green."),
]


def write_topics(folder: Path) -> None:
    """Write memory/conversation-map.json with its log and the notes of two topics below `folder`."""
    memory = folder / "memory"
    events = _events()
    contexts = {slug: _context(slug) for slug in TOPICS}
    memory.mkdir(parents=True, exist_ok=True)
    (memory / "conversation-map.json").write_text(
        json.dumps({"version": 1, "contexts": contexts, "events": events}, indent=2), encoding="utf-8"
    )
    (memory / "CONTEXT_LOG.md").write_text(_log(), encoding="utf-8")
    for slug, note in (
        ("checkout-flake", "Fixed. Keep LOCK_TTL at 45 s."),
        ("price-import", "Green since the second feed is parsed."),
    ):
        place = memory / "contexts" / slug
        place.mkdir(parents=True, exist_ok=True)
        (place / "STATUS.md").write_text(f"# Status\n\n{note}\n", encoding="utf-8")
        (place / "THREAD.md").write_text(
            f"# Thread: {TOPICS[slug][0]}\n\n- first seen on 24 November\n- {note}\n", encoding="utf-8"
        )


def _context(slug: str) -> dict[str, str]:
    name, color, status = TOPICS[slug]
    times = [START + timedelta(minutes=minutes) for minutes, other, _, _ in SWITCHES if other == slug]
    return {"name": name, "color": color, "created": iso(times[0]), "lastActive": iso(times[-1]), "status": status}


def _log() -> str:
    days: dict[str, list[str]] = {}
    for minutes, slug, trigger, summary in reversed(SWITCHES):
        at = START + timedelta(minutes=minutes)
        entry = f"### {at:%H:%M} — [CONTEXT: {slug}] triggered by: {trigger}\n- {summary}\n"
        days.setdefault(f"{at:%Y-%m-%d}", []).append(entry)
    return "\n".join(f"## {day}\n\n" + "\n".join(entries) for day, entries in days.items())


def _events() -> list[dict[str, object]]:
    events: list[dict[str, object]] = []
    for number, (minutes, slug, trigger, summary) in enumerate(SWITCHES, start=1):
        at = START + timedelta(minutes=minutes)
        events.append(
            {
                "id": f"ctx-{at.day:02d}-{number:03d}",
                "type": "context_switch",
                "context": slug,
                "trigger": trigger,
                "timestamp": iso(at),
                "summary": summary,
            }
        )
    for parent, minutes, task, model in (
        (1, 20, "Find early releases", "small"),
        (4, 200, "Compare two price feeds", "large"),
    ):
        at = START + timedelta(minutes=minutes)
        spawn = {
            "id": f"ctx-{at.day:02d}-{parent:03d}-a1",
            "type": "agent_spawn",
            "parentId": events[parent - 1]["id"],
            "model": model,
            "task": task,
            "durationMs": 222_000,
            "result": "two places found",
            "artifacts": ["notes/findings.md"],
        }
        events.append(spawn | ({"timestamp": iso(at)} if parent == 1 else {}))
    for minutes, active in (
        (150, ["checkout-flake", "support-inbox"]),
        (340, ["checkout-flake", "price-import", "release-notes"]),
    ):
        at = START + timedelta(minutes=minutes)
        events.append(
            {
                "id": f"ctx-{at.day:02d}-{len(events) + 1:03d}",
                "type": "compaction",
                "timestamp": iso(at),
                "activeContexts": active,
            }
        )
    return events
