"""The budget page: filled, bounded, the same number of queries at any length, and honest about what is unknown."""

from __future__ import annotations

import json
import re
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest
from django.test import Client

from contextviz.charts.figure import MAX_NODES
from contextviz.services.budget import tables
from contextviz.services.budget.tables import budget_of, compute_budget
from contextviz.store.models import BudgetRecord, PriceRecord
from contextviz.store.values import SessionRow
from contextviz.web.pages.budget.figures import _headroom
from tests.services.building import claude_lines
from tests.web.folded import HOSTILE, SECRET, chat, imported, queries_of, store_session

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]
SECTIONS = ("went", "over", "heavy", "prefix", "by-tool", "by-file", "again", "economics")


def shown(client: Client, row: SessionRow, query: str = "") -> str:
    answer = client.get(f"/sessions/{row.id}/budget/{query}")
    assert answer.status_code == 200
    return answer.content.decode().replace("\u00a0", " ")


def costs(client: Client, row: SessionRow) -> list[str]:
    return re.findall(r"<dt>Cost.*?</div>", shown(client, row), re.DOTALL)


def figure(client: Client, row: SessionRow, name: str) -> Any:
    answer = client.get(f"/sessions/{row.id}/figures/budget-{name}")
    assert answer.status_code == 200
    return json.loads(answer.content)


def test_the_page_has_every_section_and_its_tables_add_up(client: Client):
    row = imported(chat(2))

    page = shown(client, row)

    assert all(f'id="{name}"' in page for name in SECTIONS)
    assert page.count("<h1") == 1
    assert "<script>" not in page
    table = budget_of(row.id)
    assert table is not None
    assert sum(group.carry for group in table.groups) + table.carry_residual == table.prompt_tokens
    assert f'<td class="num">{table.prompt_tokens:,}</td>' in page
    assert "gpt-5-mini" in page


def test_a_missing_budget_is_computed_for_its_page_or_offered_where_that_takes_long(
    client: Client, monkeypatch: pytest.MonkeyPatch
):
    row = imported(chat(1))
    kept = budget_of(row.id)
    BudgetRecord.objects.all().delete()

    assert "Not computed" not in shown(client, row)
    assert budget_of(row.id) == kept

    BudgetRecord.objects.all().delete()
    monkeypatch.setattr(tables, "MOST_AT_ONCE", 1)
    assert "Not computed for this session yet" in shown(client, row)


