"""An agent's configuration beside its sessions: what is allowed is used, and its keys are nowhere."""

from __future__ import annotations

import gzip
import io
import json
import sqlite3
import tarfile
import zipfile
from contextlib import closing
from pathlib import Path

import pytest
from django.db import connection
from django.test import Client
from django.urls import reverse

from contextviz.cli.inspect import main as inspect_main
from contextviz.services import digest, ingest
from contextviz.services.access import local_owner
from contextviz.services.digest.collecting import refresh
from contextviz.sources.lossless_claw.reader import SIGNATURE
from contextviz.store.models import ArtifactRecord, SessionArtifactRecord, SessionRecord, UploadRecord
from contextviz.store.queries import jobs, sessions
from contextviz.web.urls import urlpatterns
from tests.accounts.test_every_address import addresses, filled
from tests.services.building import NOW, artifact_files, chunked, upload
from tests.sources.codex.building import Rollout
from tests.sources.configuration.configs import CODEX, FILES, KEY, OPENCLAW, PLANTED
from tests.sources.openclaw.build import script

pytestmark = pytest.mark.django_db


def openclaw_session(name: str = "s-1") -> str:
    talk = script(name)
    talk.user("a", "hello")
    talk.answer("b", prompt=9000)
    return "".join(json.dumps(line) + "\n" for line in talk.lines())


def codex_session() -> str:
    rollout = Rollout()
    rollout.turn()
    rollout.message("user", "hello")
    rollout.message("assistant", "hi")
    rollout.record("r-1", 100, 0, 5)
    return "\n".join(rollout.lines) + "\n"


def everything_kept(data_dir: Path) -> bytes:
    """Every value of every table, and every file of the data folder."""
    parts = []
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names():
            if table == "store_textsearch":
                continue  # SQLite's index cannot be listed itself; the tables that hold it are
            cursor.execute(f'SELECT * FROM "{table}"')
            parts.append(
                repr(
                    [[bytes(one) if isinstance(one, memoryview) else one for one in row] for row in cursor.fetchall()]
                ).encode()
            )
    parts.extend(path.read_bytes() for path in sorted(data_dir.rglob("*")) if path.is_file())
    return b"\n".join([*parts, *(body for path in artifact_files(data_dir) for body in members_of(path))])


def members_of(kept: Path) -> list[bytes]:
    """What is in a file that is kept, where that is a zip: a compressed key is found in no other way."""
    if not zipfile.is_zipfile(kept):
        return []
    with zipfile.ZipFile(kept) as packed:
        return [packed.read(name) for name in packed.namelist()]


def nothing_is_kept(data_dir: Path) -> bool:
    return PLANTED.encode() not in everything_kept(data_dir)


def every_configuration() -> list[tuple[str, bytes | str]]:
    return [
        ("home/agents/main/sessions/s-1.jsonl", openclaw_session()), ("home/sessions/rollout-a.jsonl", codex_session()),
        *((f"home/{name}", text) for name, text in FILES.items()),
    ]  # fmt: skip


def test_a_planted_key_is_in_no_table_no_file_and_on_no_page(data_dir: Path) -> None:
    job = upload(*every_configuration())

    assert job.state == "done" and len(job.result["sessions"]) == 2
    assert nothing_is_kept(data_dir)
    client = Client(REMOTE_ADDR="127.0.0.1")
    client.force_login(local_owner())
    pages = 0
    for session_id in job.result["sessions"]:
        for name, route in sorted(set(addresses(urlpatterns))):
            answer = client.get(filled(route, int(session_id)))
            body = (
                b"".join(answer.streaming_content)
                if answer.streaming and not answer.is_async
                else answer.content
                if not answer.streaming
                else b""
            )  # type: ignore[attr-defined]
            assert PLANTED.encode() not in body, name
            pages += answer.status_code == 200
    assert pages > 40


