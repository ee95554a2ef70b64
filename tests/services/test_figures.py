"""What charts draw is kept with the session, and is what analysis would compute from it now."""

from __future__ import annotations

from pathlib import Path

import pytest

from contextviz.analysis.composition import compositions
from contextviz.analysis.strip import strip
from contextviz.services import digest, figures, ingest
from contextviz.store.queries import jobs, transcripts
from contextviz.store.values import NotFound
from tests.services.building import NOW

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("sample", ["claude-main", "pi-main"])
def test_kept_figures_equal_those_computed_from_the_loaded_session(data_dir: Path, shared: Path, sample: str) -> None:
    job_id = ingest.import_paths([shared / "samples" / sample], now=NOW)
    digest.digest(job_id)
    session_id = jobs.get_job(job_id).result["sessions"][0]
    loaded = transcripts.load_transcript(session_id)
    found = compositions(loaded)

    assert figures.compositions_of(session_id) == found
    assert figures.composition_of(session_id, 1) == found[1]
    session = loaded.session
    expected = strip(
        found, loaded.calls, loaded.compactions, window=session.window, threshold=session.compaction_threshold
    )
    assert figures.strip_of(session_id) == expected
    for agent in {call.agent for call in loaded.calls if call.agent}:
        assert figures.strip_of(session_id, agent).calls
    with pytest.raises(NotFound):
        figures.strip_of(session_id, "nobody")
    with pytest.raises(NotFound):
        figures.composition_of(session_id, len(found))
