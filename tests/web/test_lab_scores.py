"""The Lab's scorecard and what-if: what was recorded stands beside replays on equal terms, unknown is never nought."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from contextviz.services import figures, replay
from contextviz.store.models import CallRecord, RunRecord, SessionRecord
from contextviz.store.queries import runs, sessions
from contextviz.store.queries.runs import RunRow
from contextviz.store.values import SessionRow
from contextviz.web.pages.lab.columns import Column, recorded_column, replay_column
from contextviz.web.pages.lab.place import parse
from contextviz.web.pages.lab.scores import LISTED, Metric, Score, best_of, score_of, score_rows
from contextviz.web.pages.lab.what_if import what_if
from tests.services.building import NOW, claude_lines, upload
from tests.web.folded import chat, store_session

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]


def brought(text: str) -> SessionRow:
    return sessions.get_session(int(upload(("chat.jsonl", text)).result["sessions"][0]))


def done(row: SessionRow, engine: str, *, summariser: str = "", window: int | None = None, **settings: Any) -> RunRow:
    started = replay.start_run(
        row.id, engine, settings, measure=replay.Measure(window=window), summariser=summariser,
        now=NOW + timedelta(seconds=RunRecord.objects.count()),
    )  # fmt: skip
    assert started.job_id is not None
    assert replay.execute_run(started.job_id)
    return runs.get_run(started.run_id)


def recorded(row: SessionRow) -> Column:
    return recorded_column(row, figures.strip_of(row.id), 1)


def cells(row: SessionRow, *columns: Column) -> dict[str, list[tuple[str, str]]]:
    return {one.id: [(cell.text, cell.basis) for cell in one.cells] for one in score_rows(row, columns)}


# ---- nothing recorded ------------------------------------------------------------------------------------------------
def test_a_session_without_windows_is_not_replayed_as_recorded(client: Client, tmp_path: Path) -> None:
    row = store_session(tmp_path)
    assert row.message_count and not row.snapshot_count

    with pytest.raises(replay.ReplayRefused, match="holds no context windows"):
        replay.start_run(row.id, "recorded", now=NOW)
    assert client.post(f"/sessions/{row.id}/lab/defaults/").status_code == 303
    page = client.get(f"/sessions/{row.id}/lab/").content.decode()

    assert "holds no context windows" in page
    engines = set(RunRecord.objects.values_list("engine", flat=True))
    assert "recorded" not in engines and len(engines) == 4
    assert client.post(f"/sessions/{row.id}/lab/run/", {"engine": "recorded"}).status_code == 422


def test_a_run_of_windows_that_nobody_recorded_is_unknown_in_every_cell(tmp_path: Path) -> None:
    row = store_session(tmp_path)
    SessionRecord.objects.filter(pk=row.id).update(snapshot_count=1)  # as a run of an earlier version was made
    run = done(row, "recorded")
    assert run.call_count and not run.item_count

    column = replay_column(run, 1, None)
    assert (column.mean, column.peak, set(column.tokens)) == (None, None, {None})
    for metric in ("mean_window", "peak_window", "billed_tokens", "cost", "far_recall", "boundaries", "over_budget"):
        score = score_of(row, column, metric)
        assert (score.value, score.basis) == (None, "unknown"), metric
        assert "No window is known" in score.note
    rows = score_rows(row, [column, replay_column(done(row, "keep-all"), 2, None)])
    assert not any(one.cells[0].is_best for one in rows)


def test_what_was_recorded_without_windows_takes_no_scorecard_of_nought(client: Client, tmp_path: Path) -> None:
    row = store_session(tmp_path)
    SessionRecord.objects.filter(pk=row.id).update(snapshot_count=1)
    done(row, "recorded")
    SessionRecord.objects.filter(pk=row.id).update(snapshot_count=0)
    done(row, "keep-all")
    row = sessions.get_session(row.id)

    assert score_of(row, recorded(row), "far_recall").note == replay.NO_WINDOWS
    if row.call_count:
        page = client.get(f"/sessions/{row.id}/lab/").content.decode()
        assert "By the replay of the recorded windows." not in page


# ---- the best of a row -----------------------------------------------------------------------------------------------
def test_every_run_that_shares_the_best_value_as_it_is_shown_is_the_best() -> None:
    (kept,) = (one for one in LISTED if one.id == "prefix_share")
    (mean,) = (one for one in LISTED if one.id == "mean_window")

    def best(metric: Metric, *values: float | None) -> set[int]:
        return best_of(metric, [Score(value) for value in values])

    assert best(kept, 0.9561, 0.2, 0.9559, None, 0.956) == {0, 2, 4}
    assert best(mean, 12_340, 12_338, 40_000) == {0, 1}
    assert best(kept, 0.9561, 0.9559) == set()  # nobody is better than another
    assert best(kept, 0.5, None) == set()


# ---- what was billed -------------------------------------------------------------------------------------------------
def test_what_was_recorded_is_billed_for_the_main_chain_s_turns_alone() -> None:
    row = brought(claude_lines(4))
    whole = replay.recorded_spend(row.id)
    assert whole.tokens == row.spend_total_tokens == sum(10 + turn + 7 + 105 for turn in range(4))
    CallRecord.objects.filter(session_id=row.id, index=1).update(purpose="summary")
    CallRecord.objects.filter(session_id=row.id, index=2).update(agent="a1")

    part = replay.recorded_spend(row.id)

    assert (part.calls, part.tokens) == (2, (10 + 7 + 105) + (13 + 7 + 105))
    assert part.cost is not None and whole.cost is not None
    assert 0 < part.cost < whole.cost == pytest.approx(row.cost_usd)
    assert part.summaries.count == 1
    shown = cells(row, recorded(row))
    assert shown["billed_tokens"] == [("247", "reported")]
    assert shown["summariser_calls"] == [("1", "derived")]


def test_a_recorded_cost_has_the_basis_that_it_has_elsewhere() -> None:
    row = brought(claude_lines(3))
    assert row.cost_basis == "derived"

    score = score_of(row, recorded(row), "cost", replay.recorded_spend(row.id))

    assert score.basis == "derived" and "client" not in score.note
    CallRecord.objects.filter(session_id=row.id).update(cost_usd=0.5)
    score = score_of(row, recorded(row), "cost", replay.recorded_spend(row.id))
    assert (score.value, score.basis) == (1.5, "reported")


def test_summaries_whose_calls_are_not_written_leave_their_number_unknown() -> None:
    row = brought(chat(2))  # its compactions have summaries, and no calls that made them

    made = replay.recorded_spend(row.id).summaries

    assert made.count is None and "does not write" in made.note
    assert done(row, "recorded").scorecard["metrics"]["summariser_calls"]["value"] is None
    assert replay.recorded_spend(brought(claude_lines(2)).id).summaries.count == 0


def test_a_window_that_counts_the_system_prompt_says_so_in_its_name_and_needs_are_counted(client: Client) -> None:
    row = brought(chat(1))
    run = done(row, "keep-all")
    RunRecord.objects.filter(pk=run.id).update(
        scorecard=run.scorecard | {"metrics": run.scorecard["metrics"] | {
            "far_recall": run.scorecard["metrics"]["far_recall"] | {"value": 0.0, "basis": "derived", "count": 1},
        }}
    )  # fmt: skip

    page = client.get(f"/sessions/{row.id}/lab/").content.decode().replace("\u00a0", " ")

    assert "Mean window, with system prompt" in page and "Billed, main chain" in page
    assert "<small>1 need</small>" in page
    table = page.split("lab-pareto")[-1]
    assert "needs" in table


# ---- what if ---------------------------------------------------------------------------------------------------------
def tried(row: SessionRow, run: RunRow, **typed: str) -> Any:
    column = replay_column(run, 1, None)
    place = parse(row.id, {"runs": run.id.hex[-8:], "slot": "1", "view": "what-if"})
    return what_if(place, [column], replay.catalogue(), typed, None, is_asked=True)


def as_a_browser_sends(page: Any) -> dict[str, str]:
    """The form as it is sent: a range's value is moved onto the nearest of its steps."""
    sent = dict(page.fixed)
    for one in page.sliders:
        value, least = float(one.value), float(one.least)
        if one.step != "any":
            steps = round((value - least) / float(one.step))
            value = min(least + steps * float(one.step), float(one.most))
        sent[one.field.name] = f"{value:.12g}"
    return sent


