from __future__ import annotations

import gzip
import hashlib
import io
import json
import sqlite3
import stat
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest
import zstandard

from contextviz.cli.inspect import main
from contextviz.events.problem import ReadProblem
from contextviz.events.session import SourceFile
from contextviz.sources.files import NamedPath, walk
from contextviz.sources.unpack import Limits, Unpacked, unpacked

TALK = b'{"role": "user", "content": "hi"}\n{"role": "assistant", "content": "yo"}\n'


def opened(folder: Path, limits: Limits | None = None) -> tuple[dict[str, bytes], Unpacked]:
    with unpacked(list(walk(folder)), limits) as found:
        return {one.name: one.path.read_bytes() for one in found.paths}, found


def codes(found: Unpacked) -> list[str]:
    return [one.code for one in found.items if isinstance(one, ReadProblem)]


def told(found: Unpacked) -> dict[str, tuple[str, str | None]]:
    return {one.path: (one.role, one.reason) for one in found.items if isinstance(one, SourceFile)}


def tar_with(path: Path, members: list[tuple[tarfile.TarInfo, bytes]], mode: Any = "w") -> None:
    with tarfile.open(path, mode) as archive:
        for member, body in members:
            member.size = len(body)
            archive.addfile(member, io.BytesIO(body))


def info(name: str, kind: bytes = tarfile.REGTYPE, target: str = "") -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.type, member.linkname = kind, target
    return member


def test_compressed_files_are_read_under_their_own_names(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(TALK))
    (tmp_path / "b.jsonl.zst").write_bytes(zstandard.compress(TALK) + zstandard.compress(b"more\n"))
    (tmp_path / "c.jsonl").write_bytes(TALK)
    files, found = opened(tmp_path)

    assert files == {"a.jsonl.gz": TALK, "b.jsonl.zst": TALK + b"more\n", "c.jsonl": TALK}
    assert found.items == []


