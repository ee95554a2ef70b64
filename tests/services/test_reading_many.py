"""What a reading makes of its files together: of two with as much of a session one counts; none is asked for twice."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from contextviz.services import digest, ingest
from contextviz.services.digest import reading
from contextviz.services.digest.batch import BatchFile, named
from contextviz.sources.files import NamedPath, read_paths
from contextviz.sources.source import ReadItem, ReadOptions
from contextviz.store.models import SessionRecord
from contextviz.store.queries import jobs
from contextviz.store.queries.transcripts import load_transcript
from contextviz.store.texts import TextReader


def chat(answer: str) -> str:
    at = "2026-03-02T10:00:00Z"
    said = [
        {"id": "u0", "timestamp": at, "type": "user", "content": "q"},
        {"id": "g0", "timestamp": at, "type": "gemini", "content": answer, "model": "gemini-2.5-pro"},
    ]
    return json.dumps({"sessionId": "g-1", "projectHash": "h", "startTime": at, "lastUpdated": at, "messages": said})


@pytest.mark.django_db
@pytest.mark.usefixtures("data_dir")
def test_the_one_that_is_said_to_count_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def apart(paths: list[NamedPath], options: ReadOptions) -> Iterator[ReadItem]:
        """As of a format whose reader holds no file against another."""
        return (item for path in paths for item in read_paths([path], options))

    monkeypatch.setattr("contextviz.services.digest.reading.read_paths", apart)
    answers = {"a/session-1.json": "yes", "b/session-1.json": "no!"}
    for name, answer in answers.items():
        (tmp_path / "in" / name).parent.mkdir(parents=True)
        (tmp_path / "in" / name).write_text(chat(answer))

    job = ingest.import_paths([tmp_path / "in"], now=datetime.now(UTC))
    assert digest.digest(job)

    problems = jobs.get_job(job).result["problems"]
    told = {one["message"] for one in problems if one["code"] == "duplicate_conversation"}
    assert len(told) == 1
    counts, left = sorted(answers, key=lambda name: not next(iter(told)).startswith(name))
    assert told == {
        f"{counts} holds as much of the session g-1 and is the one that counts: what only {left} has (2 messages in "
        "it) is not shown"
    }
    texts = TextReader(4)
    messages = load_transcript(SessionRecord.objects.get().pk).messages
    assert [texts.get(block.text) for one in messages for block in one.blocks] == ["q", answers[counts]]


@pytest.mark.django_db
@pytest.mark.usefixtures("data_dir")
def test_what_is_asked_of_all_files_is_asked_once_however_many_sessions_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []

    def counted(files: Collection[BatchFile]) -> frozenset[tuple[str, str]]:
        asked.append(len(files))
        return named(files)

    monkeypatch.setattr(reading, "named", counted)
    for number in range(5):
        (tmp_path / "in" / str(number)).mkdir(parents=True)
        (tmp_path / "in" / str(number) / "session-1.json").write_text(chat("yes").replace("g-1", f"g-{number}"))

    assert digest.digest(ingest.import_paths([tmp_path / "in"], now=datetime.now(UTC)))
    assert (SessionRecord.objects.count(), asked) == (5, [5])
