from __future__ import annotations

import pytest

from contextviz.events.artefacts import Artefact, counts_in, find_artefacts, may_hold, segment_of
from contextviz.events.artefacts.markers import MAX_MARKERS
from contextviz.events.message import Kind, Role

HASH = "415141b7dea086d58e6f63f5"
LAYER = '[flowctx-dsh: summary layer depth=0 covering turns 1-3. Retrieve via flowctx_retrieve(node="d0-1-3").]'
FOLDED = '<flowctx-history-summary depth="0" span="turns 1-3">\n## TASK\n- ship\n</flowctx-history-summary>'
SUMMARY = (
    '<summary id="sum_{id}" kind="{kind}" depth="{depth}" descendant_count="{count}" trust="untrusted" '
    'earliest_at="2026-01-05T23:50:00.000Z" latest_at="2026-01-05T23:54:00.000Z">\n{parents}  <content>\n{text}\n'
    "  </content>\n</summary>"
)
LEAF = SUMMARY.format(id="aa11", kind="leaf", depth=0, count=0, parents="", text="the port is 8000")
CONDENSED = SUMMARY.format(
    id="cc33", kind="condensed", depth=1, count=3, text="a and b",
    parents='  <parents>\n    <summary_ref id="sum_aa11" />\n    <summary_ref id="sum_bb22" />\n  </parents>\n',
)  # fmt: skip
BRIDGE = "[Earlier conversation was archived to Cortext durable memory."
MEMORY = "<cortext_memory>\nThings of before. They may be old.\n- the port is 8000\n</cortext_memory>"
WORKING = '<working_memory chars_current="17" chars_limit="8000">\ngoal: ship parser\n</working_memory>'
HANDOFF = "<flowctx-handoff-note>\nGo on with the parser.\n</flowctx-handoff-note>"
BRIEF = '<focus_brief id="fb_1" status="active">\nThe parser.\n</focus_brief>'
FILE = "[LCM File: file_0a1b2c3d4e5f6a7b | report.csv | text/csv | 120,500 bytes]"
OUTPUT = "[LCM Tool Output: file_ffff000011112222 | tool=exec | 98304 bytes]"
EXPLORED = "\nExploration Summary:\nrows of sales"


def marker(kept: int, kind: str = "tool-result:json", handle: str = HASH) -> str:
    return (
        f"[flowctx-dsh: {kind} compressed 1699→{kept} chars. Retrieve original via "
        f'flowctx_retrieve(hash="{handle}"). Expires in ~10080m.]'
    )


def counting(text: str, role: Role = "user", kind: Kind = "text", *, is_human: bool = True, tool: str | None = None):  # type: ignore[no-untyped-def]
    """The artefacts of `text` that count in such a block."""
    return [
        one for one in find_artefacts(text)
        if counts_in(one, role=role, kind=kind, is_human=is_human, tool_name=tool)
    ]  # fmt: skip


def only(found: list[Artefact]) -> Artefact:
    (one,) = found
    return one


@pytest.mark.parametrize("head", ["Context", "LLM"])
def test_a_brain_message_that_begins_as_openvoles_summary_is_one_with_its_count(head: str) -> None:
    found = only(counting(f'[{head} Summary — 12 messages compacted]\n- User: "hello"', "assistant"))
    assert (found.kind, found.count, found.is_whole) == ("openvole_summary", 12, True)


def test_flowctx_layers_give_node_depth_and_turns_with_and_without_their_first_line() -> None:
    found = only(counting(f"{LAYER}\n{FOLDED}"))
    assert (found.kind, found.handle, found.depth, found.turns) == ("flowctx_summary", "d0-1-3", 0, (1, 3))
    condensed = FOLDED.replace("flowctx-history-summary", "flowctx-history-summary-condensed").replace(
        'depth="0"', 'depth="1"'
    )
    both = counting(f"{FOLDED}\n\n{condensed}\n")
    assert [(one.handle, one.depth) for one in both] == [("d0-1-3", 0), ("d1-1-3", 1)]


def test_lossless_claws_summaries_give_id_depth_descendants_and_sources() -> None:
    leaf, condensed = counting(f"{LEAF}\n{CONDENSED}")
    assert (leaf.handle, leaf.label, leaf.depth, leaf.count, leaf.sources) == ("sum_aa11", "leaf", 0, 0, ())
    assert (condensed.handle, condensed.depth, condensed.count) == ("sum_cc33", 1, 3)
    assert condensed.sources == ("sum_aa11", "sum_bb22")


def test_a_bridge_of_one_of_its_two_lengths_is_exact_and_tells_its_mode_by_it() -> None:
    for length in (162, 194):
        text = BRIDGE + "x" * (length - len(BRIDGE) - 1) + "]"
        assert only(counting(text)).fits
    assert not only(counting(BRIDGE + " Ask for it.]")).fits


@pytest.mark.parametrize(
    ("text", "kind"),
    [(MEMORY, "cortext_memory"), (HANDOFF, "flowctx_handoff"), (WORKING, "flowctx_scratchpad"),
     (BRIEF, "lcm_focus_brief")],
)  # fmt: skip
def test_memory_blocks_are_found_whole_and_before_a_system_prompt(text: str, kind: str) -> None:
    whole = only(counting(text, "system", "system"))
    assert (whole.kind, whole.is_whole) == (kind, True)
    segment = segment_of(whole)
    assert segment is not None and (segment.kind, segment.state) == ("injected", "injected")
    before = only(counting(f"{text}\nYou are an agent.", "system", "system"))
    assert (before.kind, before.is_whole, segment_of(before)) == (kind, False, None)


