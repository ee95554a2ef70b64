"""`contextviz doctor`, on installations that are well and on broken ones."""

from __future__ import annotations

import json
import os
from datetime import timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.utils import timezone

from contextviz.cli.doctor import Check, examine
from contextviz.cli.doctor.installed import _vendor_check, asset_checks, settings_checks
from contextviz.cli.doctor.storage import broker_check, folder_checks
from contextviz.services.jobs import open_job
from contextviz.services.keeping.workers import beat
from contextviz.store.models import ArtifactRecord, JobRecord
from tests.stack import Stack

NOW = timezone.now()


def problems(checks: list[Check]) -> dict[str, Check]:
    return {check.name: check for check in checks if check.state == "problem"}


def named(checks: list[Check], name: str) -> Check:
    return next(check for check in checks if check.name == name)


@pytest.mark.django_db
def test_a_sound_installation_has_no_problem(data_dir: Path) -> None:
    data_dir.chmod(0o700)
    beat(now=NOW)

    found = examine(NOW)

    assert problems(found) == {}
    assert named(found, "tables").text == "up to date"
    assert named(found, "worker").text.startswith("1 running")


@pytest.mark.django_db
def test_it_is_told_as_json_and_by_the_exit_status(data_dir: Path) -> None:
    data_dir.chmod(0o755)
    out = StringIO()

    with pytest.raises(SystemExit) as ended:
        call_command("doctor", "--json", stdout=out)

    told = json.loads(out.getvalue())
    assert ended.value.code == 1 and told["is_well"] is False
    (problem,) = [check for check in told["checks"] if check["name"] == "permissions"]
    assert problem["todo"] == f"Run: chmod 700 {data_dir}"


@pytest.mark.django_db
def test_jobs_that_nobody_does_are_named_with_what_to_do(data_dir: Path) -> None:
    waiting = open_job("digest", now=NOW - timedelta(hours=2))
    left = open_job("digest", now=NOW)
    JobRecord.objects.filter(pk=left).update(
        state="running", owner="elsewhere|1:1", heartbeat_at=NOW - timedelta(hours=1)
    )

    found = [check for check in examine(NOW) if check.state == "problem"]

    told = "\n".join(check.text for check in found)
    assert f"job {waiting}: it has waited for 120 minutes" in told
    assert f"job {left}: the process that did it is gone" in told
    assert any(check.name == "worker" and "jobs wait" in check.text for check in found)
    assert all(check.todo for check in found)


@pytest.mark.django_db
def test_raw_files_that_are_kept_and_that_lie_elsewhere_are_told_apart(data_dir: Path) -> None:
    assert named(examine(NOW), "sessions").text == "0 sessions from 0 raw files"

    for number, path in enumerate(("", "", "/srv/agent/state.db")):
        ArtifactRecord.objects.create(sha256=f"{number:064}", name="a", size=1, path=path, received_at=NOW)
    kept = data_dir / "artifacts" / "00"
    kept.mkdir(parents=True)
    for number in range(2):
        (kept / f"{number:064}").write_bytes(b"a")
    found = examine(NOW)

    assert (
        named(found, "sessions").text == "0 sessions from 3 raw files: 2 kept in the data folder, 1 read where they lie"
    )
    assert named(found, "raw files kept").text.startswith("2 files, ")


@pytest.mark.django_db
def test_jobs_that_wait_beside_an_idle_worker_are_a_problem_with_what_to_do(data_dir: Path) -> None:
    beat(now=NOW)
    open_job("digest", now=NOW - timedelta(minutes=3))

    problem = problems(examine(NOW))["worker"]

    assert problem.text.startswith("1 running")
    assert "1 job waited for two minutes while nothing was done" in problem.text
    assert "start it again" in problem.todo


def test_secrets_among_the_settings_are_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONTEXTVIZ_DATABASE_URL", "postgres://shop:hunter2@db.local/shop")
    monkeypatch.setenv("CONTEXTVIZ_LOG_LEVEL", "DEBUG")

    found = list(settings_checks())

    assert "hunter2" not in repr(found)
    assert named(found, "CONTEXTVIZ_DATABASE_URL").text == "set, hidden"
    assert named(found, "CONTEXTVIZ_LOG_LEVEL").text == "DEBUG"


def test_a_misspelt_setting_is_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONTEXTVIZ_LOG_LEVLE", "DEBUG")

    assert "Did you mean CONTEXTVIZ_LOG_LEVEL?" in problems(list(settings_checks()))["contextviz.W003"].todo


def test_a_data_folder_that_is_gone_is_told(data_dir: Path, settings: Any) -> None:
    settings.DATA_DIR = data_dir / "gone"

    assert "cannot be looked at" in problems(list(folder_checks()))["folder"].text


def test_little_space_is_told(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("contextviz.cli.doctor.storage.LITTLE_SPACE", 2**62)

    assert "are free" in problems(list(folder_checks()))["space"].text


def test_static_files_are_all_there_and_a_changed_bundle_is_noticed(tmp_path: Path) -> None:
    assert problems(list(asset_checks())) == {}

    (tmp_path / "SHA256SUMS").write_text(f"{'0' * 64}  bundle.js\n")
    (tmp_path / "bundle.js").write_text("changed")
    assert "not what was released" in _vendor_check(tmp_path).text
    assert _vendor_check(tmp_path / "missing").state == "problem"


def test_a_broker_that_does_not_answer_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    assert broker_check().state == "ok"

    def refuse(*_: object, **__: object) -> None:
        raise ConnectionRefusedError("connection refused")

    monkeypatch.setattr("kombu.Connection.ensure_connection", refuse)
    assert broker_check().state == "problem"


@pytest.mark.slow  # starts processes
@pytest.mark.skipif(bool(os.environ.get("CONTEXTVIZ_DATABASE_URL")), reason="is about the SQLite file")
def test_without_a_database_and_with_a_damaged_or_old_one(stack: Stack) -> None:
    database = Path(stack.environment["CONTEXTVIZ_DATA_DIR"]) / "contextviz.sqlite3"

    assert "there is none yet" in stack.run("doctor", status=None).stdout
    assert not database.exists()

    stack.run("migrate", "store", "0001")
    told = stack.run("doctor", status=1).stdout
    assert "changes are not applied, first" in told and "manage.py migrate" in told

    database.write_bytes(b"no database at all" * 100)
    told = stack.run("doctor", status=1).stdout
    assert "it does not answer" in told and "Traceback" not in told
