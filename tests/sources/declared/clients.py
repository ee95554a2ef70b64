"""Sessions of agents' command lines and editors that show everything that each reader declares."""

from __future__ import annotations

import json
from pathlib import Path

from tests.sources.copilot_cli import building as copilot
from tests.sources.cursor import building as cursors
from tests.sources.droid import building as droids
from tests.sources.kiro import building as kiros
from tests.sources.plain.reading import write, write_lines


def copilot_cli(folder: Path) -> None:
    log = copilot.full()
    end = log.events.pop()
    log.add("assistant.usage", model="gpt-x", apiCallId="r5", inputTokens=100, cacheReadTokens=60, cacheWriteTokens=10,
            outputTokens=6, reasoningTokens=2)  # fmt: skip
    log.events.append(end)
    log.save(folder)


def copilot_cli_old(folder: Path) -> None:
    messages = [{"role": "user", "content": "first"}, {"role": "assistant", "content": "so"}]
    document = {"sessionId": "o-1", "startTime": "2025-10-08T21:10:16.398Z", "chatMessages": messages, "timeline": []}
    write(folder / "history-session-state" / "session_o-1_1.json", document)


def droid(folder: Path) -> None:
    droids.full(folder)


def kiro(folder: Path) -> None:
    kiros.full(folder)


def kiro_saved(folder: Path) -> None:
    write(folder / "saved.json", kiros.saved())


def cursor(folder: Path) -> None:
    cursors.full(folder)


def entire(folder: Path) -> None:
    """Two checkpoints of one session, the second in parts."""
    told = {"session_id": "c-1", "agent": "Cursor", "checkpoints_count": 1}
    for place, upto in (("ab/0123456789/0", 3), ("cd/0123456789/0", 4)):
        write_lines(folder / place / "full.jsonl", list(cursors.lines()[:upto]))
        write(folder / place / "metadata.json", told | {"checkpoint_id": f"{place[:2]}0123456789"})
    rest = "\n".join(json.dumps(row) for row in cursors.lines()[4:])
    (folder / place / "full.jsonl.001").write_text(rest, encoding="utf-8")
