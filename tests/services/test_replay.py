"""A replay from the request to the saved run: as a job, found again, deleted with its texts, shown at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from django.contrib.auth.models import User

from contextviz.engines import registry
from contextviz.engines.engine import AssembleRequest, EngineSpec, Host, ReplayEngine
from contextviz.engines.material import ReplayMessage
from contextviz.engines.registry import NoSuchEngine
from contextviz.engines.scoring import Bm25
from contextviz.engines.scoring import registry as scoring
from contextviz.engines.settings import Setting, Value
from contextviz.engines.summaries import SummariserFailed, SummaryRequest
from contextviz.engines.window import Assembly, CompactionMade, NodeMade, Part, made
from contextviz.services import delete, jobs, replay
from contextviz.services.replay import performing, starting, summarisers, what_if
from contextviz.store.models import (
    JobRecord,
    KeptSummaryRecord,
    RunChunkRecord,
    RunRecord,
    RunTextRecord,
    SessionRecord,
    TextRecord,
)
from contextviz.store.queries import jobs as job_rows
from contextviz.store.queries import runs
from contextviz.store.texts import TextReader
from contextviz.store.values import JobRow, NotFound
from contextviz.store.viewing import Viewer, viewing
from tests.services.building import NOW, claude_lines, upload

pytestmark = pytest.mark.django_db


class Summing(ReplayEngine):
    """Folds all but the last two messages into a summary at every fourth call; `every` sets which."""

    spec = EngineSpec(
        "summing", "1", "Summing", "For tests.", "8", (Setting("every", 4, "Calls.", least=1, most=9),),
        qualities={"cut": "exact", "summary": "simulated"}, uses_summariser=True,
    )  # fmt: skip

    def __init__(self, host: Host, settings: Mapping[str, Value]) -> None:
        super().__init__(host, settings)
        self._parts: list[Part] = []
        self._seqs: list[int] = []

    def ingest(self, message: ReplayMessage) -> None:
        """See Engine."""
        self._parts.append(Part(message.role, message))
        self._seqs.append(message.seq)

    def assemble(self, request: AssembleRequest) -> Assembly:
        """See Engine."""
        every = self.whole("every")
        if request.call % every == every - 1:
            text = self.host.summarise(SummaryRequest("\n".join(part.text for part in self._parts[:-2])))
            gone, self._seqs = tuple(self._seqs[:-2]), self._seqs[-2:]
            node = f"n{request.call}"
            self.host.node(NodeMade(node, 0, text, self.host.count(text), covers=gone))
            self.host.compacted(CompactionMade("summary", "count", 9, 3, gone, (node,), text, summariser_calls=1))
            self._parts = [made("user", text, segment="summary", reason="summary", kind="summary", node=node),
                           *self._parts[-2:]]  # fmt: skip
        return Assembly(self._parts.copy())


@pytest.fixture(autouse=True)
def summing(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The engine of these tests among the registered ones."""
    monkeypatch.setattr(registry, "OWN", (*registry.OWN, Summing))
    registry._found.cache_clear()
    yield
    registry._found.cache_clear()


@pytest.fixture
def session_id(data_dir: Path) -> int:
    found: int = upload(("a.jsonl", claude_lines(20))).result["sessions"][0]
    return found


def start(session_id: int, engine: str = "summing", **more: Any) -> replay.Started:
    return replay.start_run(session_id, engine, more.pop("settings", None), now=NOW, **more)


def done(session_id: int, engine: str = "summing", **more: Any) -> tuple[runs.RunRow, JobRow]:
    started = start(session_id, engine, **more)
    assert started.job_id is not None
    assert replay.execute_run(started.job_id)
    return runs.get_run(started.run_id), job_rows.get_job(started.job_id)


def test_a_replay_is_a_job_whose_run_has_every_window(session_id: int) -> None:
    started = start(session_id, "keep-all")
    waiting = runs.get_run(started.run_id)
    assert (waiting.state, waiting.is_done, waiting.label) == ("queued", False, "Keep all")

    assert started.job_id is not None
    assert replay.execute_run(started.job_id)

    row, job = runs.get_run(started.run_id), job_rows.get_job(started.job_id)
    assert (job.state, job.outcome) == ("done", "Replayed 40 messages by Keep all: 20 calls, 0 compactions.")
    assert job.result == {"run": str(row.id), "hash": row.hash}
    assert (row.state, row.call_count, row.message_count, row.session_revision) == ("done", 20, 40, 1)
    last = runs.window(row, 19)
    assert [one.item.message_index for one in last.items] == list(range(39))
    words = TextReader().get_many([one.item.text for one in last.items])
    assert words[last.items[38].item.text.digest] == "alpha question 19"
    assert {one.category for one in last.items} == {"user", "assistant"}


