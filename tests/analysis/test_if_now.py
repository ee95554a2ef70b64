"""If it compacted now: each format's rule on windows counted by hand, and pi's on its own compactions."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from contextviz.analysis.live.if_now import Configured, IfNow, at_risk, if_now
from contextviz.events.compaction import Compaction
from contextviz.events.message import Kind, Role
from contextviz.events.session import Transcript
from contextviz.events.snapshot import ContextItem
from contextviz.sources.files import read_paths, walk
from contextviz.sources.source import ReadOptions
from contextviz.tokens.pool import MemoryPool
from tests.analysis.building import Builder

KEEP_30 = {"compaction.keepRecentTokens": 30}


class Talk:
    """A window in the making: every item of 40 characters, so 10 of pi's tokens, unless its text is given."""

    def __init__(self) -> None:
        self.builder = Builder()
        self.items: list[ContextItem] = []

    def add(self, role: Role, kind: Kind = "text", text: str = "", *, message: int | None = None, **more: Any) -> Talk:
        """One more item, of its own message unless `message` says."""
        index = len(self.items) if message is None else message
        words = text or f"item {len(self.items):3} ".ljust(40, "x")
        made = self.builder.item(role, kind, words, message_index=None if kind == "summary" else index, **more)
        self.items.append(made)
        return self

    def ask(self, known: Configured) -> IfNow:
        """What the rule says of it."""
        return if_now(self.items, known, length=lambda item: item.text.chars)


def gone(found: IfNow) -> list[int]:
    return [one.place for one in found.removed]


def talk(turns: int) -> Talk:
    """A system prompt, then turns of a question, a tool call, its result and an answer."""
    made = Talk().add("system", "system")
    for _ in range(turns):
        made.add("user").add("assistant").add("tool", "tool_result").add("assistant")
    return made


def test_pi_cuts_at_the_first_message_that_is_no_result_at_or_after_its_count() -> None:
    # Places from the end: answer 10, result 20, call 30: the cut is the call itself.
    found = talk(2).ask(Configured("pi", settings=KEEP_30))
    assert gone(found) == [1, 2, 3, 4, 5]
    assert (found.quality, found.limits[0].value) == ("exact", "30 tokens")

    # 20 are reached at the result, which is no place to cut: the answer after it is.
    found = talk(2).ask(Configured("pi", settings={"compaction.keepRecentTokens": 20}))
    assert gone(found) == [1, 2, 3, 4, 5, 6, 7]


def test_what_goes_and_what_stays_add_up_to_the_window() -> None:
    made = talk(3)
    found = made.ask(Configured("pi", settings=KEEP_30))
    whole = sum(item.text.estimated_tokens for item in made.items)
    assert found.removed_tokens + found.kept_tokens == whole
    assert len(found.removed) + found.kept_count == len(made.items)
    assert found.removed_tokens == sum(one.tokens for one in found.removed) > 0


def test_pi_rounds_up_each_message_and_not_their_sum() -> None:
    made = Talk().add("user").add("user", text="12345").add("user", text="12345").add("user", text="12345")
    assert gone(made.ask(Configured("pi", settings={"compaction.keepRecentTokens": 6}))) == [0]


def test_pi_counts_the_blocks_of_a_message_together_and_a_call_by_its_name_and_arguments() -> None:
    made = Talk().add("user").add("user")
    made.add("assistant", text="123", message=9).add("assistant", "tool_call", '{"name":"a","arguments":{}}', message=9)
    # 3 + 1 + 2 characters are two tokens: not enough by themselves.
    assert gone(made.ask(Configured("pi", settings={"compaction.keepRecentTokens": 2}))) == [0, 1]
    assert gone(made.ask(Configured("pi", settings={"compaction.keepRecentTokens": 3}))) == [0]


def test_an_earlier_summary_goes_into_the_new_one() -> None:
    made = Talk().add("system", "system").add("user", "summary", state="summary")
    for _ in range(5):
        made.add("user")
    found = made.ask(Configured("pi", settings=KEEP_30))
    assert gone(found) == [1, 2, 3]
    assert found.removed[0].why == "earlier summary, goes into the new one"


def test_without_a_configuration_pi_s_default_is_taken_and_said() -> None:
    found = talk(2).ask(Configured("pi"))
    assert (found.limits[0].value, found.limits[0].source) == (
        "20,000 tokens", "pi's default, since no configuration came with the session",
    )  # fmt: skip
    assert found.removed == ()
    assert found.nothing == "All its messages together are 80 of 20,000 tokens by the rule's own count."
    unset = talk(2).ask(Configured("pi", settings={"compaction.enabled": True}))
    assert unset.limits[0].source == "pi's default, since its configuration does not set it"


def test_openclaw_has_the_same_rule_and_says_where_it_misses() -> None:
    own = "agents.list.main.compaction.keepRecentTokens"
    settings = {"agents.defaults.compaction.keepRecentTokens": 9, own: 30}
    found = talk(2).ask(Configured("openclaw", agent="main", settings=settings))
    assert gone(found) == [1, 2, 3, 4, 5]
    assert found.quality == "derived"
    assert "none of 5 cuts" in found.misses
    other = talk(2).ask(Configured("openclaw-sqlite", agent="side", settings=settings))
    assert other.limits[0].value == "9 tokens"


