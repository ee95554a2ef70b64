"""The one loop of every replay: messages in, a window for each model call out (engines document, section 8.5).

The loop plays the host: it hands each message on, asks for a window before each call, tells the engine when a turn is
over, and asks it to compact when the window is fuller than the host allows or does not fit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from contextviz.engines.engine import AssembleRequest, CompactRequest, Engine, EngineSpec, Host
from contextviz.engines.material import Material, ReplayMessage
from contextviz.engines.recording import Recorder
from contextviz.engines.scoring import Bm25, Scorer
from contextviz.engines.settings import resolve
from contextviz.engines.summaries import RuleSummariser, Summariser
from contextviz.engines.window import Assembly
from contextviz.events.run import Run, RunSettings
from contextviz.events.text import TextPool
from contextviz.tokens.estimate import ESTIMATOR
from contextviz.tokens.estimators import ESTIMATORS

MOST_TOKENS = 100_000_000  # that a window, a reserve or a system prompt may be asked for with
Progress = Callable[[int, int], None]
EngineClass = type[Engine]


@dataclass(frozen=True, slots=True)
class RunRequest:
    """What one replay is asked for. None is the session's own; settings not named are the engine's defaults."""

    settings: Mapping[str, Any] = field(default_factory=dict)
    window: int | None = None
    reserve: int | None = None
    system_tokens: int | None = None
    estimator: str | None = None


def replay(
    material: Material, engine: EngineClass, request: RunRequest, *, pool: TextPool, summarise: Summariser,
    scorer: Callable[[], Scorer] = Bm25, progress: Progress | None = None,
) -> Run:  # fmt: skip
    """Run `engine` over `material` and return every window.

    `progress` is told how many messages of how many are done, after each call; what it raises ends the replay (that is
    how a job is cancelled). Nothing in the material or the settings raises: what cannot be taken is in `Run.notes`.
    """
    spec: EngineSpec = engine.spec
    values, notes = resolve(spec.settings, request.settings)
    measured, more = _measured(material, request)
    run = Run(spec.id, spec.version, spec.label, dict(values), measured, dict(spec.qualities))
    run.notes = [*notes, *more, *material.notes, *([spec.simulated] if spec.simulated else [])]
    run.summariser = summarise.id if spec.uses_summariser else None
    recorder = Recorder(run, pool, material, spec.estimator or measured.estimator)
    host = _host(material, measured, recorder, summarise, scorer)
    if spec.uses_scorer:
        run.scorer = scorer().id
    _Loop(material, spec, engine(host, values), host, recorder).run(progress)
    recorder.finish()
    return run


def measured_with(request: RunRequest, material: Material) -> RunSettings:
    """What a run of `request` would be measured with; the first half of `replay`."""
    return _measured(material, request)[0]


def _measured(material: Material, request: RunRequest) -> tuple[RunSettings, list[str]]:
    notes = []
    basis = {}
    estimator = request.estimator or ESTIMATOR
    if estimator not in ESTIMATORS:
        notes.append(f"There is no estimator {estimator[:40]!r}; windows are counted by {ESTIMATOR}.")
        estimator = ESTIMATOR
    window, basis["window"] = _chosen(request.window, material.window, "session")
    if window <= 0:
        notes.append(
            "No window is set and the session reports none, so no budget is known: nothing is compacted for want of"
            " room."
            if request.window is None
            else "A window of 0 holds nothing: it is taken as not known, and no budget is applied."
        )
        window = 0
    system, basis["system_tokens"] = _chosen(request.system_tokens, material.system_tokens, material.system_basis)
    # A reserve that nobody set is 0 by definition, and so is known.
    reserve, basis["reserve"] = _chosen(request.reserve, 0, "default")
    if window and system + reserve >= window:
        notes.append(
            f"System prompt and reserve ({system + reserve:,} tokens) leave nothing of the window of {window:,}:"
            " every call is over its budget."
        )
    return RunSettings(window, max(0, reserve), max(0, system), estimator, basis), notes


def _chosen(asked: int | None, own: int | None, basis: str) -> tuple[int, str]:
    if asked is not None:
        return max(0, asked), "set"
    return (own, basis) if own is not None else (0, "unknown")


def _host(
    material: Material, measured: RunSettings, recorder: Recorder, summarise: Summariser,
    scorer: Callable[[], Scorer],
) -> Host:  # fmt: skip
    return Host(
        window=measured.window, reserve=measured.reserve, system_tokens=measured.system_tokens,
        count=recorder.count, summarise=RuleSummariser(summarise.id, recorder.summarised(summarise)), scorer=scorer,
        now=recorder.now, told=recorder.told, node=recorder.node, replaced=recorder.replaced,
        compacted=recorder.compacted, keep=recorder.keep, material=material,
        session_id=material.session_id, agent=material.agent, noted=recorder.noted,
    )  # fmt: skip


class _Loop:
    def __init__(self, material: Material, spec: EngineSpec, engine: Engine, host: Host, recorder: Recorder) -> None:
        self._material = material
        self._spec = spec
        self._engine = engine
        self._host = host
        self._recorder = recorder
        self._read: list[ReplayMessage] = []
        self._prompt = ""

    def run(self, progress: Progress | None) -> None:
        """From the first message to the last."""
        total = len(self._material.messages)
        self._engine.bootstrap()
        for point in self._material.points:
            self._feed(point.messages)
            self._call(point.model_call)
            if progress is not None:
                progress(len(self._read), total)
        self._feed(total)
        if self._read:
            self._end_turn()
        self._engine.dispose()

    def _feed(self, upto: int) -> None:
        start = len(self._read)
        for message in self._material.messages[start:upto]:
            if message.role == "user" and self._read:
                self._end_turn()
            if message.role == "user":
                self._prompt = message.text
            self._read.append(message)
            self._recorder.arrived(message)
            self._engine.ingest(message)

    def _end_turn(self) -> None:
        self._engine.after_turn(self._read)
        self._engine.maintain()
        share = self._spec.host_compacts_at
        budget = self._host.budget
        if share is None or not budget:
            return
        current = self._recorder.last_tokens
        if current is not None and current > share * budget:
            self._engine.compact(CompactRequest(budget, current))

    def _call(self, model_call: int | None) -> None:
        assembly = self._assembled()
        budget = self._host.budget
        if budget and self._recorder.tokens_of(assembly) > budget:
            # The host retries once after an overflow.
            result = self._engine.compact(CompactRequest(budget, self._recorder.tokens_of(assembly), is_forced=True))
            if result.compacted:
                assembly = self._assembled()
        self._recorder.call(assembly, len(self._read), model_call, budget)

    def _assembled(self) -> Assembly:
        number = self._recorder.calls
        return self._engine.assemble(AssembleRequest(self._read, self._host.budget, number, self._prompt))


def clock_text(milliseconds: int | None) -> str | None:
    """A replay's instant as ISO text in UTC, None where it is not known."""
    if milliseconds is None:
        return None
    return datetime.fromtimestamp(milliseconds / 1000, UTC).isoformat().replace("+00:00", "Z")
