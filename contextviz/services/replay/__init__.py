"""Replays as a service: asked for, done by a job, kept, shown at once where nothing but a cut depends on a setting.

start_run → tasks.enqueue on commit → execute_run; preview makes what-ifs without a job; delete_run takes a run away.
"""

from __future__ import annotations

from contextviz.services.replay.loading import NotReplayable
from contextviz.services.replay.performing import execute_run
from contextviz.services.replay.recorded import RecordedSpend, recorded_spend
from contextviz.services.replay.removing import delete_run
from contextviz.services.replay.starting import (
    MOST_RUNS,
    NO_WINDOWS,
    Measure,
    ReplayRefused,
    Started,
    TooManyRuns,
    catalogue,
    scorer_specs,
    start_run,
)
from contextviz.services.replay.summarisers import summariser_choices, summariser_specs
from contextviz.services.replay.what_if import Cut, Evicted, NeedsJob, WhatIf, preview

__all__ = [
    "MOST_RUNS",
    "NO_WINDOWS",
    "Cut",
    "Evicted",
    "Measure",
    "NeedsJob",
    "NotReplayable",
    "RecordedSpend",
    "ReplayRefused",
    "Started",
    "TooManyRuns",
    "WhatIf",
    "catalogue",
    "delete_run",
    "execute_run",
    "preview",
    "recorded_spend",
    "scorer_specs",
    "start_run",
    "summariser_choices",
    "summariser_specs",
]
