"""What a client's own total has beyond the calls: on the session's pages and in the API, adding up to that total."""

from __future__ import annotations

import json
import re
from html import unescape
from pathlib import Path

import pytest
from django.test import Client

from contextviz.events.usage import TokenUsage
from contextviz.store.queries import sessions
from contextviz.store.values import ClientTotal, SessionRow
from contextviz.web.pages.unlogged import BASIS, beyond
from tests.services.building import claude_lines
from tests.sources.droid.building import full
from tests.web.folded import imported, queries_of, read_folder

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]
# full() of Droid: 105 tokens of the session's call and 54 of the sub-agent's, of 1,430 and 54 by their totals.
CALLS, REST, BOTH = 159, 1325, 1484


def words_of(client: Client, path: str) -> str:
    """A page's words, one space between them."""
    answer = client.get(path)
    assert answer.status_code == 200
    text = unescape(re.sub(r"<[^>]*>", " ", answer.content.decode()))
    return re.sub(r"\s+", " ", text).replace(" ,", ",").replace(" .", ".")


@pytest.fixture
def droid(tmp_path: Path) -> SessionRow:
    full(tmp_path)
    read_folder(tmp_path)
    return sessions.named("d-1")[0]


def with_bill(turns: int) -> str:
    """A Claude Code session whose client says what it cost, and has 7 more output tokens than its rows."""
    text = claude_lines(turns)
    usages = {
        row["message"]["id"]: row["message"]["usage"]
        for row in map(json.loads, text.splitlines())
        if row["type"] == "assistant"
    }
    sums = {name: sum(one.get(name) or 0 for one in usages.values()) for name in (
        "input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")}  # fmt: skip
    models = {"m": {"inputTokens": sums["input_tokens"], "outputTokens": sums["output_tokens"] + 7,
                    "cacheReadInputTokens": sums["cache_read_input_tokens"],
                    "cacheCreationInputTokens": sums["cache_creation_input_tokens"]}}  # fmt: skip
    bill = {"type": "cost-state", "sessionId": json.loads(text.splitlines()[0])["sessionId"], "totalCostUSD": 1.25,
            "modelUsage": models}  # fmt: skip
    return text + json.dumps(bill) + "\n"


def test_the_session_page_has_the_calls_the_remainder_and_both(client: Client, droid: SessionRow) -> None:
    page = words_of(client, f"/sessions/{droid.id}/")

    assert f"Tokens spent, reported by call {CALLS}" in page
    parts = "input 930, cache reads 270, cache writes 40, output 85"
    assert f"Beyond the calls {REST:,} tok ({parts}), {BASIS}" in page
    assert f"Tokens with the calls {BOTH:,}" in page


def test_the_budget_page_has_a_line_of_the_remainder(client: Client, droid: SessionRow) -> None:
    page = words_of(client, f"/sessions/{droid.id}/budget/")

    assert f"Beyond the calls {REST:,} tok {BASIS}" in page
    assert f"With the {CALLS} tok of the calls: {BOTH:,} tok" in page
    # The usage table: input with both cache kinds, of it cached, output; the em dash is said as "unknown" or drawn.
    assert re.search(rf"beyond the calls {BASIS} \S+ 1,240 270 85 ", page)
    assert re.search(r"with the calls \S+ 1,390 300 94 ", page)
    assert "without what the client's total has beyond them" in page


def test_the_api_has_the_remainder_beside_the_spend(client: Client, droid: SessionRow) -> None:
    one = client.get(f"/api/v1/sessions/{droid.id}").json()

    assert one["spend"]["total"] == {"tokens": CALLS, "basis": "reported"}
    rest = one["unlogged"]
    assert rest["kind"] == "client_total"
    assert [rest[name]["tokens"] for name in ("input", "cache_read", "cache_write", "output", "total")] == [
        930, 270, 40, 85, REST,
    ]  # fmt: skip
    assert rest["with_calls"] == {"tokens": BOTH, "basis": "reported"}
    assert rest["cost"] == one["client_cost"] == {"usd": None, "basis": "unknown"}


def test_what_the_client_says_that_all_cost_is_told(client: Client) -> None:
    row = imported(with_bill(2))

    assert "Cost by the client's own total $1.25, reported" in words_of(client, f"/sessions/{row.id}/")
    budget = words_of(client, f"/sessions/{row.id}/budget/")
    assert "Beyond the calls 7 tok" in budget and "own total cost is $1.25" in budget
    one = client.get(f"/api/v1/sessions/{row.id}").json()
    assert one["client_cost"] == {"usd": 1.25, "basis": "reported"}
    # The calls have no cost of their own, so that of the remainder is not known.
    assert one["unlogged"]["cost"] == {"usd": None, "basis": "unknown"}


def test_a_session_without_a_total_of_its_client_has_no_such_line(client: Client) -> None:
    row = imported(claude_lines(2))

    assert "beyond the calls" not in words_of(client, f"/sessions/{row.id}/").lower()
    assert "Beyond the calls" not in words_of(client, f"/sessions/{row.id}/budget/")
    one = client.get(f"/api/v1/sessions/{row.id}").json()
    assert one["unlogged"] is None and one["client_cost"] == {"usd": None, "basis": "unknown"}


def test_costs_are_added_only_where_both_are_as_recorded(droid: SessionRow) -> None:
    found = beyond(droid, ClientTotal(TokenUsage(input_tokens=5, cost_usd=0.5)))

    assert found is not None and found.whole.total_tokens == CALLS + 5
    assert droid.cost_basis != "reported" and found.cost is None


@pytest.mark.parametrize("path", ["", "budget/"])
def test_the_remainder_costs_no_query_that_a_session_without_one_does_not(client: Client, path: str) -> None:
    plain = imported(claude_lines(2))
    address = f"/sessions/{plain.id}/{path}"
    client.get(address)
    before = queries_of(lambda: client.get(address))

    billed = imported(with_bill(2))

    assert (billed.id, sessions.client_total(plain.id).beyond is not None) == (plain.id, True)
    client.get(address)
    assert queries_of(lambda: client.get(address)) == before
