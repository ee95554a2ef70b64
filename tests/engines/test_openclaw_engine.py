"""OpenClaw's built-in engine: cuts and pruning counted by hand, and every compaction that it recorded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from contextviz.engines.hosts.folding import message_tokens
from contextviz.engines.hosts.openclaw import RESERVE_SHARE, TAIL_SHARE, OpenClaw, openclaw_cut
from contextviz.engines.hosts.pi import cut
from contextviz.engines.hosts.pruning import PLACEHOLDER
from contextviz.engines.material import CallPoint, Material
from contextviz.events.message import Role
from tests.engines import samples
from tests.engines.building import START, message, run, session
from tests.engines.short import FORTY, chain, turns

FOLDERS = ("oc-legacy", "oc-cachetrace")
KEEPS = 3000  # what both were configured with


@pytest.mark.parametrize(("roles", "keep", "share", "expected"), [
    # pi would cut at place 4 of these; half of its tail begins at the newest answer that fits.
    ("uatauatu", 40, 1.0, 4), ("uatauatu", 40, 0.5, 7), ("uatauaau", 40, 0.5, 6),
    # Nothing fits: the newest place where a tail may begin stays.
    ("uatuatt", 30, 0.1, 5 - 1), ("uaua", 40, 0.5, 0), ("", 10, 0.5, 0),
])  # fmt: skip
def test_the_tail_is_a_share_of_pi_s(roles: str, keep: int, share: float, expected: int) -> None:
    messages = chain(roles)
    assert openclaw_cut(messages, [10] * len(messages), keep, share) == expected


def test_the_reserve_is_no_more_than_its_share_of_the_window() -> None:
    made = run(OpenClaw, session(turns(10)), window=100, keepRecentTokens=40)
    first = made.boundaries[0]
    # 20,000 tokens of reserve would be more than all: a quarter of the window is kept free.
    assert first.compaction.tokens_before == 80
    assert first.compaction.tokens_after is not None


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_recorded_cut_is_where_the_rule_puts_it(shared: Path, folder: str) -> None:
    """All five, with tailShare fitted to them; pi's own rule gives none of them."""
    found, _ = samples.sample(shared / "samples" / folder)
    material = samples.material(shared / "samples" / folder)
    told = [one for one in found[0].compactions if one.on_active_path]
    assert len(told) == {"oc-legacy": 3, "oc-cachetrace": 2}[folder]
    sizes = [message_tokens(one) for one in material.messages]
    start = 0
    for one, summary in zip(told, material.summaries, strict=True):
        messages, counted = material.messages[start : summary.messages], sizes[start : summary.messages]
        at = openclaw_cut(messages, counted, KEEPS, TAIL_SHARE)
        first = next(entry for entry in one.kept if any(entry == m.id for m in material.messages))
        assert messages[at].id == first
        by_pi = cut(messages, counted, KEEPS)
        assert messages[by_pi].id != first
        start += at


@pytest.mark.parametrize("share", [0.55, 0.7])
def test_another_share_misses_so_the_fit_is_narrow(shared: Path, share: float) -> None:
    found, _ = samples.sample(shared / "samples" / "oc-legacy")
    material = samples.material(shared / "samples" / "oc-legacy")
    end = material.summaries[0].messages
    messages = material.messages[:end]
    at = openclaw_cut(messages, [message_tokens(one) for one in messages], KEEPS, share)
    assert messages[at].id not in found[0].compactions[0].kept[:1]
    assert messages[at].seq != 51


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_recorded_compaction_follows_the_first_call_over_the_limit(shared: Path, folder: str) -> None:
    found, _ = samples.sample(shared / "samples" / folder)
    made = found[0]
    assert made.session.window is not None
    limit = made.session.window * (1 - RESERVE_SHARE)
    over = [call.index for call in made.calls if (call.usage.total_tokens or 0) > limit]
    assert over == [one.before_call for one in made.compactions]