def test_a_markers_kept_characters_prove_it_head_only_and_head_and_tail() -> None:
    for text in (
        f"0123456789\n\n{marker(10)}",
        f"01234\n\n{marker(10, 'tool-result')}\n\n56789",
        f"é😀\n\n{marker(3)}",
    ):
        found = only(counting(text, "tool", "tool_result"))
        assert (found.kind, found.handle, found.fits) == ("flowctx_marker", HASH, True)
    assert not only(counting(f"0123456789\n\n{marker(11)}", "tool", "tool_result")).fits


def test_references_count_in_results_and_in_messages_that_go_on_with_their_summary() -> None:
    found = only(counting(OUTPUT + EXPLORED, "tool", "tool_result"))
    assert (found.kind, found.handle, found.label, found.original_bytes) == (
        "lcm_tool_output", "file_ffff000011112222", "exec", 98304,
    )  # fmt: skip
    assert found.is_whole and segment_of(found) is not None
    inside = only(counting(f"please read this\n{FILE}{EXPLORED}"))
    assert (inside.kind, inside.label, inside.is_whole) == ("lcm_file", "report.csv", False)
    assert segment_of(inside) is None


def test_openvoles_shrunk_results_are_told_by_their_lengths_and_their_tools_name() -> None:
    shrunk = "[web_fetch: success (9120 chars)] " + "x" * 150 + "..."
    found = only(counting(shrunk, "tool", "tool_result", tool="web_fetch"))
    assert (found.kind, found.original_chars, found.kept_chars) == ("openvole_shrunk", 9120, 150)
    trimmed = "[web_fetch: " + "y" * 100 + "...]"
    assert only(counting(trimmed, "tool", "tool_result", tool="web_fetch")).original_chars is None
    assert counting(trimmed, "tool", "tool_result") == []
    assert counting(shrunk, "tool", "tool_result", tool="other") == []
    assert counting("[web_fetch: success (9120 chars)] " + "x" * 151 + "...", "tool", "tool_result") == []
    assert counting("[web_fetch: success (400 chars)] " + "x" * 150 + "...", "tool", "tool_result") == []


@pytest.mark.parametrize(
    ("text", "role", "kind"),
    [
        ("What does this mean?\n[Context Summary — 12 messages compacted]\n- x", "assistant", "text"),
        ("[Context Summary — 12 messages compacted]\n- pasted by a person", "user", "text"),
        ("[Context Summary — 12 messages compacted]\n- x", "tool", "tool_result"),
        (f"{LEAF}\nWhy is this here?", "user", "text"),
        (f"See:\n{LEAF}", "user", "text"),
        (LEAF, "tool", "tool_result"),
        (LEAF, "assistant", "text"),
        (f"{FOLDED} what is that", "user", "text"),
        (f"`{BRIDGE}`", "user", "text"),
        (f"{BRIDGE}] means what?", "user", "text"),
        (f"I read {MEMORY}", "user", "text"),
        (f"{MEMORY}\nis what I found", "user", "text"),
        (MEMORY, "tool", "tool_result"),
        (MEMORY, "user", "text"),
        (f"It holds\n{MEMORY}", "assistant", "text"),
        (f"Docs:\n```\n{MEMORY}\n```\n", "system", "system"),
        (f"they said\n{marker(350)}", "user", "text"),
        (f"they said\n{marker(350)}", "assistant", "text"),
        (f"# Markers\n```\n{marker(350)}\n```\nare lines", "tool", "tool_result"),
        (f"~~~text\n{FILE}\n~~~", "tool", "tool_result"),
        (f"  {marker(350)}", "tool", "tool_result"),
        (f"> {OUTPUT}", "tool", "tool_result"),
        ('[flowctx: code compressed 8400→190 chars · flowctx_retrieve(hash="a41c7be2…")]', "tool", "tool_result"),
        (FILE, "user", "text"),
        (BRIEF, "assistant", "text"),
    ],
)  # fmt: skip
def test_what_is_quoted_in_prose_in_code_or_by_the_wrong_role_does_not_count(text: str, role: Role, kind: Kind) -> None:
    assert counting(text, role, kind) == []


def test_plain_texts_are_told_apart_without_a_closer_look() -> None:
    assert not may_hold("nothing of an engine [here] <or here>")
    assert not may_hold("[1, 2, 3]")


@pytest.mark.parametrize(
    "text",
    [
        "<cortext_memory>\n" * 200_000,
        '<working_memory chars_current="1">\n' * 100_000,
        '<summary id="sum_a" kind="leaf" ' * 100_000,
        (LEAF + " ") * 20_000 + "x",
        "[flowctx: a compressed 1→1 chars " * 100_000,
        "```\n" * 300_000 + marker(1),
        f"```\n{marker(1)}\n```\n" * 8_000,
        " " * 2_000_000 + "<flowctx-history-summary",
        "[LCM File: file_a | " + "x | " * 200_000,
        "[Context Summary — " + "1" * 1_000_000,
        "[" * 1_000_000 + "<focus_brief ",
    ],
)  # fmt: skip
def test_of_hostile_texts_no_more_is_read_than_is_kept(text: str) -> None:
    # Megabytes each: what followed the square of their length would not come to its end.
    found = find_artefacts(text)
    assert len(found) <= 2 * MAX_MARKERS and not any(
        counts_in(one, role="user", kind="text", is_human=True) for one in found
    )