@pytest.mark.parametrize("window", [4_977, None])
@pytest.mark.parametrize("engine", ["lossless", "flowctx", "keep-tail"])
def test_a_what_if_with_nothing_changed_is_the_run(engine: str, window: int | None) -> None:
    row = brought(chat(3, turns=8))
    own: dict[str, Any] = {"freshTailCount": 3} if engine == "lossless" else {}
    run = done(row, engine, window=window, **own)

    sent = as_a_browser_sends(tried(row, run))
    page = tried(row, run, **sent)

    assert page.cut_count == run.boundary_count
    assert not any(cut.is_new for cut in page.cuts if cut.call is not None)
    assert window is None or run.boundary_count
    declared = {setting.key for spec in replay.catalogue() if spec.key == run.key for setting in spec.settings}
    for name, value in run.settings.items():
        if name in declared and f"s-{name}" in sent and not isinstance(value, bool | str):
            assert float(sent[f"s-{name}"]) == value, name


def test_a_what_if_has_the_summariser_of_its_run() -> None:
    row = brought(chat(3, turns=8))
    run = done(row, "lossless", summariser="stub-tiny", window=4_977, freshTailCount=3, leafChunkTokens=200)
    other = done(row, "lossless", window=4_977, freshTailCount=3, leafChunkTokens=200)
    typed = as_a_browser_sends(tried(row, run))

    assert typed["summariser"] == "stub-tiny"
    page = tried(row, run, **typed)
    assert page.cut_count == run.boundary_count
    assert page.peak == run.scorecard["metrics"]["peak_window"]["value"]
    assert page.peak != other.scorecard["metrics"]["peak_window"]["value"]
    assert not [note for note in page.notes if "the same numbers" in note]


def test_a_what_if_of_a_run_by_an_endpoint_asks_nobody_and_says_so(settings: Any) -> None:
    row = brought(chat(3, turns=8))
    run = done(row, "lossless", window=4_977, freshTailCount=3, leafChunkTokens=200)
    RunRecord.objects.filter(pk=run.id).update(summariser="endpoint")
    settings.SUMMARISER_URL, settings.SUMMARISER_MODEL = "http://127.0.0.1:9/v1", "small"

    page = tried(row, runs.get_run(run.id))

    assert not page.error and not page.refused
    (said,) = [note for note in page.notes if "the same numbers" in note]
    assert re.match(r"Here summaries are by notes, in the run they are by endpoint", said)
