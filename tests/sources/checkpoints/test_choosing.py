from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from contextviz.events.problem import ReadProblem
from contextviz.events.session import SourceFile, Transcript
from contextviz.sources.checkpoints import CheckpointReader
from contextviz.sources.files import probe, read_paths, walk
from contextviz.sources.registry import detect
from contextviz.sources.source import ReadOptions
from contextviz.tokens.pool import MemoryPool
from tests.sources.copilot_cli.building import full as copilot
from tests.sources.cursor.building import line, lines, query
from tests.sources.plain.reading import write, write_lines

Json = dict[str, Any]
FIRST, SECOND = "ab/0123456789", "cd/0123456789"


def told(session: str, agent: str = "Cursor", **more: Any) -> Json:
    """What Entire writes beside a transcript."""
    return {"checkpoint_id": "ab0123456789", "session_id": session, "strategy": "manual-commit", "agent": agent,
            "checkpoints_count": 1, "token_usage": {"input_tokens": 999, "output_tokens": 9}} | more  # fmt: skip


def store(folder: Path, place: str, rows: list[Any], metadata: Json | None) -> None:
    """A checkpoint of one session."""
    write_lines(folder / place / "full.jsonl", rows)
    text = (folder / place / "full.jsonl").read_text()
    (folder / place / "full.jsonl").write_text(text.rstrip("\n"))  # the last line's end is not stored
    (folder / place / "prompt.txt").write_text("look at it")
    (folder / place / "context.md").write_text("# Context")
    if metadata is not None:
        write(folder / place / "metadata.json", metadata)


class Read:
    """What was read of a folder."""

    def __init__(self, folder: Path) -> None:
        self.files: dict[str, SourceFile] = {}
        self.transcripts: list[Transcript] = []
        self.problems: list[ReadProblem] = []
        for item in read_paths(list(walk(folder)), ReadOptions(MemoryPool(), datetime(2027, 1, 1, tzinfo=UTC))):
            if isinstance(item, SourceFile):
                assert item.path not in self.files
                self.files[item.path] = item
            elif isinstance(item, Transcript):
                self.transcripts.append(item)
            else:
                self.problems.append(item)
        assert set(self.files) == {named.name for named in walk(folder)}


def test_of_the_checkpoints_of_a_session_the_longest_is_read(tmp_path: Path) -> None:
    store(tmp_path, f"{FIRST}/0", lines()[:3], told("s-1"))
    store(tmp_path, f"{SECOND}/0", lines(), told("s-1"))
    store(tmp_path, f"{SECOND}/1", [query("other"), line("assistant", "yes")], told("s-2"))
    write(tmp_path / SECOND / "metadata.json", {"checkpoint_id": "cd0123456789", "sessions": [], "strategy": "x"})
    found = Read(tmp_path)

    assert sorted((one.session.id, len(one.messages)) for one in found.transcripts) == [("s-1", 4), ("s-2", 2)]
    one = next(one for one in found.transcripts if one.session.id == "s-1")
    assert one.session.format == "cursor"
    assert one.files == [f"{SECOND}/0/full.jsonl", f"{SECOND}/0/metadata.json"]
    copy = found.files[f"{FIRST}/0/full.jsonl"]
    assert (copy.role, copy.is_counted, copy.session) == ("duplicate", False, "s-1")
    assert copy.reason == f"an earlier checkpoint of the session in {SECOND}/0/full.jsonl"
    assert found.files[f"{SECOND}/0/full.jsonl"].session == "s-1"
    for place in (f"{FIRST}/0", f"{SECOND}/0", f"{SECOND}/1", SECOND):
        beside = found.files[f"{place}/metadata.json"]
        assert (beside.format, beside.role, beside.is_counted) == ("entire", "index", False)
    assert found.files[f"{FIRST}/0/prompt.txt"].role == "ignored"


def test_without_metadata_a_beginning_is_an_earlier_checkpoint(tmp_path: Path) -> None:
    store(tmp_path, f"{FIRST}/0", lines()[:3], None)
    store(tmp_path, f"{SECOND}/0", lines(), None)
    store(tmp_path, f"{SECOND}/1", [lines()[0], line("assistant", "another way")], None)
    found = Read(tmp_path)
    assert found.files[f"{FIRST}/0/full.jsonl"].role == "duplicate"
    assert found.files[f"{SECOND}/1/full.jsonl"].role != "ignored"


