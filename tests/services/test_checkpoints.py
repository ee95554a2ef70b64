"""Checkpoints of Entire and homes of agents' command lines, as they are imported."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.test import Client
from django.utils import timezone

from contextviz.services import digest, ingest
from contextviz.store.models import SessionRecord
from tests.sources.cursor import building as cursors
from tests.sources.declared import clients
from tests.sources.plain.reading import write, write_lines

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]


def imported(path: Path) -> None:
    """Import a folder, and read it."""
    assert digest.digest(ingest.import_paths([path], now=timezone.now()))


def checkpoint(folder: Path, place: str, upto: int) -> None:
    write_lines(folder / place / "full.jsonl", list(cursors.lines()[:upto]))
    told = {"checkpoint_id": "ab0123456789", "session_id": "c-1", "agent": "Cursor", "checkpoints_count": 1}
    write(folder / place / "metadata.json", told)


def test_a_later_checkpoint_brings_its_session_up_to_date_and_an_earlier_one_changes_nothing(tmp_path: Path) -> None:
    checkpoint(tmp_path / "one", "cd/0123456789/0", 3)
    checkpoint(tmp_path / "two", "ef/0123456789/0", 6)
    checkpoint(tmp_path / "three", "ab/0123456789/0", 2)

    for name, messages in (("one", 3), ("two", 4), ("three", 4)):
        imported(tmp_path / name)
        found = SessionRecord.objects.get()
        assert (found.source_id, found.message_count, found.format) == ("c-1", messages, "cursor")


def test_a_transcript_in_parts_is_one_session(tmp_path: Path) -> None:
    clients.entire(tmp_path)
    imported(tmp_path)
    found = SessionRecord.objects.get()
    assert (found.source_id, found.message_count) == ("c-1", 4)


def test_sessions_without_tokens_are_shown(client: Client, tmp_path: Path) -> None:
    for name in ("copilot_cli", "droid", "kiro", "cursor"):
        getattr(clients, name)(tmp_path / name)
    imported(tmp_path)

    assert SessionRecord.objects.count() == 8
    for session in SessionRecord.objects.all():
        for page in ("", "budget/", "calls/1/" if session.call_count else ""):
            assert client.get(f"/sessions/{session.pk}/{page}").status_code == 200, (session.format, page)
    assert client.get("/").status_code == client.get("/coverage/").status_code == 200


def test_homes_of_command_lines_and_editors_are_found(tmp_path: Path) -> None:
    write(tmp_path / ".copilot" / "config.json", {})
    clients.copilot_cli(tmp_path / ".copilot")
    clients.droid(tmp_path / ".factory")
    clients.kiro(tmp_path / ".kiro")
    clients.cursor(tmp_path / ".cursor")
    found = {(home.agent, home.files) for home in ingest.discover_homes(tmp_path)}
    assert found == {("GitHub Copilot CLI", 1), ("Factory Droid", 3), ("Kiro", 2), ("Cursor", 1)}
