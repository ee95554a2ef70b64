"""Agents' homes: what belongs together is found, nothing is counted twice, in whatever order files come."""

from __future__ import annotations

import random
import shutil
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson
import pytest

from contextviz.services import digest, ingest
from contextviz.store.models import SessionRecord
from contextviz.store.queries import jobs
from contextviz.store.values import JobRow
from tests.sources.claude_code.help import Writer
from tests.sources.codex.building import Rollout
from tests.sources.openclaw.build import script

pytestmark = pytest.mark.django_db

OPENCLAW = "agents/main/sessions"
ROOT, COPY = "0c0ffee0-1111-4222-8333-444455556666", "0c0ffee0-1111-4222-8333-444455557777"
THREAD, FORK = "019e0000-0001-7000-8000-000000000001", "019e0000-0002-7000-8000-000000000002"
COLUMNS = (
    "source_id", "format", "generation", "agent", "title", "entry_count", "message_count", "call_count",
    "compaction_count", "snapshot_count", "subagent_count", "spend_input_tokens", "spend_output_tokens",
    "spend_total_tokens", "last_prompt_tokens", "replayed_lines", "problem_count",
)  # fmt: skip


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """OpenClaw's, Claude Code's and Codex's homes with an index, a reset, forks, a copy, a sub-agent, an archive."""
    folder = tmp_path / "home"
    openclaw(folder / ".openclaw")
    claude(folder / ".claude" / "projects" / "-srv-ours")
    codex(folder / ".codex")
    return folder


def openclaw(folder: Path) -> None:
    sessions = folder / OPENCLAW
    first = script("s-1")
    for turn in range(4):
        first.user(f"u{turn}")
        first.answer(f"a{turn}")
    first.save(sessions / "s-1.jsonl")
    before = script("s-1")
    before.user("old-u")
    before.answer("old-a", prompt=77)
    before.save(sessions / "s-1.jsonl.reset.2026-03-01T09-00-00.000Z")
    shutil.copy(sessions / "s-1.jsonl", sessions / "s-1.checkpoint.5b0e0000-aaaa-4000-8000-0000000000cc.jsonl")
    shutil.copy(sessions / "s-1.jsonl", sessions / "s-1.jsonl.bak.2026-03-01T08-00-00.000Z")
    fork = script("s-2", parentSession="s-1")
    fork.entries = [dict(entry) for entry in first.entries[:4]]
    fork.clock = 40
    fork.user("f-u")
    fork.answer("f-a", prompt=300)
    fork.save(sessions / "s-2.jsonl")
    index = {
        f"agent:main:{name}": {"sessionId": name, "sessionFile": f"{name}.jsonl", "compactionCount": 0}
        for name in ("s-1", "s-2")
    }
    (sessions / "sessions.json").write_bytes(orjson.dumps(index))
    (folder / "openclaw.log").write_text("a line of no transcript\n")


def claude(folder: Path) -> None:
    root = Writer(folder / f"{ROOT}.jsonl")
    for turn in range(3):
        root.user(f"u{turn}", f"ask {turn}")
        root.answer(f"a{turn}", f"say {turn}", f"m{turn}", requestId=f"r{turn}")
    root.save()
    agent = Writer(folder / ROOT / "subagents" / "agent-x1.jsonl", isSidechain=True, agentId="x1")
    agent.user("su", "look")
    agent.answer("sa", "seen", "ms", requestId="rs")
    agent.save()
    copy = Writer(folder / f"{COPY}.jsonl")
    copy.lines = [line.replace(ROOT, COPY) for line in root.lines]
    copy.last, copy.clock = "a2", 50
    copy.common = copy.common | {"sessionId": COPY}
    copy.user("c-u", "and then")
    copy.answer("c-a", "after", "mc", requestId="rc")
    copy.save()


def codex(folder: Path) -> None:
    parent = Rollout(THREAD)
    parent.turn()
    for turn in range(3):
        parent.message("user", f"ask {turn}")
        parent.message("assistant", f"say {turn}")
        parent.record(f"resp-{turn}", 100 + turn, 0, 5)
    parent.write(folder / "sessions/2026/05/01" / f"rollout-2026-05-01T10-00-00-{THREAD}.jsonl")
    fork = Rollout(FORK, forked_from_id=THREAD)
    fork.lines.extend(parent.lines[:8])
    fork.message("user", "another way")
    fork.message("assistant", "so be it")
    fork.record("resp-f", 400, 0, 9, FORK)
    fork.write(folder / "sessions/2026/05/01" / f"rollout-2026-05-01T11-00-00-{FORK}.jsonl")
    old = Rollout("019e0000-0003-7000-8000-000000000003")
    old.message("user", "long ago")
    old.message("assistant", "indeed")
    old.record("resp-o", 50, 0, 2, "019e0000-0003-7000-8000-000000000003")
    old.write(folder / "archived_sessions" / "rollout-2026-04-01T10-00-00-019e0000-0003-7000-8000-000000000003.jsonl")


def bring(paths: Sequence[Path]) -> JobRow:
    job = ingest.import_paths(paths, now=datetime.now(UTC))
    digest.digest(job)
    row = jobs.get_job(job)
    # A piece may be nothing but a copy, which tells what it is.
    assert row.state == "done" or "a copy from before a compaction" in row.outcome or ".bak." in row.outcome
    return row


def numbers() -> list[tuple[Any, ...]]:
    """What the Library says of every session."""
    return sorted(SessionRecord.objects.values_list(*COLUMNS), key=repr)


def homes_of(home: Path) -> list[Path]:
    return [home / name for name in (".openclaw", ".claude", ".codex")]


def test_a_home_of_every_kind_counts_nothing_twice(data_dir: Path, home: Path) -> None:
    bring(homes_of(home))

    found = {(row[0], row[2]): row for row in numbers()}
    calls = {key: row[COLUMNS.index("call_count")] for key, row in found.items()}
    assert calls == {
        ("s-1", "active"): 4, ("s-1", "reset"): 1, ("s-2", "active"): 1, (ROOT, "active"): 4, (COPY, "active"): 1,
        (THREAD, "active"): 3, (FORK, "active"): 1, ("019e0000-0003-7000-8000-000000000003", "active"): 1,
    }  # fmt: skip
    assert sum(row[COLUMNS.index("spend_input_tokens")] for row in found.values()) == (
        4 * 100 + 77 + 300 + 4 * 10 + 10 + (100 + 101 + 102) + 400 + 50
    )


def test_the_same_homes_again_change_nothing(data_dir: Path, home: Path) -> None:
    bring(homes_of(home))
    before, revisions = numbers(), sorted(SessionRecord.objects.values_list("pk", "revision"))

    again = bring(homes_of(home))

    assert again.outcome.startswith("Nothing new:")
    assert (numbers(), sorted(SessionRecord.objects.values_list("pk", "revision"))) == (before, revisions)


@pytest.mark.parametrize("seed", range(3))
def test_pieces_in_any_order_give_the_same_numbers_as_the_whole(data_dir: Path, home: Path, seed: int) -> None:
    shuffled = random.Random(seed)
    files = sorted(path for path in home.rglob("*.json*") if path.is_file() and "sessions.json" not in path.name)
    shuffled.shuffle(files)
    while files:
        count = shuffled.randint(1, 3)
        bring(files[:count])
        del files[:count]
    bring(homes_of(home))
    pieces = numbers()
    SessionRecord.objects.all().delete()
    shutil.copytree(home, home.with_name("other"))

    bring(homes_of(home.with_name("other")))

    assert pieces == numbers()
