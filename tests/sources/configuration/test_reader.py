"""What is kept of a configuration, and which session it is given to."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from contextviz.analysis.windows import fill_window
from contextviz.events.problem import ReadProblem
from contextviz.events.session import SourceFile, Transcript
from contextviz.sources.configuration.document import configuration, load
from contextviz.sources.files import read_paths, walk
from contextviz.sources.source import ReadItem, ReadOptions
from contextviz.tokens.pool import MemoryPool
from tests.sources.codex.building import Rollout
from tests.sources.configuration.configs import CODEX, FILES, OPENCLAW, OPENVOLE, PI_MODELS, PI_SETTINGS, PLANTED
from tests.sources.openclaw.build import script


def read(folder: Path) -> list[ReadItem]:
    return list(read_paths(list(walk(folder)), ReadOptions(MemoryPool(), datetime(2026, 12, 1, tzinfo=UTC))))


def sessions(folder: Path) -> dict[str, Transcript]:
    found = {item.session.id: item for item in read(folder) if isinstance(item, Transcript)}
    for transcript in found.values():
        fill_window(transcript)
    return found


def put(folder: Path, **files: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(text, "utf-8")


@pytest.mark.parametrize("name", FILES)
def test_nothing_but_allowed_settings_is_in_the_extract(name: str) -> None:
    loaded = load(f"home/{name}", FILES[name].encode())

    assert loaded is not None and loaded.kept and loaded.left_out
    assert PLANTED.encode() not in loaded.as_bytes()
    assert PLANTED not in repr(configuration(name, loaded))


def test_the_settings_of_openclaw_are_read_by_name() -> None:
    loaded = load("openclaw.json", OPENCLAW.encode())

    assert loaded is not None
    assert configuration("openclaw.json", loaded).settings == {
        "agents.defaults.compaction.keepRecentTokens": 3000,
        "agents.defaults.compaction.memoryFlush.enabled": True,
        "agents.defaults.compaction.memoryFlush.softThresholdTokens": 4000,
        "agents.defaults.compaction.mode": "safeguard",
        "agents.defaults.compaction.reserveTokens": 6000,
        "agents.defaults.compaction.reserveTokensFloor": 0,
        "agents.defaults.model.primary": "demo/demo-1",
        "agents.list.main.contextTokens": 32000,
        "models.providers.demo.models.demo-1.contextWindow": 40000,
        "models.providers.demo.models.demo-1.maxTokens": 4096,
        "plugins.entries.lossless-claw.config.contextThreshold": 0.5,
        "plugins.entries.lossless-claw.config.freshTailCount": 8,
        "plugins.entries.openclaw-openbrain-context.config.recentMessages": 20,
        "plugins.slots.contextEngine": "lossless-claw",
    }
    assert configuration("openclaw.json", loaded).engine == "lossless-claw"
    assert loaded.left_out == 22


@pytest.mark.parametrize("name", FILES)
def test_an_extract_is_read_like_the_file_it_is_of(name: str) -> None:
    first = load(name, FILES[name].encode())
    assert first is not None

    assert load(name, first.as_bytes()) == first


def test_a_made_up_extract_brings_nothing_in() -> None:
    rows = [[["gateway", "auth", "token"], "x-planted"], [["agents", "defaults", "contextTokens"], "x-planted"],
            [["agents", "defaults", "contextTokens"], 9000], ["x", 1], None, [[1, 2], 3]]  # fmt: skip
    made = {"extract": "contextviz.configuration/1", "agent": "openclaw", "settings": rows, "problem": "x-planted"}
    loaded = load("openclaw.json", json.dumps(made).encode())

    assert loaded is not None and loaded.problem is not None and "x-planted" not in loaded.problem
    assert dict(loaded.kept) == {("agents", "defaults", "contextTokens"): 9000}


@pytest.mark.parametrize(
    "value", ["sk-live-0123456789abcdefABCDEF", "a" * 81, "x y", "AbCd0123456789EfGh4567", "ghp_" + "a1" * 18, 7, None]
)
def test_a_name_that_may_be_a_key_is_not_kept(value: object) -> None:
    document = {"plugins": {"slots": {"contextEngine": value}}, "models": {"providers": {str(value): {
        "models": [{"id": "m", "contextWindow": 5000}]}}}}  # fmt: skip
    loaded = load("openclaw.json", json.dumps(document).encode())

    assert loaded is not None
    assert ("plugins", "slots", "contextEngine") not in loaded.kept
    assert isinstance(value, int) or value is None or not loaded.kept


def test_a_window_and_a_threshold_come_from_codexs_configuration_where_the_rollout_has_none(tmp_path: Path) -> None:
    rollout = Rollout()
    rollout.turn()
    rollout.message("user", "hello")
    rollout.message("assistant", "hi")
    rollout.record("r-1", 100, 0, 5)
    rollout.write(tmp_path / "sessions" / "rollout-a.jsonl")
    put(tmp_path, config__toml=CODEX)

    (found,) = sessions(tmp_path).values()

    assert (found.session.window, found.session.window_basis) == (24000, "configuration")
    assert found.session.compaction_threshold == 15000
    assert found.files == ["sessions/rollout-a.jsonl", "config.toml"]


def test_a_window_that_the_source_reports_stays(tmp_path: Path) -> None:
    rollout = Rollout()
    rollout.turn()
    rollout.message("assistant", "hi")
    rollout.usage(100, 0, 5)
    rollout.write(tmp_path / "rollout-a.jsonl")
    put(tmp_path, config__toml=CODEX)

    (found,) = sessions(tmp_path).values()

    assert (found.session.window, found.session.window_basis) == (100_000, "reported")
    assert found.session.compaction_threshold == 15000


def test_openclaws_window_is_the_smaller_of_the_agents_and_the_models_and_its_engine_sets_the_threshold(
    tmp_path: Path,
) -> None:
    talk = script("s-1")
    talk.user("a")
    talk.answer("b")
    talk.save(tmp_path / "agents" / "main" / "sessions" / "s-1.jsonl")
    put(tmp_path, openclaw__json=OPENCLAW)

    found = sessions(tmp_path)["s-1"].session

    assert (found.window, found.window_basis, found.compaction_threshold) == (32000, "configuration", 16000)
    assert found.configuration is not None and found.configuration.engine == "lossless-claw"


@pytest.mark.parametrize(("change", "threshold"), [("", 34000), ("Floor: 0", None), ("Tokens: 6000", None)])
def test_the_built_in_engine_compacts_below_its_reserve_and_a_default_is_not_guessed(
    tmp_path: Path, change: str, threshold: int | None
) -> None:
    text = OPENCLAW.replace("lossless-claw", "legacy").replace("contextTokens: 32000", "x: 1")
    if change:
        text = text.replace(f"reserveTokens{change}," if "Floor" in change else f"reserve{change},", "")
    talk = script("s-1")
    talk.user("a")
    talk.answer("b")
    talk.save(tmp_path / "agents" / "main" / "sessions" / "s-1.jsonl")
    put(tmp_path, openclaw__json=text)

    found = sessions(tmp_path)["s-1"].session

    assert (found.window, found.compaction_threshold) == (40000, threshold)


def test_pis_two_files_are_one_configuration(tmp_path: Path) -> None:
    talk = script("s-1")
    talk.user("a")
    talk.answer("b")
    talk.save(tmp_path / "sessions" / "--srv--" / "2026-03-02T10-00-00-000Z_s-1.jsonl")
    put(tmp_path, settings__json=PI_SETTINGS, models__json=PI_MODELS)

    found = sessions(tmp_path)["s-1"].session

    assert (found.format, found.window, found.window_basis) == ("pi", 16000, "configuration")
    assert found.compaction_threshold == 12000
    assert found.configuration is not None and found.configuration.files == ("models.json", "settings.json")


def test_the_nearest_configuration_above_a_session_is_its_own(tmp_path: Path) -> None:
    for home, window in (("a", 24000), ("b", 48000)):
        rollout = Rollout(thread=f"019e0000-000{home}-7000-8000-000000000001")
        rollout.turn()
        rollout.message("assistant", f"hi {home}")
        rollout.record(f"r-{home}", 100, 0, 5)
        rollout.write(tmp_path / home / "sessions" / f"rollout-{home}.jsonl")
        put(tmp_path / home, config__toml=CODEX.replace("24000", str(window)))

    assert sorted(one.session.window or 0 for one in sessions(tmp_path).values()) == [24000, 48000]


def test_two_configurations_of_which_none_is_above_are_told_and_not_used(tmp_path: Path) -> None:
    rollout = Rollout()
    rollout.turn()
    rollout.message("assistant", "hi")
    rollout.record("r-1", 100, 0, 5)
    rollout.write(tmp_path / "c" / "rollout.jsonl")
    put(tmp_path / "a", config__toml=CODEX)
    put(tmp_path / "b", config__toml=CODEX.replace("24000", "48000"))

    (found,) = sessions(tmp_path).values()

    assert found.session.configuration is None and found.session.window is None
    (told,) = [one for one in found.problems if one.code == "several_configurations"]
    assert "a/config.toml, b/config.toml" in told.message


def test_a_configuration_of_another_program_is_not_used(tmp_path: Path) -> None:
    talk = script("s-1")
    talk.user("a")
    talk.answer("b")
    talk.save(tmp_path / "agents" / "main" / "sessions" / "s-1.jsonl")
    put(tmp_path, config__toml=CODEX, vole__config__json=OPENVOLE)

    assert sessions(tmp_path)["s-1"].session.configuration is None


def test_a_damaged_configuration_is_told_without_its_words(tmp_path: Path) -> None:
    put(
        tmp_path, openclaw__json=OPENCLAW.replace("plugins:", "plugins"), config__toml=CODEX.replace("model =", "model")
    )
    items = read(tmp_path)

    problems = [item for item in items if isinstance(item, ReadProblem)]
    assert [(one.file, one.code) for one in problems] == [
        ("config.toml", "unreadable_configuration"), ("openclaw.json", "unreadable_configuration"),
    ]  # fmt: skip
    assert "line 16 is not JSON5" in problems[1].message
    assert PLANTED not in repr(items)
    assert {item.role for item in items if isinstance(item, SourceFile)} == {"index"}


@pytest.mark.parametrize("name", ["auth.json", "openclaw.json.bak", "openclaw.json~", "settings.json", ".env"])
def test_lists_of_keys_backups_and_other_programs_settings_are_passed_by(tmp_path: Path, name: str) -> None:
    put(tmp_path)
    (tmp_path / name).write_text('{"theme": "dark"}', "utf-8")
    (only,) = [item for item in read(tmp_path) if isinstance(item, SourceFile)]

    assert (only.role, only.is_counted) == ("ignored", False)
    assert only.reason == "a configuration or a list of keys; nothing of it is read"


def test_a_request_body_is_no_configuration(tmp_path: Path) -> None:
    body = {
        "model": "m",
        "messages": [{"role": "user", "content": "hi"}],
        "plugins": {"slots": {}},
        "agents": {"list": []},
    }
    put(tmp_path, body__json=json.dumps(body))

    assert [one.session.format for one in sessions(tmp_path).values()] == ["openai-chat"]
