"""Raw files as downloads."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.test import Client

from contextviz.services.demo.loading import open_demo
from contextviz.services.ingest import digest
from contextviz.store.models import ArtifactRecord
from tests.services.building import NOW, claude_lines, upload

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]


def test_a_raw_file_comes_back_byte_for_byte_and_is_never_interpreted(client: Client) -> None:
    text = claude_lines(2, word="<script>alert(1)</script>")
    upload(('proj/one "x".jsonl', text))
    sha256 = ArtifactRecord.objects.get().sha256

    answer = client.get(f"/artifacts/{sha256}/")

    assert b"".join(answer.streaming_content).decode() == text  # type: ignore[attr-defined]
    assert answer.headers["Content-Disposition"] == 'attachment; filename="one _x_.jsonl"'
    assert answer.headers["Content-Type"] == "application/octet-stream"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert int(answer.headers["Content-Length"]) == len(text.encode())


@pytest.mark.parametrize("sha256", ["0" * 64, "zz", "a" * 500])
def test_an_unknown_hash_is_404_with_a_sentence(client: Client, sha256: str) -> None:
    answer = client.get(f"/artifacts/{sha256}/")

    assert answer.status_code == 404
    assert "There is no file with the hash" in answer.content.decode()


def test_bytes_that_are_gone_are_told(client: Client, data_dir: Path) -> None:
    upload(("one.jsonl", claude_lines(1)))
    sha256 = ArtifactRecord.objects.get().sha256
    (data_dir / "artifacts" / sha256[:2] / sha256).unlink()

    answer = client.get(f"/artifacts/{sha256}/")

    assert answer.status_code == 404
    assert "Import it again" in answer.content.decode()


def test_an_agents_database_that_is_read_in_place_is_not_handed_out(client: Client) -> None:
    digest(open_demo(now=NOW))
    store = ArtifactRecord.objects.exclude(path="").get()

    answer = client.get(f"/artifacts/{store.sha256}/")

    assert answer.status_code == 403
    assert "credentials" in answer.content.decode()
