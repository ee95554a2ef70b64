"""What is packed and cut off or damaged: all that is there is read, and that it is not whole is told."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
import zipfile
from pathlib import Path

import pytest
import zstandard

from contextviz.cli.inspect import main
from contextviz.events.problem import ReadProblem
from tests.sources.unpack.building import TALK, codes, info, opened, report_of, talk, tar_with, told


def test_what_a_damaged_file_gave_before_it_broke_is_read(tmp_path: Path) -> None:
    body = b"".join(json.dumps({"n": n, "text": str(n * 7919) * 3}).encode() + b"\n" for n in range(30_000))
    packed = gzip.compress(body)
    (tmp_path / "cut.gz").write_bytes(packed[: len(packed) // 2])
    (tmp_path / "not.zip").write_bytes(b"PK\x03\x04" + b"\x01" * 100)
    files, found = opened(tmp_path)

    assert body.startswith(files["cut.gz"]) and len(files["cut.gz"]) > 1000
    assert codes(found) == ["cut_off", "damaged_archive"]


@pytest.mark.parametrize("kind", ["gz", "zst"])
@pytest.mark.parametrize("missing", [1, 40, 300_000])
def test_a_cut_off_file_is_read_as_far_as_it_goes_and_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str, missing: int
) -> None:
    body = talk(600)
    packed = gzip.compress(body) if kind == "gz" else zstandard.ZstdCompressor(write_checksum=True).compress(body)
    (tmp_path / f"x.jsonl.{kind}").write_bytes(packed[:-missing])
    files, found = opened(tmp_path)
    taken = files[f"x.jsonl.{kind}"]
    report = report_of(tmp_path, capsys)

    whole_lines = taken.count(b"\n")
    assert body.startswith(taken) and len(taken) > len(body) / 8 and codes(found) == ["cut_off"]
    assert (len(taken) == len(body)) == (missing == 1)
    assert report["problems"] == [] and report["files"][0]["reason"] == "the compressed file is cut off"
    session = report["sessions"][0]
    assert session["messages"]["total"] == whole_lines
    said = [one for one in session["problems"] if one["severity"] in ("warning", "error")]
    halves = [] if taken.endswith(b"\n") else [whole_lines + 1]
    assert [one["code"] for one in said] == ["malformed_line"] * len(halves) + ["cut_off"]
    assert session["lines"]["malformed"] == halves and session["lines"]["in_progress"] is None
    assert said[-1]["message"] == (
        f"x.jsonl.{kind} is cut off: what came out of it up to there is read and counted. Get the whole file and "
        "import it again to have the rest."
    )


def test_whole_frames_of_any_kind_are_not_taken_for_cut_off(tmp_path: Path) -> None:
    zeros = b"\x00" * 300_000  # blocks of one byte, many times
    skipped = b"\x53\x2a\x4d\x18" + (5).to_bytes(4, "little") + b"note!"
    streamed = zstandard.ZstdCompressor(write_content_size=False, write_checksum=True)
    for number, packed in enumerate(
        [
            zstandard.compress(zeros) + streamed.compress(TALK),
            zstandard.compress(TALK) + skipped,
            zstandard.ZstdCompressor(write_checksum=False).compress(talk(300)),
            zstandard.compress(b""),
        ]
    ):
        (tmp_path / f"{number}.zst").write_bytes(packed)
        (tmp_path / f"cut-{number}.zst").write_bytes(packed[:-1])
    files, found = opened(tmp_path)

    assert [one.file for one in found.items if isinstance(one, ReadProblem)] == [f"cut-{n}.zst" for n in range(4)]
    assert files["0.zst"] == zeros + TALK and files["1.zst"] == TALK and files["3.zst"] == b""


def test_a_cut_off_file_of_which_nothing_comes_out_is_not_called_empty(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl.zst").write_bytes(zstandard.compress(TALK)[:-3])
    (tmp_path / "b.jsonl.gz").write_bytes(gzip.compress(TALK)[:11])
    files, found = opened(tmp_path)

    assert files == {} and codes(found) == ["cut_off", "cut_off"]
    for name in ("a.jsonl.zst", "b.jsonl.gz"):
        assert told(found)[name] == (
            "ignored",
            "the file is cut off, and nothing could be taken out of what is there",
        )


def test_the_member_that_a_cut_off_archive_ends_in_is_read_and_the_session_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tar_with(tmp_path / "t.tar.gz", [(info("a.jsonl"), TALK), (info("b.jsonl"), talk(300))], "w:gz")
    packed = (tmp_path / "t.tar.gz").read_bytes()
    (tmp_path / "t.tar.gz").write_bytes(packed[: len(packed) // 2])
    report = report_of(tmp_path, capsys)

    names = {one["session"]: one["path"] for one in report["files"]}
    assert [names[one["id"]] for one in report["sessions"]] == ["t.tar.gz/a.jsonl", "t.tar.gz/b.jsonl"]
    problems = [[one["code"] for one in session["problems"]] for session in report["sessions"]]
    assert "cut_off" not in problems[0] and "cut_off" in problems[1] and report["problems"] == []
    assert 50 < report["sessions"][1]["messages"]["total"] < 300


def cut_tar(kind: str, body: bytes, keep: int) -> bytes:
    """The first bytes of a tar of one member; in gzip so that all of them come out, and that it is cut off shows."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        member = info("a.jsonl")
        member.size = len(body)
        archive.addfile(member, io.BytesIO(body))
    there = out.getvalue()[:keep]
    return gzip.compress(there)[:-8] if kind == "tar.gz" else there


