"""Context windows by model name: only what was looked up, else unknown."""

from __future__ import annotations

import pytest

from contextviz.tokens.windows import window_of


@pytest.mark.parametrize(
    ("model", "window"),
    [
        ("claude-sonnet-4-5-20250929", 200_000),
        ("anthropic/claude-3-5-haiku-20241022", 200_000),
        ("claude-sonnet-4-5[1m]", 1_000_000),
        ("claude-opus-5", 1_000_000),
        ("claude-opus-4-5-20251101", 200_000),
        ("claude-opus-4-8", None),
        ("gpt-5", 400_000),
        ("gpt-5.2-codex", 400_000),
        ("gpt-5-mini-2025-08-07", 400_000),
        ("gpt-5.2-chat-latest", 128_000),
        ("gpt-5.5", None),
        ("gpt-4.1-nano", 1_047_576),
        ("openai/gpt-4o-mini", 128_000),
        ("o4-mini", 200_000),
        ("o1-mini", 128_000),
        ("gemini-2.5-pro", 1_048_576),
        ("gemini-1.5-pro-latest", 2_097_152),
        ("gemini-9-ultra", None),
        ("a-model-nobody-sells", None),
        (None, None),
    ],
)
def test_a_window_is_of_the_models_that_were_looked_up(model: str | None, window: int | None) -> None:
    assert window_of(model) == window


def test_a_larger_prompt_shows_the_extended_window_and_invents_none() -> None:
    assert window_of("claude-sonnet-4-5", largest_prompt=250_000) == 1_000_000
    assert window_of("claude-sonnet-4-5", largest_prompt=1_500_000) is None
    assert window_of("gpt-5.5", largest_prompt=10) is None
