"""Archives that cannot be looked at whole: what of them is kept, and what is said where nothing is."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from contextviz.services import digest, ingest
from contextviz.sources.unpack import Limits, unpacked
from contextviz.store.models import SessionRecord
from contextviz.store.queries import jobs
from tests.services.building import NOW, artifact_files, chunked, upload
from tests.services.test_configuration import archive, openclaw_session
from tests.sources.configuration.configs import KEY, OPENCLAW

pytestmark = pytest.mark.django_db


def test_of_an_archive_that_is_cut_off_at_the_beginning_of_a_file_the_others_are_kept_and_that_is_told(
    data_dir: Path,
) -> None:
    data = archive("tar", [("s-1.jsonl", openclaw_session()), ("s-2.jsonl", openclaw_session("s-2"))])
    job = upload(("all.tar", data[: data.index(b"s-2.jsonl") + 512 + 40]))

    assert job.state == "done" and SessionRecord.objects.get().source_id == "s-1"
    told = {one["path"]: one["reason"] for one in job.result["files"]}
    assert "the archive is cut off in it" in told["all.tar/s-2.jsonl"]


def test_a_configuration_that_an_archive_is_cut_off_in_is_not_kept(data_dir: Path) -> None:
    data = archive("tar", [("s-1.jsonl", openclaw_session()), ("openclaw.json", OPENCLAW)])
    batch = ingest.open_batch(now=NOW)

    with pytest.raises(ingest.NotATranscript, match="is cut off"):
        ingest.receive(chunked(data[: data.index(KEY.encode()) + len(KEY) + 2]), "all.tar", batch_id=batch, now=NOW)
    assert artifact_files(data_dir) == []


def test_an_archive_with_too_many_files_is_not_said_to_hold_a_configuration(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    few = partial(unpacked, limits=Limits(members=3))
    monkeypatch.setattr("contextviz.services.incoming.configuration.unpacked", few)
    data = archive("zip", [(f"{number}.jsonl", "{}") for number in range(5)])
    (tmp_path / "many.zip").write_bytes(data)
    batch = ingest.open_batch(now=NOW)

    with pytest.raises(ingest.NotATranscript) as refused:
        ingest.receive(chunked(data), "many.zip", batch_id=batch, now=NOW)
    said = str(refused.value)
    assert said.startswith("many.zip was not read: there are more than 3 files in it. Nothing of it was kept")
    assert "configuration" not in said and artifact_files(data_dir) == []

    job_id = ingest.import_paths([tmp_path / "many.zip"], now=NOW)
    assert digest.digest(job_id)
    assert "binary" not in jobs.get_job(job_id).outcome
    assert said in " ".join(one.text for one in jobs.job_log(job_id))
