from __future__ import annotations

import gzip
import io
import json
import sqlite3
import stat
import tarfile
import zipfile
from pathlib import Path

import pytest
import zstandard

from contextviz.cli.inspect import main
from contextviz.sources.files import NamedPath
from contextviz.sources.unpack import Limits, unpacked
from tests.sources.unpack.building import TALK, codes, info, opened, tar_with, told


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
