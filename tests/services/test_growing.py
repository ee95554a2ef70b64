"""Sessions whose files grow on this machine: what comes is read on, and the result is that of one reading."""

from __future__ import annotations

import json
import os
from dataclasses import fields
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from contextviz.events.session import Transcript
from contextviz.services import cleaning, delete, digest, figures, ingest
from contextviz.services.digest import batch, collecting, known, remembering
from contextviz.services.digest.batch import BatchFile
from contextviz.services.digest.remembering import RESIDENT
from contextviz.store import artifacts, growing
from contextviz.store.models import ArtifactRecord, SessionRecord
from contextviz.store.queries import jobs, uploads
from contextviz.store.queries.transcripts import load_transcript
from contextviz.store.texts import TextReader
from contextviz.store.values import JobRow
from tests.services.building import artifact_files, claude_lines
from tests.sources.openclaw.build import Script, script

pytestmark = pytest.mark.django_db
NAME = "0b1c2d3e-0000-4000-8000-000000000001.jsonl"


@pytest.fixture(autouse=True)
def _nothing_remembered() -> None:
    RESIDENT.clear()


def bring(path: Path) -> JobRow:
    job = ingest.import_paths([path], now=datetime.now(UTC))
    digest.digest(job)
    row = jobs.get_job(job)
    assert row.state == "done", row.outcome
    return row


def kept() -> tuple[Any, ...]:
    """All that is kept of the only session: events, the Library's numbers, strips and compositions."""
    record = SessionRecord.objects.get()
    moving = {"id", "created_at", "updated_at", "revision"}
    columns = {one.name: getattr(record, one.name) for one in SessionRecord._meta.concrete_fields}
    found: Transcript = load_transcript(record.pk)
    events = {one.name: getattr(found, one.name) for one in fields(found) if one.name != "log"}
    log = (found.log.table.items, found.log.snapshots)
    numbers = {name: value for name, value in columns.items() if name not in moving}
    return events, log, numbers, figures.strip_of(record.pk), figures.compositions_of(record.pk)


def talk(turns: int) -> Script:
    one = script("s-1")
    for turn in range(turns):
        one.user(f"u{turn}")
        one.call(f"c{turn}", f"t{turn}", prompt=100 * turn + 50)
        one.result(f"r{turn}", f"t{turn}")
        one.answer(f"a{turn}", prompt=100 * turn + 90)
        if turn % 7 == 6:
            one.add("compaction", f"k{turn}", summary=f"until {turn}", firstKeptEntryId=f"u{turn}", tokensBefore=900)
    return one


