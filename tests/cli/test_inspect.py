from __future__ import annotations

import io
import json
import re
import subprocess
import sys
from argparse import Namespace
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from contextviz.cli.inspect import run
from contextviz.services.demo import write_demo
from tests.sources.droid.building import full

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("demo")
    write_demo(folder)
    return folder


def printed(*paths: Path, **options: Any) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    named = {"paths": [str(path) for path in paths], "json": False, "snapshots": False, "tz": "UTC", **options}
    return run(Namespace(**named), out, err), out.getvalue(), err.getvalue()


def test_the_report_is_what_the_published_schema_says(demo: Path) -> None:
    schema = json.loads((ROOT / "docs" / "inspect.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    status, out, _ = printed(demo, json=True)
    assert status == 0
    jsonschema.validate(json.loads(out), schema)


def test_parts_add_up_to_the_session_and_sessions_to_the_total(demo: Path) -> None:
    report = json.loads(printed(demo, json=True)[1])
    for session in report["sessions"]:
        parts = [session["main"], session["summaries_spend"], *session["subagents"]]
        assert sum(part["api_calls"] for part in parts) == session["api_calls"]
        assert sum(part["spend"]["total"] or 0 for part in parts) == (session["spend"]["total"] or 0)
        lines = session["lines"]
        unfinished = lines["in_progress"] is not None
        read = lines["read"] + lines["blank"] + len(lines["malformed"]) + sum(lines["unknown_types"].values())
        assert read + unfinished == lines["total"]
    assert sum(one["spend"]["total"] or 0 for one in report["sessions"]) == report["totals"]["spend"]["total"]


def test_the_table_has_a_line_of_what_the_client_s_own_total_has_beyond_the_calls(tmp_path: Path, demo: Path) -> None:
    full(tmp_path)  # Droid: 105 + 54 tokens of calls, of 1,430 + 54 by the clients' totals
    table = printed(tmp_path)[1]

    assert "Not by call, reported by the client's own total (1):\n" in table
    assert "  d-1  1,325 tokens more; 1,484 with the calls\n" in table
    assert "Not by call" not in printed(demo)[1]


def test_every_call_of_the_demo_has_its_window(demo: Path) -> None:
    calls = sum(one["api_calls"] for one in json.loads(printed(demo, json=True)[1])["sessions"])
    lines = [json.loads(line) for line in printed(demo, snapshots=True)[1].splitlines()]
    assert len(lines) == calls
    assert {key for line in lines for key in line} >= {
        "session",
        "agent",
        "call",
        "response_id",
        "at",
        "basis",
        "items",
    }
    assert all({"role", "kind", "entry", "text", "tokens", "basis"} <= set(item) for item in lines[-1]["items"])


def test_the_table_is_for_people(demo: Path) -> None:
    status, out, err = printed(demo)
    assert (status, err) == (0, "")
    assert "5d0c1f3e-7a42-4b1c-9a55-2f6f1f0e9d11" in out and "Total: 4 sessions" in out


def test_the_table_has_the_names_of_formats_and_the_report_their_keys(demo: Path) -> None:
    keys = {one["format"] for one in json.loads(printed(demo, json=True)[1])["sessions"]}
    lines = [line.split("  ") for line in printed(demo)[1].split("\n\n")[0].splitlines()[1:]]

    assert "claude-code" in keys
    cells = {cell.strip() for line in lines for cell in line}
    assert {"Claude Code", "lossless-claw store"} <= cells and not cells & {"claude-code", "lossless-claw"}


def test_messages_are_what_the_library_calls_so_and_the_format_s_own_stand_beside_them(demo: Path) -> None:
    sessions = json.loads(printed(demo, json=True)[1])["sessions"]
    rows = [re.split(r"  +", line) for line in printed(demo)[1].split("\n\n")[0].splitlines()]

    assert rows[0][2:4] == ["messages", "format's own"]
    assert [row[2:4] for row in rows[1:]] == [
        [f"{one['held_messages']:,}", f"{one['messages']['total']:,}"] for one in sessions
    ]
    assert any(one["held_messages"] > one["messages"]["total"] for one in sessions)


def test_escape_sequences_in_a_transcript_do_not_reach_the_terminal(tmp_path: Path) -> None:
    header = {"type": "session", "version": 3, "id": "x\x1b[2Jy", "timestamp": "2026-01-01T00:00:00Z", "cwd": "/"}
    message = {"type": "message", "id": "a", "parentId": None, "message": {"role": "user", "content": "hello"}}
    (tmp_path / "a.jsonl").write_text(json.dumps(header) + "\n" + json.dumps(message) + "\n")
    assert "\x1b" not in printed(tmp_path)[1]


@pytest.mark.parametrize(
    ("name", "body", "said"),
    [
        ("empty.jsonl", b"", "empty file"),
        ("page.html", b"<!DOCTYPE html><html></html>", "an HTML page"),
        ("photo.bin", bytes(range(256)) * 20, "a binary file"),
        ("notes.txt", b"just words\n", "not a transcript"),
        ("other.jsonl", b'{"a": 1}\n{"b": 2}\n', "JSON of a kind that no reader knows"),
        ("lfs.jsonl", b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "a Git LFS pointer"),
    ],
)
def test_what_cannot_be_read_is_said_in_one_sentence(tmp_path: Path, name: str, body: bytes, said: str) -> None:
    (tmp_path / name).write_bytes(body)
    status, out, err = printed(tmp_path / name)
    assert (status, out) == (2, "")
    assert said in err and err.count("\n") == 1


def test_a_path_without_anything_and_a_bad_zone_are_said(tmp_path: Path) -> None:
    assert "there is nothing at" in printed(tmp_path / "missing")[2]
    assert "there are no files" in printed(tmp_path)[2]
    assert "is not a time zone" in printed(tmp_path, tz="Mars/Olympus")[2]


def test_links_inside_a_folder_are_not_followed(tmp_path: Path) -> None:
    secret = tmp_path / "secret.jsonl"
    secret.write_text('{"type": "session", "id": "s", "cwd": "/", "timestamp": "2026-01-01T00:00:00Z"}\n')
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "link.jsonl").symlink_to(secret)
    assert "there are no files" in printed(folder)[2]


def test_inspect_needs_no_framework_no_settings_and_no_database(demo: Path) -> None:
    code = (
        "import sys\n"
        "from contextviz.cli.main import main\n"
        f"status = main(['inspect', {str(demo)!r}, '--json'])\n"
        "framework = {'django', 'celery', 'redis', 'ninja', 'plotly'}\n"
        "loaded = sorted({name.split('.')[0] for name in sys.modules} & framework)\n"
        "print(status or 0, loaded, file=sys.stderr)\n"
    )
    environment = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True)
    assert done.stderr.strip().splitlines()[-1] == "0 []"
    assert json.loads(done.stdout)["schema"] == "contextviz.inspect/1"
