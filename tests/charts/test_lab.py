"""The Lab's figures: one axis for all runs, orange for boundaries alone, uncertainty drawn, unknown left out."""

from __future__ import annotations

import base64
import html
import itertools
import json
import re
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from contextviz.charts import lab, lab_scores
from contextviz.charts.figure import MAX_POINTS


@dataclass
class Lane:
    name: str = "Keep the tail"
    calls: list[int] = field(default_factory=lambda: [1, 2, 3, 4])
    tokens: list[int | None] = field(default_factory=lambda: [100, 200, None, 150])
    boundaries: list[int] = field(default_factory=lambda: [4])
    boundary_count: int = 1
    peak: int | None = 200
    window: int | None = 1_000
    threshold: int | None = None


@dataclass
class Point:
    name: str = "● flowctx"
    mean_window: float | None = 80_000
    recall: float | None = 0.52
    low: float | None = 0.48
    high: float | None = 0.56
    reach: float | None = 0.78
    count: int | None = 31


def numbers(column: Any) -> list[float]:
    return list(np.frombuffer(base64.b64decode(column["bdata"]), "<" + column["dtype"]).tolist())


def test_every_run_has_a_lane_on_one_axis_of_calls_and_one_scale_of_tokens() -> None:
    figure = lab.fill([Lane(), Lane("Other", [2, 9], [50, 900], [], 0)])

    layout = figure["layout"]
    assert layout["xaxis"]["range"] == [1, 10]
    assert layout["yaxis"]["range"] == layout["yaxis3"]["range"]
    assert layout["yaxis"]["domain"][0] > layout["yaxis3"]["domain"][1]  # the first stands on top
    assert (layout["meta"]["first"], layout["meta"]["last"], layout["meta"]["lanes"]) == (1, 9, 2)
    totals = [trace for trace in figure["data"] if trace["meta"] == "total"]
    assert [trace["yaxis"] for trace in totals] == ["y", "y3"]


def test_orange_is_boundaries_and_nothing_else() -> None:
    figure = lab.fill([Lane(), Lane(threshold=800)])

    for trace in figure["data"]:
        assert ("--orange" in json.dumps(trace)) == (trace["meta"] == "boundary")
    assert "--orange" not in json.dumps(figure["layout"])


def test_an_unknown_size_is_a_gap_and_never_nought() -> None:
    trace = next(trace for trace in lab.fill([Lane()])["data"] if trace["meta"] == "total")

    assert np.isnan(numbers(trace["y"])[2])
    assert 0 not in numbers(trace["y"])


def test_series_and_boundaries_stay_below_the_most_points() -> None:
    calls = list(range(1, 1_401))
    lane = Lane(calls=calls, tokens=[1] * 1_400, boundaries=list(range(1, 2_001)), boundary_count=29_000)

    figure = lab.fill([lane] * 4)

    assert max(len(numbers(trace["x"])) for trace in figure["data"]) <= MAX_POINTS
    assert "29,000 boundaries" in figure["layout"]["meta"]["summary"]
    assert len(json.dumps(figure)) < 300_000


def test_the_window_is_a_line_of_its_own_where_it_is_known() -> None:
    lanes = [Lane(threshold=700, tokens=[100, 600, None, 150]), Lane(window=None)]
    names = [shape["name"] for shape in lab.fill(lanes)["layout"]["shapes"]]

    assert names == ["window", "threshold"]


def test_a_window_far_above_what_was_used_is_said_and_not_drawn() -> None:
    figure = lab.fill([Lane(window=200_000, threshold=167_000)])

    assert figure["layout"]["shapes"] == []
    assert figure["layout"]["meta"]["top"] == 240
    said = figure["layout"]["annotations"][0]["text"].replace("\u00a0", " ")
    assert said.endswith("1 boundary, window 200.0 k and threshold 167.0 k far above")


