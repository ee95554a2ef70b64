"""A compressed file that is cut off: what came out of it is a session that says so, until the whole file comes."""

from __future__ import annotations

import gzip
import io
import tarfile

import pytest
import zstandard
from django.test import Client

from contextviz.store.models import SessionRecord
from contextviz.store.queries import calls
from tests.services.building import claude_lines, upload

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]
TURNS = 300


def packed(kind: str) -> bytes:
    body = claude_lines(TURNS).encode()
    return gzip.compress(body) if kind == "gz" else zstandard.compress(body)


@pytest.mark.parametrize("kind", ["gz", "zst"])
def test_what_a_cut_off_file_gave_is_counted_and_the_session_says_so(client: Client, kind: str) -> None:
    whole = packed(kind)
    job = upload((f"x.jsonl.{kind}", whole[: len(whole) * 3 // 4]))
    session = SessionRecord.objects.get()

    assert job.state == "done" and job.outcome == "Read 1 file: 1 session (1 new)."
    assert job.result["files"][0]["reason"] == "the compressed file is cut off"
    # Every question that came out whole, and never more: a question and its answer are two messages.
    assert TURNS < session.message_count < 2 * TURNS and session.status == "complete"
    found = [one for one in calls.problems(session.pk) if one.severity in ("warning", "error")]
    assert [one.code for one in found] == ["malformed_line", "cut_off"]
    html = client.get(f"/sessions/{session.pk}/problems/").content.decode()
    assert f".jsonl.{kind} is cut off: what came out of it up to there is read and counted" in html


@pytest.mark.parametrize("kind", ["gz", "zst"])
def test_the_whole_file_takes_the_place_of_the_cut_off_one(kind: str) -> None:
    whole = packed(kind)
    upload((f"x.jsonl.{kind}", whole[: len(whole) * 3 // 4]))
    upload((f"x.jsonl.{kind}", whole))
    session = SessionRecord.objects.get()

    assert session.message_count == 2 * TURNS and session.problem_count == 0


def test_a_cut_off_file_that_gives_nothing_fails_with_what_is_wrong() -> None:
    job = upload(("x.jsonl.zst", packed("zst")[:100]))

    assert job.state == "failed"
    assert "x.jsonl.zst is cut off, and nothing could be taken out of what is there" in job.outcome
    assert "empty" not in job.outcome
    assert job.outcome.count("is cut off") == 1 and ".." not in job.outcome and "the rest. contextviz" in job.outcome


def test_a_cut_off_copy_of_a_whole_file_beside_it_is_told_as_a_copy() -> None:
    whole = packed("gz")
    job = upload(("x.jsonl", claude_lines(TURNS)), ("x.jsonl.gz", whole[: len(whole) * 3 // 4]))
    session = SessionRecord.objects.get()

    assert session.message_count == 2 * TURNS and session.problem_count == 0
    assert [(one["code"], one["severity"]) for one in job.result["problems"]] == [("cut_off", "warning")]
    said = job.result["problems"][0]["message"]
    assert said.startswith("x.jsonl.gz is cut off") and "is a copy of what another file holds" in said


def test_a_cut_off_tar_gives_a_session_that_is_complete_and_says_so() -> None:
    body = claude_lines(TURNS).encode()
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        member = tarfile.TarInfo("x.jsonl")
        member.size = len(body)
        archive.addfile(member, io.BytesIO(body))
    job = upload(("t.tar", out.getvalue()[:50_000]))
    session = SessionRecord.objects.get()

    assert job.state == "done" and session.status == "complete"
    there = body[: 50_000 - 512]
    assert session.message_count == there.count(b"\n")
    assert "cut_off" in [one.code for one in calls.problems(session.pk)]
