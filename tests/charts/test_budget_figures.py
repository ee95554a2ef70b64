"""The budget page's figures: valid for plotly, bounded, and their areas add up."""

from __future__ import annotations

import base64
import json
import re
from typing import Any

import numpy as np
import plotly.graph_objects as go
import pytest

from contextviz.analysis.budget import Group, PrefixTable
from contextviz.analysis.strip import CompactionMark, StripTable
from contextviz.charts import budget, budget_calls
from contextviz.charts.palette import CATEGORIES


def groups() -> list[Group]:
    return [
        Group("result", "Read", "src/cart.py", "file", 3, 100, 4_000),
        Group("result", "Read", "src/pay.py", "file", 1, 0, 1_000),
        Group("result", "Bash", "pytest", "command", 2, 50, 2_000),
        Group("call", "Bash", "pytest", "command", 2, 5, 200),
        Group("user", "", "", "none", 4, 40, 400),
        Group("system", "", "", "none", 0, 1_000, 9_000, "not recorded"),
    ]


def check(figure: dict[str, Any]) -> None:
    go.Figure(figure)
    text = json.dumps(figure)
    assert not re.search(r"#[0-9a-fA-F]{6}\b", text), "a colour is named by a variable"
    assert figure["layout"]["meta"]["summary"].endswith(".")


def roots(figure: dict[str, Any]) -> dict[str, int]:
    trace = figure["data"][0]
    rows = zip(trace["labels"], trace["parents"], trace["values"], strict=True)
    return {label: value for label, parent, value in rows if not parent}


def test_areas_of_every_view_and_measure_add_up_to_the_groups_and_the_residual():
    for view in budget.VIEWS:
        for measure, total in (("carry", 16_600), ("now", 1_195)):
            figure = budget.treemap(groups(), view, measure, 7)  # type: ignore[arg-type]
            check(figure)
            assert sum(roots(figure).values()) == total + 7
            trace = figure["data"][0]
            inside = dict.fromkeys(trace["ids"], 0)
            for parent, value in zip(trace["parents"], trace["values"], strict=True):
                if parent:
                    inside[parent] += value
            for key, value in zip(trace["ids"], trace["values"], strict=True):
                assert inside[key] in (0, value)


def test_a_view_groups_by_category_by_tool_or_by_folder():
    assert roots(budget.treemap(groups(), "category", "carry")) == {
        "System prompt": 9_000, "Tool results": 7_000, "User": 400, "Tool calls": 200,
    }  # fmt: skip
    assert roots(budget.treemap(groups(), "tool", "carry")) == {"No tool": 9_400, "Read": 5_000, "Bash": 2_200}
    assert roots(budget.treemap(groups(), "file", "carry")) == {"No file": 11_600, "src": 5_000}


def test_a_negative_residual_has_no_area_but_stands_in_the_sentence():
    figure = budget.treemap(groups(), "category", "carry", -12)

    assert sum(roots(figure).values()) == 16_600
    sentence = figure["layout"]["meta"]["summary"].replace("\u00a0", " ")
    assert sentence.startswith("16.6 k tokens × calls by category, most in System prompt (54.3 %)")
    assert sentence.endswith("parts 16,600 − residual 12 = 16,588.")


def test_a_small_branch_is_one_area_and_no_hole():
    many = [Group("result", "Read", f"f{n}.py", "file", 1, 1, 1_000) for n in range(10)]
    small = [Group("call", tool, "", "none", 1, 1, 40) for tool in ("Read", "Bash", "Edit")]

    trace = budget.treemap([*many, *small], "category", "carry")["data"][0]

    at = trace["labels"].index("Tool calls")
    assert (trace["parents"][at], trace["values"][at]) == ("", 120)
    assert trace["ids"][at] not in trace["parents"]
    assert trace["marker"]["colors"][at] == "var(--c-call)"
    assert "3 together" in trace["hovertext"][at]


def test_shares_on_areas_are_of_what_was_reported():
    trace = budget.treemap(groups(), "category", "carry", -600)["data"][0]

    at = trace["labels"].index("System prompt")
    assert "9,000 tok, 56.2" in trace["hovertext"][at]


def test_thousands_of_groups_stay_within_the_nodes_and_keep_their_sum():
    many = [Group("result", f"tool{n % 40}", f"d{n % 90}/f{n}.py", "file", 1, n, n) for n in range(1, 4_001)]

    for view in budget.VIEWS:
        figure = budget.treemap(many, view, "carry")
        assert len(figure["data"][0]["ids"]) <= budget.MAX_AREAS
        assert sum(roots(figure).values()) == sum(range(1, 4_001))