def test_a_replay_of_its_own_session_folds_near_where_it_did(shared: Path) -> None:
    folder = shared / "samples" / "oc-legacy"
    made = run(OpenClaw, samples.material(folder), keepRecentTokens=KEEPS)
    own = [one.messages for one in samples.material(folder).summaries]
    assert [abs(boundary.messages - at) <= 8 for boundary, at in zip(made.boundaries, own, strict=True)] == [True] * 3


def old_results(chars: int, results: int, *, apart: int = 400, images: bool = False) -> Material:
    """A question, then calls and results of `chars` characters; messages `apart` seconds from one another."""
    material = Material(window=10_000, session_id="made-up")
    talk: list[tuple[Role, str]] = [("user", "question")]
    for number in range(results):
        talk += [("assistant", f"call {number}"), ("tool", f"{number}:" + "r" * (chars - 2))]
    talk.append(("assistant", "answer"))
    for seq, (role, text) in enumerate(talk):
        if role == "assistant":
            material.points.append(CallPoint(seq))
        one = message(seq, role, text, turn=1)
        object.__setattr__(one, "at", START + seq * apart * 1000)
        material.messages.append(one)
    return material


def tools(material: Material, **more: Any) -> list[tuple[str, int]]:
    """State and length of each tool result in the last window."""
    made = run(OpenClaw, material, enabled=False, **more)
    return [(item.state, item.text.chars) for item in made.log.window(len(made.calls) - 1) if item.role == "tool"]


def test_long_old_results_are_cut_to_their_ends() -> None:
    shown = tools(old_results(5_000, 6))
    # The newest three answers protect what came after the first of them; "answer" is not there yet.
    assert shown == [("truncated", 3_005)] * 3 + [("verbatim", 5_000)] * 3
    assert tools(old_results(4_000, 6)) == [("verbatim", 4_000)] * 6


def test_much_of_it_is_cleared_from_the_oldest_on() -> None:
    shown = tools(old_results(3_900, 9), minPrunableToolChars=20_000)
    cleared = [state for state, _ in shown if state == "stub"]
    assert shown[0] == ("stub", len(PLACEHOLDER))
    assert 0 < len(cleared) <= 6
    assert [state for state, _ in shown[-3:]] == ["verbatim"] * 3
    assert [state for state, _ in tools(old_results(3_900, 9))] == ["verbatim"] * 9  # under 50,000 characters


def test_nothing_is_pruned_while_the_cache_lives_or_when_it_is_off() -> None:
    assert tools(old_results(5_000, 6, apart=60)) == [("verbatim", 5_000)] * 6
    assert tools(old_results(5_000, 6), pruning="off") == [("verbatim", 5_000)] * 6


def test_nothing_before_the_first_user_message_is_pruned() -> None:
    material = old_results(5_000, 6)
    material.messages = [message(seq, "assistant" if one.role == "user" else one.role, one.text)
                         for seq, one in enumerate(material.messages)]  # fmt: skip
    for seq, one in enumerate(material.messages):
        object.__setattr__(one, "at", START + seq * 400_000)
    assert [state for state, _ in tools(material)] == ["verbatim"] * 6


def test_what_was_pruned_stays_so_and_the_prefix_is_the_same() -> None:
    material = old_results(5_000, 8)
    for seq, one in enumerate(material.messages):
        object.__setattr__(one, "at", START + (seq * 400_000 if seq < 13 else 13 * 400_000 + seq))
    made = run(OpenClaw, material, enabled=False)
    later = [call for call in made.calls if call.messages > 13]
    assert later and all(call.broken_by is None for call in later[1:])


@pytest.mark.parametrize(("talk", "window"), [
    ([], 100), ([("assistant", FORTY), ("tool", FORTY)] * 5, 60), ([("user", "y" * 9000), ("assistant", "a")], 50),
    (turns(4), 0),
])  # fmt: skip
def test_bad_input_ends(talk: list[tuple[Role, str]], window: int) -> None:
    made = run(OpenClaw, session(talk), window=window, keepRecentTokens=5, ttlSeconds=0, softTrimRatio=7, what=1)
    assert len(made.calls) == sum(role == "assistant" for role, _ in talk)
    assert any("softTrimRatio" in note for note in made.notes)
