"""What a session costs in lists: the budget's own sum, kept with it, and worked out again when prices change."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from contextviz.analysis.budget import bill
from contextviz.services.budget.costs import refresh_costs
from contextviz.services.budget.prices import price_table, remove_price, save_price
from contextviz.services.budget.tables import budget_of
from contextviz.store.models import BudgetRecord, SessionRecord
from contextviz.store.queries.sessions import get_session
from tests.accounts.cast import session_of, upload_as
from tests.services.building import NOW

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]
# 1 k × 3 + 100 k × 0.3 + 2 k × 15, per million
ONE_CALL = 0.003 + 0.03 + 0.03


def session(*models: str, number: int = 1) -> int:
    """A session of one call with each model, 1 k fresh, 100 k from the cache and 2 k out."""
    usage = {"input_tokens": 1_000, "cache_read_input_tokens": 100_000, "output_tokens": 2_000}
    rows: list[dict[str, Any]] = [{"type": "user", "message": {"role": "user", "content": f"go {number}"}}]
    for at, model in enumerate(models):
        answer = {"id": f"m{number}-{at}", "role": "assistant", "model": model, "usage": usage}
        rows.append({"type": "assistant", "message": answer | {"content": [{"type": "text", "text": f"done {at}"}]}})
    for at, row in enumerate(rows):
        row |= {"sessionId": f"0b1c2d3e-0000-4000-8000-{number:012d}", "uuid": f"u{number}-{at}", "isSidechain": False,
                "parentUuid": f"u{number}-{at - 1}" if at else None, "timestamp": f"2026-02-01T09:00:{at:02d}Z",
                "cwd": "/w", "version": "2.0.1"}  # fmt: skip
    return session_of(upload_as(None, (f"{number}.jsonl", "".join(json.dumps(row) + "\n" for row in rows))))


def test_a_session_costs_what_its_budget_says() -> None:
    key = session("claude-sonnet-4-5", "claude-sonnet-4-5", "a-model-nobody-sells")

    row, table = get_session(key), budget_of(key)

    assert row.cost_usd == pytest.approx(2 * ONE_CALL)
    assert (row.cost_basis, row.cost_unpriced_calls) == ("derived", 1)
    assert table is not None and bill(table.usage, price_table()).usd == row.cost_usd


def test_without_a_price_the_cost_is_unknown_and_never_zero() -> None:
    row = get_session(session("a-model-nobody-sells"))

    assert (row.cost_usd, row.cost_basis, row.cost_unpriced_calls) == (None, "unknown", 1)


def test_the_library_the_api_and_the_session_page_show_it_with_its_basis(client: Client) -> None:
    key = session("claude-sonnet-4-5", "a-model-nobody-sells")

    library = client.get(reverse("library")).content.decode()
    page = client.get(reverse("session", args=[key])).content.decode()
    found = client.get(f"/api/v1/sessions/{key}").json()["cost"]
    calls = [call["cost"] for call in client.get(f"/api/v1/sessions/{key}/calls").json()["items"]]

    assert "$0.06" in library and "without 1 call<" in library
    assert "Cost, from prices" in page and "without 1 call that has no price" in page
    assert found == {"usd": pytest.approx(ONE_CALL), "basis": "derived", "unpriced_calls": 1}
    assert calls == [{"usd": pytest.approx(ONE_CALL), "basis": "derived"}, {"usd": None, "basis": "unknown"}]


def test_a_price_of_ones_own_holds_in_lists_at_once(client: Client) -> None:
    key = session("claude-sonnet-4-5")
    own = {"input": "0", "cache_read": "0", "output": "1000"}

    client.post(reverse("prices"), {"action": "price", "pattern": "claude-*", **own})
    assert get_session(key).cost_usd == pytest.approx(2.0)
    client.post(reverse("prices"), {"action": "remove_price", "pattern": "claude-*"})
    assert get_session(key).cost_usd == pytest.approx(ONE_CALL)


def test_what_an_earlier_version_kept_is_worked_out_again_and_then_left_alone(
    django_assert_num_queries: Any,
) -> None:
    keys = [session("claude-sonnet-4-5", number=number) for number in (1, 2, 3)]
    SessionRecord.objects.update(cost_usd=None, cost_basis="unknown", cost_prices="")
    BudgetRecord.objects.filter(session_id=keys[2]).delete()

    assert refresh_costs() == 3
    assert [get_session(key).cost_usd for key in keys] == [pytest.approx(ONE_CALL)] * 3

    with django_assert_num_queries(2):
        assert refresh_costs() == 0
    save_price("other-model", {"input": 1, "output": 1}, now=NOW)
    with django_assert_num_queries(5):  # prices, stale ones, budgets, the calls of the one without, the update
        assert refresh_costs() == 3
    remove_price("other-model")