def test_the_budget_is_kept_with_the_session_and_computing_it_again_changes_nothing(
    client: Client, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(tables, "MOST_AT_ONCE", 1)
    row = imported(chat(1))
    kept = budget_of(row.id)

    assert compute_budget(row.id) == kept

    BudgetRecord.objects.all().delete()
    assert "Not computed for this session yet" in shown(client, row)
    answer = client.post(f"/sessions/{row.id}/budget/compute/")
    assert (answer.status_code, answer.headers["Location"]) == (303, f"/sessions/{row.id}/budget/")
    assert budget_of(row.id) == kept


def test_queries_and_bytes_do_not_follow_the_length(client: Client):
    short, long = imported(claude_lines(3)), imported(claude_lines(150, session="0b1c2d3e-0000-4000-8000-0000000000ff"))
    for path in ("budget/", "figures/budget-treemap.json", "figures/budget-calls.json", "figures/budget-prefix.json"):
        client.get(f"/sessions/{short.id}/{path}")
        counts = {queries_of(partial(client.get, f"/sessions/{row.id}/{path}")) for row in (short, long)}
        assert len(counts) == 1, path
        assert 3 <= max(counts) <= 16
        assert len(client.get(f"/sessions/{long.id}/{path}").content) < 150_000


def test_figures_answer_every_parameter_and_shrug_at_others(client: Client):
    row = imported(chat(2))

    for view in ("category", "tool", "file", "nonsense"):
        for measure in ("carry", "now", "x"):
            found = figure(client, row, f"treemap.json?view={view}&of={measure}")
            assert len(found["data"][0]["ids"]) <= MAX_NODES
    for mode in ("tokens", "share", "headroom", "nonsense"):
        assert figure(client, row, f"calls.json?chart={mode}")["layout"]["meta"]["summary"]
    assert figure(client, row, "prefix.json")["layout"]["meta"]["summary"]


def test_the_state_of_the_page_is_in_its_address(client: Client):
    row = imported(chat(1))

    page = shown(client, row, "?view=tool&of=now&chart=share&all=items")

    assert "budget-treemap.json?view=tool&amp;of=now" in page
    assert "budget-calls.json?chart=share" in page
    assert 'href="?of=now&amp;chart=share&amp;all=items"' in page  # back to the default view, all else kept


def test_unknown_is_a_dash_and_a_session_without_calls_says_why(client: Client, tmp_path: Any):
    page = shown(client, imported(claude_lines(2)))
    assert 'aria-label="unknown"' in page

    assert "holds no model calls" in shown(client, store_session(tmp_path))
    assert client.get("/sessions/999999/budget/").status_code == 404
    assert client.get("/sessions/999999/figures/budget-treemap.json").status_code == 404


def test_words_of_a_transcript_are_escaped_and_secrets_masked(client: Client):
    row = imported(chat(1, words=f"{HOSTILE} {SECRET} " + "look " * 50))

    page = shown(client, row, "?all=items").partition("<main")[2]

    assert HOSTILE not in page
    assert SECRET not in page


# ---- prices ----------------------------------------------------------------------------------------------------------
def test_ones_own_price_changes_every_session_at_once_and_can_be_taken_back(client: Client):
    row = imported(chat(1))
    before = costs(client, row)
    typed = {"action": "price", "pattern": "GPT-5-mini", "input": "1000", "output": "2000", "cache_read": "1"}

    answer = client.post("/settings/prices/", typed)

    assert (answer.status_code, answer.headers["Location"]) == (303, "/settings/prices/")
    page = client.get("/settings/prices/").content.decode()
    assert "The price of gpt-5-mini is kept" in page
    assert "$1,000" in page
    assert costs(client, row) != before
    client.post("/settings/prices/", {"action": "remove_price", "pattern": "gpt-5-mini"})
    assert costs(client, row) == before


def test_ones_own_window_gives_a_headroom_where_none_is_reported(client: Client):
    row = imported(claude_lines(3))
    model = row.model or ""

    client.post("/settings/prices/", {"action": "window", "pattern": f"{model[:4]}*", "tokens": "123,000"})

    assert "until 123.0 k" in shown(client, row)
    client.post("/settings/prices/", {"action": "remove_window", "pattern": f"{model[:4].lower()}*"})
    assert "until 123.0 k" not in shown(client, row)


@pytest.mark.parametrize(
    ("typed", "says"),
    [
        ({"action": "price", "pattern": "m", "input": "x", "output": "1"}, "The input price of m is"),
        ({"action": "price", "pattern": "<b>", "input": "1", "output": "1"}, "is not a model"),
        ({"action": "window", "pattern": "m", "tokens": "many"}, "is not a window"),
        ({"action": "window", "pattern": "m", "tokens": "5"}, "is not a window"),
        ({"action": "else"}, "Nothing was changed"),
        ({}, "Nothing was changed"),
    ],
)
def test_a_price_that_cannot_be_kept_is_refused_with_what_was_typed(client: Client, typed: dict[str, str], says: str):
    answer = client.post("/settings/prices/", typed)

    page = answer.content.decode()
    assert answer.status_code == 422
    assert says in page
    assert not PriceRecord.objects.exists()
    if typed.get("pattern") == "m" and typed["action"] == "price":
        assert 'value="x"' in page


def test_pages_need_a_sign_in(anonymous_client: Client):
    for path in ("/sessions/1/budget/", "/settings/prices/", "/sessions/1/figures/budget-treemap.json"):
        assert anonymous_client.get(path).status_code in (302, 303, 401, 403)
    assert anonymous_client.post("/sessions/1/budget/compute/").status_code in (302, 303, 401, 403)


def test_the_chart_over_calls_has_a_legend_of_the_categories_that_it_shows(client: Client):
    row = imported(chat(2))

    legend = shown(client, row).split('class="budget-legend"')[1].split("</ul>")[0]

    table = budget_of(row.id)
    assert table is not None
    held = {group.category for group in table.groups if group.carry}
    assert legend.count("<li>") == len(held) > 1
    headroom = shown(client, row, "?chart=headroom")
    assert 'class="budget-legend"' not in headroom
    assert "Room that is left in the window over" in headroom and "Window tokens by category" not in headroom


@pytest.mark.parametrize(
    ("slow", "says"), [(13, "; ~13 calls"), (60, "; ~13 to 60 calls"), (1_440, "; ~13 calls or more")]
)
def test_headroom_leaves_out_a_slow_end_that_is_far_from_the_fast_one(slow: int, says: str):
    room = SimpleNamespace(room=35_600, limit=64_000, threshold=None, calls_left=(13, slow))

    assert _headroom(room).note.endswith(says)  # type: ignore[arg-type]