def test_nothing_to_draw_says_so() -> None:
    for lanes in ([], [Lane(calls=[], tokens=[], boundaries=[])]):
        figure = lab.fill(lanes)
        assert figure["data"] == []
        assert "known" in figure["layout"]["meta"]["summary"]
    assert lab.height(4) - lab.height(3) == lab.LANE


def test_a_name_is_text_and_no_markup() -> None:
    texts = json.dumps(lab.fill([Lane("<img src=x>")])["layout"]["annotations"])

    assert "<img" not in texts
    assert "&lt;img" in texts


# ---- Pareto ----------------------------------------------------------------------------------------------------------
def test_a_run_has_whiskers_and_a_line_up_to_its_reach() -> None:
    figure = lab_scores.pareto([Point()])

    run = figure["data"][-1]
    assert numbers(run["error_y"]["array"]) == [0.56 - 0.52]
    assert numbers(run["error_y"]["arrayminus"]) == [0.52 - 0.48]
    line = next(trace for trace in figure["data"] if trace.get("meta") == "reach")
    assert numbers(line["y"]) == [0.52, 0.78]
    assert "--orange" not in json.dumps(figure)


def test_runs_are_told_apart_by_shape() -> None:
    figure = lab_scores.pareto([Point(reach=None) for _ in range(4)])

    assert [trace["marker"]["symbol"] for trace in figure["data"]] == ["circle", "square", "triangle-up", "diamond"]


def test_what_is_not_known_is_named_and_not_drawn() -> None:
    figure = lab_scores.pareto([Point(), Point("■ other", recall=None), Point("▲ third", mean_window=None)])

    assert {trace.get("name") for trace in figure["data"]} <= {"● flowctx", None}
    assert "Not known for ■ other, ▲ third" in figure["layout"]["meta"]["summary"]
    assert lab_scores.pareto([Point(recall=None)])["data"] == []
    assert lab_scores.summary([]) == "No run is chosen."


def test_controls_stand_beside_the_runs_in_grey() -> None:
    figure = lab_scores.pareto([Point()], [Point("Keep all", 200_000, 1.0), Point("Oracle", None, 0.9)])

    control = next(trace for trace in figure["data"] if trace.get("meta") == "control")
    assert numbers(control["x"]) == [200_000]
    assert figure["layout"]["xaxis"]["range"][1] >= 200_000


def test_an_interval_of_nothing_is_no_whisker() -> None:
    run = lab_scores.pareto([Point(low=None, high=None, reach=None)])["data"][0]

    assert numbers(run["error_y"]["array"]) == [0]


def pixels(figure: Any, width: float) -> tuple[list[tuple[float, ...]], list[tuple[float, ...]]]:
    """Boxes of the names and of the signs in a plot `width` pixels wide and 200 high, from its lower left corner."""
    (left, right), (low, high) = (figure["layout"][name]["range"] for name in ("xaxis", "yaxis"))

    def at(x: float, y: float) -> tuple[float, float]:
        return (x - left) / (right - left) * width, (y - low) / (high - low) * 200

    names: list[tuple[float, ...]] = []
    for note in figure["layout"]["annotations"]:
        lines = [html.unescape(re.sub(r"<[^>]*>", "", line)) for line in note["text"].split("<br>")]
        wide, tall = 6 * max(map(len, lines)), 14 * len(lines)
        x, y = at(note["x"], note["y"])
        across, up = (note["ax"], -note["ay"]) if note["showarrow"] else (note["xshift"], note["yshift"])
        start = x + across - (wide if note["xanchor"] == "right" else 0)
        middle = y + up
        names.append((start, start + wide, middle - tall / 2, middle + tall / 2))
    signs: list[tuple[float, ...]] = []
    for trace in figure["data"]:
        if trace["mode"] == "markers":
            for x, y in map(at, numbers(trace["x"]), numbers(trace["y"])):
                signs.append((x - 5, x + 5, y - 5, y + 5))
    return names, signs


