"""A summary down to the messages it stands for."""

from __future__ import annotations

from pathlib import Path

import pytest

from contextviz.services import digest, expand, ingest
from contextviz.store.queries import jobs, summaries
from contextviz.store.values import JobRow, NotFound
from tests.services.building import NOW, claude_lines, upload

pytestmark = pytest.mark.django_db


@pytest.fixture
def session_id(data_dir: Path, shared: Path) -> int:
    job_id = ingest.import_paths([shared / "samples" / "oc-lossless1"], now=NOW)
    digest.digest(job_id)
    found: int = jobs.get_job(job_id).result["sessions"][0]
    return found


def ask(session_id: int, node: str) -> JobRow:
    job_id = expand.open_expand(session_id, node, now=NOW)
    expand.expand_summary(job_id)
    return jobs.get_job(job_id)


def test_every_summary_opens_to_messages_that_are_there(session_id: int) -> None:
    nodes = summaries.nodes(session_id)
    assert nodes
    for node in nodes:
        job = ask(session_id, node.id)
        assert job.state == "done", job.outcome
        ids = job.result["message_ids"]
        assert len(ids) == job.result["message_count"] == len(set(ids)) > 0
        assert set(summaries.store_messages(session_id, ids)) == set(ids)
        below = [child["id"] for child in job.result["children"]]
        assert below == [*node.made_from, *node.covers]


def test_an_unknown_summary_fails_in_a_sentence(session_id: int) -> None:
    job = ask(session_id, "sum_nothing")
    assert (job.state, job.outcome) == ("failed", "This session has no summary called sum_nothing.")


def test_a_session_without_summaries_has_none_to_expand(data_dir: Path) -> None:
    job = upload(("a.jsonl", claude_lines(2)))
    assert ask(job.result["sessions"][0], "x").state == "failed"


def test_an_unknown_session_is_refused_before_a_job_is_opened(db: None) -> None:
    with pytest.raises(NotFound):
        expand.open_expand(99, "x", now=NOW)
