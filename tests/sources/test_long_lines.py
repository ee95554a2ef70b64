"""A file whose first line is longer than a record can be: it is said which line, and what to do."""

from __future__ import annotations

from pathlib import Path

import pytest

from contextviz.sources import files
from contextviz.sources.files import probe, why_ignored


def test_a_line_that_is_too_long_is_named_with_a_way_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "PROBE_BYTES", 1024 * 1024)
    path = tmp_path / "one.jsonl"
    path.write_text("[]\n" + '{"a": "' + "x" * 1_100_000 + '"}\n')

    assert why_ignored(probe(path)) == (
        "line 2 is longer than 1 MiB, too long for a record, and no line is one; "
        "write one record a line, and import it again"
    )


def test_short_lines_that_are_no_records_are_no_long_ones(tmp_path: Path) -> None:
    path = tmp_path / "one.txt"
    path.write_text("hello\n" * 10)

    assert why_ignored(probe(path)) == "not a transcript: no JSON records in it"


def test_a_list_of_records_is_json_that_nobody_knows_and_an_empty_one_is_empty(tmp_path: Path) -> None:
    path = tmp_path / "users.json"
    path.write_text('[{"email_address": "me@example.org"}]')
    assert why_ignored(probe(path)) == "JSON of a kind that no reader knows"

    path.write_text(" [ ]\n")
    assert why_ignored(probe(path)) == "an empty JSON list: no records in it"
