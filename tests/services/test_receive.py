"""What arrives: kept whole or not at all, and every refusal a sentence."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from contextviz.services import ingest
from contextviz.store.models import ArtifactRecord, SessionRecord, UploadRecord
from contextviz.store.queries import jobs
from tests.services.building import NOW, artifact_files, chunked, claude_lines, upload

pytestmark = pytest.mark.django_db
GONE = "some-host|999999999:1"


def nothing_is_left(data_dir: Path) -> bool:
    incoming = list((data_dir / "incoming").iterdir())
    return not artifact_files(data_dir) and not incoming and not ArtifactRecord.objects.exists()


REFUSED = [
    ("empty.jsonl", b"", ingest.EmptyUpload, "empty.jsonl is empty"),
    ("photo.png", b"\x89PNG\r\n\x1a\n" + b"\x00" * 99, ingest.NotATranscript, "photo.png is a PNG picture"),
    ("page.html", b"\n<!DOCTYPE html><html></html>", ingest.NotATranscript, "page.html is a web page"),
    ("tool", b"\x7fELF\x02\x01\x01" + b"\x00" * 99, ingest.NotATranscript, "tool is a program"),
    ("noise", bytes(range(1, 9)) * 99, ingest.NotATranscript, "noise is a binary file"),
    ("zeros", b"\x00" * 4096, ingest.NotATranscript, "zeros is a binary file"),
    ("all.7z", b"7z\xbc\xaf" + b"x" * 99, ingest.NotATranscript, "7-Zip archive (unpack it first)"),
]


@pytest.mark.parametrize(("name", "content", "error", "words"), REFUSED, ids=[row[0] for row in REFUSED])
def test_what_is_no_transcript_is_refused_in_a_sentence_and_leaves_nothing(
    data_dir: Path, name: str, content: bytes, error: type[ingest.UploadRefused], words: str
) -> None:
    batch = ingest.open_batch(now=NOW)

    with pytest.raises(error) as refusal:
        ingest.receive(chunked(content), name, batch_id=batch, now=NOW)

    assert words in str(refusal.value)
    assert str(refusal.value).endswith(".")
    assert nothing_is_left(data_dir)
    assert ingest.finish_batch(batch, now=NOW) is None
    assert [row.state for row in jobs.uploads_of(batch)] == ["refused"]


def test_a_file_over_the_limit_is_stopped_at_the_limit(data_dir: Path, settings: pytest.FixtureRequest) -> None:
    settings.MAX_UPLOAD_BYTES = 1024 * 1024  # type: ignore[attr-defined]
    taken = []

    def endless() -> Iterator[bytes]:
        while True:
            taken.append(1)
            yield b'{"type":"user"}\n' * 4096

    with pytest.raises(ingest.UploadTooLarge, match=r"big\.jsonl is larger than 1 MB"):
        ingest.receive(endless(), "big.jsonl", batch_id=ingest.open_batch(now=NOW), now=NOW)

    assert len(taken) == 17
    assert nothing_is_left(data_dir)


BAD = [
    ("cut.json", b'{"type":"user","message":{"role":"us', "not a transcript: no JSON records in it"),
    ("other.json", b'{"some":"json"}\n', "JSON of a kind that no reader knows"),
    ("notes.txt", b"just words\n", "not a transcript"),
]


@pytest.mark.parametrize(("name", "content", "words"), BAD, ids=[row[0] for row in BAD])
def test_what_no_reader_knows_fails_with_a_sentence_and_is_not_kept(
    data_dir: Path, name: str, content: bytes, words: str
) -> None:
    job = upload((name, content))

    assert (job.state, job.may_retry) == ("failed", False)
    assert name in job.outcome
    assert words in job.outcome
    assert nothing_is_left(data_dir)
    assert not SessionRecord.objects.exists()


def test_a_database_of_another_program_fails_with_a_sentence(data_dir: Path, tmp_path: Path) -> None:
    import sqlite3

    with sqlite3.connect(tmp_path / "x.db") as connection:
        connection.execute("CREATE TABLE wallet (key TEXT)")
    connection.close()

    job = upload(("x.db", (tmp_path / "x.db").read_bytes()))

    assert job.outcome.startswith("Nothing to show: x.db: a SQLite database of another program.")
    assert nothing_is_left(data_dir)


@pytest.mark.slow  # 100 MB are written, hashed and read
def test_a_line_of_100_mb_is_skipped_and_said(data_dir: Path) -> None:
    line = b'{"type":"user","uuid":"big","message":{"role":"user","content":"' + b"x" * 100_000_000 + b'"}}\n'

    job = upload(("a.jsonl", claude_lines(2).encode() + line + b"\n"))
    assert job.state == "done", job.outcome
    assert SessionRecord.objects.get().call_count == 2
    assert SessionRecord.objects.get().problem_count >= 1

    alone = upload(("b.jsonl", line))
    assert alone.state == "failed"
    assert "b.jsonl" in alone.outcome


def test_a_name_cannot_climb_or_hide(data_dir: Path) -> None:
    batch = ingest.open_batch(now=NOW)
    received = ingest.receive(chunked(b"{}\n"), "../../etc/\x1b[31mpasswd\x00", batch_id=batch, now=NOW)

    assert received.name == "etc/\ufffd[31mpasswd\ufffd"
    assert artifact_files(data_dir)[0].name == received.sha256


def test_a_batch_is_read_once_and_then_closed(data_dir: Path) -> None:
    batch = ingest.open_batch(now=NOW)
    ingest.receive(chunked(claude_lines(1).encode()), "a.jsonl", batch_id=batch, now=NOW)

    assert ingest.finish_batch(batch, now=NOW) == ingest.finish_batch(batch, now=NOW)
    with pytest.raises(ingest.UnknownBatch):
        ingest.receive(chunked(b"{}\n"), "b.jsonl", batch_id=batch, now=NOW)
    for unknown in ("nonsense", "00000000-0000-0000-0000-000000000000"):
        with pytest.raises(ingest.UnknownBatch):
            ingest.receive(chunked(b"{}\n"), "b.jsonl", batch_id=unknown, now=NOW)


def test_an_upload_that_breaks_off_is_told_and_leaves_no_bytes(data_dir: Path) -> None:
    def broken() -> Iterator[bytes]:
        yield b"{}\n"
        raise ConnectionResetError

    batch = ingest.open_batch(now=NOW)
    with pytest.raises(ConnectionResetError):
        ingest.receive(broken(), "a.jsonl", batch_id=batch, now=NOW)

    assert nothing_is_left(data_dir)
    assert [row.sentence for row in jobs.uploads_to_tell()] == ["a.jsonl did not arrive completely. Send it again."]


def test_after_a_restart_half_uploads_are_gone_and_the_person_is_told(data_dir: Path) -> None:
    batch = ingest.open_batch(now=NOW)
    half, whole = ingest.announce(batch, ["half.jsonl", "whole.jsonl"], now=NOW)
    ingest.receive(chunked(claude_lines(1).encode()), "whole.jsonl", batch_id=batch, now=NOW, upload_id=whole)
    UploadRecord.objects.filter(pk=half).update(owner=_dead_process_here())
    (data_dir / "incoming" / f"{half.hex}.part").write_bytes(b"half of it")
    (data_dir / "incoming" / "tmpx.upload").write_bytes(b"half of another")

    assert ingest.sweep_incoming(now=NOW, is_sole_server=True) == 1

    assert list((data_dir / "incoming").iterdir()) == []
    told = jobs.uploads_to_tell()
    assert [row.sentence for row in told] == [
        "half.jsonl did not arrive completely, since the server was stopped. Send it again."
    ]
    assert len(artifact_files(data_dir)) == 1, "the finished upload is untouched"
    ingest.dismiss(told[0].id)
    assert jobs.uploads_to_tell() == []


def test_another_servers_upload_is_left_alone_while_it_may_be_going_on(data_dir: Path) -> None:
    batch = ingest.open_batch(now=NOW)
    (upload_id,) = ingest.announce(batch, ["a.jsonl"], now=NOW)
    UploadRecord.objects.filter(pk=upload_id).update(owner=GONE)
    part = data_dir / "incoming" / f"{upload_id.hex}.part"
    part.write_bytes(b"so far")

    assert ingest.sweep_incoming(now=NOW + timedelta(hours=1), is_sole_server=False) == 0
    assert part.exists()
    assert ingest.sweep_incoming(now=NOW + timedelta(hours=7), is_sole_server=False) == 1
    assert not part.exists()


def _dead_process_here() -> str:
    import socket

    return f"{socket.gethostname()[:100]}|999999999:1"
