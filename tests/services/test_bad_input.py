"""Bad input among good: one clear sentence for it, and the rest is read as if it were alone."""

from __future__ import annotations

import io
import sqlite3
import zipfile
from datetime import UTC, datetime
from pathlib import Path

import pytest

from contextviz.services import digest, ingest
from contextviz.sources.attach import CORTEXT
from contextviz.sources.joining import SCOPE
from contextviz.store.models import SessionRecord
from contextviz.store.queries import calls, jobs
from contextviz.store.values import JobRow
from tests.services.building import claude_lines, upload

pytestmark = pytest.mark.django_db
OTHER = "0b1c2d3e-0000-4000-8000-000000000077"
MB = 1024 * 1024


def bring(folder: Path) -> JobRow:
    job = ingest.import_paths([folder / "good.jsonl", *sorted(set(folder.iterdir()) - {folder / "good.jsonl"})],
                              now=datetime.now(UTC))  # fmt: skip
    digest.digest(job)
    return jobs.get_job(job)


def said(job: JobRow) -> str:
    """Everything that a person is told of the job's files."""
    files = [f"{one['path']}: {one['reason']}" for one in job.result.get("files") or [] if one.get("reason")]
    problems = [one["message"] for one in job.result.get("problems") or []]
    own = [one.message for record in SessionRecord.objects.all() for one in calls.problems(record.pk)]
    return "\n".join([job.outcome, *files, *problems, *own, *(line.text for line in jobs.job_log(job.id))])


def pointer(path: Path) -> None:
    path.write_text("version https://git-lfs.github.com/spec/v1\noid sha256:" + "ab" * 32 + "\nsize 12345\n")


def database(path: Path) -> None:
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE invoices (id INTEGER, total REAL)")
    other.close()


def bomb(path: Path) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("a.jsonl", "w") as member:
        for _ in range(50):
            member.write(b'{"type": "user", "uuid": "' + b"0" * MB + b'"}\n')
    path.write_bytes(packed.getvalue())


def one_line(path: Path) -> None:
    with path.open("wb") as stream:
        stream.write(claude_lines(1, session=OTHER).encode())
        stream.write(b'{"type": "user", "uuid": "long", "message": "')
        for _ in range(40):
            stream.write(b"x" * MB)
        stream.write(b'"}\n' + claude_lines(2, session=OTHER).encode()[len(claude_lines(1, session=OTHER)) :])


def utf16(path: Path) -> None:
    path.write_bytes(claude_lines(2, session=OTHER).encode("utf-16"))


@pytest.mark.parametrize(
    ("name", "make", "sentence", "sessions"),
    [
        ("pointer.jsonl", pointer, "pointer.jsonl (a Git LFS pointer, not the file itself)", 1),
        ("empty.jsonl", lambda path: path.write_text(""), "empty.jsonl (empty file)", 1),
        ("folder", lambda path: path.mkdir(), "Read 1 file: 1 session (1 new).", 1),
        ("lcm.db", database, "lcm.db (a SQLite database of another program", 1),
        ("bomb.zip", bomb, "a.jsonl in bomb.zip was not read: it grows to more than 200 times its size on disk", 1),
        (f"{OTHER}.jsonl", one_line, "longer than 32 MiB", 2),
        (f"{OTHER}.jsonl", utf16, "Read 2 files: 2 sessions (2 new).", 2),
    ],
    ids=["lfs", "empty", "folder", "database", "bomb", "line of 40 MB", "utf-16"],
)
def test_bad_input_is_told_and_harms_nothing_else(
    data_dir: Path, tmp_path: Path, name: str, make: object, sentence: str, sessions: int
) -> None:
    folder = tmp_path / "named"
    folder.mkdir()
    (folder / "good.jsonl").write_text(claude_lines(3))
    make(folder / name)  # type: ignore[operator]

    job = bring(folder)

    assert job.state == "done", job.outcome
    assert sentence in said(job)
    assert SessionRecord.objects.count() == sessions
    good = SessionRecord.objects.get(source_id__endswith="01")
    assert (good.call_count, good.problem_count) == (3, 0)
    other = SessionRecord.objects.filter(source_id=OTHER).first()
    assert other is None or other.call_count == 2, "nothing of what is whole is lost"


def test_a_session_id_longer_than_a_database_can_look_for_does_not_end_the_digest(data_dir: Path) -> None:
    upload(("part.jsonl", claude_lines(1)))
    # The long id is looked for at the end of the names of engines' parts; without one nothing would be compared.
    SessionRecord.objects.update(format=CORTEXT, source_id=f"{SCOPE}agent_main_x")

    job = upload(("long.jsonl", claude_lines(2, session="s" * 100_000)))

    assert (job.state, len(job.result["sessions"])) == ("done", 1)
    long = SessionRecord.objects.get(pk=int(job.result["sessions"][0]))
    assert (long.call_count, len(long.source_id)) == (2, 255)
