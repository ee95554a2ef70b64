"""What a run is, on its card, and the runs that are still being made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.urls import reverse

from contextviz.charts import words
from contextviz.engines.engine import EngineSpec
from contextviz.store.queries.runs import RunRow
from contextviz.web.pages.lab.columns import Column, run_key, run_name
from contextviz.web.pages.lab.forms import find_spec, plain
from contextviz.web.pages.lab.place import LabPlace

MOST_WAITING = 12
QUALITY_ORDER = ("simulated", "derived", "exact")


@dataclass(frozen=True, slots=True)
class RunCard:
    """A compared run. `qualities` are the parts of its engine by how true they are, `label` the least true ones in a
    few words; `facts` are name and value."""

    column: Column
    # The engine's version, "" where it says nothing
    version: str
    label: str
    summary: str
    simulated: str
    qualities: tuple[tuple[str, str], ...]
    facts: tuple[tuple[str, str], ...]
    notes: tuple[str, ...]
    is_stale: bool
    without_url: str
    again_url: str
    delete_url: str
    job_url: str


@dataclass(frozen=True, slots=True)
class Waiting:
    """A run that is not done: waiting, running, failed or cancelled."""

    key: str
    name: str
    state: str
    progress: int
    total: int | None
    text: str
    outcome: str
    job_url: str
    is_over: bool
    delete_url: str


def run_card(place: LabPlace, column: Column, specs: Sequence[EngineSpec]) -> RunCard:
    """The card of a run that is compared."""
    without = place.url(
        runs=tuple(key for key in place.runs if key != column.key), only=None, slot=None, boundary=None, node=None
    )
    run = column.run
    if run is None:
        facts = (("Windows", column.estimator), ("Context window", _window(column)))
        says = "What the agent really did, as its own records tell."
        return RunCard(column, "", "as recorded", says, "", (), facts, (), False, without, "", "", "")
    spec = find_spec(specs, run.key)
    delete = reverse("lab_delete", args=[place.session_id, run_key(run)])
    return RunCard(
        column, version_words(run, spec), quality_words(run),
        spec.summary if spec else "Its engine is not installed any more.",
        spec.simulated if spec else "", tuple(run.qualities.items()), _facts(column, run), _notes(run, spec),
        run.is_stale, without, place.url(anchor="new-run", engine=run.key), delete,
        reverse("job", args=[run.job_id]) if run.job_id else "",
    )  # fmt: skip


def version_words(run: RunRow, spec: EngineSpec | None) -> str:
    """The version of the engine that a run was made by; "" for a baseline, which has but one."""
    return "" if spec is not None and spec.is_baseline else run.version


def quality_words(run: RunRow) -> str:
    """How true a run is to its engine, the least true parts first: "2 parts simulated, 1 derived"."""
    counts = {name: sum(1 for one in run.qualities.values() if one == name) for name in QUALITY_ORDER}
    said = [f"{counts[name]} {name}" for name in QUALITY_ORDER if counts[name]]
    if said == [f"{counts['exact']} exact"]:
        return "a replay, its rule exact"
    return f"a replay: {', '.join(said)}" if said else "a replay"


def _window(column: Column) -> str:
    if column.window is None:
        return "not known: no budget is applied" if column.run else "not reported"
    return f"{words.tokens(column.window)} tokens" + (f", {column.window_from}" if column.window_from else "")


def _facts(column: Column, run: RunRow) -> tuple[tuple[str, str], ...]:
    measured = run.measured
    facts = [("Engine", run.key), ("Context window", _window(column))]
    if measured is not None:
        basis = measured.basis.get("system_tokens", "unknown")
        facts += [
            ("Reserve", f"{words.tokens(measured.reserve)} tokens"),
            ("System prompt and tools", f"{words.tokens(measured.system_tokens)} tokens, {basis}"),
            ("Windows counted by", f"{measured.estimator}, estimated"),
        ]
    facts += [("Summaries by", run.summariser)] if run.summariser else []
    facts += [("Likeness by", run.scorer)] if run.scorer else []
    facts += [(key, plain(value)) for key, value in run.settings.items() if value is not None]
    facts.append(("Hash of all windows", run.hash[:16] or words.UNKNOWN))
    return tuple(facts)


def _notes(run: RunRow, spec: EngineSpec | None) -> tuple[str, ...]:
    said = spec.simulated if spec else ""
    sentences = run.scorecard.get("sentences") or []
    return tuple(note for note in (*run.notes, *map(str, sentences)) if note != said)


@dataclass(frozen=True, slots=True)
class WaitingRuns:
    """The runs that are not done; `poll_url` asks for them again while one may still be ("" else), `more` have become
    done since the page was made."""

    session_id: int
    runs: tuple[Waiting, ...]
    poll_url: str
    more: int


def waiting_runs(session_id: int, found: Sequence[RunRow], *, known: int | None = None, is_fresh: bool) -> WaitingRuns:
    """The runs that are not done, the newest first, at most twelve. `known` were done when the page was made; a page
    that `is_fresh` shows none of them."""
    done = sum(run.is_done for run in found)
    before = done if known is None else min(known, done)
    waiting = [_waiting(run) for run in found if not run.is_done][:MOST_WAITING]
    query = f"?done={before}" + ("&fresh=1" if is_fresh else "")
    poll = reverse("lab_waiting", args=[session_id]) + query if any(not one.is_over for one in waiting) else ""
    return WaitingRuns(session_id, tuple(waiting), poll, done - before)


def _waiting(run: RunRow) -> Waiting:
    total = run.total or None
    text = f"{words.tokens(run.progress)} of {words.tokens(total)} messages" if total else "reading the session"
    return Waiting(
        run_key(run), run_name(run, None), run.state, run.progress, total, text, run.outcome,
        reverse("job", args=[run.job_id]) if run.job_id else "", run.is_finished,
        reverse("lab_delete", args=[run.session_id, run_key(run)]),
    )  # fmt: skip
