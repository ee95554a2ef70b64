"""What tokens cost: recorded first, then a person's own prices, then the table, else unknown."""

from __future__ import annotations

import json
from importlib.resources import files

import pytest

from contextviz.events.usage import TokenUsage
from contextviz.tokens.prices import BadPrice, cost, override, plain_name, priced, shipped, without_cache

USAGE = TokenUsage(
    input_tokens=1_000, cache_read_tokens=100_000, cache_write_tokens=20_000, output_tokens=2_000,
    cache_write_5m_tokens=15_000, cache_write_1h_tokens=5_000,
)  # fmt: skip


def test_a_recorded_cost_is_never_replaced():
    recorded = TokenUsage(input_tokens=10, output_tokens=10, cost_usd=0.5)

    found = cost(recorded, "claude-sonnet-4-5", shipped())

    assert (found.usd, found.basis) == (0.5, "reported")


def test_each_part_has_its_own_price():
    found = cost(USAGE, "claude-sonnet-4-5-20250929", shipped())

    # 1 k × 3 + 100 k × 0.3 + 15 k × 3.75 + 5 k × 6 + 2 k × 15, per million
    assert found.usd == pytest.approx(0.003 + 0.03 + 0.05625 + 0.03 + 0.03)
    assert found.basis == "table"


def test_without_the_cache_the_whole_prompt_is_plain_input():
    found = without_cache(USAGE, "claude-sonnet-4-5", shipped())

    assert found.usd == pytest.approx(121_000 * 3 / 1e6 + 0.03)


@pytest.mark.parametrize("model", [None, "", "a-model-nobody-sells", "claude-opus-4-99"])
def test_an_unknown_model_has_no_cost(model: str | None):
    assert cost(USAGE, model, shipped()).usd is None


def test_usage_that_is_not_whole_has_no_cost():
    assert cost(TokenUsage(input_tokens=5), "gpt-5", shipped()).usd is None
    assert cost(TokenUsage(output_tokens=5), "gpt-5", shipped()).usd is None


def test_a_prompt_longer_than_a_price_holds_for_has_no_cost():
    long = TokenUsage(input_tokens=250_000, output_tokens=1)

    assert cost(long, "claude-sonnet-4-5", shipped()).usd is None
    assert cost(long, "claude-3-opus", shipped()).usd is not None


def test_cache_writes_without_a_price_leave_the_cost_unknown():
    assert priced(USAGE, "gpt-5", shipped()).usd is None


@pytest.mark.parametrize(
    ("written", "plain"),
    [
        ("anthropic/claude-sonnet-4-5-20250929", "claude-sonnet-4-5"),
        ("us.anthropic.claude-sonnet-4-20250514-v1:0", "claude-sonnet-4"),
        ("claude-opus-4-5@20251101", "claude-opus-4-5"),
        ("claude-sonnet-4-5[1m]", "claude-sonnet-4-5"),
        ("GPT-5-Codex", "gpt-5-codex"),
        ("gpt-4o-2024-08-06", "gpt-4o"),
    ],
)
def test_a_model_is_known_without_provider_and_date(written: str, plain: str):
    assert plain_name(written) == plain
    assert shipped().of(written) is not None


def test_ones_own_price_goes_before_the_table():
    table = shipped().with_overrides({"claude-sonnet-*": {"input": "1", "output": 2}})

    found = cost(TokenUsage(input_tokens=1_000_000, output_tokens=1_000_000), "claude-sonnet-4-5", table, is_long=False)

    assert (found.usd, found.basis) == (3.0, "override")
    assert shipped().with_overrides({}) == shipped()


@pytest.mark.parametrize(
    ("pattern", "parts", "says"),
    [
        ("", {"input": 1, "output": 1}, "not a model's name"),
        ("a[b]", {"input": 1, "output": 1}, "not a model's name"),
        ("m", {"input": 1}, "no output price"),
        ("m", {"input": -1, "output": 1}, "0 or more"),
        ("m", {"input": "nan", "output": 1}, "0 or more"),
        ("m", {"input": "1e99", "output": 1}, "0 or more"),
        ("m", {"input": "lots", "output": 1}, "'lots'"),
    ],
)
def test_a_price_that_cannot_be_used_is_refused_with_a_sentence(pattern: str, parts: dict[str, object], says: str):
    with pytest.raises(BadPrice, match=says):
        override(pattern, parts)


def test_the_shipped_table_has_a_version_and_a_date_and_no_model_twice():
    table = shipped()
    names = [price.pattern for price in table.prices]

    assert table.version.startswith("prices/")
    assert len(table.date) >= 7
    assert len(names) == len(set(names))
    assert all(price.output >= price.input > 0 for price in table.prices)
    assert all(price.cache_read is None or price.cache_read < price.input for price in table.prices)


def test_every_row_of_the_shipped_table_says_where_it_was_checked():
    rows = json.loads(files("contextviz.tokens").joinpath("prices.json").read_text(encoding="utf-8"))["prices"]

    assert all(row["source"] for row in rows)


def test_a_part_that_was_not_found_leaves_the_cost_unknown_where_it_was_used():
    plain = TokenUsage(input_tokens=1_000, output_tokens=100)

    assert cost(plain, "o3", shipped()).usd == pytest.approx(0.002 + 0.0008)
    assert cost(TokenUsage(input_tokens=1, cache_read_tokens=1, output_tokens=1), "o3", shipped()).usd is None
