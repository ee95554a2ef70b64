"""OpenVole's files with and without their folder are one session, whichever way they come first."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path

import pytest

from contextviz.store.models import SessionArtifactRecord, SessionRecord
from contextviz.store.queries import messages
from tests.services.building import artifact_files, upload
from tests.sources.openvole.test_reader import cost, entry, start
from tests.sources.plain.reading import write, write_lines

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]
FOLDER = "paw-session/main"
File = tuple[str, bytes]


def transcript(tmp_path: Path, turns: int = 2) -> bytes:
    path = tmp_path / f"t{turns}.md"
    rows = [entry(2 * n + part, ("user", "brain")[part], f"words {n}") for n in range(turns) for part in (0, 1)]
    write_lines(path, rows)
    return path.read_bytes()


def meta(tmp_path: Path) -> bytes:
    about = {"createdAt": "2026-03-01T10:00:09.000Z", "lastActive": "2026-03-01T10:00:59.000Z", "source": "",
             "messageCount": 9}  # fmt: skip
    write(tmp_path / "m.json", about)
    return (tmp_path / "m.json").read_bytes()


def log() -> bytes:
    return "".join(f"{line}\n" for line in [start(0, "words 0"), cost(1, 10, 1), start(2, "words 1"),
                                            cost(3, 20, 2)]).encode()  # fmt: skip


def batches(tmp_path: Path) -> dict[str, list[File]]:
    return {
        "flat": [("transcript.md", transcript(tmp_path)), ("vole.log", log())],
        "folder": [(f"{FOLDER}/transcript.md", transcript(tmp_path)), (f"{FOLDER}/meta.json", meta(tmp_path))],
        "longer": [("transcript.md", transcript(tmp_path, 3)), ("meta.json", meta(tmp_path))],
    }


@pytest.mark.parametrize("order", list(permutations(("flat", "folder", "longer"))))
def test_one_session_comes_of_all_ways(tmp_path: Path, order: tuple[str, ...], data_dir: Path) -> None:
    files = batches(tmp_path)
    for name in order:
        assert upload(*files[name]).state == "done"
    session = SessionRecord.objects.get()

    assert (session.source_id, session.message_count, session.call_count) == ("main", 6, 2)
    assert [one.role for one in messages.messages(session.pk).messages] == ["user", "assistant"] * 3
    names = set(SessionArtifactRecord.objects.values_list("name", flat=True))
    assert names == {f"{FOLDER}/transcript.md", f"{FOLDER}/meta.json", "vole.log"}
    assert len(artifact_files(data_dir)) == 3


def test_the_same_again_changes_nothing(tmp_path: Path) -> None:
    files = batches(tmp_path)
    for name in ("flat", "folder"):
        upload(*files[name])
    before = SessionRecord.objects.values("pk", "revision").get()
    for name in ("flat", "folder"):
        upload(*files[name])

    assert SessionRecord.objects.values("pk", "revision").get() == before


@pytest.mark.parametrize("turns", [(1, 4), (4, 1)])
def test_a_flat_transcript_that_grows_stays_one_session(tmp_path: Path, turns: tuple[int, int]) -> None:
    for count in turns:
        upload(("transcript.md", transcript(tmp_path, count)))

    assert SessionRecord.objects.get().message_count == 8


def test_another_conversation_is_another_session(tmp_path: Path) -> None:
    upload((f"{FOLDER}/transcript.md", transcript(tmp_path)))
    other = transcript(tmp_path).replace(b"words 1", b"other 1")
    upload(("transcript.md", other))

    assert SessionRecord.objects.count() == 2
