"""pi's compaction: cuts counted by hand, and the three that pi itself made."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from contextviz.engines.hosts.folding import message_tokens, piece_chars
from contextviz.engines.hosts.pi import Pi, cut
from contextviz.engines.material import Piece, ReplayMessage
from contextviz.engines.summaries import RuleSummariser, SummariserFailed, SummaryRequest
from contextviz.events.message import Message, Role
from contextviz.events.session import Transcript
from contextviz.tokens.pool import MemoryPool
from tests.engines import samples
from tests.engines.building import message, run, session
from tests.engines.short import FORTY, chain, turns


@pytest.mark.parametrize(("roles", "keep", "expected"), [
    ("uataua", 20, 4), ("uatata", 20, 5), ("uatata", 30, 3), ("uaua", 10, 3), ("uaua", 40, 0), ("uaua", 41, 0),
    ("ut", 10, 0), ("", 10, 0), ("uatt", 20, 0), ("uaua", 0, 3),
])  # fmt: skip
def test_the_cut_is_at_the_first_message_that_is_no_result(roles: str, keep: int, expected: int) -> None:
    messages = chain(roles)
    assert cut(messages, [10] * len(messages), keep) == expected


def test_a_call_counts_its_name_and_its_arguments_as_javascript_writes_them() -> None:
    call = Piece("tool_call", '{"name": "read", "arguments": {"path": "a.md", "n": 1}}', 0)
    assert piece_chars(call) == len("read") + len('{"path":"a.md","n":1}')
    assert piece_chars(Piece("tool_call", '{"name": "read", "argu', 0)) == 0
    assert piece_chars(Piece("text", "a😀", 0)) == 3
    assert message_tokens(message(0, "user", "12345")) == 2


def test_it_folds_after_the_call_that_left_too_little() -> None:
    # 100 − 45 = 55: the sixth message makes it 60; 20 tokens stay, the newest question and its answer.
    made = run(Pi, session(turns(6)), window=100, reserveTokens=45, keepRecentTokens=20)
    first = made.boundaries[0]
    assert (first.messages, first.dropped, first.compaction.trigger) == (6, (0, 1, 2, 3), "threshold")
    assert (first.compaction.tokens_before, first.basis) == (60, "chars4-each")
    assert [item.kind for item in made.log.window(3)] == ["summary", "text", "text", "text"]
    assert made.nodes[1].made_from == [made.nodes[0].id]
    assert made.summariser_calls == len(made.boundaries) == len(made.nodes)


def test_the_earlier_summary_goes_into_the_next() -> None:
    given: list[SummaryRequest] = []

    def noted(request: SummaryRequest) -> str:
        given.append(request)
        return f"summary {len(given)}"

    run(
        Pi,
        session(turns(8)),
        window=100,
        summarise=RuleSummariser("noted", noted),
        reserveTokens=45,
        keepRecentTokens=20,
    )
    assert [one.previous for one in given[:2]] == [None, "summary 1"]
    assert given[0].covers == (0, 1, 2, 3)
    assert given[0].text.startswith(f"[User]: {FORTY}\n\n[Assistant]: ")


def test_a_summariser_that_fails_leaves_the_window_as_it_is() -> None:
    def refused(request: SummaryRequest) -> str:
        raise SummariserFailed("no answer")

    made = run(Pi, session(turns(6)), window=1000, summarise=RuleSummariser("bad", refused),
               reserveTokens=980, keepRecentTokens=10)  # fmt: skip
    assert made.boundaries == []
    assert {event.type for event in made.events} == {"engine.error"}
    assert made.calls[-1].items == 11


def test_a_turn_of_many_tool_calls_is_folded_within() -> None:
    loop: list[tuple[Role, str]] = [
        ("user", FORTY),
        *[(role, FORTY) for _ in range(9) for role in ("assistant", "tool")],
    ]
    made = run(Pi, session(loop), window=100, reserveTokens=50, keepRecentTokens=20)
    assert made.boundaries
    for number in range(len(made.calls)):
        window = made.log.window(number)
        results = [at for at, item in enumerate(window) if item.role == "tool"]
        assert all(window[at - 1].role == "assistant" for at in results)


@pytest.mark.parametrize(("material", "window", "set_to"), [
    ([("assistant", FORTY), ("tool", FORTY)] * 5, 60, {"reserveTokens": 20, "keepRecentTokens": 10}),
    ([("user", "y" * 9000), ("assistant", "a")] * 3, 100, {"reserveTokens": 10, "keepRecentTokens": 20}),
    (turns(4), 0, {}), (turns(4), 100, {"reserveTokens": 5000, "keepRecentTokens": 20}), ([], 100, {}),
    (turns(4), 100, {"reserveTokens": "many", "unheardOf": 3}), ([("tool", FORTY)] * 4, 20, {"keepRecentTokens": 0}),
])  # fmt: skip
def test_bad_input_ends(material: list[tuple[Role, str]], window: int, set_to: dict[str, Any]) -> None:
    given = session(material)
    made = run(Pi, given, window=window, **set_to)
    assert len(made.calls) == len(given.points)
    if window == 0:
        assert made.boundaries == []
    if "unheardOf" in set_to:
        assert any("unheardOf" in note for note in made.notes) and any("'many'" in note for note in made.notes)


def test_switched_off_it_folds_only_what_does_not_fit() -> None:
    made = run(Pi, session(turns(9)), window=100, enabled=False, keepRecentTokens=20)
    assert {one.compaction.trigger for one in made.boundaries} <= {"overflow"}


def test_it_cuts_where_pi_cut(shared: Path) -> None:
    found, pool = samples.sample(shared / "samples" / "pi-main")
    told = [(made, one) for made in found for one in made.compactions]
    assert len(told) == 3
    for made, one in told:
        last = next(m for m in made.messages if m.call_index == one.before_call)
        line = [m for m in samples.line_of(made, last) if m.role != "system"]
        messages = [_replayed(seq, m, pool) for seq, m in enumerate(line)]
        at = cut(messages, [message_tokens(m) for m in messages], _kept(made))
        assert messages[at].id == one.first_kept


def _kept(made: Transcript) -> int:
    assert made.session.configuration is not None
    return int(made.session.configuration.settings["compaction.keepRecentTokens"])


def _replayed(seq: int, own: Message, pool: MemoryPool) -> ReplayMessage:
    pieces = [Piece(block.kind, pool.get(block.text), at) for at, block in enumerate(own.blocks)]
    return ReplayMessage(seq, own.role, tuple(pieces), id=own.id)


def test_a_replay_of_pi_s_own_session_folds_near_where_pi_did(shared: Path) -> None:
    folder = shared / "samples" / "pi-main"
    made = run(Pi, samples.material(folder), reserveTokens=4000, keepRecentTokens=3000)
    (own,) = samples.material(folder).summaries
    (boundary,) = made.boundaries
    # Its estimate of the prompt is not the provider's, so it may fold a turn or two beside.
    assert abs(boundary.messages - own.messages) <= 6
