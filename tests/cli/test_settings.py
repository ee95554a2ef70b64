from __future__ import annotations

import stat
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from contextviz import settings as own


def test_a_postgresql_address_is_taken_apart() -> None:
    database = own.postgres_database("postgres://me:p%40ss@db.example:5433/my%20name?sslmode=require")

    assert (database["NAME"], database["USER"], database["PASSWORD"]) == ("my name", "me", "p@ss")
    assert (database["HOST"], database["PORT"]) == ("db.example", "5433")
    assert database["OPTIONS"]["sslmode"] == "require"


def test_a_unix_socket_is_named_by_its_folder() -> None:
    database = own.postgres_database("postgresql:///name?host=/run/postgresql")

    assert database["HOST"] == "/run/postgresql"
    assert "host" not in database["OPTIONS"]


def test_a_wrong_database_address_is_not_repeated() -> None:
    with pytest.raises(ImproperlyConfigured) as refusal:
        own.postgres_database("mysql://me:secret@host/name")
    assert "secret" not in str(refusal.value)


def test_a_secret_may_come_from_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "secret").write_text("from the file\n")
    monkeypatch.setenv("CONTEXTVIZ_SECRET_KEY_FILE", str(tmp_path / "secret"))

    assert own.env_secret("SECRET_KEY", "default") == "from the file"


def test_the_secret_key_is_made_once_and_private(tmp_path: Path) -> None:
    first = own.kept_secret_key(tmp_path)

    assert own.kept_secret_key(tmp_path) == first
    assert len(first) >= 50
    assert stat.S_IMODE((tmp_path / "secret_key").stat().st_mode) == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["secret_key"]