def test_a_planted_key_is_in_nothing_that_inspect_the_api_and_the_export_give(
    data_dir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, body in every_configuration():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(body.encode() if isinstance(body, str) else body)
    for options in ([], ["--json"], ["--snapshots"]):
        assert inspect_main([str(tmp_path), *options]) == 0
    told = capsys.readouterr().out
    assert "agents.defaults.compaction.reserveTokens" in told and PLANTED not in told

    job = upload(*every_configuration())
    client = Client(REMOTE_ADDR="127.0.0.1")
    client.force_login(local_owner())
    for number in job.result["sessions"]:
        for end in ("", "/calls", "/messages", "/compactions"):
            answer = client.get(f"/api/v1/sessions/{number}{end}")
            assert answer.status_code == 200 and PLANTED.encode() not in answer.content
        chosen = {"format": "json", "action": "download"}
        copy = client.post(reverse("export", args=[int(number)]), chosen)
        assert PLANTED.encode() not in (b"".join(copy.streaming_content) if copy.streaming else copy.content)


def test_the_session_page_shows_engine_window_and_threshold(data_dir: Path) -> None:
    job = upload(("home/agents/main/sessions/s-1.jsonl", openclaw_session()), ("home/openclaw.json", OPENCLAW))
    row = sessions.get_session(int(job.result["sessions"][0]))

    assert (row.window, row.window_basis, row.compaction_threshold) == (32000, "configuration", 16000)
    assert row.occupancy_share == pytest.approx(9000 / 32000)
    client = Client(REMOTE_ADDR="127.0.0.1")
    client.force_login(local_owner())
    page = client.get(reverse("session", args=[row.id])).content.decode()
    assert "32,000 tok, by the agent&#x27;s configuration" in page
    for words in ("Compacts above", "16,000 tok", "<code>lossless-claw</code>", "22 other settings are not kept",
                  "agents.defaults.compaction.reserveTokens"):  # fmt: skip
        assert words in page, words


def test_the_artifact_of_a_configuration_is_its_extract(data_dir: Path) -> None:
    upload(("s-1.jsonl", openclaw_session()), ("openclaw.json", OPENCLAW))
    kept = ArtifactRecord.objects.get(name="openclaw.json")
    raw = next(path for path in artifact_files(data_dir) if path.name == kept.sha256).read_bytes()

    assert kept.size == len(raw) != len(OPENCLAW)
    assert set(json.loads(raw)) == {"extract", "agent", "settings", "left_out", "problem"}


def test_a_folder_with_its_configuration_is_imported_and_read_again_only_when_the_session_grows(
    data_dir: Path, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    (home / "sessions").mkdir(parents=True)
    (home / "sessions" / "rollout-a.jsonl").write_text(codex_session())
    (home / "config.toml").write_text(CODEX)
    assert digest.digest(ingest.import_paths([home], now=NOW))
    found = SessionRecord.objects.get()

    assert (found.window, found.window_basis, found.compaction_threshold) == (24000, "configuration", 15000)
    assert nothing_is_kept(data_dir)
    SessionArtifactRecord.objects.update()
    ArtifactRecord.objects.update(received_at="2099-01-01T00:00:00Z")
    assert refresh(found.pk, now=NOW) is None


def test_a_session_that_comes_again_alone_keeps_its_configuration_and_a_changed_one_is_taken(data_dir: Path) -> None:
    upload(("home/sessions/rollout-a.jsonl", codex_session()), ("home/config.toml", CODEX))
    longer = codex_session() + codex_session().splitlines()[2] + "\n"
    upload(("home/sessions/rollout-a.jsonl", longer))
    assert SessionRecord.objects.get().window_basis == "configuration"

    upload(("home/sessions/rollout-a.jsonl", longer), ("home/config.toml", CODEX.replace("24000", "48000")))
    assert SessionRecord.objects.get().window == 48000


@pytest.mark.parametrize("form", ["zip", "tar", "tar.gz"])
def test_an_archive_with_a_configuration_is_kept_with_the_extract_in_its_place(data_dir: Path, form: str) -> None:
    job = upload((f"home.{form}", archive(form, every_configuration())))

    assert job.state == "done" and len(job.result["sessions"]) == 2
    assert nothing_is_kept(data_dir)
    (kept,) = artifact_files(data_dir)
    with zipfile.ZipFile(kept) as again:
        assert sorted(again.namelist()) == sorted(name for name, _ in every_configuration())
        assert again.read("home/sessions/rollout-a.jsonl").decode() == codex_session()
        assert not any(KEY.encode() in again.read(name) for name in again.namelist())
    assert {row.window_basis for row in SessionRecord.objects.all()} == {"configuration"}


def test_an_archive_inside_one_with_a_configuration_stays_as_a_name_alone(data_dir: Path) -> None:
    inner = archive("zip", [("openclaw.json", OPENCLAW)])
    data = archive("zip", [("s-1.jsonl", openclaw_session()), ("openclaw.json", OPENCLAW), ("more.zip", inner)])
    job = upload(("all.zip", data))

    told = {one["path"]: one["reason"] for one in job.result["files"]}
    assert told["all.zip/more.zip"] == "an archive inside an archive is not opened" and nothing_is_kept(data_dir)


def test_an_archive_of_which_all_is_read_is_kept_to_the_byte(data_dir: Path) -> None:
    data = archive(
        "zip", [("s-1.jsonl", openclaw_session()), ("home/rollout-a.jsonl", codex_session()), ("e.json", "")]
    )
    upload(("all.zip", data))

    assert [path.read_bytes() for path in artifact_files(data_dir)] == [data]


@pytest.mark.parametrize("form", ["zip", "tar", "tar.gz"])
@pytest.mark.parametrize("inner", ["zip", "tar", "tar.gz"])
def test_an_archive_inside_is_never_kept(data_dir: Path, form: str, inner: str) -> None:
    closed = archive(inner, [("openclaw.json", OPENCLAW)])
    job = upload((f"all.{form}", archive(form, [("s-1.jsonl", openclaw_session()), (f"inner.{inner}", closed)])))

    assert len(job.result["sessions"]) == 1 and nothing_is_kept(data_dir)
    told = {one["path"]: one["reason"] for one in job.result["files"]}
    assert told[f"all.{form}/inner.{inner}"] == "an archive inside an archive is not opened"
    assert closed not in everything_kept(data_dir)


UNREAD = {
    "oauth_creds.json": json.dumps({"access_token": PLANTED, "refresh_token": PLANTED}),
    "mcp.json": json.dumps({"mcpServers": {"a": {"command": "x", "env": {"API_KEY": PLANTED}}}}),
    ".mcp.json": json.dumps({"mcpServers": {"a": {"command": "x", "env": {"API_KEY": PLANTED}}}}),
    "tool.json": json.dumps({"env": {"API_KEY": PLANTED}}),
    ".env.local": f"API_KEY={PLANTED}",
    "history.jsonl": json.dumps({"display": PLANTED, "project": "/w"}) + "\n",
    "notes.txt": f"the key is {PLANTED}",
    "unknown.json": json.dumps({"anything": PLANTED}),
}


@pytest.mark.parametrize("name", UNREAD)
def test_what_no_reader_reads_of_an_archive_is_not_kept_and_is_told(data_dir: Path, name: str) -> None:
    job = upload(("all.zip", archive("zip", [("h/s-1.jsonl", openclaw_session()), (f"h/{name}", UNREAD[name])])))

    assert len(job.result["sessions"]) == 1 and nothing_is_kept(data_dir)
    told = {one["path"]: (one["role"], one["reason"]) for one in job.result["files"]}
    role, reason = told[f"all.zip/h/{name}"]
    assert role == "ignored" and reason and "empty" not in reason


def test_an_archive_packed_again_stays_the_same_when_it_comes_once_more(data_dir: Path) -> None:
    upload(("all.zip", archive("zip", [("s-1.jsonl", openclaw_session()), ("notes.txt", PLANTED)])))
    (kept,) = artifact_files(data_dir)
    upload(("all.zip", kept.read_bytes()))

    assert artifact_files(data_dir) == [kept]


def test_a_link_in_an_archive_that_is_packed_again_is_told_of_all_the_same(data_dir: Path) -> None:
    link = tarfile.TarInfo("latest")
    link.type, link.linkname = tarfile.SYMTYPE, "s-1.jsonl"
    out = io.BytesIO(archive("tar", [("s-1.jsonl", openclaw_session()), ("notes.txt", PLANTED)]))
    with tarfile.open(fileobj=out, mode="a") as tape:
        tape.addfile(link)
    job = upload(("all.tar", out.getvalue()))

    assert [one["message"] for one in job.result["problems"]] == ["latest in all.tar was not read: it is a link"]
    assert len(job.result["sessions"]) == 1 and nothing_is_kept(data_dir)


def test_a_database_in_an_archive_keeps_the_changes_that_lie_beside_it(data_dir: Path, tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "lcm.db")) as database:
        database.execute("PRAGMA journal_mode=WAL")
        for table, columns in SIGNATURE.items():
            database.execute(f"CREATE TABLE {table} ({', '.join(sorted(columns))})")
        database.commit()
        files = [(name, (tmp_path / name).read_bytes()) for name in ("lcm.db", "lcm.db-wal")]
    data = archive("zip", [("s-1.jsonl", openclaw_session()), ("s-1.jsonl-wal", PLANTED), *files])
    upload(("all.zip", data))

    with zipfile.ZipFile(artifact_files(data_dir)[0]) as again:
        assert [again.read(name) for name, _ in files] == [body for _, body in files]
    assert nothing_is_kept(data_dir)


def test_a_compressed_file_with_an_archive_or_keys_in_it_is_not_kept_as_it_came(data_dir: Path) -> None:
    inner = archive("zip", [("openclaw.json", OPENCLAW)])
    upload(
        ("s-1.jsonl.gz", gzip.compress(openclaw_session().encode())), ("inner.zip.gz", gzip.compress(inner)),
        ("oauth_creds.json.gz", gzip.compress(UNREAD["oauth_creds.json"].encode())),
    )  # fmt: skip

    kept = everything_kept(data_dir)
    assert inner not in kept and PLANTED.encode() not in kept
    packed = [path.read_bytes() for path in artifact_files(data_dir)]
    assert gzip.compress(inner)[10:-8] not in b"".join(packed)
    assert sum(body.startswith(b"\x1f\x8b") for body in packed) == 1


def test_a_configuration_that_an_archive_hides_under_a_name_that_leads_out_is_refused(data_dir: Path) -> None:
    data = archive("zip", [("s-1.jsonl", openclaw_session()), ("../openclaw.json", OPENCLAW)])
    batch = ingest.open_batch(now=NOW)

    with pytest.raises(ingest.NotATranscript, match=r"openclaw\.json.*leads out of the archive"):
        ingest.receive(chunked(data), "all.zip", batch_id=batch, now=NOW)
    assert artifact_files(data_dir) == [] and nothing_is_kept(data_dir)


def test_an_archive_that_cannot_be_opened_whole_and_holds_one_is_refused(data_dir: Path) -> None:
    data = archive("zip", [("openclaw.json", OPENCLAW), ("../out.jsonl", openclaw_session())])
    batch = ingest.open_batch(now=NOW)

    with pytest.raises(
        ingest.NotATranscript, match=r"all\.zip holds an agent's configuration.*out\.jsonl.*Send the sessions"
    ):
        ingest.receive(chunked(data), "all.zip", batch_id=batch, now=NOW)
    assert artifact_files(data_dir) == [] and nothing_is_kept(data_dir)


@pytest.mark.parametrize(
    "name",
    [
        "auth.json",
        ".credentials.json",
        "oauth_creds.json",
        ".mcp.json",
        "tool.json",
        "openclaw.json.bak",
        "settings.json",
        "config.toml",
    ],
)
def test_a_list_of_keys_is_refused_in_a_sentence_and_leaves_nothing(data_dir: Path, name: str) -> None:
    batch = ingest.open_batch(now=NOW)
    body = f'other = "{KEY}"' if name.endswith("toml") else json.dumps({"token": KEY, "env": {"API_KEY": KEY}})

    with pytest.raises(ingest.NotATranscript, match="so nothing of it was kept"):
        ingest.receive(chunked(body.encode()), f"home/{name}", batch_id=batch, now=NOW)

    assert [row.state for row in jobs.uploads_of(batch)] == ["refused"]
    assert artifact_files(data_dir) == [] and nothing_is_kept(data_dir)


def test_a_damaged_or_huge_configuration_leaves_nothing_either(data_dir: Path) -> None:
    huge = "{ a: '" + KEY * 200_000 + "' }"
    job = upload(("s-1.jsonl", openclaw_session()), ("a/openclaw.json", OPENCLAW[:900]), ("b/openclaw.json", huge))

    assert job.state == "done" and nothing_is_kept(data_dir)
    told = [one["message"] for one in job.result["problems"]]
    assert len(told) == 2 and all("was not used" in one for one in told)
    assert UploadRecord.objects.filter(state="received").count() == 3


def archive(form: str, files: list[tuple[str, bytes | str]]) -> bytes:
    out = io.BytesIO()
    if form == "zip":
        with zipfile.ZipFile(out, "w") as packed:
            for name, text in files:
                packed.writestr(name, text)
        return out.getvalue()
    with tarfile.open(fileobj=out, mode="w:gz" if form.endswith("gz") else "w") as tape:
        for name, text in files:
            data = text.encode() if isinstance(text, str) else text
            member = tarfile.TarInfo(name)
            member.size = len(data)
            tape.addfile(member, io.BytesIO(data))
    return out.getvalue()