def test_a_session_read_as_its_file_grew_is_the_session_read_at_once(
    data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = talk(40).save(tmp_path / "s-1.jsonl")
    rows = path.read_bytes().splitlines(keepends=True)
    steps = [60, 61, 62, 63, 90, 91, len(rows)]
    for step in steps:
        path.write_bytes(b"".join(rows[:step]) + (rows[step][:30] if step < len(rows) else b""))
        bring(path)
        assert SessionRecord.objects.get().entry_count == step
    grown = kept()
    assert SessionRecord.objects.get().revision == len(steps)
    SessionRecord.objects.all().delete()
    monkeypatch.setattr(remembering, "RESIDENT", remembering.Resident(most_bytes=0))

    bring(path)

    assert grown == kept()


def test_only_what_was_appended_is_parsed_and_written(
    data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / NAME
    path.write_text(claude_lines(40))
    bring(path)
    (first,) = artifact_files(data_dir)
    place = first.stat().st_ino
    parsed: list[int] = []
    monkeypatch.setattr("contextviz.sources.lines.parse_object", _counting(parsed))
    path.write_text(claude_lines(41))

    bring(path)

    assert len(parsed) == 2, "a question and its answer"
    (second,) = artifact_files(data_dir)
    assert (second.stat().st_ino, second.stat().st_nlink) == (place, 1), "the bytes that were there are not copied"
    assert second.read_bytes() == path.read_bytes()
    assert artifacts.hash_of([second]) == second.name == ArtifactRecord.objects.get().sha256


def follow(folder: Path) -> None:
    job = ingest.import_paths([folder], now=datetime.now(UTC), is_followed=True)
    digest.digest(job)
    assert jobs.get_job(job).state == "done", jobs.get_job(job).outcome


def talks(turns: int, day: int) -> str:
    """A session of Claude Code that began on a day of its own: by the same time it would be a copy of another."""
    name = f"0b1c2d3e-0000-4000-8000-{day:012d}"
    return claude_lines(turns, session=name).replace("2026-02-01", f"2026-02-{day:02d}")


def everything() -> list[tuple[Any, ...]]:
    rows = SessionRecord.objects.order_by("source_id")
    return [
        (row.source_id, row.entry_count, row.call_count, row.spend_total_tokens, load_transcript(row.pk).messages)
        for row in rows
    ]


def test_several_sessions_that_grow_at_once_are_each_read_on(
    data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "projects"
    folder.mkdir()
    for turns in (30, 31):  # the second time each is a session here, and its state is held
        for day in (1, 2, 3):
            (folder / f"{day}.jsonl").write_text(talks(turns, day))
        follow(folder)
    parsed: list[int] = []
    monkeypatch.setattr("contextviz.sources.lines.parse_object", _counting(parsed))
    (folder / "1.jsonl").write_text(talks(32, 1))
    (folder / "3.jsonl").write_text(talks(33, 3))

    follow(folder)

    assert len(parsed) == 2 + 4, "questions and answers that are new"
    grown = everything()
    assert [(entries, calls) for _, entries, calls, _, _ in grown] == [(64, 32), (62, 31), (66, 33)]
    SessionRecord.objects.all().delete()
    RESIDENT.clear()
    follow(folder)
    assert everything() == grown


def test_an_index_of_several_sessions_goes_with_each(
    data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "sessions"
    folder.mkdir()

    def write(turns: int) -> None:
        for name in ("s-1", "s-2"):
            whole = talk(turns).save(tmp_path / "whole.jsonl").read_text()
            (folder / f"{name}.jsonl").write_text(whole.replace('"s-1"', f'"{name}"'))
        index = {f"agent:main:{name}": {"sessionId": name, "contextTokens": 32_000 + turns} for name in ("s-1", "s-2")}
        (folder / "sessions.json").write_text(json.dumps(index))

    for turns in (30, 31):
        write(turns)
        follow(folder)
    parsed: list[int] = []
    monkeypatch.setattr("contextviz.sources.lines.parse_object", _counting(parsed))
    write(32)

    follow(folder)

    assert len(parsed) == 2 * 4, "what a turn adds to each"
    grown = everything()
    assert [session_of(row).window for row in SessionRecord.objects.all()] == [32_032, 32_032]
    SessionRecord.objects.all().delete()
    RESIDENT.clear()
    follow(folder)
    assert everything() == grown


def session_of(row: SessionRecord) -> Any:
    return load_transcript(row.pk).session


def test_sessions_that_share_lines_are_read_together_beside_one_that_stands_alone(
    data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "projects"
    folder.mkdir()
    original, copy = talks(20, 1), talks(24, 1).replace("000000000001", "000000000009")
    (folder / "copy.jsonl").write_text(copy)
    for turns in (30, 31, 32):
        (folder / "original.jsonl").write_text(original + talks(turns, 1)[len(original) :])
        (folder / "alone.jsonl").write_text(talks(turns, 2))
        follow(folder)
    grown = everything()
    SessionRecord.objects.all().delete()
    RESIDENT.clear()

    follow(folder)

    assert everything() == grown
    assert len({source_id for source_id, *_ in grown}) == len(grown) == 3


@pytest.mark.parametrize("is_later", [False, True], ids=["same times", "later times"])
@pytest.mark.parametrize("pieces", [(6, 24, 40), (40,)], ids=["in pieces", "at once"])
def test_calls_of_a_copy_are_counted_once_in_whatever_pieces_it_comes(
    data_dir: Path, tmp_path: Path, pieces: tuple[int, ...], is_later: bool
) -> None:
    folder = tmp_path / "projects"
    folder.mkdir()
    original = talks(12, 1)  # 24 lines
    copy = talks(20, 1).replace("000000000001", "000000000009")
    copy = copy.replace("2026-02-01T09", "2026-02-03T09") if is_later else copy
    (folder / "original.jsonl").write_text(original)
    bring(folder / "original.jsonl")

    for lines in pieces:
        (folder / "copy.jsonl").write_text("".join(copy.splitlines(keepends=True)[:lines]))
        bring(folder / "copy.jsonl")
        assert sum(calls for _, _, calls, _, _ in everything()) == max(12, lines // 2)

    grown = everything()
    SessionRecord.objects.all().delete()
    RESIDENT.clear()
    bring(folder)
    assert everything() == grown


def said() -> list[str]:
    found = load_transcript(SessionRecord.objects.get().pk)
    return [TextReader().get(one.blocks[0].text) for one in found.messages]


def test_a_file_that_is_as_it_was_before_is_read_again(data_dir: Path, tmp_path: Path) -> None:
    path = tmp_path / NAME
    for word in ("first", "second", "first"):
        path.write_text(claude_lines(2, word=word))
        bring(path)
        assert said()[0] == f"{word} question 0"
    assert bring(path).outcome.startswith("Nothing new")


def test_a_deleted_session_of_a_file_of_several_comes_back_where_it_is_asked_for(
    data_dir: Path, tmp_path: Path
) -> None:
    path = tmp_path / "talks.jsonl"
    lines = [{"messages": [{"role": "user", "content": f"word {number}"}]} for number in range(3)]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    bring(path)
    gone = SessionRecord.objects.order_by("source_id")[1]
    name = gone.source_id
    assert delete.delete_session(delete.open_delete(gone.pk, now=datetime.now(UTC)))

    follow(path)
    assert SessionRecord.objects.count() == 2, "nobody asked for it"

    bring(path)
    assert SessionRecord.objects.filter(source_id=name).count() == 1
    assert SessionRecord.objects.count() == 3


def test_the_same_document_in_two_folders_is_part_of_both() -> None:
    def one(number: int, sha256: str, name: str) -> BatchFile:
        return BatchFile(number, sha256, 10, name, "", Path("/nowhere"), False)

    found = batch.distinct([
        one(1, "aa", "a/events/0.json"), one(1, "aa", "b/events/0.json"), one(1, "aa", "b/events/0.json.bak.json"),
        one(2, "bb", "a/s.jsonl"), one(2, "bb", "backup/s.jsonl"),
    ])  # fmt: skip

    assert [file.name for file in found] == ["a/events/0.json", "b/events/0.json", "a/s.jsonl"]


def _counting(parsed: list[int]) -> Any:
    from_before = __import__("contextviz.sources.lines", fromlist=["parse_object"]).parse_object

    def count(line: bytes) -> Any:
        parsed.append(len(line))
        return from_before(line)

    return count


def test_an_unchanged_file_is_not_opened(data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / NAME
    path.write_text(claude_lines(3))
    bring(path)
    ArtifactRecord.objects.update(received_at=datetime.now(UTC) + timedelta(minutes=1))  # the file is older than that
    for place in (collecting, known):
        for name in ("probe", "receive", "growth_of"):
            monkeypatch.setattr(place, name, lambda *_, **__: pytest.fail("it is opened"), raising=False)

    job = bring(path)

    assert job.outcome == "Nothing new: 1 file with the same content was read before."


def test_a_file_changed_with_its_time_set_back_is_noticed(data_dir: Path, tmp_path: Path) -> None:
    path = tmp_path / NAME
    path.write_text(claude_lines(3))
    os.utime(path, (1_000_000_000, 1_000_000_000))
    bring(path)
    path.write_text(claude_lines(3, word="gamma"))  # as many bytes
    os.utime(path, (1_000_000_000, 1_000_000_000))

    bring(path)

    assert SessionRecord.objects.get().title == "gamma question 0"


def test_a_rotated_file_is_another_session_and_the_old_one_stays(data_dir: Path, tmp_path: Path) -> None:
    path = tmp_path / "current.jsonl"
    path.write_text(claude_lines(3))
    bring(path)
    path.unlink()
    path.write_text(claude_lines(2, session="0b1c2d3e-0000-4000-8000-000000000002", word="delta"))

    bring(path)

    assert sorted(SessionRecord.objects.values_list("title", "call_count")) == [
        ("alpha question 0", 3), ("delta question 0", 2),
    ]  # fmt: skip
    assert len(artifact_files(data_dir)) == 2


def test_a_file_cut_to_its_beginning_keeps_the_session_that_was_read(data_dir: Path, tmp_path: Path) -> None:
    path = tmp_path / NAME
    path.write_text(claude_lines(5))
    bring(path)
    path.write_text(claude_lines(2))

    bring(path)
    path.write_text(claude_lines(2) + claude_lines(4)[len(claude_lines(2)) :].replace("alpha", "omega"))
    bring(path)

    assert SessionRecord.objects.get().call_count == 4
    assert "omega answer 3" in str(artifact_files(data_dir)[0].read_text())


def test_a_session_deleted_meanwhile_is_read_anew(data_dir: Path, tmp_path: Path) -> None:
    path = tmp_path / NAME
    path.write_text(claude_lines(3))
    bring(path)
    bring_on = claude_lines(4)
    delete.delete_session(delete.open_delete(SessionRecord.objects.get().pk, now=datetime.now(UTC)))
    cleaning.drop_unused_artifacts()
    path.write_text(bring_on)

    bring(path)

    assert SessionRecord.objects.get().call_count == 4
    assert load_transcript(SessionRecord.objects.get().pk).messages[0].blocks[0].text.estimated_tokens > 0


def test_a_longer_version_that_was_not_read_changes_nothing_of_the_shorter(data_dir: Path, tmp_path: Path) -> None:
    path = tmp_path / NAME
    path.write_text(claude_lines(3))
    bring(path)
    shorter = ArtifactRecord.objects.get()
    path.write_text(claude_lines(4))
    growth = growing.growth_of(path, shorter.sha256, shorter.size, most=10**9)
    assert growth is not None
    with growth.tail:
        assert growth.place()

    assert artifacts.path_of(shorter.sha256).stat().st_size == growth.size, "they share the bytes"
    found = uploads.get_raw_file(shorter.sha256)

    assert found.path is not None
    assert found.path.read_text() == claude_lines(3)
    assert artifacts.path_of(growth.sha256).read_text() == claude_lines(4)


def test_of_two_ways_to_grow_only_one_shares_the_bytes(data_dir: Path, tmp_path: Path) -> None:
    path = tmp_path / NAME
    path.write_text(claude_lines(3))
    bring(path)
    base = ArtifactRecord.objects.get()
    grown = []
    for word in ("one", "two"):
        path.write_text(claude_lines(3) + f'{{"type": "{word}"}}\n')
        grown.append(growing.growth_of(path, base.sha256, base.size, most=10**9))

    placed = [one.place() for one in grown if one is not None]
    for one in grown:
        assert one is not None
        one.tail.close()

    assert placed == [True, False]


def test_a_file_that_no_longer_begins_as_it_did_is_no_growth(data_dir: Path, tmp_path: Path) -> None:
    path = tmp_path / NAME
    path.write_text(claude_lines(3))
    bring(path)
    base = ArtifactRecord.objects.get()
    path.write_text(claude_lines(4).replace("alpha question 0", "Alpha question 0"))

    assert growing.growth_of(path, base.sha256, base.size, most=10**9) is None
    assert growing.growth_of(path, base.sha256, base.size + 10**6, most=10**9) is None
    assert known.GROWING == (".jsonl", ".ndjson")
