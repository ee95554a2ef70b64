from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from contextviz.analysis.spend import per_day
from contextviz.analysis.windows import APPS, fill_window
from contextviz.events.call import ModelCall
from contextviz.events.session import Session, Transcript
from contextviz.events.usage import TokenUsage
from contextviz.sources.account_exports import TOLD_WHOLE
from contextviz.sources.features import features_of


def call(index: int, day: int, usage: TokenUsage) -> ModelCall:
    at = datetime(2026, 3, day, tzinfo=UTC)
    return ModelCall(index, None, None, at, "gpt-4o", usage, basis="unknown" if usage == TokenUsage() else "reported")


def test_a_day_of_which_nothing_is_known_is_not_a_day_of_zero_tokens() -> None:
    calls = [call(0, 1, TokenUsage()), call(1, 2, TokenUsage(input_tokens=5)), call(2, 2, TokenUsage()),
             call(3, 3, TokenUsage(input_tokens=0, output_tokens=0))]  # fmt: skip

    assert per_day(calls, ZoneInfo("UTC")) == {"2026-03-02": 5, "2026-03-03": 0}


@pytest.mark.parametrize(("name", "window"), [("openai-chat", 128_000), *((app, None) for app in sorted(APPS))])
def test_the_table_of_models_is_not_asked_for_what_a_chat_app_gives_a_model(name: str, window: int | None) -> None:
    transcript = Transcript(Session("s", name), calls=[call(0, 1, TokenUsage())])
    fill_window(transcript)

    assert transcript.session.window == window
    assert transcript.session.window_basis == ("table" if window else None)


def test_the_apps_are_those_whose_exports_are_read() -> None:
    assert APPS == TOLD_WHOLE


def test_calls_of_unknown_usage_are_no_calls_with_usage() -> None:
    transcript = Transcript(Session("s", "x"), calls=[call(0, 1, TokenUsage())])
    assert "calls" not in features_of(transcript)

    transcript.calls.append(call(1, 1, TokenUsage(input_tokens=5)))
    assert "calls" in features_of(transcript)
