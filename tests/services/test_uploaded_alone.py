"""What only tells of a session, uploaded without it: where nothing lies beside a file the sentence says so, and what to
do; done so, it counts."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from contextviz.services.digest.outcome import NOT_KEPT
from contextviz.sources.source import ALONE
from contextviz.store.models import ArtifactRecord, ProblemRecord, SessionRecord
from tests.services import test_openvole_twins as openvole
from tests.services.building import claude_lines, upload
from tests.services.test_beside_later import Made, droid_files, kiro_files, openclaw_files, told
from tests.sources.openhands import building as openhands

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]


def openhands_files(folder: Path) -> list[Path]:
    state = openhands.state({"agent": [openhands.counted("r1", 60)]}) | {"title": "greetings"}
    openhands.save_sdk(folder, [openhands.sdk_system(0), openhands.sdk_user(1, "hi")], state)
    return [folder / "base_state.json"]


def openvole_files(folder: Path) -> list[Path]:
    folder.mkdir(parents=True)
    (folder / "transcript.md").write_bytes(openvole.transcript(folder.parent))
    (folder / "meta.json").write_bytes(openvole.meta(folder.parent))
    return [folder / "meta.json"]


def sent(folder: Path, wanted: Callable[[Path], bool]) -> list[tuple[str, bytes]]:
    """The files of a folder as a person would choose them, a talk's folder with its name."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and wanted(path))
    return [(str(path.relative_to(folder.parent)), path.read_bytes()) for path in files]


@pytest.mark.parametrize("make", [kiro_files, droid_files, openclaw_files, openhands_files, openvole_files])
def test_what_stands_beside_a_session_says_alone_that_it_is_not_kept_and_counts_with_it(
    make: Made, tmp_path: Path
) -> None:
    folder = tmp_path / "talk"
    [beside] = make(folder)

    def nothing_is_kept(*files: tuple[str, bytes]) -> None:
        before = ArtifactRecord.objects.count()
        job = upload(*files)
        assert job.state == "failed" and ALONE in job.outcome and job.outcome.endswith(NOT_KEPT)
        assert " beside" not in job.outcome
        assert ArtifactRecord.objects.count() == before

    alone = sent(folder, lambda path: path == beside)
    nothing_is_kept(*alone)
    upload(*sent(folder, lambda path: path != beside))
    without = told()
    nothing_is_kept(*alone)
    assert told() == without

    upload(*sent(folder, lambda path: True))

    assert SessionRecord.objects.count() == 1 and told() != without


def test_what_tells_of_a_sub_agent_says_that_its_session_is_missing() -> None:
    job = upload(("agent-abc.meta.json", json.dumps({"agentType": "Explore"})))

    assert job.state == "failed" and f"agent-abc.meta.json: {ALONE}" in job.outcome and NOT_KEPT in job.outcome


def test_an_index_whose_sessions_came_too_is_no_lone_one(tmp_path: Path) -> None:
    openclaw_files(tmp_path / "talk")

    job = upload(*sent(tmp_path / "talk", lambda path: True))

    reasons = {one["path"].rsplit("/", 1)[1]: one["reason"] for one in job.result["files"]}
    assert reasons == {"s-1.jsonl": None, "sessions.json": "the session index: hints only"}


def test_a_sub_agent_alone_is_a_session_until_its_own_comes() -> None:
    whole = claude_lines(4)
    lines = [json.loads(line) | {"isSidechain": True, "agentId": "abc"} for line in whole.splitlines()]
    inner = "".join(json.dumps(line | {"uuid": f"i-{line['uuid']}", "parentUuid": None}) + "\n" for line in lines)

    assert upload(("agent-abc.jsonl", inner)).state == "done"
    [said] = ProblemRecord.objects.filter(code="subagent_alone").values_list("message", flat=True)
    assert "until that is here" in said and SessionRecord.objects.get().subagent_count == 0
    assert upload(("0b1c2d3e-0000-4000-8000-000000000001.jsonl", whole)).state == "done"

    assert SessionRecord.objects.get().subagent_count == 1
    assert not ProblemRecord.objects.filter(code="subagent_alone").exists()
