"""Each reader's declaration against what its fixture shows: nothing declared that is not there, nothing kept back."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from contextviz.analysis.spend import CACHED_IS_INPUT
from contextviz.events.session import Transcript
from contextviz.sources.features import FEATURES, declared, features_of, from_bits, to_bits
from contextviz.sources.files import read_paths, walk
from contextviz.sources.registry import READERS
from contextviz.sources.source import ReadOptions
from contextviz.tokens.pool import MemoryPool
from tests.sources.declared import agents, clients, others

DECLARED = {name: one for reader in READERS for name, one in reader.declares.items()}
FIXTURES: dict[str, Callable[[Path], None]] = {
    "openclaw": agents.openclaw, "openclaw-sqlite": agents.openclaw_sqlite, "pi": agents.pi,
    "claude-code": agents.claude_code, "codex": agents.codex, "lossless-claw": agents.lossless_claw,
    "flowctx": agents.flowctx, "flowctx-dump": agents.flowctx_dump, "conversation-map": agents.conversation_map,
    "openvole": agents.openvole,
    "cortext": agents.cortext, "engine-log": agents.engine_log, "events": agents.events,
    "gemini-cli": agents.gemini_cli, "opencode": others.opencode, "openhands": others.openhands, "atif": others.atif,
    "swe-agent": others.swe_agent, "otlp": others.otlp, "openai-chat": others.openai_chat,
    "anthropic-messages": others.anthropic_messages, "openai-responses": others.openai_responses,
    "gemini-api": others.gemini_api, "chat-array": others.chat_array, "sharegpt": others.sharegpt,
    "copilot-cli": clients.copilot_cli, "droid": clients.droid, "kiro": clients.kiro, "cursor": clients.cursor,
    "chatgpt-export": others.chatgpt_export, "claude-ai-export": others.claude_ai_export,
}  # fmt: skip


def read(folder: Path) -> list[Transcript]:
    options = ReadOptions(MemoryPool(), datetime(2026, 12, 31, tzinfo=UTC))
    return [item for item in read_paths(list(walk(folder)), options) if isinstance(item, Transcript)]


def test_every_format_has_a_declaration_and_a_fixture() -> None:
    assert FIXTURES.keys() == DECLARED.keys()


@pytest.mark.parametrize("name", FIXTURES)
def test_a_reader_declares_what_its_fixture_shows(tmp_path: Path, name: str) -> None:
    FIXTURES[name](tmp_path)
    found = [one for one in read(tmp_path) if one.session.format == name]
    seen = set().union(*map(features_of, found))

    assert seen == DECLARED[name].features.keys()


@pytest.mark.parametrize("name", FIXTURES)
def test_what_is_said_of_cached_tokens_is_true_of_the_calls(tmp_path: Path, name: str) -> None:
    FIXTURES[name](tmp_path)
    calls = [call for one in read(tmp_path) if one.session.format == name for call in one.calls]
    cached = any(call.usage.cache_read_tokens is not None for call in calls)

    assert cached == (DECLARED[name].cached != "unwritten")


def test_formats_whose_input_holds_the_cached_tokens_say_it_in_their_own_words_too() -> None:
    assert {name for name, one in DECLARED.items() if one.cached == "inside"} == CACHED_IS_INPUT


def test_features_come_back_from_their_number_and_unknown_bits_are_passed_by() -> None:
    some = frozenset({"messages", "topics", "cost"})

    assert from_bits(to_bits(some)) == some
    assert from_bits(to_bits(FEATURES) | 1 << 62) == frozenset(FEATURES)
    assert to_bits(FEATURES) < 1 << 62


@pytest.mark.parametrize(("read_", "inferred"), [("messages nonsense", ""), ("messages", "messages")])
def test_a_declaration_of_what_there_is_not_is_refused(read_: str, inferred: str) -> None:
    with pytest.raises(ValueError, match="no features, or said twice"):
        declared(read_, inferred, cached="inside")