def test_the_scorecard_is_kept_with_the_run(session_id: int) -> None:
    row, _ = done(session_id)

    metrics = row.scorecard["metrics"]
    assert metrics["boundaries"]["value"] == row.boundary_count == 5
    assert metrics["summariser_calls"]["value"] == row.summariser_calls == 5
    assert metrics["peak_window"]["value"] == max(runs.series(row).tokens)
    assert metrics["billed_tokens"]["value"] is not None
    assert row.scorecard["missed_count"] >= len(row.scorecard["missed"])


def test_the_same_request_finds_the_same_run(session_id: int) -> None:
    first = start(session_id)
    again = start(session_id, settings={"every": "4"})
    assert (again.run_id, again.job_id, again.is_new) == (first.run_id, first.job_id, False)

    assert first.job_id is not None
    replay.execute_run(first.job_id)
    assert start(session_id, "summing@1") == replay.Started(first.run_id, first.job_id, is_new=False)

    other = start(session_id, settings={"every": 5})
    window = start(session_id, measure=replay.Measure(window=9_000))
    assert len({first.run_id, other.run_id, window.run_id}) == 3
    SessionRecord.objects.filter(pk=session_id).update(revision=2)
    assert start(session_id).is_new


def test_two_runs_of_one_replay_agree_in_their_hash(session_id: int) -> None:
    row, _ = done(session_id)
    RunRecord.objects.filter(pk=row.id).update(config_hash="another")

    again, _ = done(session_id)

    assert again.id != row.id
    assert again.hash == row.hash != ""


def test_what_was_set_is_said(session_id: int) -> None:
    row, _ = done(
        session_id, settings={"every": 99, "evry": 1}, measure=replay.Measure(window=5_000, reserve=100)
    )  # fmt: skip

    assert row.settings == {"every": 9}
    assert any("became 9" in note for note in row.notes)
    assert any("Did you mean every?" in note for note in row.notes)
    assert row.measured is not None
    assert (row.measured.window, row.measured.reserve, row.measured.basis["window"]) == (5_000, 100, "set")
    assert row.asked == {"window": 5_000, "reserve": 100, "system_tokens": None, "estimator": None}


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        ({"settings": {"every": [1]}}, "is a number, a word"),
        ({"settings": {"every": float("nan")}}, "that nothing counts in"),
        ({"settings": {"every": 10**400}}, "that nothing counts in"),
        ({"settings": {"x" * 300: 1}}, "longer than 200"),
        ({"settings": {str(n): 1 for n in range(101)}}, "no engine has more"),
        ({"measure": replay.Measure(window=-1)}, "window is 0 to"),
        ({"measure": replay.Measure(estimator="abacus")}, "no estimator 'abacus'"),
        ({"summariser": "oracle of Delphi"}, "no summariser 'oracle of Delphi'"),
    ],
)
def test_what_makes_no_sense_is_refused_in_a_sentence(session_id: int, more: dict[str, Any], sentence: str) -> None:
    with pytest.raises(replay.ReplayRefused, match=sentence):
        start(session_id, **more)
    assert not RunRecord.objects.exists()


def test_an_unknown_engine_or_session_is_refused_before_a_job_is_opened(session_id: int) -> None:
    with pytest.raises(NoSuchEngine, match="Did you mean keep-tail"):
        start(session_id, "keep-tial")
    with pytest.raises(NotFound):
        start(session_id + 1)
    assert job_rows.jobs(kind="replay").total == 0


