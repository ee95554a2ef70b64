"""The coverage page: what readers declare beside what the sessions here have."""

from __future__ import annotations

import pytest
from django.test import Client

from contextviz.sources.features import FEATURES, from_bits
from contextviz.sources.naming import format_name
from contextviz.sources.registry import READERS
from contextviz.store.models import SessionRecord
from contextviz.web.pages.guide.coverage import Cell, CoveragePage, coverage_page
from tests.accounts.cast import Cast, the_cast, upload_as
from tests.services.building import claude_lines, upload

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]


def cell(page: CoveragePage, name: str, key: str) -> Cell:
    for matrix in page.matrices:
        for place, column in enumerate(matrix.columns):
            if column.name == name:
                return next(line for line in matrix.lines if line.label == FEATURES[key]).cells[place]
    raise AssertionError(name)


def test_every_declared_format_has_one_column_and_every_feature_one_row() -> None:
    page = coverage_page()
    names = [column.name for matrix in page.matrices for column in matrix.columns]

    declared = [name for reader in READERS for name in reader.declares]
    assert sorted(names) == sorted(format_name(name) for name in declared)
    assert len(set(names)) == len(declared) and not set(names) & {"copilot-cli", "kiro", "otlp", "openai-chat"}
    assert all([line.label for line in matrix.lines] == list(FEATURES.values()) for matrix in page.matrices)


def test_the_four_states_come_from_the_declaration_and_the_sessions() -> None:
    upload(("a.jsonl", claude_lines(2)))
    page = coverage_page()

    assert cell(page, "Claude Code", "calls") == Cell("observed", 1, "observed in 1 session")
    assert cell(page, "Claude Code", "compactions") == Cell("supported", 0, "supported, none seen")
    assert cell(page, "Claude Code", "rebuilt") == Cell("inferred", 1, "inferred in 1 session")
    assert cell(page, "Claude Code", "topics") == Cell("unsupported", 0, "unsupported")
    assert cell(page, "Codex", "trigger") == Cell("inferred", 0, "inferred, none seen")
    column = next(one for matrix in page.matrices for one in matrix.columns if one.name == "Claude Code")
    assert (column.sessions, column.versions, column.cached) == (1, "2.1.0", "beside the input")


def test_a_session_keeps_the_features_it_has() -> None:
    upload(("a.jsonl", claude_lines(2)))
    features = from_bits(SessionRecord.objects.get().features or 0)

    assert {"messages", "times", "calls", "cache_reads", "cache_writes", "rebuilt"} <= features
    assert not {"compactions", "images", "topics"} & features


def test_a_session_that_was_read_before_features_were_kept_is_told_apart() -> None:
    upload(("a.jsonl", claude_lines(2)))
    SessionRecord.objects.update(features=None)
    page = coverage_page()

    assert (page.sessions, page.older) == (1, 1)
    assert cell(page, "Claude Code", "calls").state == "supported"


@pytest.fixture
def cast() -> Cast:
    return the_cast()


def test_a_private_session_counts_for_its_owner_alone(cast: Cast) -> None:
    upload_as(cast.alice, ("a.jsonl", claude_lines(2)), is_private=True)
    shown = {who: client.get("/coverage/").content.decode() for who, client in cast.clients().items()}

    assert "observed in 1 session" in shown["alice"]
    assert "observed in 1 session" not in shown["bob"]


def test_the_page_is_the_same_number_of_queries_for_any_number_of_sessions(
    cast: Cast, django_assert_max_num_queries: object
) -> None:
    client: Client = cast.clients()["alice"]
    client.get("/coverage/")
    with django_assert_max_num_queries(12) as first:  # type: ignore[operator]
        client.get("/coverage/")
    for number in range(3):
        upload((f"{number}.jsonl", claude_lines(1, session=f"0b1c2d3e-0000-4000-8000-00000000001{number}")))
    with django_assert_max_num_queries(len(first)):  # type: ignore[operator]
        client.get("/coverage/")
