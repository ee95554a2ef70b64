"""What a model call costs by OpenVole's own table (engines document, section 2.9)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

Mode = Literal["auto", "enabled", "disabled"]
MILLION = 1_000_000
# USD for a million tokens in and out. The order counts: the first that is a prefix, or has the model as one, is taken.
PRICES: dict[str, tuple[float, float]] = {
    "claude-sonnet-4-20250514": (3, 15),
    "claude-opus-4-20250514": (15, 75),
    "claude-haiku-4-20250514": (0.8, 4),
    "gpt-4o": (2.5, 10),
    "gpt-4o-mini": (0.15, 0.6),
    "gpt-4.1": (2, 8),
    "gpt-4.1-mini": (0.4, 1.6),
    "gpt-4.1-nano": (0.1, 0.4),
    "o3": (10, 40),
    "o3-mini": (1.1, 4.4),
    "o4-mini": (1.1, 4.4),
    "gemini-2.5-flash": (0.15, 0.6),
    "gemini-2.5-pro": (1.25, 10),
    "gemini-2.0-flash": (0.1, 0.4),
    "grok-3": (3, 15),
    "grok-3-mini": (0.3, 0.5),
}
OTHERWISE = (2.0, 8.0)
FREE = (0.0, 0.0)


@dataclass(frozen=True, slots=True)
class CostEntry:
    """One call: tokens, and USD."""

    input_tokens: float
    output_tokens: float
    input_cost: float
    output_cost: float
    model: str

    @property
    def total_cost(self) -> float:
        """Both ways together."""
        return self.input_cost + self.output_cost

    def plain(self) -> dict[str, Any]:
        """By the names that OpenVole gives them."""
        return {
            "inputTokens": self.input_tokens, "outputTokens": self.output_tokens, "inputCost": self.input_cost,
            "outputCost": self.output_cost, "totalCost": self.total_cost, "model": self.model,
        }  # fmt: skip


def usage_cost(input_tokens: Any, output_tokens: Any, model: str, provider: str | None = None,
               mode: Mode = "auto") -> CostEntry:  # fmt: skip
    """The entry of a call. What is no number counts as 0; with `disabled` everything is 0."""
    if mode == "disabled":
        return CostEntry(0, 0, 0, 0, model)
    given, made = _number(input_tokens), _number(output_tokens)
    price_in, price_out = FREE if _is_free(provider, model, mode) else price_of(model)
    return CostEntry(given, made, given / MILLION * price_in, made / MILLION * price_out, model)


def _is_free(provider: str | None, model: str, mode: Mode) -> bool:
    """Ollama costs nothing, except for the models that it runs elsewhere; `enabled` asks a price of everything."""
    return mode == "auto" and provider == "ollama" and ":cloud" not in model


def price_of(model: str) -> tuple[float, float]:
    """USD for a million tokens in and out: the model's own, else the first of the table that shares a beginning."""
    if model in PRICES:
        return PRICES[model]
    for name, price in PRICES.items():
        if model.startswith(name) or name.startswith(model):
            return price
    return OTHERWISE


def _number(value: Any) -> float:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else 0
