from __future__ import annotations

import json

from contextviz.analysis.originals import dangling, originals
from tests.analysis.building import Builder

MARKER = (
    "[flowctx-dsh: tool-result compressed 900→90 chars. "
    'Retrieve original via flowctx_retrieve(hash="{}"). Expires in ~9m.]'
)


def test_markers_are_gathered_by_handle_with_who_asked_for_them_and_which_dangle(builder: Builder) -> None:
    first, second = "a" * 24, "b1" * 12
    builder.say("tool", ("tool_result", "head\n\n" + MARKER.format(first)))
    builder.say("tool", ("tool_result", MARKER.format(second) + "\nx\n" + MARKER.format(first)))
    ask = json.dumps({"name": "mcp__x__flowctx_retrieve", "arguments": {"hash": first.upper()}})
    builder.say("assistant", ("tool_call", ask), ("text", "it says " + MARKER.format("c" * 24)))
    builder.say("assistant", ("tool_call", json.dumps({"name": "flowctx_retrieve", "arguments": {"hash": second}})))
    one, two = originals(builder.transcript, builder.pool, is_known=lambda handle: handle == first)
    assert (one.handle, [(place.message_index, place.entry) for place in one.places]) == (first, [(0, "m0"), (1, "m1")])
    assert one.retrieved_by == [2]
    assert (two.handle, two.retrieved_by) == (second, [3])
    assert dangling([one, two]) == [two]
    assert [each.is_dangling for each in originals(builder.transcript, builder.pool)] == [None, None]