def test_members_of_archives_keep_their_folders_and_name_their_archive(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "all.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("home/a.jsonl", TALK)
        archive.writestr("home/", "")
        archive.writestr("home/lcm.db-wal", b"w")
    tar_with(tmp_path / "more.tar.gz", [(info("x/b.jsonl"), TALK), (info("x", tarfile.DIRTYPE), b"")], "w:gz")
    tar_with(tmp_path / "plain.tar", [(info("c.jsonl"), TALK)])
    raw = (tmp_path / "plain.tar").read_bytes()
    (tmp_path / "z.tar.zst").write_bytes(zstandard.compress(raw))
    files, found = opened(tmp_path)

    assert sorted(files) == ["all.zip/home/a.jsonl", "all.zip/home/lcm.db-wal", "more.tar.gz/x/b.jsonl",
                             "plain.tar/c.jsonl", "z.tar.zst/c.jsonl"]  # fmt: skip
    assert found.origins["more.tar.gz/x/b.jsonl"] == "more.tar.gz"
    assert told(found)["all.zip"] == ("archive", "opened: 2 files in it")


def test_everything_is_removed_at_the_end(tmp_path: Path) -> None:
    (tmp_path / "a.gz").write_bytes(gzip.compress(TALK))
    with unpacked([NamedPath(tmp_path / "a.gz", "a.gz")]) as found:
        place = found.paths[0].path
        assert place.is_file()

    assert not place.exists() and not place.parent.exists()


@pytest.mark.parametrize("name", ["../out.jsonl", "/etc/x", "a/../../b", "C:\\x", "..\\x", "a/" * 40 + "b"])
def test_names_that_lead_out_are_refused_and_the_rest_is_read(tmp_path: Path, name: str) -> None:
    with zipfile.ZipFile(tmp_path / "z.zip", "w") as archive:
        archive.writestr(name, b"x")
        archive.writestr("good.jsonl", TALK)
    tar_with(tmp_path / "t.tar", [(info(name), b"x"), (info("good.jsonl"), TALK)])
    files, found = opened(tmp_path)

    assert sorted(files) == ["t.tar/good.jsonl", "z.zip/good.jsonl"]
    assert codes(found) == ["unsafe_archive_member"] * 2


def test_links_and_devices_are_never_followed(tmp_path: Path) -> None:
    members = [(info("link", tarfile.SYMTYPE, "/etc/passwd"), b""), (info("hard", tarfile.LNKTYPE, "good"), b""),
               (info("null", tarfile.CHRTYPE), b""), (info("pipe", tarfile.FIFOTYPE), b""),
               (info("good"), TALK)]  # fmt: skip
    tar_with(tmp_path / "t.tar", members)
    with zipfile.ZipFile(tmp_path / "z.zip", "w") as archive:
        member = zipfile.ZipInfo("link")
        member.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(member, "/etc/passwd")
    files, found = opened(tmp_path)

    assert files == {"t.tar/good": TALK}
    assert codes(found) == ["unsafe_archive_member"] * 5


@pytest.mark.parametrize("kind", ["gz", "zst", "zip", "tar.gz"])
def test_a_bomb_is_stopped_at_200_times_its_size(tmp_path: Path, kind: str) -> None:
    bomb = b"\x00" * (24 * 1024 * 1024)
    path = tmp_path / f"bomb.{kind}"
    if kind == "zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("bomb", bomb)
    elif kind == "tar.gz":
        tar_with(path, [(info("bomb"), bomb)], "w:gz")
    else:
        path.write_bytes(gzip.compress(bomb) if kind == "gz" else zstandard.compress(bomb))
    files, found = opened(tmp_path)

    assert files == {}
    assert codes(found) == ["unsafe_archive_member"]
    assert told(found)[path.name][0] == "ignored"


def test_all_archives_together_have_one_limit_of_bytes_and_of_members(tmp_path: Path) -> None:
    for number in range(3):
        (tmp_path / f"{number}.gz").write_bytes(gzip.compress(TALK))
    files, found = opened(tmp_path, Limits(total_bytes=len(TALK) + 10))
    assert sorted(files) == ["0.gz"] and codes(found) == ["unsafe_archive_member"] * 2

    tar_with(tmp_path / "many.tar", [(info(f"f{n}"), b"x") for n in range(5)])
    files, found = opened(tmp_path, Limits(members=3))
    assert sum(name.startswith("many.tar/") for name in files) == 3
    assert codes(found) == ["unsafe_archive_member"]


def test_an_archive_inside_an_archive_stays_closed(tmp_path: Path) -> None:
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w") as archive:
        archive.writestr("a.jsonl", TALK)
    with zipfile.ZipFile(tmp_path / "o.zip", "w") as archive:
        archive.writestr("inner.zip", inner.getvalue())
    files, found = opened(tmp_path)

    assert files == {}
    assert told(found)["o.zip/inner.zip"] == ("ignored", "an archive inside an archive is not opened")


def test_what_a_damaged_file_gave_before_it_broke_is_read(tmp_path: Path) -> None:
    body = b"".join(json.dumps({"n": n, "text": str(n * 7919) * 3}).encode() + b"\n" for n in range(30_000))
    packed = gzip.compress(body)
    (tmp_path / "cut.gz").write_bytes(packed[: len(packed) // 2])
    (tmp_path / "not.zip").write_bytes(b"PK\x03\x04" + b"\x01" * 100)
    files, found = opened(tmp_path)

    assert body.startswith(files["cut.gz"]) and len(files["cut.gz"]) > 1000
    assert codes(found) == ["cut_off", "damaged_archive"]


def talk(count: int) -> bytes:
    """A chat of so many messages, of words that no compressor makes much smaller."""
    said = (" ".join(hashlib.sha256(f"{n} {m}".encode()).hexdigest() for m in range(20)) for n in range(count))
    rows = ({"role": ("user", "assistant")[n % 2], "content": text} for n, text in enumerate(said))
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def report_of(folder: Path, capsys: pytest.CaptureFixture[str]) -> Any:
    assert main([str(folder), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


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


def test_a_name_twice_is_read_once_and_an_encrypted_member_is_told(tmp_path: Path) -> None:
    tar_with(tmp_path / "t.tar", [(info("a"), b"one"), (info("a"), b"two")])
    files, found = opened(tmp_path)

    assert files == {"t.tar/a": b"one"} and codes(found) == ["unsafe_archive_member"]


def test_a_header_as_large_as_memory_is_refused(tmp_path: Path) -> None:
    tar_with(tmp_path / "t.tar", [(info("x", tarfile.XHDTYPE), b"y" * (2 * 1024 * 1024)), (info("good"), TALK)])
    files, found = opened(tmp_path)

    assert files == {} and codes(found) == ["unsafe_archive_member"]


def test_a_store_and_its_log_in_an_archive_are_read_together(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    connection = sqlite3.connect(home / "flowctx.sqlite")
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute(
        "CREATE TABLE flowctx_kv (ns TEXT, key TEXT, value TEXT, expires_at_ms INTEGER, updated_at_ms INTEGER)"
    )
    connection.execute("INSERT INTO flowctx_kv VALUES ('scratchpad', 's', 'a note', NULL, 1)")
    connection.commit()
    with zipfile.ZipFile(tmp_path / "home.zip", "w") as archive:
        for path in home.iterdir():
            archive.write(path, f"home/{path.name}")
    connection.close()

    assert main([str(tmp_path / "home.zip")]) == 0


def test_inspect_reads_archives_and_says_when_there_is_nothing_in_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "talk.jsonl.gz").write_bytes(gzip.compress(TALK))
    tar_with(tmp_path / "empty.tar", [(info("readme.txt"), b"hello")])

    assert main([str(tmp_path / "talk.jsonl.gz"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["sessions"][0]["messages"]["total"] == 2
    assert main([str(tmp_path / "empty.tar")]) == 2
    assert "nothing" in capsys.readouterr().err
