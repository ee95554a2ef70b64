"""An original by its hash, the beginning of it, or a marker; hashed again on the way."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest
import zstandard

from contextviz.services import retrieve
from contextviz.store.models import TextPackRecord
from contextviz.store.queries import jobs
from contextviz.store.values import JobRow
from tests.services.building import NOW, claude_lines, upload

pytestmark = pytest.mark.django_db
ORIGINAL = "alpha answer 1"
SHA256 = hashlib.sha256(ORIGINAL.encode()).hexdigest()
MARKER = (
    f'[flowctx: TEXT compressed 14→4 chars. Retrieve original via flowctx_retrieve(hash="{SHA256[:24]}"). '
    "Expires in 30 minutes.]"
)


def ask(query: str) -> JobRow:
    job_id = retrieve.open_retrieve(query, now=NOW)
    retrieve.retrieve_original(job_id)
    return jobs.get_job(job_id)


@pytest.fixture
def read(data_dir: Path) -> JobRow:
    return upload(("a.jsonl", claude_lines(3)))


QUERIES = [SHA256, SHA256[:24], SHA256[:8].upper(), f"  sha256:{SHA256}\n", MARKER, f"some text\n{MARKER}\nmore text"]


@pytest.mark.parametrize("query", QUERIES)
def test_the_original_is_found_and_its_hash_proved(read: JobRow, query: str) -> None:
    job = ask(query)

    assert job.state == "done", job.outcome
    (found,) = job.result["originals"]
    assert (found["status"], found["sha256"], found["rehashed"]) == ("verified", SHA256, SHA256)
    assert found["places"] == [
        {"session_id": read.result["sessions"][0], "title": "alpha question 0", "message_indexes": [3]}
    ]
    assert "Verified" in job.outcome


def test_bytes_that_changed_are_a_mismatch(read: JobRow) -> None:
    pack = TextPackRecord.objects.get()
    raw = zstandard.ZstdDecompressor().decompress(bytes(pack.data))
    pack.data = zstandard.ZstdCompressor().compress(raw.replace(b"alpha answer 1", b"alpha answer 7"))
    pack.save()

    job = ask(SHA256)

    assert job.result["originals"][0]["status"] == "mismatch"
    assert "not the original" in job.outcome


def test_an_unknown_hash_is_missing(read: JobRow) -> None:
    job = ask("f" * 24)
    assert (job.state, job.result["originals"][0]["status"]) == ("done", "missing")
    assert "Nothing that was read here has the hash" in job.outcome


def test_a_short_beginning_that_fits_several_lists_them(read: JobRow, monkeypatch: pytest.MonkeyPatch) -> None:
    real = retrieve.texts.find_texts
    monkeypatch.setattr(retrieve.texts, "find_texts", lambda prefix: real(prefix) * 2)
    found = ask(SHA256[:6]).result["originals"][0]
    assert (found["status"], len(found["candidates"])) == ("ambiguous", 2)


def test_a_marker_whose_hash_was_taken_out_is_redacted(read: JobRow) -> None:
    job = ask('flowctx_retrieve(hash="[REDACTED]")')
    assert job.result["originals"][0]["status"] == "redacted"


@pytest.mark.parametrize("query", ["", "hello", "abc", "x" * 1000, "\x00\x00"])
def test_what_holds_no_hash_fails_with_what_to_paste(db: Any, query: str) -> None:
    job = ask(query)
    assert (job.state, job.may_retry) == ("failed", False)
    assert job.outcome.startswith("There is no hash in that.")


@pytest.mark.parametrize(("query", "says"), [
    ("file_0a1b2c3d4e5f6a7b", "in a file beside its store"),
    ("[LCM File: file_0a1b2c3d4e5f6a7b | report.csv | text/csv | 120,500 bytes]", "in a file beside its store"),
    ("sum_aa11", "open the Graph"),
])  # fmt: skip
def test_an_id_of_an_engines_own_store_is_missing_with_where_it_is_instead(read: JobRow, query: str, says: str) -> None:
    job = ask(query)
    assert (job.state, job.result["originals"][0]["status"]) == ("done", "missing")
    assert says in job.outcome
