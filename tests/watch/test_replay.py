"""An agent's files written again line by line and row by row while they are watched: everything is told once and in
order, and what is known at the end is what one import of the same files gives."""

from __future__ import annotations

from contextlib import closing
from dataclasses import fields
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from bench.replay import replayed
from contextviz.services import digest, figures, ingest
from contextviz.services.digest.remembering import RESIDENT
from contextviz.services.live.news import Counts, News, news_of
from contextviz.services.watching import notices
from contextviz.store.models import ArtifactRecord, JobRecord, LiveEventRecord, SessionRecord, UploadBatchRecord
from contextviz.store.queries.transcripts import load_transcript
from tests.sources.claude_code.help import SESSION, Writer
from tests.sources.openclaw.build import script
from tests.watch.following import now, settled, watching

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]  # files are read again and again
EVER = datetime(2000, 1, 1, tzinfo=UTC)
TOLD = ("message", "call", "compaction")
MOVING = {"id", "created_at", "updated_at", "revision"}


@pytest.fixture(autouse=True)
def _quick(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    RESIDENT.clear()
    monkeypatch.setattr(notices, "WAIT_MILLISECONDS", 100)
    monkeypatch.setattr(notices, "DEBOUNCE_MILLISECONDS", 50)


def kept() -> dict[str, Any]:
    """All that is kept of every session, by its id: events, windows, the Library's numbers, compositions."""
    found = {}
    for record in SessionRecord.objects.all():
        transcript = load_transcript(record.pk)
        numbers = {
            one.name: getattr(record, one.name) for one in SessionRecord._meta.concrete_fields if one.name not in MOVING
        }
        events = {one.name: getattr(transcript, one.name) for one in fields(transcript) if one.name != "log"}
        windows = (transcript.log.table.items, transcript.log.snapshots)
        found[record.key] = numbers, events, windows, figures.compositions_of(record.pk)
    return found


def told() -> list[tuple[str, str, str]]:
    """The feed: session, kind, key."""
    return list(LiveEventRecord.objects.order_by("pk").values_list("session__key", "kind", "key"))


def _place(news: News) -> int:
    place = {"message": news.data.get("message"), "call": news.call_index, "compaction": news.data.get("number")}
    found = place[news.kind]
    assert found is not None
    return int(found)


def replay(source: Path, target: Path, *, steps: int) -> dict[str, int]:
    """Write the files again with `steps` looks at them, evenly; how much of each session was there when it was read
    first, which the feed tells as one row."""
    first: dict[str, int] = {}
    total = sum(1 for _ in replayed(source, target.with_name("counted")))
    target.mkdir()
    with watching(target) as watcher, closing(replayed(source, target)) as pieces:
        for number, _ in enumerate(pieces):
            if number * steps // total != (number + 1) * steps // total:
                watcher.step(now())
                for record in SessionRecord.objects.exclude(key__in=first):
                    first[record.key] = record.message_count + record.call_count + record.compaction_count
        settled(watcher)
    assert set(JobRecord.objects.values_list("state", flat=True)) == {"done"}
    return first


def imported(target: Path) -> dict[str, Any]:
    """What one import of the files gives, in a library where nothing was."""
    SessionRecord.objects.all().delete()
    for model in (UploadBatchRecord, JobRecord, ArtifactRecord):
        model.objects.all().delete()
    RESIDENT.clear()
    job_id = ingest.import_paths([target], now=now())
    assert digest.digest(job_id)
    return kept()


def check(source: Path, tmp_path: Path, *, steps: int) -> dict[str, Any]:
    target = tmp_path / "home"
    first = replay(source, target, steps=steps)
    feed, watched = told(), kept()

    assert len(feed) == len(set(feed))
    for record in SessionRecord.objects.all():
        seen = [(kind, name) for session, kind, name in feed if session == record.key]
        assert [kind for kind, _ in seen].count("session") == 1 and seen[0][0] == "session"
        news = {one.key: one for one in news_of(load_transcript(record.pk), Counts(), EVER) if one.kind in TOLD}
        there = [name for kind, name in seen if kind in TOLD]
        assert set(there) <= news.keys()
        assert len(news) - len(there) <= first[record.key], "all but what was there at first"
        for kind, agent in {(one.kind, one.data["agent"]) for one in news.values()}:
            of_one = [news[name] for name in there if (news[name].kind, news[name].data["agent"]) == (kind, agent)]
            # In the order of the source; it may write a row's time before another's and the row after it.
            assert all(_place(one) < _place(other) or one.at <= other.at for one, other in pairwise(of_one))
    at_once = imported(target)
    assert watched.keys() == at_once.keys()
    for key, found in watched.items():
        for one, other in zip(found, at_once[key], strict=True):
            assert one == other
    return watched


def own_files(folder: Path) -> Path:
    """A home with a session that is compacted and its sub-agent, another one, and one of OpenClaw's."""
    claude = Writer(folder / "projects" / "w" / f"{SESSION}.jsonl")
    agent = Writer(claude.path.with_suffix("") / "subagents" / "agent-a1.jsonl", isSidechain=True, agentId="a1")
    agent.clock = 8
    for turn in range(9):
        claude.user(f"u{turn}", f"question {turn}")
        claude.answer(f"a{turn}", f"answer {turn}", f"m{turn}", (10, 90 * turn, 0, 5))
        if turn in (3, 6):
            claude.boundary(f"b{turn}", trigger="auto", preTokens=900, postTokens=90, durationMs=1500)
            claude.summary(f"s{turn}", "This session is being continued from a previous one.")
        if turn < 3:
            agent.user(f"x{turn}", f"task {turn}", **({"parent": None} if turn == 0 else {}))
            agent.answer(f"y{turn}", f"report {turn}", f"n{turn}")
    claude.save()
    agent.save()
    one = script("s-9")
    for turn in range(8):
        one.user(f"u{turn}")
        one.call(f"c{turn}", f"t{turn}", prompt=100 * turn + 50)
        one.result(f"r{turn}", f"t{turn}")
        one.answer(f"a{turn}", prompt=100 * turn + 90)
    one.save(folder / "agents" / "main" / "sessions" / "s-9.jsonl")
    return folder


def test_files_of_ours_written_again_are_known_as_if_they_had_been_imported_at_once(tmp_path: Path) -> None:
    watched = check(own_files(tmp_path / "source"), tmp_path, steps=12)

    found = sorted((one["call_count"], one["compaction_count"]) for one, _, _, _ in watched.values())
    assert found == [(12, 2), (16, 0)]


@pytest.mark.parametrize(
    ("sample", "compactions", "steps"),
    [("claude-main", 4, 40), ("codex-main", 7, 40), ("oc-cachetrace", 2, 15), ("oc-legacy", 3, 15)],
)
def test_a_sample_written_again_is_known_as_if_it_had_been_imported_at_once(
    shared: Path, tmp_path: Path, sample: str, compactions: int, steps: int
) -> None:
    watched = check(shared / "samples" / sample, tmp_path, steps=steps)

    assert sum(numbers["compaction_count"] for numbers, _, _, _ in watched.values()) == compactions
