"""`contextviz export` on the terminal."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from contextviz.services.export import look_through
from tests.services.export_building import KEY, PASSWORD, SESSION, session

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]
SUSPECT = f"password:\n  {PASSWORD}\n"


def run(*arguments: str) -> tuple[str, str]:
    out, err = StringIO(), StringIO()
    call_command("export", *arguments, stdout=out, stderr=err)
    return out.getvalue(), err.getvalue()


def test_a_session_is_named_by_its_number_or_its_own_id_and_written_masked() -> None:
    key = session("Please look.", f"use {KEY}")

    out, told = run(str(key))
    again, _ = run(SESSION, "--json")

    assert KEY not in out + again
    assert json.loads(out)["messages"] == json.loads(again)["messages"]
    assert "1 masked, 0 kept" in told


@pytest.mark.parametrize("form", ["json", "md", "html"])
def test_a_file_is_written_whole_and_readable_by_its_owner_alone(form: str, tmp_path: Path) -> None:
    key, target = session("hello there"), tmp_path / f"copy.{form}"

    out, told = run(str(key), f"--{form}", "--output", str(target))

    assert out == "" and f"Written to {target}" in told
    assert "hello there" in target.read_text()
    assert target.stat().st_mode & 0o777 == 0o600
    assert [path for path in tmp_path.iterdir() if path.is_file()] == [target]


def test_an_undecided_place_refuses_and_lists_where_and_what_to_do(tmp_path: Path) -> None:
    key, err = session("Please look.", SUSPECT), StringIO()

    with pytest.raises(CommandError, match="Nothing was exported") as refused:
        call_command("export", str(key), "--output", str(tmp_path / "copy"), stdout=StringIO(), stderr=err)

    (place,) = look_through(key).places
    assert refused.value.returncode == 1
    assert place in err.getvalue() and "message 3, block 1" in err.getvalue()
    assert "--allow PLACE" in err.getvalue() and f"/sessions/{key}/export/" in err.getvalue()
    assert PASSWORD not in err.getvalue()
    assert not (tmp_path / "copy").exists()


def test_places_are_masked_or_kept_as_told() -> None:
    key = session("Please look.", SUSPECT)
    (place,) = look_through(key).places

    masked, _ = run(str(key), "--mask", place)
    every, _ = run(str(key), "--mask", "all")
    kept, told = run(str(key), "--allow", place, "--reason", "an example")

    assert PASSWORD not in masked + every
    assert PASSWORD in kept and json.loads(kept)["masking"]["kept"][0]["reason"] == "an example"
    assert "1 kept" in told


def test_unmasked_masks_nothing_and_says_so() -> None:
    key = session("Please look.", SUSPECT)

    out, told = run(str(key), "--md", "--unmasked")

    assert PASSWORD in out and "NOT masked" in out
    assert "every secret" in told
    with pytest.raises(CommandError, match="does not go with"):
        run(str(key), "--unmasked", "--mask", "all")


@pytest.mark.parametrize("name", ["999999", "no-such-session", "９"])
def test_an_unknown_session_is_exit_status_2_with_a_sentence(name: str) -> None:
    with pytest.raises(CommandError, match="There is no session") as failed:
        run(name)

    assert failed.value.returncode == 2


def test_a_folder_that_is_not_there_is_told(tmp_path: Path) -> None:
    key = session("hello")

    with pytest.raises(CommandError, match="cannot be written"):
        run(str(key), "--output", str(tmp_path / "missing" / "copy"))
