"""Folders imported a piece at a time, under shorter or longer names, come to what the whole folder at once gives."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest

from contextviz.services import digest
from contextviz.services.digest.known import KnownFiles, root_of
from contextviz.services.ingest import import_paths
from contextviz.sources.files import NamedPath
from contextviz.sources.joining import HASHED
from contextviz.store.models import ProblemRecord, SessionRecord
from contextviz.store.queries import jobs
from contextviz.store.values import JobRow
from tests.services.building import claude_lines
from tests.sources.openhands import building as openhands
from tests.sources.plain.reading import write

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]
NAMES = ("first", "second")


def bring_in(*paths: Path) -> JobRow:
    job_id = import_paths(paths, now=datetime.now(UTC))
    digest.digest(job_id)
    return jobs.get_job(job_id)


def events_of(name: str) -> list[openhands.Json]:
    """A conversation's events, their ids its own."""
    asked, said = openhands.sdk_user(1, f"ask {name}"), openhands.sdk_says(2, f"say {name}", f"r-{name}")
    made = [openhands.sdk_system(0), asked, said]
    return [one | {"id": f"{one['id']}-{name}"} for one in made]


def talks(folder: Path, *, with_state: bool = True) -> Path:
    """A folder of two conversations, called after their folders and by their states."""
    for name in NAMES:
        state = openhands.state({"agent": [openhands.counted(f"r-{name}", 60)]}) | {"id": name}
        openhands.save_sdk(folder / name, events_of(name), state if with_state else None)
    return folder


def grow(folder: Path, name: str) -> None:
    more = openhands.sdk_says(3, "more", f"r2-{name}")
    write(folder / name / "events" / "event-00003-x.json", more | {"id": f"more-{name}"})


def known() -> dict[str, tuple[int, int]]:
    """Messages and files of each session, by its id."""
    rows = SessionRecord.objects.order_by("source_id")
    return {row.source_id: (row.message_count, row.artifacts.count()) for row in rows}


def pieces(folder: Path, how: str) -> Sequence[Path]:
    files = sorted(path for path in folder.rglob("event-*") if path.is_file())
    return {"whole": [folder], "folders": [folder / name for name in NAMES], "files": files}[how]


@pytest.mark.parametrize("with_state", [True, False])
@pytest.mark.parametrize(
    ("before", "after"),
    [("folders", "whole"), ("files", "whole"), ("whole", "folders"), ("whole", "files"), ("folders", "folders")],
)  # fmt: skip
def test_conversations_in_pieces_are_those_of_the_whole_folder(
    tmp_path: Path, before: str, after: str, with_state: bool
) -> None:
    folder = talks(tmp_path / "conversations", with_state=with_state)
    for piece in pieces(folder, before):
        bring_in(piece)
    grow(folder, "second")
    for piece in pieces(folder, after):
        bring_in(piece)
    if after != "whole":
        grow(folder, "first")
        bring_in(folder)

    first = 3 if after == "whole" else 4
    own = 1 if with_state else 0
    assert known() == {"first": (first, first + own), "second": (4, 4 + own)}


@pytest.mark.parametrize("before", ["folders", "files", "events"])
def test_an_unchanged_folder_is_called_as_the_whole_calls_it(tmp_path: Path, before: str) -> None:
    folder = talks(tmp_path / "conversations", with_state=False)
    parts = [one / "events" for one in pieces(folder, "folders")] if before == "events" else pieces(folder, before)
    for piece in parts:
        bring_in(piece)
    assert not {"first", "second"} & set(known()) and any(name.startswith(HASHED) for name in known())

    job = bring_in(folder)

    assert known() == {"first": (3, 3), "second": (3, 3)} and job.state == "done"
    for piece in (folder, *parts):
        assert bring_in(piece).outcome.startswith("Nothing new")
    assert set(known()) == {"first", "second"}


@pytest.mark.parametrize("is_document", [False, True])
def test_what_no_folder_names_stays_as_it_is_called(tmp_path: Path, is_document: bool) -> None:
    place = tmp_path / "conversations" / "first"
    write(place / "event-00000-x.json", events_of("first") if is_document else events_of("first")[1])
    bring_in(place)
    [before] = known()

    assert bring_in(place.parent).outcome.startswith("Nothing new")
    assert list(known()) == [before]


def test_what_is_told_of_a_file_stays_with_it_under_its_longer_name(tmp_path: Path) -> None:
    folder = talks(tmp_path / "conversations")
    bring_in(folder / "first")
    state = folder / "first" / "base_state.json"
    whole = state.read_bytes()
    state.write_bytes(whole[:20])
    bring_in(folder / "first")
    assert ProblemRecord.objects.get(code="file_emptied").file == "base_state.json"

    grow(folder, "first")
    bring_in(folder)
    assert ProblemRecord.objects.get(code="file_emptied").file == "first/base_state.json"

    state.write_bytes(whole)
    bring_in(folder)
    assert not ProblemRecord.objects.filter(code="file_emptied").exists() and known()["first"] == (4, 5)


def test_a_file_has_the_longest_name_that_it_or_what_lies_beside_it_was_found_by(tmp_path: Path) -> None:
    folder = tmp_path / "projects" / "one"
    folder.mkdir(parents=True)
    (folder / "a.jsonl").write_text(claude_lines(2))
    (folder / "b.jsonl").write_text(claude_lines(2, session="0b1c2d3e-0000-4000-8000-000000000002"))
    bring_in(tmp_path / "projects")

    here = KnownFiles([str(folder)])
    assert here.named(NamedPath(folder / "a.jsonl", "a.jsonl")).name == "one/a.jsonl"
    assert here.named(NamedPath(folder / "new.jsonl", "new.jsonl")).name == "one/new.jsonl"
    assert here.named(NamedPath(folder / "in" / "new.jsonl", "in/new.jsonl")).name == "one/in/new.jsonl"
    alone = KnownFiles([str(folder / "b.jsonl")])
    assert alone.named(NamedPath(folder / "b.jsonl", "b.jsonl")).name == "one/b.jsonl"
    above = KnownFiles([str(tmp_path)])
    assert above.named(NamedPath(folder / "a.jsonl", "projects/one/a.jsonl")).name == "projects/one/a.jsonl"


@pytest.mark.parametrize(
    ("path", "name", "root"),
    [
        ("/w/a/b.jsonl", "b.jsonl", "/w/a/"), ("/w/a/b.jsonl", "a/b.jsonl", "/w/"), ("/w/b.jsonl", "2/b.jsonl", "/w/"),
        ("/w/2/b.jsonl", "2/b.jsonl", "/w/"), ("/w/a.jsonl", "other.jsonl", None), ("/w/xb.jsonl", "b.jsonl", None),
    ],
)  # fmt: skip
def test_the_folder_that_a_file_is_named_from(path: str, name: str, root: str | None) -> None:
    assert root_of(path, name) == root
