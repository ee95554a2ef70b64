"""The Lab's figures: one axis for all runs, orange for boundaries alone, uncertainty drawn, unknown left out."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass, field
from typing import Any

import numpy as np

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
    names = [shape["name"] for shape in lab.fill([Lane(threshold=700), Lane(window=None)])["layout"]["shapes"]]

    assert names == ["window", "threshold"]


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
