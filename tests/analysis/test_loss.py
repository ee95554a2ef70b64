from __future__ import annotations

import pytest

from contextviz.analysis.compaction.loss import LaterUse, LossRow, Source, ledger, offered_tools, stands_in
from contextviz.events.identifiers import class_name
from contextviz.events.text import digest_of
from tests.analysis.building import Builder

MARKER = '[flowctx-dsh: tool-result compressed 99→9 chars. Retrieve original via flowctx_retrieve(hash="{}").]'


def _states(sources: list[Source], after: list[str], **more: object) -> dict[tuple[str, str], str]:
    found = ledger(sources, after, root="/srv/shop", **more)  # type: ignore[arg-type]
    return {(row.kind, row.canonical): row.state for row in found.rows}


def test_each_identifier_that_left_is_in_one_state() -> None:
    log = "seed was 9f3c1e7 and the port=8443"
    handle = digest_of(log).hex()[:24]
    marker = MARKER.format(handle)
    sources = [
        Source("see /srv/shop/src/locks.py and src/deep/cart.py and src/kept.py", "assistant", 3),
        Source("LOCK_TTL=30 was set", "assistant", 4),
        Source("now LOCK_TTL=45 is set", "assistant", 5),
        Source(log, "tool", 6),
        Source("toolu_01AbCdEfGh23", "tool", 7),
    ]
    after = [f"Edited src/locks.py, cart.py and src/kept.py; LOCK_TTL=30.\n{marker}"]
    assert _states(sources, after, resolve=lambda asked: log if asked == handle else None) == {
        ("path", "src/locks.py"): "variant",
        ("path", "src/deep/cart.py"): "variant",
        ("path", "src/kept.py"): "kept",
        ("key", "LOCK_TTL"): "kept",
        ("number", "LOCK_TTL=30"): "stale",
        ("number", "LOCK_TTL=45"): "lost",
        ("hash", "9f3c1e7"): "recoverable",
        ("number", "port=8443"): "recoverable",
        ("hash", "toolu_01AbCdEfGh23"): "lost",
    }


def test_an_original_whose_hash_does_not_fit_recovers_nothing() -> None:
    handle = "0" * 24
    marker = MARKER.format(handle)
    sources = [Source("commit 9f3c1e7", "tool", 1)]
    assert _states(sources, [marker], resolve=lambda _: "commit 9f3c1e7") == {("hash", "9f3c1e7"): "lost"}


def test_a_file_that_was_removed_and_not_named_again_is_stale_where_it_is_still_named() -> None:
    sources = [
        Source("src/old.py and src/new.py", "assistant", 1),
        Source("$ rm -f src/old.py ./src/new.py", "assistant", 2),
        Source("wrote src/new.py", "assistant", 3),
    ]
    states = _states(sources, ["src/old.py, src/new.py"])
    assert (states[("path", "src/old.py")], states[("path", "src/new.py")]) == ("stale", "kept")


def test_a_users_directive_in_other_case_is_a_variant_and_in_other_words_lost() -> None:
    sources = [Source("Never raise the timeout. Always run it ten times.", "user", 1)]
    assert _states(sources, ["The user: never raise the Timeout"]) == {
        ("directive", "never raise the timeout"): "variant",
        ("directive", "always run it ten times"): "lost",
    }


def test_rows_know_where_they_were_first_and_last_and_rates_add_up() -> None:
    sources = [Source("src/a.py", "user", 2), Source("src/a.py src/b.py", "user", 5), Source("src/c.py", "tool", None)]
    found = ledger(sources, ["src/a.py"])
    row = found.rows[0]
    assert (row.first_call, row.last_call, row.mentions, row.size, row.state) == (2, 5, 2, 8, "kept")
    assert sum(found.count(state) for state in ("kept", "stale", "variant", "recoverable", "lost")) == 3  # type: ignore[arg-type]
    assert found.retention == pytest.approx(1 / 3)
    assert found.reach == pytest.approx(1 / 3)
    assert found.staleness == 0
    assert [row.canonical for row in found.identifiers_in_neither] == ["src/b.py", "src/c.py"]


def test_without_identifiers_no_rate_is_known() -> None:
    found = ledger([Source("nothing to name", "tool", 1)], ["x"])
    assert (found.retention, found.reach, found.staleness) == (None, None, None)


def test_a_name_inside_a_longer_word_does_not_count_as_kept() -> None:
    assert stands_in("locks.py", "see src/locks.py.")
    assert not stands_in("locks.py", "clocks.py locks.pyc")
    assert not stands_in("9f3c1e7", "9f3c1e7a")


def test_a_miss_is_a_lost_identifier_in_later_arguments() -> None:
    row = LossRow("hash", "x", "x", 1, 1, 1, 1)
    assert not row.is_missed(10)
    row.later = [LaterUse(11, "answer"), LaterUse(14, "arguments")]
    assert row.is_missed(10, within=5)
    assert not row.is_missed(10, within=4)
    row.state = "kept"
    assert not row.is_missed(10)


def test_the_name_of_a_tool_that_the_client_still_offers_is_not_lost(builder: Builder) -> None:
    call = builder.item("assistant", "tool_call", "{}", tool_name="exec_command")
    said = [Source("exec_command and other_name", "assistant", 1)]
    found = ledger(said, ["nothing of it"], tools=offered_tools([call], []))
    assert {row.text: row.state for row in found.rows} == {"exec_command": "kept", "other_name": "lost"}
    assert found.notes == ["Kept as names of tools, whose definitions no record holds: exec_command."]
    # Where the window holds the definitions, they say which tools are there.
    tools = builder.item("system", "tools", "{}")
    assert offered_tools([call], [tools]) == frozenset()


def test_a_ticket_is_an_id_and_no_hash() -> None:
    assert (class_name("hash", "TICKET-1002"), class_name("hash", "9f3c1e7")) == ("id", "hash")
    assert class_name("open_item", "write it") == "open item"
