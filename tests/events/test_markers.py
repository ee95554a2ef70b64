from __future__ import annotations

import pytest

from contextviz.events.artefacts.markers import find_markers

HASH = "415141b7dea086d58e6f63f5"
FLOWCTX = (
    f"[flowctx-dsh: tool-result:json compressed 1699→350 chars. "
    f'Retrieve original via flowctx_retrieve(hash="{HASH}"). Expires in ~10080m.]'
)


def test_a_flowctx_marker_between_head_and_tail_gives_its_handle_sizes_and_position() -> None:
    text = f"head of it\n\n{FLOWCTX}\n\ntail of it"
    (marker,) = find_markers(text)
    assert (marker.kind, marker.handle, marker.original_chars, marker.kept_chars) == ("flowctx", HASH, 1699, 350)
    assert (marker.label, marker.content_type, marker.expires_minutes) == ("tool-result", "json", 10080)
    assert text[marker.start : marker.end] == FLOWCTX


def test_a_marker_without_a_content_type_kept_head_and_tail() -> None:
    (marker,) = find_markers(FLOWCTX.replace("tool-result:json", "tool-result"))
    assert (marker.label, marker.content_type) == ("tool-result", None)


def test_the_short_form_with_a_cut_hash_says_that_it_is_cut() -> None:
    (marker,) = find_markers('[flowctx: code compressed 8400→190 chars · flowctx_retrieve(hash="a41c7be2…")]')
    assert (marker.handle, marker.is_cut, marker.original_chars) == ("a41c7be2", True, 8400)


@pytest.mark.parametrize(
    "text",
    [
        f"they said: {FLOWCTX}",
        f"> {FLOWCTX}",
        f"{FLOWCTX} and more",
        f"    {FLOWCTX}",
        '[flowctx-dsh: x compressed many→few chars. flowctx_retrieve(hash="abcdef")]',
        "[flowctx-dsh: a tool result was compressed]",
    ],
)
def test_a_marker_that_is_quoted_inside_a_line_is_not_one(text: str) -> None:
    assert find_markers(text) == []


def test_windows_line_ends_do_not_hide_a_marker() -> None:
    (marker,) = find_markers(f"a\r\n{FLOWCTX}\r\nb")
    assert marker.end - marker.start == len(FLOWCTX)


def test_references_to_large_files_and_tool_outputs_are_found_with_their_sizes() -> None:
    text = (
        "[LCM File: file_0a1b2c3d4e5f6a7b | report.csv | text/csv | 120,500 bytes]\n"
        "Exploration Summary:\nrows of sales\n"
        "[LCM Tool Output: file_ffff000011112222 | tool=exec | 98304 bytes]\n"
    )
    first, second = find_markers(text)
    assert (first.kind, first.handle, first.label, first.content_type, first.original_bytes) == (
        "lcm_file",
        "file_0a1b2c3d4e5f6a7b",
        "report.csv",
        "text/csv",
        120500,
    )
    assert (second.kind, second.label, second.original_bytes) == ("lcm_tool_output", "exec", 98304)


def test_a_summary_element_is_a_handle_too() -> None:
    text = (
        '<summary id="sum_0011223344556677" kind="condensed" depth="1" descendant_count="3" trust="untrusted">\n  <c>'
    )
    (marker,) = find_markers(text)
    assert (marker.kind, marker.handle, marker.label) == ("lcm_summary", "sum_0011223344556677", "condensed")
