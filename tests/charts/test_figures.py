"""Figures: valid for plotly, bounded, honest about what is unknown, and free of colours of their own."""

from __future__ import annotations

import base64
import json
import re
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import plotly.graph_objects as go
import pytest

from contextviz.charts import clock, composition, graph, strip, topics, words
from contextviz.charts.figure import MAX_NODES, array, nice_step
from contextviz.charts.palette import CATEGORIES


@dataclass
class Table:
    calls: list[int]
    categories: dict[str, list[int | None]]
    reported: list[int | None]
    residual: list[int | None]
    window: list[int | None]
    cache_read: list[int | None]
    threshold: int | None = None
    compactions: list[Any] = field(default_factory=list)
    agent: str | None = None
    reduced_from: int | None = None


def mark(number: int, before: int | None, after: int | None, kind: str = "summary") -> SimpleNamespace:
    return SimpleNamespace(
        number=number, before_call=before, after_call=after, kind=kind, tokens_before=9, tokens_after=3
    )


def strip_table(count: int = 40, **changes: Any) -> Table:
    parts: dict[str, list[int | None]] = {found.key: [0] * count for found in CATEGORIES}
    parts["system"] = [1_000] * count
    parts["result"] = [2_600 * row for row in range(count)]
    parts["stub"] = [50] * count
    reported: list[int | None] = [1_050 + 2_600 * row + 7 for row in range(count)]
    table = Table(list(range(1, count + 1)), parts, reported, [7] * count, [200_000] * count, [900] * count, 167_000)
    for name, value in changes.items():
        setattr(table, name, value)
    return table


def read(values: dict[str, str]) -> Any:
    return np.frombuffer(base64.b64decode(values["bdata"]), dtype=f"<{values['dtype']}")