def test_a_transcript_in_parts_is_put_together(tmp_path: Path) -> None:
    store(tmp_path, f"{FIRST}/0", lines()[:2], told("s-1"))
    for number, row in enumerate(lines()[2:], start=1):
        (tmp_path / FIRST / "0" / f"full.jsonl.{number:03d}").write_text(json.dumps(row))
    found = Read(tmp_path)
    one = found.transcripts[0]

    assert (one.session.id, len(one.messages), one.lines.total, one.lines.malformed) == ("s-1", 4, 6, [])
    assert one.files[0] == f"{FIRST}/0/full.jsonl" and f"{FIRST}/0/full.jsonl.001" in one.files
    part = found.files[f"{FIRST}/0/full.jsonl.004"]
    assert (part.role, part.is_counted, part.session) == ("session", True, "s-1")
    assert not found.problems


def test_a_part_that_is_missing_is_told(tmp_path: Path) -> None:
    store(tmp_path, f"{FIRST}/0", lines()[:2], told("s-1"))
    (tmp_path / FIRST / "0" / "full.jsonl.002").write_text(json.dumps(lines()[2]))
    found = Read(tmp_path)
    assert [one.code for one in found.problems] == ["missing_part"]
    assert len(found.transcripts[0].messages) == 3


def test_a_part_of_which_one_copy_is_at_hand_is_that_of_all_checkpoints(tmp_path: Path) -> None:
    for place, upto in ((FIRST, 4), (SECOND, 6)):
        store(tmp_path, f"{place}/0", lines()[:2], told("s-1", checkpoint_id=place))
        (tmp_path / place / "0" / "full.jsonl.001").write_text("\n".join(map(json.dumps, lines()[2:upto])))
    (tmp_path / SECOND / "0" / "full.jsonl").unlink()
    found = Read(tmp_path)

    assert [(one.session.id, one.lines.total) for one in found.transcripts] == [("s-1", 6)]
    assert found.transcripts[0].files[:2] == [f"{FIRST}/0/full.jsonl", f"{SECOND}/0/full.jsonl.001"]
    assert found.files[f"{FIRST}/0/full.jsonl.001"].role == "duplicate"
    assert not found.problems


def test_the_format_is_that_of_the_agent_and_its_own_id_stays(tmp_path: Path) -> None:
    copilot().save(tmp_path / "made")
    log = next(named for named in walk(tmp_path / "made") if named.name.endswith("events.jsonl"))
    rows = log.path.read_text().splitlines()
    for place, upto in ((f"{FIRST}/0", 5), (f"{SECOND}/0", len(rows))):
        store(tmp_path / "stored", place, list(rows[:upto]), told("s-1", "Copilot CLI"))
    found = Read(tmp_path / "stored")
    whole = Read(tmp_path / "made")
    assert len(found.transcripts) == 1
    one, other = found.transcripts[0], whole.transcripts[0]
    assert one.session.format == "copilot-cli" and one.session.id == other.session.id
    assert [call.usage for call in one.calls] == [call.usage for call in other.calls]


def test_one_checkpoint_named_by_itself_is_known_by_its_metadata(tmp_path: Path) -> None:
    store(tmp_path, "x", lines(), told("s-1"))
    assert Read(tmp_path / "x").transcripts[0].session.id == "s-1"


def test_files_of_that_name_elsewhere_are_read_as_they_are(tmp_path: Path) -> None:
    store(tmp_path, "a", lines()[:2], None)
    write(tmp_path / "a" / "metadata.json", {"author": "somebody"})
    found = Read(tmp_path)
    assert found.transcripts[0].session.id == "full" and found.files["a/metadata.json"].role == "ignored"


def test_metadata_that_cannot_be_read_does_no_harm(tmp_path: Path) -> None:
    store(tmp_path, f"{FIRST}/0", lines(), None)
    (tmp_path / FIRST / "0" / "metadata.json").write_text('{"checkpoint_id": "a", "session_id"')
    store(tmp_path, f"{SECOND}/0", lines(), told("s-1") | {"session_id": ["x"], "agent": 3, "created_at": {}})
    found = Read(tmp_path)
    assert [one.session.id for one in found.transcripts] == ["full"]


def test_metadata_is_ours_by_its_keys(tmp_path: Path) -> None:
    path = write(tmp_path / "metadata.json", told("s-1"))
    known = detect(probe(path))
    assert known is not None and isinstance(known[0], CheckpointReader)
    assert detect(probe(write(tmp_path / "m.json", {"checkpoint_id": "a"}))) is None