def meet(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    return one[0] < other[1] and other[0] < one[1] and one[2] < other[3] and other[2] < one[3]


def runs_at(*places: tuple[float, float]) -> list[Point]:
    names = ("● Recorded", "■ Keep all", "▲ lossless-claw", "◆ a name of an engine that is far too long")
    return [Point(name, size, recall, None, None, None) for name, (size, recall) in zip(names, places, strict=False)]


def test_names_stand_beside_their_signs_where_an_order_of_placing_them_allows_it() -> None:
    points = [
        Point("● Recorded", 80_800, 0.819, 0.692, 0.928, 0.819), Point("■ Keep all", 243_900, 1.0, 1.0, 1.0, 1.0),
        Point("▲ lossless-claw", 155_900, 1.0, 1.0, 1.0, 1.0), Point("◆ flowctx (port)", 43_500, 1.0, 1.0, 1.0, 1.0),
    ]  # fmt: skip
    notes = lab_scores.pareto(points, [Point("Keep the tail", 161_000, 1.0)])["layout"]["annotations"]

    assert all(abs(note.get("ay", note.get("yshift", 0))) <= 60 for note in notes)
    texts = [note["text"].replace("\u00a0", " ") for note in notes]
    assert texts[1] == "<b>■ Keep all</b><br>100.0 %"  # an interval of nothing is none
    assert texts[-1] == "Keep the tail<br>100.0 %"


def test_a_name_far_from_its_sign_has_a_line_to_it() -> None:
    crowded = lab_scores.pareto(runs_at((20_000, 1.0), (20_000, 1.0), (20_000, 1.0), (20_000, 1.0)))

    notes = crowded["layout"]["annotations"]
    lines = [note for note in notes if note["showarrow"]]
    assert lines
    assert all(abs(note["ay"]) > 16 for note in lines)
    assert all(abs(note["yshift"]) <= 16 for note in notes if not note["showarrow"])
    assert not any(note["showarrow"] for note in lab_scores.pareto([Point()])["layout"]["annotations"])


@pytest.mark.parametrize(
    "points",
    [
        runs_at((13_300, 0.0), (14_200, 0.0), (17_000, 0.0), (21_100, 0.0)),
        runs_at((13_300, 1.0), (14_200, 1.0), (17_000, 1.0), (21_100, 1.0)),
        runs_at((20_000, 1.0), (20_000, 1.0), (20_000, 1.0), (20_000, 1.0)),
        runs_at((0, 0.75), (0, 0.5), (100, 0.75), (40_000, 0.0)),
        runs_at((9_000, 0.0), (9_100, 0.02), (9_200, 0.98), (9_300, 1.0)),
        [Point(point.name, 50_000, 0.6) for point in runs_at(*[(1, 0.0)] * 4)],
    ],
    ids=["all-at-0", "all-at-1", "one-place", "left-edge", "top-and-bottom", "whiskers"],
)
@pytest.mark.parametrize("width", [322, 440, 640])
def test_names_are_inside_the_plot_and_clear_of_each_other_and_of_signs(points: list[Point], width: int) -> None:
    controls = [Point("Keep the tail", 19_000, 0.0), Point("Keep nothing", 8_000, 0.0), Point("Oracle", 9_000, 1.0)]
    for others in ([], controls):
        figure = lab_scores.pareto(points, others)

        names, signs = pixels(figure, width)

        assert [note["name"] for note in figure["layout"]["annotations"]].count("run") == len(points)
        for box in names:
            assert box[0] >= 0
            assert box[1] <= width
            assert box[2] >= 0
            assert box[3] <= 200
        assert not [pair for pair in itertools.combinations(names, 2) if meet(*pair)]
        assert not [(name, sign) for name in names for sign in signs if meet(name, sign)]
        for sign in signs:  # whole, at the edges too
            assert sign[0] >= 0
            assert sign[1] <= width
            assert sign[2] >= 0
            assert sign[3] <= 200
