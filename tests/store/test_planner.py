"""What PostgreSQL's planner is told while an import fills the tables."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection

from contextviz.store import tables
from tests.services.building import claude_lines, upload

pytestmark = pytest.mark.usefixtures("data_dir")


def looked_at(queries: Any) -> int:
    """How many times it was asked to look."""
    return sum(query["sql"].startswith("ANALYZE") for query in queries)


def test_it_is_told_when_the_tables_doubled_and_never_on_sqlite(
    db: None, django_assert_max_num_queries: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tables, "MANY_ROWS", 10)
    planner = tables.Planner()
    with django_assert_max_num_queries(3) as asked:
        for rows in (9, 1, 9, 1, 19, 1):  # at 10, at 20, at 40
            planner.wrote(rows)
    assert looked_at(asked.captured_queries) == (3 if connection.vendor == "postgresql" else 0)


@pytest.mark.skipif("connection.vendor != 'postgresql'", reason="SQLite plans without it")
def test_what_was_imported_is_known_at_once(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "MANY_ROWS", 50)
    upload(("one.jsonl", claude_lines(120)))
    with connection.cursor() as cursor:
        cursor.execute("SELECT reltuples FROM pg_class WHERE relname = 'store_messagerecord'")
        assert cursor.fetchone()[0] >= 120