def test_a_long_name_is_in_lines_where_its_area_has_room_for_them():
    parts = [Group("memory", "", "", "none", 1, 5, 500), Group("user", "", "", "none", 1, 95, 9_500)]
    small = [Group("memory", "", "", "none", 1, 1, 10), Group("user", "", "", "none", 1, 93, 9_990)]

    def labels(groups: list[Group]) -> list[str]:
        return list(budget.treemap(groups, "category", "carry")["data"][0]["labels"])

    assert labels(parts) == ["User", "Recalled<br>memory"]
    assert labels(small) == ["User", "Recalled memory"]


def test_names_of_hostile_files_are_shown_as_they_are():
    group = Group("result", "Read", "<b>x</b>&<img src=x>", "file", 1, 1, 1)

    text = json.dumps(budget.treemap([group], "file", "carry")["data"])

    assert "<img" not in text
    assert "&lt;b&gt;" in text


def test_nothing_recorded_gives_an_empty_figure_with_a_sentence():
    figure = budget.treemap([], "category", "now")

    check(figure)
    assert figure["data"] == []


# ---- over calls ------------------------------------------------------------------------------------------------------
def strip(count: int = 30, window: int | None = 200_000) -> StripTable:
    parts: dict[Any, list[int | None]] = {found.key: [0] * count for found in CATEGORIES}
    parts["result"] = [1_000 * row for row in range(count)]
    reported: list[int | None] = [1_000 * row + 5 for row in range(count)]
    mark = CompactionMark(1, 9, 10, "summary", 9_000, 1_000, "auto")
    return StripTable(
        list(range(1, count + 1)), parts, reported, [5] * count, [window] * count, [900] * count, None, [mark]
    )  # fmt: skip


@pytest.mark.parametrize("mode", budget_calls.MODES)
def test_the_chart_over_calls_is_valid_in_every_mode(mode: budget_calls.Mode):
    figure = budget_calls.composition(strip(), mode)

    check(figure)
    assert figure["data"]
    assert figure["layout"]["margin"]["l"] == budget_calls.SIDES[1]
    assert any(trace.get("meta") == "compaction" for trace in figure["data"])


def stacked(figure: dict[str, Any], *, over: bool) -> list[float]:
    found = [
        np.frombuffer(base64.b64decode(trace["y"]["bdata"]), dtype=f"<{trace['y']['dtype']}")
        for trace in figure["data"]
        if trace.get("stackgroup") and trace["meta"].startswith("over-") is over
    ]
    return list(np.nansum(found, axis=0)[:-1].tolist())


def test_shares_are_of_each_window():
    figure = budget_calls.composition(strip(), "share")

    assert stacked(figure, over=False) == pytest.approx([100] * 30, abs=0.05)
    assert figure["layout"]["yaxis"]["range"] == [0, 100]


def test_what_the_parts_have_more_than_the_report_hangs_over_it_in_tokens_and_in_shares():
    table = strip(window=40_000)
    table.reported = [reported - 505 for reported in table.reported if reported is not None]
    table.reported[0] = 5
    table.residual = [5, *[-500] * 29]

    tokens = budget_calls.composition(table)
    check(tokens)
    assert stacked(tokens, over=False) == table.reported
    assert stacked(tokens, over=True) == [0, *[500] * 29]
    texts = [note["text"] for note in tokens["layout"]["annotations"]]
    assert "▨ parts up to 500 over the report" in texts

    shares = budget_calls.composition(table, "share")
    check(shares)
    assert stacked(shares, over=False) == pytest.approx([100] * 30, abs=0.05)
    assert stacked(shares, over=True)[1] == 100
    assert shares["layout"]["yaxis"]["range"] == [0, 200]


def test_headroom_says_the_least_and_the_last_and_is_unknown_without_a_window():
    figure = budget_calls.composition(strip(), "headroom")
    assert "least 171.0 k" in figure["layout"]["meta"]["summary"].replace("\u00a0", " ")

    empty = budget_calls.composition(strip(window=None), "headroom")
    check(empty)
    assert empty["data"] == []
    assert "not known" in empty["layout"]["meta"]["summary"]


def test_no_call_gives_an_empty_chart():
    for mode in budget_calls.MODES:
        check(budget_calls.composition(StripTable(), mode))
    check(budget_calls.prefix(PrefixTable(), StripTable(), str))


def test_breaks_stand_out_and_lead_to_their_calls():
    columns = PrefixTable(count=1, calls=[2, 3, 4], share=[0.9, 0.1, None], broken=[False, True, False], is_billed=True)

    figure = budget_calls.prefix(columns, strip(), lambda call: f"/calls/{call}/")

    check(figure)
    kept, broken = figure["data"]
    assert broken["customdata"] == ["/calls/3/"]
    assert kept["customdata"] == ["/calls/2/", "/calls/4/"]
    assert "lowest 10.0 %, with 1 prefix break" in figure["layout"]["meta"]["summary"].replace("\u00a0", " ")