def test_a_session_has_a_bounded_number_of_runs(session_id: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(starting, "MOST_RUNS", 2)
    first = start(session_id, settings={"every": 1})
    start(session_id, settings={"every": 2})

    with pytest.raises(replay.ReplayRefused, match="Delete one first"):
        start(session_id, settings={"every": 3})
    replay.delete_run(first.run_id)
    assert start(session_id, settings={"every": 3}).is_new


def test_a_cancelled_run_can_be_asked_for_again(session_id: int) -> None:
    started = start(session_id)
    assert started.job_id is not None
    assert jobs.cancel(started.job_id, now=NOW)
    assert runs.get_run(started.run_id).state == "cancelled"

    row, _ = done(session_id)

    assert (row.id, row.state) == (started.run_id, "done")


def test_a_running_replay_stops_where_it_is_asked_to(session_id: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "PROGRESS_SECONDS", 0.0)
    started = start(session_id)
    real = performing.__dict__["replay"]

    def cancelled_at_half(*args: Any, progress: Any, **more: Any) -> Any:
        def told(finished: int, total: int) -> None:
            if finished > total / 2:
                jobs.cancel(str(started.job_id), now=NOW)
            progress(finished, total)

        return real(*args, progress=told, **more)

    monkeypatch.setattr(performing, "replay", cancelled_at_half)
    assert started.job_id is not None
    replay.execute_run(started.job_id)

    job = job_rows.get_job(started.job_id)
    assert (job.state, runs.get_run(started.run_id).state) == ("cancelled", "cancelled")
    assert 20 < job.progress < 40
    assert not RunChunkRecord.objects.exists()


def test_a_session_that_has_changed_is_not_replayed_as_what_it_was(session_id: int) -> None:
    started = start(session_id)
    SessionRecord.objects.filter(pk=session_id).update(revision=2)

    assert started.job_id is not None
    replay.execute_run(started.job_id)

    job = job_rows.get_job(started.job_id)
    assert (job.state, job.outcome, job.can_retry) == ("failed", performing.CHANGED, False)


def test_a_worker_killed_after_saving_has_nothing_left_to_do(session_id: int) -> None:
    row, job = done(session_id)
    started = start(session_id)
    RunRecord.objects.filter(pk=row.id).update(created_at=NOW)
    JobRecord.objects.filter(pk=job.id).update(state="queued", owner="", outcome="", result={})

    assert started.job_id is not None
    assert replay.execute_run(started.job_id)

    again = job_rows.get_job(job.id)
    assert (again.state, again.outcome, again.result) == ("done", job.outcome, job.result)


def test_a_deleted_run_leaves_no_row_and_no_text_of_its_own(session_id: int) -> None:
    before = set(TextRecord.objects.values_list("digest", flat=True))
    row, _ = done(session_id)
    assert set(TextRecord.objects.values_list("digest", flat=True)) > before

    replay.delete_run(row.id)

    assert set(TextRecord.objects.values_list("digest", flat=True)) == before
    for model in (RunRecord, RunChunkRecord, RunTextRecord):
        assert not model.objects.exists()
    with pytest.raises(NotFound):
        replay.delete_run(row.id)


def test_texts_that_another_run_holds_stay(session_id: int) -> None:
    first, _ = done(session_id)
    other, _ = done(session_id, measure=replay.Measure(window=77_777))
    node = runs.nodes(other)[0]

    replay.delete_run(first.id)

    assert TextReader().get(node.text).startswith("alpha")
    replay.delete_run(other.id)
    with pytest.raises(KeyError):
        TextReader().get(node.text)


def test_a_run_that_is_being_replayed_is_not_deleted(session_id: int) -> None:
    started = start(session_id)
    assert started.job_id is not None
    JobRecord.objects.filter(pk=started.job_id).update(state="running", heartbeat_at=NOW)

    with pytest.raises(replay.ReplayRefused, match="Stop its job first"):
        replay.delete_run(started.run_id)


def test_a_run_deleted_while_it_waits_ends_its_job_in_a_sentence(session_id: int) -> None:
    started = start(session_id)
    replay.delete_run(started.run_id)

    assert started.job_id is not None
    replay.execute_run(started.job_id)

    assert job_rows.get_job(started.job_id).outcome == "This run was deleted, or its session was."


def test_a_deleted_session_takes_its_runs_and_their_texts(session_id: int) -> None:
    done(session_id)
    KeptSummaryRecord.objects.create(session_id=session_id, key="k", body=b"", made_at=NOW)

    job_id = delete.open_delete(session_id, now=NOW)
    assert runs.runs_of(session_id) == []
    delete.delete_session(job_id)

    assert job_rows.get_job(job_id).state == "done"
    for model in (RunRecord, RunChunkRecord, RunTextRecord, KeptSummaryRecord, TextRecord):
        assert not model.objects.exists()


def test_a_session_deleted_while_it_is_replayed_keeps_nothing(session_id: int, monkeypatch: pytest.MonkeyPatch) -> None:
    started = start(session_id)
    before = set(TextRecord.objects.values_list("digest", flat=True))
    real = performing.__dict__["scored"]

    def marked(*args: Any) -> Any:
        SessionRecord.objects.filter(pk=session_id).update(status="deleting")
        return real(*args)

    monkeypatch.setattr(performing, "scored", marked)
    assert started.job_id is not None
    replay.execute_run(started.job_id)

    job = job_rows.get_job(started.job_id)
    assert (job.state, job.outcome) == ("failed", "The session was deleted while it was replayed.")
    assert set(TextRecord.objects.values_list("digest", flat=True)) == before
    assert not RunChunkRecord.objects.exists()


def test_a_run_and_its_job_are_as_private_as_the_session(session_id: int, django_user_model: type[User]) -> None:
    owner, other = (django_user_model.objects.create_user(name, is_staff=True) for name in ("owner", "other"))
    SessionRecord.objects.filter(pk=session_id).update(is_private=True, owner=owner)

    with viewing(Viewer(owner.pk, "operator")):
        row, job = done(session_id)
        assert runs.get_run(row.id).person_id == owner.pk
    with viewing(Viewer(other.pk, "operator")):
        for hidden in (lambda: runs.get_run(row.id), lambda: job_rows.get_job(job.id), lambda: start(session_id),
                       lambda: replay.delete_run(row.id), lambda: replay.preview(session_id, "summing")):  # fmt: skip
            with pytest.raises(NotFound):
                hidden()


class Paid:
    """A summariser that counts how often it is asked."""

    id = "paid"

    def __init__(self, fails_at: int = 0) -> None:
        self.settings: dict[str, Value] = {"model": "m"}
        self.asked: list[str] = []
        self._fails_at = fails_at

    @property
    def calls(self) -> int:
        return len(self.asked)

    def __call__(self, request: SummaryRequest) -> str:
        self.asked.append(request.text)
        if len(self.asked) == self._fails_at:
            raise SummariserFailed("The endpoint does not answer.")
        return f"paid summary {len(self.asked)}"


def test_a_summary_that_was_paid_for_is_not_asked_for_again(session_id: int, monkeypatch: pytest.MonkeyPatch) -> None:
    paid = Paid(fails_at=4)
    monkeypatch.setattr(starting, "chosen", lambda *_: paid)
    monkeypatch.setattr(
        performing, "summariser_for", lambda name, session, material, look: summarisers.Remembering(paid, session)
    )
    started = start(session_id)
    assert started.job_id is not None
    replay.execute_run(started.job_id)
    job = job_rows.get_job(started.job_id)
    assert (job.state, job.outcome, job.can_retry) == ("failed", "The endpoint does not answer.", True)

    assert jobs.retry(started.job_id)
    replay.execute_run(started.job_id)

    row = runs.get_run(started.run_id)
    assert (row.state, row.summariser, row.summariser_calls) == ("done", "paid", 5)
    assert len(paid.asked) == 6, "three were kept, the fourth was asked again"
    assert len(set(paid.asked)) == 5
    assert row.notes[-1] == (
        "Summaries by m: 6 asked for now (0 tokens), 3 kept from before, 0 longer than asked for and cut."
    )
    words = TextReader().get_many([node.text for node in runs.nodes(row)])
    assert [words[node.text.digest] for node in runs.nodes(row)] == [f"paid summary {n}" for n in (1, 2, 3, 5, 6)]


def test_an_endpoint_is_offered_where_it_is_set_and_only_there(session_id: int, settings: Any) -> None:
    assert "endpoint" not in replay.summariser_choices()
    with pytest.raises(replay.ReplayRefused, match="set CONTEXTVIZ_SUMMARISER_URL"):
        start(session_id, summariser="endpoint")

    settings.SUMMARISER_URL, settings.SUMMARISER_MODEL = "http://127.0.0.1:9/v1", "small"
    settings.SUMMARISER_KEY = "key-of-the-endpoint"
    assert replay.summariser_choices()[-1] == "endpoint"
    assert replay.summariser_specs()[-1].help == "Asks small at 127.0.0.1: what is to be summarised is sent there."
    first = start(session_id, summariser="endpoint")
    settings.SUMMARISER_KEY = "another"
    assert start(session_id, summariser="endpoint").run_id == first.run_id
    settings.SUMMARISER_MODEL = "large"
    assert start(session_id, summariser="endpoint").run_id != first.run_id
    assert "key-of-the-endpoint" not in str(list(RunRecord.objects.values()) + list(JobRecord.objects.values()))
    # An engine that asks for no summaries is the same run whatever could make them.
    assert start(session_id, "keep-all", summariser="recorded").run_id == start(session_id, "keep-all").run_id
    with pytest.raises(replay.ReplayRefused, match="There is no summariser 'x'"):
        start(session_id, "keep-all", summariser="x")


def test_a_preview_shows_what_would_go_and_keeps_nothing(session_id: int) -> None:
    texts = TextRecord.objects.count()

    found = replay.preview(session_id, "summing", {"every": 5})

    assert (found.key, found.settings, found.calls, found.cut_count) == ("summing@1", {"every": 5}, 20, 4)
    first = found.cuts[0]
    assert (first.number, first.call, first.messages, first.kind, first.trigger) == (1, 4, 9, "summary", "count")
    assert [one.message for one in first.evicted] == list(range(7))
    assert first.evicted_count == 7
    assert first.evicted_tokens == sum(one.tokens for one in first.evicted) > 0
    assert TextRecord.objects.count() == texts
    assert not RunRecord.objects.exists()


def test_a_smaller_window_cuts_more(session_id: int) -> None:
    small = replay.preview(session_id, "keep-tail", measure=replay.Measure(window=20, system_tokens=0))
    large = replay.preview(session_id, "keep-tail", measure=replay.Measure(window=80, system_tokens=0))

    assert small.cut_count > large.cut_count > 0
    assert small.peak_tokens is not None
    assert large.peak_tokens is not None
    assert small.peak_tokens <= 20 < large.peak_tokens <= 80


def test_a_long_session_is_for_a_job(session_id: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(what_if, "MOST_SECONDS", -1.0)
    with pytest.raises(replay.NeedsJob, match="After three seconds"):
        replay.preview(session_id, "keep-all")
    monkeypatch.setattr(what_if, "MOST_MESSAGES", 39)
    with pytest.raises(replay.NeedsJob, match="This session has 40 messages"):
        replay.preview(session_id, "keep-all")


def test_a_scorer_is_part_of_what_is_asked_where_the_engine_has_one(session_id: int) -> None:
    with pytest.raises(replay.ReplayRefused, match="Did you mean bm25"):
        start(session_id, "openbrain", scorer="bm52")
    assert not RunRecord.objects.exists()

    first = start(session_id, "openbrain")
    assert start(session_id, "openbrain", scorer="bm25").run_id == first.run_id
    assert runs.get_run(first.run_id).scorer == "bm25"
    assert start(session_id, "keep-all", scorer="bm25").run_id == start(session_id, "keep-all").run_id
    with pytest.raises(replay.ReplayRefused, match="There is no scorer 'nonsense'"):
        start(session_id, "keep-all", scorer="nonsense")


@pytest.mark.parametrize("has_param", [True, False])
def test_a_run_is_made_with_the_scorer_it_was_asked_for_with(session_id: int, has_param: bool) -> None:
    started = start(session_id, "openbrain", scorer="bm25")
    assert started.job_id is not None
    if not has_param:  # as a job of an older version waits
        record = JobRecord.objects.get(pk=started.job_id)
        record.params.pop("scorer")
        record.save()
    assert replay.execute_run(started.job_id)

    row = runs.get_run(started.run_id)
    assert (row.state, row.scorer) == ("done", "bm25")


def test_two_scorers_make_two_runs(session_id: int, monkeypatch: pytest.MonkeyPatch) -> None:
    class Reversed(Bm25):
        id = "reversed"

    other = scoring.ScorerSpec(Reversed.id, "Reversed", "For tests.", Reversed)
    monkeypatch.setattr(scoring, "_ALL", (*scoring.scorers(), other))
    row, _ = done(session_id, "openbrain", scorer="reversed")
    assert (row.state, row.scorer) == ("done", "reversed")
    assert start(session_id, "openbrain").run_id != row.id
    waiting = start(session_id, "cortext", scorer="reversed")
    monkeypatch.undo()
    assert waiting.job_id is not None and replay.execute_run(waiting.job_id)
    gone = runs.get_run(waiting.run_id)
    assert gone.state == "failed" and "There is no scorer 'reversed'" in gone.outcome


def test_every_engine_and_summariser_is_offered() -> None:
    offered = {spec.id: spec for spec in replay.catalogue()}

    assert {"keep-all", "keep-nothing", "keep-tail", "summing"} <= set(offered)
    assert offered["summing"].settings[0].key == "every"
    assert replay.summariser_choices()
    assert replay.scorer_specs()[0].id == "bm25"


def test_an_id_is_a_uuid(session_id: int) -> None:
    assert isinstance(start(session_id).run_id, UUID)