def traces(figure: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {trace["name"]: trace for trace in figure["data"]}


def check(figure: dict[str, Any]) -> None:
    go.Figure(figure)
    text = json.dumps(figure)
    assert not re.search(r"#[0-9a-fA-F]{6}\b", text), "a colour is named by a variable"
    assert figure["layout"]["meta"]["summary"].endswith(".")


def test_typed_arrays_keep_whole_numbers_and_turn_none_into_a_gap():
    assert read(array([1, 2, 3])).tolist() == [1, 2, 3]
    assert array([1, 2, 3])["dtype"] == "i4"
    held = read(array([5, None, 7]))
    assert np.isnan(held[1])
    assert held[2] == 7
    assert read(array([0.25, 1.5])).tolist() == [0.25, 1.5]
    assert read(array([3_000_000_000])).tolist() == [3_000_000_000]
    assert read(array([])).tolist() == []


def test_the_strip_is_valid_and_its_stack_adds_up_to_the_reported_total():
    table = strip_table(compactions=[mark(1, 20, 21), mark(2, 30, None, "trim")])
    figure = strip.figure(table)
    check(figure)
    assert stacked(figure, over=False) == table.reported
    assert stacked(figure, over=True) == []


def stacked(figure: dict[str, Any], *, over: bool) -> list[float]:
    """The sum of the stack at each call: up to the report, or of what hangs over it."""
    found = [
        read(trace["y"])
        for trace in figure["data"]
        if trace.get("stackgroup") and trace["meta"].startswith("over-") is over
    ]
    return list(np.nansum(found, axis=0)[:-1].tolist()) if found else []


def overhanging() -> Table:
    """Four calls: parts above the report, below it, without a report, and above it across two categories."""
    parts: dict[str, list[int | None]] = {"system": [900, 900, 900, 900], "tools": [None, None, None, None]}
    parts |= {"user": [50, 50, 50, 50], "result": [550, 50, 650, 60]}
    reported: list[int | None] = [1_200, 1_100, None, 920]
    residual: list[int | None] = [-300, 100, None, -90]
    return Table([1, 2, 3, 4], parts, reported, residual, [2_000] * 4, [0] * 4)


def test_the_stack_ends_at_the_report_and_what_the_parts_have_more_hangs_over_it():
    table = overhanging()
    figure = strip.figure(table)
    check(figure)
    assert stacked(figure, over=False) == [1_200, 1_100, 1_600, 920]
    assert stacked(figure, over=True) == [300, 0, 0, 90]
    found = traces(figure)
    # Both together are each category's own number.
    whole = read(found["Tool results"]["y"]) + read(found["Tool results, over the report"]["y"])
    assert whole.tolist() == [550, 50, 650, 60, 60]
    assert read(found["User, over the report"]["y"]).tolist() == [0, 0, 0, 30, 30]
    assert found["User, over the report"]["fillpattern"]["shape"] == "\\"
    assert np.isnan(read(found["Reported"]["y"])[2])
    assert figure["layout"]["yaxis"]["range"][1] > 1_600
    sentence = figure["layout"]["meta"]["summary"]
    assert "at 2 calls the parts come to more than was reported, by up to 300 (call 1)" in sentence


def test_a_strip_whose_parts_never_come_to_more_has_no_line_of_reports():
    figure = strip.figure(strip_table())
    assert "Reported" not in traces(figure)
    assert not any(name.endswith("over the report") for name in traces(figure))
    assert "more than was reported" not in figure["layout"]["meta"]["summary"]


def test_a_window_far_above_what_was_used_is_said_and_not_drawn():
    table = strip_table(10, threshold=167_000)
    figure = strip.figure(table)
    assert figure["layout"]["yaxis"]["range"][1] < 1.3 * max(value or 0 for value in table.reported)
    assert "Window" not in traces(figure)
    assert figure["layout"]["shapes"] == []
    texts = [note["text"].replace("\u00a0", " ") for note in figure["layout"]["annotations"]]
    assert "↑ window 200.0 k and threshold 167.0 k far above" in texts
    assert "window" not in texts
    near = strip.figure(strip_table(10, window=[40_000] * 10, threshold=None))
    assert "Window" in traces(near)
    assert not any(note.get("name") == "far" for note in near["layout"]["annotations"])


def test_calls_of_a_sub_agent_stand_side_by_side_with_their_own_numbers():
    table = strip_table(3, agent="helper", calls=[21, 22, 24], compactions=[mark(1, 22, 24)])
    figure = strip.figure(table)
    check(figure)
    layout = figure["layout"]
    assert read(figure["data"][0]["x"]).tolist() == [1, 2, 3, 4]
    assert layout["xaxis"]["range"] == [1, 4]
    assert "23" not in layout["xaxis"]["ticktext"]
    assert layout["xaxis"]["ticktext"][0] == "call 21"
    assert (layout["meta"]["first"], layout["meta"]["last"], layout["meta"]["even"]) == (21, 24, True)
    assert read(layout["meta"]["calls"]).tolist() == [21, 22, 24]
    assert read(traces(figure)["Compaction"]["x"])[0] == 3


def test_the_main_chain_stays_on_call_numbers_and_names_no_call_of_another():
    calls = [call for call in range(1, 44) if call not in (20, 21)]
    layout = strip.figure(strip_table(len(calls), calls=calls))["layout"]
    assert layout["xaxis"]["range"] == [1, 44]
    assert layout["meta"]["even"] is False
    assert set(layout["xaxis"]["tickvals"]) <= set(calls)
    assert 10 in layout["xaxis"]["tickvals"]
    assert "calls" not in strip.figure(strip_table(40))["layout"]["meta"]
    assert "calls" not in strip.figure(strip_table(len(calls), calls=calls, reduced_from=999))["layout"]["meta"]


def test_parts_are_laid_up_to_the_report_exactly():
    some: list[int | None] = [5, None, 7]
    for parts, reported in ((some, 9), (some, 12), (some, 30), (some, 0), (some[1:2], 4), ([], 3)):
        found = composition.laid(parts, reported)
        assert sum(one or 0 for one in found.within) + found.rest == reported
        assert found.rest - found.over == reported - sum(one or 0 for one in parts)
        both = zip(found.within, found.beyond, strict=True)
        assert [None if one is None else one + more for one, more in both] == parts
    assert composition.laid([5, None, 7], None) == composition.Laid([5, None, 7], [0, 0, 0], 0)


def test_the_strip_draws_a_summary_with_its_number_and_a_trim_dotted_without():
    figure = strip.figure(strip_table(compactions=[mark(1, 20, 21), mark(2, 30, None, "trim")]))
    assert traces(figure)["Compaction"]["line"]["dash"] == "solid"
    assert traces(figure)["Trim"]["line"]["dash"] == "dot"
    assert [note["text"] for note in figure["layout"]["annotations"][:2]] == ["<b>⟳1</b>", "trim"]
    assert figure["layout"]["meta"]["compactions"] == [[21, 1], [31, None]]


def test_a_thousand_compactions_keep_every_line_and_only_the_labels_that_have_room():
    marks = [mark(number, number, number + 1) for number in range(1, 1000)]
    figure = strip.figure(strip_table(1000, compactions=marks))
    assert len(read(traces(figure)["Compaction"]["x"])) == 3 * 999
    assert len(figure["layout"]["annotations"]) < 60


def test_a_call_of_unknown_size_is_a_band_and_not_a_zero():
    table = strip_table(4, reported=[1000, None, 1000, 1000], residual=[0, None, 0, 0])
    table.categories = {"user": [1000, None, 1000, 1000]}
    figure = strip.figure(table)
    check(figure)
    band = read(traces(figure)["Size unknown"]["y"])
    assert [bool(np.isnan(value)) for value in band] == [True, False, True, True, True]


def test_a_strip_without_window_threshold_or_cache_says_so_and_draws_none_of_them():
    blank: list[int | None] = [None] * 40
    figure = strip.figure(strip_table(window=blank, cache_read=blank, threshold=None))
    check(figure)
    assert not {"Window", "Read from cache"} & set(traces(figure))
    assert "window not reported" in figure["layout"]["meta"]["summary"]
    assert figure["layout"]["shapes"] == []
    # An axis that nothing is drawn on holds no call numbers: they stood beside the "0 k".
    assert (figure["layout"]["xaxis"]["anchor"], figure["layout"]["xaxis"]["position"]) == ("free", 0)
    assert strip.figure(strip_table())["layout"]["xaxis"]["anchor"] == "y2"


def test_the_axis_of_a_small_window_counts_in_tokens():
    blank: list[int | None] = [None] * 2
    small = strip_table(2, reported=[20, 21], residual=[0, 0], window=[21, 21], cache_read=blank, threshold=None)
    small.categories = {"user": [20, 21]}
    assert strip.figure(small)["layout"]["yaxis"]["ticktext"] == ["0", "10.5", "21"]


def test_an_empty_strip_is_an_empty_plot_with_a_sentence():
    figure = strip.figure(strip_table(0))
    check(figure)
    assert figure["data"] == []


def test_a_strip_of_two_thousand_calls_is_small():
    assert len(json.dumps(strip.figure(strip_table(2000)))) < 200_000


def test_labels_under_the_strip_do_not_touch():
    figure = strip.figure(strip_table(214, compactions=[mark(1, 71, 72), mark(2, 138, 139)]))
    places = sorted([*figure["layout"]["xaxis"]["tickvals"], 72, 139])
    assert min(b - a for a, b in pairwise(places)) >= 0.04 * 214


def test_composition_lists_every_category_even_at_zero():
    rows = [SimpleNamespace(key=found.key, a=5, b=0 if found.key != "user" else 9) for found in CATEGORIES]
    figure = composition.figure(rows, residual=-3)
    check(figure)
    assert len(figure["data"][0]["y"]) == len(CATEGORIES)
    assert "residual −3" in figure["layout"]["meta"]["summary"]


def node(name: str, depth: int, start: float | None, end: float | None, **more: Any) -> SimpleNamespace:
    base = {"tokens": 10, "made_from": [], "in_window": False, "finding": False, "url": f"/n/{name}/"}
    return SimpleNamespace(id=name, depth=depth, start=start, end=end, **(base | more))


def test_the_summary_graph_is_valid_and_each_bar_has_its_link():
    nodes = [
        node("a", 0, 1, 9),
        node("b", 0, 9, 20, in_window=True, finding=True),
        node("c", 1, 1, 20, made_from=["a", "b"]),
    ]
    figure = graph.figure(SimpleNamespace(nodes=nodes, unit="call", span=None))
    check(figure)
    assert traces(figure)["Summary"]["customdata"] == ["/n/a/", "/n/b/", "/n/c/"]
    assert figure["layout"]["meta"]["links"] == ["/n/a/", "/n/b/", "/n/c/"]


def test_a_name_in_a_narrow_bar_is_its_end_and_in_a_narrower_one_nothing():
    name = "sum_f51d600df61029851"
    nodes = [node(name, 0, 0, 400), node(name, 0, 400, 540), node(name, 0, 540, 590), node(name, 0, 590, 1_000)]
    figure = graph.figure(SimpleNamespace(nodes=nodes, unit="message", span=(0, 1_000)))
    texts = traces(figure)["Summary"]["text"]
    assert texts[0] == name
    assert texts[1] == "…1029851"
    assert texts[2] == ""
    # What does not fit on a narrower screen is left out, not shrunk.
    assert figure["layout"]["uniformtext"] == {"minsize": 10, "mode": "hide"}


def test_no_edge_crosses_bars_that_stand_side_by_side():
    nodes = [node("a", 0, 1, 9), node("b", 0, 9, 20, made_from=["a"])]
    assert "Made from" not in traces(graph.figure(SimpleNamespace(nodes=nodes, unit="message", span=None)))


def test_a_large_summary_graph_is_cut_to_five_hundred_nodes_with_the_window_kept_and_says_so():
    nodes = [node(f"n{at}", 0, at, at + 1, in_window=at == 3) for at in range(900)]
    table = SimpleNamespace(nodes=nodes, unit="call", span=(1, 900))
    drawn = graph.chosen(table)
    assert len(drawn) == MAX_NODES
    assert nodes[3] in drawn
    assert "500 drawn" in graph.summary(table)


def test_a_node_id_cannot_bring_markup_into_the_figure():
    hostile = node('<a href="javascript:x">', 0, 1, 9, url="/n/1/")
    figure = graph.figure(SimpleNamespace(nodes=[hostile], unit="call", span=None))
    assert "<a" not in json.dumps(figure["data"])


START = datetime(2026, 11, 30, 9, 0, tzinfo=UTC)


def at(minutes: float) -> datetime:
    return START + timedelta(minutes=minutes)


def topic_table(**changes: Any) -> SimpleNamespace:
    lanes = [
        SimpleNamespace(name="One <b>", colour="javascript:alert(1)", spans=[(at(0), at(30)), (at(200), at(240))]),
        SimpleNamespace(name="Two", colour=None, spans=[(at(30), at(60))]),
    ]
    base = {
        "lanes": lanes,
        "switches": [
            SimpleNamespace(at=at(30), from_lane=0, to_lane=1),
            SimpleNamespace(at=at(0), from_lane=None, to_lane=0),
        ],
        "spawns": [SimpleNamespace(at=at(5), until=None, lane=0, name="reader", failed=True)],
        "compactions": [SimpleNamespace(at=at(45), number=1)],
        "activity": [(at(0), at(60)), (at(200), at(240))],
    }
    return SimpleNamespace(**(base | changes))


def test_topic_lanes_are_valid_and_take_only_plain_colours_from_a_map():
    figure = topics.figure(topic_table())
    check(figure)
    text = json.dumps(figure)
    assert "javascript" not in text
    assert '<b>"' not in text
    assert topics.lane_colour(SimpleNamespace(name="x", colour="#12ab34", spans=[]), 0) == "#12ab34"


def test_a_topic_of_one_last_moment_is_a_bar_that_ends_with_the_clock():
    late = SimpleNamespace(name="Late", colour=None, spans=[(at(240), at(240))])
    bars = traces(topics.figure(topic_table(lanes=[*topic_table().lanes, late])))["Topic"]
    assert read(bars["x"])[-1] == pytest.approx(0.02)
    assert read(bars["base"])[-1] + read(bars["x"])[-1] == pytest.approx(1.0)


def test_the_length_of_a_rest_stands_at_the_foot_where_a_sign_above_would_read_as_its_end():
    beside = topic_table(compactions=[SimpleNamespace(at=at(59), number=1)])
    notes = {note["text"]: note for note in topics.figure(beside)["layout"]["annotations"]}
    rest, sign = notes[words.duration(8_400)], notes["<b>⟳1</b>"]
    assert (rest["y"], rest["xanchor"], rest["xshift"]) == (0, "right", -4) and sign["y"] == 1
    assert rest["x"] == pytest.approx(notes["//"]["x"] - 0.0175, abs=0.01)


def test_topic_lanes_without_two_moments_are_empty_with_a_sentence():
    check(topics.figure(topic_table(lanes=[], switches=[], spawns=[], compactions=[], activity=[])))


def test_a_long_rest_is_folded_and_an_active_hour_is_not():
    found = clock.clock([(at(0), at(60)), (at(200), at(240))])
    assert found is not None
    assert [gap.text for gap in found.gaps] == [words.duration(8_400)]
    assert found.gaps[0].x1 - found.gaps[0].x0 == pytest.approx(0.035)
    assert found.x(at(60)) == pytest.approx(found.gaps[0].x0)
    assert [found.x(at(-5)), found.x(at(999))] == [0.0, 1.0]


def test_the_clock_never_runs_backwards_and_its_ticks_are_round_times():
    found = clock.clock([(at(0), at(60)), (at(61), at(61)), (at(200), at(240)), (at(900), at(930))])
    assert found is not None
    places = [found.x(at(minutes)) for minutes in range(0, 931, 3)]
    assert places == sorted(places)
    assert all(text.endswith(("00", "30", "15", "45")) for _, text in found.ticks())


def test_one_moment_makes_no_clock():
    assert clock.clock([(at(0), at(0))]) is None


@pytest.mark.parametrize(("span", "wanted", "step"), [(214, 9, 25), (10, 5, 2), (1_000_000, 2, 500_000), (0, 4, 1)])
def test_steps_are_round(span, wanted, step):
    assert nice_step(span, wanted) == step


def test_every_trace_that_is_drawn_is_in_the_vendored_bundle(repository: Path) -> None:
    source = "".join(path.read_text() for path in (repository / "contextviz" / "charts").glob("*.py"))
    build = (repository / "scripts" / "vendor_assets.py").read_text()
    registered = set(re.findall(r'"([a-z]+)"', build.split("TRACES = ")[1].split(")")[0]))
    drawn = set(re.findall(r'"type": "([a-z]+)"', source)) - {"line", "rect", "date", "data"}

    assert "scatter" in drawn and drawn <= registered | {"scatter"}