@pytest.mark.parametrize("kind", ["tar", "tar.gz"])
@pytest.mark.parametrize("keep", [30_000, 200_000])
def test_of_a_cut_off_tar_every_byte_that_is_there_is_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str, keep: int
) -> None:
    body = talk(300)
    (tmp_path / f"t.{kind}").write_bytes(cut_tar(kind, body, keep))
    files, found = opened(tmp_path)

    assert files == {f"t.{kind}/a.jsonl": body[: keep - 512]} and codes(found) == ["cut_off"]
    assert told(found)[f"t.{kind}"] == ("archive", "not opened to its end: it is cut off")
    report = report_of(tmp_path, capsys)
    session = report["sessions"][0]
    assert [one["code"] for one in session["problems"] if one["severity"] != "info"] == ["malformed_line", "cut_off"]
    assert session["lines"]["in_progress"] is None and report["problems"] == []
    assert {one["path"]: one["reason"] for one in report["files"]}[f"t.{kind}/a.jsonl"] == "the archive is cut off"


def test_of_a_cut_off_tar_in_zstd_every_block_that_is_there_is_read(tmp_path: Path) -> None:
    body = talk(300)
    tar_with(tmp_path / "t.tar", [(info("a.jsonl"), body)])
    packed = zstandard.compress((tmp_path / "t.tar").read_bytes())
    (tmp_path / "t.tar").unlink()
    cut = packed[: len(packed) * 3 // 4]
    (tmp_path / "t.tar.zst").write_bytes(cut)
    files, found = opened(tmp_path)

    there = zstandard.ZstdDecompressor().decompressobj().decompress(cut)
    assert files == {"t.tar.zst/a.jsonl": there[512:]} and codes(found) == ["cut_off"]


@pytest.mark.parametrize("keep", [1024, 1024 + 200, 1024 + 512 + 512])
def test_a_tar_that_ends_before_its_end_mark_is_cut_off(tmp_path: Path, keep: int) -> None:
    tar_with(tmp_path / "t.tar", [(info("a.jsonl"), TALK), (info("b.jsonl"), TALK)])
    (tmp_path / "t.tar").write_bytes((tmp_path / "t.tar").read_bytes()[:keep])
    files, found = opened(tmp_path)

    assert set(files.values()) == {TALK} and len(files) == (2 if keep > 2000 else 1)
    assert codes(found) == ["cut_off"]


@pytest.mark.parametrize("byte", [1024 + 5, 1024 + 150])
def test_a_damaged_header_is_not_the_end_of_a_tar(tmp_path: Path, byte: int) -> None:
    tar_with(tmp_path / "t.tar", [(info("a.jsonl"), TALK), (info("b.jsonl"), TALK)])
    raw = bytearray((tmp_path / "t.tar").read_bytes())
    raw[byte] ^= 0xFF
    (tmp_path / "t.tar").write_bytes(raw)
    files, found = opened(tmp_path)

    assert files == {"t.tar/a.jsonl": TALK} and codes(found) == ["damaged_archive"]
    assert told(found)["t.tar"] == ("archive", "not opened to its end: it is damaged")


def test_a_wrong_checksum_behind_the_end_of_a_packed_tar_is_told(tmp_path: Path) -> None:
    tar_with(tmp_path / "t.tar.gz", [(info("a.jsonl"), TALK)], "w:gz")
    raw = bytearray((tmp_path / "t.tar.gz").read_bytes())
    raw[-6] ^= 0xFF
    (tmp_path / "t.tar.gz").write_bytes(raw)
    files, found = opened(tmp_path)

    assert files == {"t.tar.gz/a.jsonl": TALK} and codes(found) == ["damaged_archive"]


def test_the_session_of_a_damaged_file_says_so_and_is_not_growing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    packed = bytearray(gzip.compress(talk(600)[:-40]))
    packed[-6] ^= 0xFF  # the checksum no longer fits, as after a byte that was changed on the way
    (tmp_path / "x.jsonl.gz").write_bytes(packed)
    report = report_of(tmp_path, capsys)

    session = report["sessions"][0]
    said = [one for one in session["problems"] if one["severity"] != "info"]
    assert [one["code"] for one in said] == ["malformed_line", "damaged_archive"]
    assert said[0]["message"] == "line 600 is malformed: the file is damaged in it"
    assert "x.jsonl.gz is damaged (CRC check failed" in said[1]["message"]
    assert session["lines"]["in_progress"] is None and report["problems"] == []
    assert report["files"][0]["reason"] == "the compressed file is damaged"


@pytest.mark.parametrize("count", [2, 300])
def test_a_damaged_member_of_a_zip_is_read_as_far_as_it_goes(tmp_path: Path, count: int) -> None:
    body = talk(count)
    with zipfile.ZipFile(tmp_path / "z.zip", "w") as archive:
        archive.writestr("a.jsonl", body)
        archive.writestr("b.jsonl", TALK)
    raw = bytearray((tmp_path / "z.zip").read_bytes())
    raw[raw.find(body) + len(body) - 3] ^= 0x01
    (tmp_path / "z.zip").write_bytes(raw)
    files, found = opened(tmp_path)

    problem = next(one for one in found.items if isinstance(one, ReadProblem))
    assert files.pop("z.zip/b.jsonl") == TALK and (problem.code, problem.value) == ("damaged_archive", "a.jsonl")
    if count == 2:
        assert files == {} and "nothing could be taken out of what is there" in problem.message
    else:
        assert body.startswith(files["z.zip/a.jsonl"]) and len(files["z.zip/a.jsonl"]) > len(body) / 2
        assert "what came out of it up to there is read and counted" in problem.message


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_damaged_member_of_any_packing_does_not_end_the_zip(tmp_path: Path, method: int) -> None:
    path = tmp_path / "z.zip"
    with zipfile.ZipFile(path, "w", method) as archive:
        archive.writestr("a.jsonl", talk(2_000))
        archive.writestr("b.jsonl", TALK)
    raw = bytearray(path.read_bytes())
    raw[200_000:200_400] = bytes(400)
    path.write_bytes(raw)

    files, found = opened(tmp_path)

    assert files["z.zip/b.jsonl"] == TALK
    assert "damaged_archive" in codes(found)


def test_a_zip_without_its_list_says_what_is_missing_and_that_nothing_came(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "z.zip", "w") as archive:
        archive.writestr("a.jsonl", TALK)
    (tmp_path / "z.zip").write_bytes((tmp_path / "z.zip").read_bytes()[:-30])
    files, found = opened(tmp_path)

    problem = next(one for one in found.items if isinstance(one, ReadProblem))
    assert files == {} and problem.message == (
        "z.zip is damaged (the list of what is in it, which stands at its end, is not there), and nothing could be "
        "taken out of what is there. Get the whole file and import it again to have the rest."
    )
    assert told(found)["z.zip"] == (
        "ignored",
        "the file is damaged, and nothing could be taken out of what is there",
    )


@pytest.mark.parametrize("size", [2, 9])
def test_a_gzip_header_that_is_cut_off_is_not_an_empty_file(tmp_path: Path, size: int) -> None:
    (tmp_path / "x.jsonl.gz").write_bytes(gzip.compress(TALK)[:size])
    files, found = opened(tmp_path)

    assert files == {} and codes(found) == ["cut_off"]


def test_inspect_says_once_that_nothing_came_out_in_a_sentence_with_one_end(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "x.jsonl.gz").write_bytes(gzip.compress(TALK)[:11])

    assert main([str(tmp_path / "x.jsonl.gz")]) == 2
    said = capsys.readouterr().err
    assert said.count("is cut off") == 1 and said.endswith("import it again to have the rest).\n")