def test_an_engine_in_the_slot_has_no_rule_here() -> None:
    found = talk(2).ask(Configured("openclaw", engine="lossless-claw", settings={}))
    assert (found.rule, found.quality, found.removed) == ("", None, ())
    assert found.nothing == "The configuration sets the context engine “lossless-claw”; no rule of it is known here."
    assert talk(2).ask(Configured("openclaw", engine="legacy", settings=None)).rule


def test_a_format_without_a_rule_says_so() -> None:
    found = talk(2).ask(Configured("gemini-cli"))
    assert (found.rule, found.nothing) == ("", "No rule is known for this format.")
    assert found.kept_count == 9


def test_openvole_keeps_the_first_message_and_the_newest_ten() -> None:
    found = talk(4).ask(Configured("openvole"))  # 16 messages, the system prompt is none
    assert gone(found) == [2, 3, 4, 5, 6]
    assert found.quality == "derived"
    none = talk(3).ask(Configured("openvole"))
    assert none.removed == ()
    assert none.nothing == "The window has 12 messages; only more than 12 are folded."


def test_openvole_s_earlier_summary_is_one_of_its_messages() -> None:
    made = Talk().add("user")
    made.add("assistant", "summary", state="summary")
    for _ in range(11):
        made.add("assistant")
    assert gone(made.ask(Configured("openvole"))) == [1, 2]


def test_codex_keeps_what_the_user_said() -> None:
    made = Talk().add("developer").add("user").add("assistant", "thinking").add("assistant", "tool_call")
    made.add("tool", "tool_result").add("assistant").add("user").add("user", "summary", state="summary")
    found = made.ask(Configured("codex"))
    assert gone(found) == [2, 3, 4, 5, 7]
    assert found.quality == "derived"


def test_claude_code_folds_every_message() -> None:
    made = Talk().add("system", "system").add("system", "tools").add("user", "summary", state="summary")
    made.add("user").add("assistant").add("user", "tool_result")
    found = made.ask(Configured("claude-code"))
    assert gone(found) == [2, 3, 4, 5]
    assert "Less may go" in found.misses


def test_identifiers_in_no_summary_and_nothing_that_stays_are_told() -> None:
    made = Talk().add("user", "summary", "The port is in config/ports.yaml.", state="summary")
    made.add("user", text="Look at src/lost_one.py, src/kept_one.py and config/ports.yaml please")
    made.add("assistant", text="I read src/lost_one.py").add("user", text="go on with src/kept_one.py " + "y" * 200)
    found = made.ask(Configured("pi", settings=KEEP_30))
    assert gone(found) == [0, 1, 2]
    risk = at_risk(made.items, found, made.builder.pool)
    assert [(row.kind, row.text, row.mentions) for row in risk.rows] == [("path", "src/lost_one.py", 2)]
    assert risk.looked_at == 3
    assert risk.notes == ()


def test_pi_s_rule_hits_every_cut_that_pi_made(shared: Path) -> None:
    pool = MemoryPool()
    options = ReadOptions(pool, datetime(2026, 12, 1, tzinfo=UTC))
    read = [
        one for one in read_paths(list(walk(shared / "samples" / "pi-main")), options) if isinstance(one, Transcript)
    ]
    told = [(made, one) for made in read for one in made.compactions]
    assert len(told) == 3
    for made, one in told:
        assert cut(made, one, pool) == one.first_kept


def cut(made: Transcript, one: Compaction, pool: MemoryPool) -> str | None:
    """The first entry that would stay of the window in which a compaction fell."""
    assert one.before_call is not None
    assert one.after_call is not None
    call = made.calls[one.before_call]
    number = next(at for at, snapshot in enumerate(made.log.snapshots) if snapshot.call_index == call.index)
    stop = made.calls[one.after_call].message_index or 0
    said = [
        ContextItem(message.role, block.kind, block.text, message.id, message.index)
        for message in made.messages[call.message_index or 0 : stop]
        if message.on_active_path == call.on_active_path and message.at and one.at and message.at <= one.at
        for block in message.blocks
    ]
    items = [*made.log.window(number), *said]
    settings = made.session.configuration.settings if made.session.configuration else None
    found = if_now(
        items,
        Configured("pi", settings=settings),
        length=lambda item: len(pool.get(item.text).encode("utf-16-le")) // 2,
    )
    places = {row.place for row in found.removed}
    stays = (item for at, item in enumerate(items) if at not in places and item.role not in ("system", "developer"))
    return next(stays).entry


@pytest.mark.parametrize("format", ["pi", "openclaw", "openvole", "codex", "claude-code", "x"])
def test_an_empty_window_loses_nothing(format: str) -> None:
    found = if_now([], Configured(format), length=lambda item: 0)
    assert (found.removed, found.kept_tokens) == ((), 0)
    assert found.nothing
