"""A conversation of OpenHands is one session, whenever its state comes and whatever it is called before."""

from __future__ import annotations

import json
from typing import Any

import pytest

from contextviz.store.models import SessionArtifactRecord, SessionRecord
from tests.services.building import upload
from tests.sources.openhands import building as oh

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]
ID = "aaaaaaaa-2222-4333-8444-555555555555"
BARE = ID.replace("-", "")
File = tuple[str, str]


def events(folder: str, upto: int = 5) -> list[File]:
    found = [oh.sdk_system(0), oh.sdk_user(1, "hi"), oh.sdk_runs(2, "c1", "r1"), oh.sdk_ran(3, "c1", "A"),
             oh.sdk_says(4, "done", "r2")]  # fmt: skip
    return [(f"{folder}/events/event-{number:05}-{one['id']}.json", json.dumps(one))
            for number, one in enumerate(found[:upto])]  # fmt: skip


def state(folder: str, chars: int | None = None, **more: Any) -> File:
    whole = oh.state({"agent": [oh.counted("r1", 100), oh.counted("r2", 60)]}, **{"id": ID, **more})
    return f"{folder}/base_state.json", json.dumps(whole)[:chars]


def found() -> list[tuple[str, int, int | None]]:
    rows = SessionRecord.objects.order_by("source_id")
    return [(one.source_id, one.message_count, one.spend_total_tokens) for one in rows]


@pytest.mark.parametrize("folder", [BARE, "talk", ID])
@pytest.mark.parametrize("chars", [None, 120])
def test_a_state_that_comes_later_or_is_cut_first_makes_no_second_session(folder: str, chars: int | None) -> None:
    first = events(folder, 4) + ([state(folder, chars)] if chars else [])
    assert upload(*first).state == "done"
    assert found() == [(ID if folder == BARE else folder, 4, None)]

    assert upload(*events(folder), state(folder)).state == "done"

    assert found() == [(ID, 5, 180)]
    assert upload(*events(folder, 4)).state == "done"
    assert found() == [(ID, 5, 180)]


def test_events_without_their_folder_are_of_the_session_that_has_it() -> None:
    loose = [(name.rsplit("/", 1)[-1], data) for name, data in events("talk", 3)]
    assert upload(*loose).state == "done"
    assert found()[0][0].startswith("openhands-")

    assert upload(*events("talk"), state("talk")).state == "done"
    assert found() == [(ID, 5, 180)]
    assert upload(*loose[:2]).state == "done"

    assert found() == [(ID, 5, 180)]
    names = SessionArtifactRecord.objects.values_list("name", flat=True)
    assert sorted(names) == sorted(name for name, _ in [*events("talk"), state("talk")])


def test_a_copied_folder_and_runs_of_one_file_stay_sessions_of_their_own() -> None:
    other = "bbbbbbbb-2222-4333-8444-555555555555"
    upload(*events("one", 3), state("one"))
    upload(*events("two"), state("two", id=other))
    about: dict[str, Any] = {"metadata": {}, "metrics": {}, "test_result": {}}
    rows = [{"instance_id": name, "history": [oh.system(0), oh.user(1, name)]} | about for name in ("r-1", "r-2")]
    upload(("output.jsonl", "".join(json.dumps(row) + "\n" for row in rows)))

    assert [(name, count) for name, count, _ in found()[:2]] == [(ID, 3), (other, 5)]
    assert len(found()) == 4


def test_the_applications_ids_stay_as_they_are_written() -> None:
    name = "0123456789abcdef0123456789abcdef"
    upload(*[(f"{name}/events/{one['id']}.json", json.dumps(one)) for one in (oh.system(0), oh.user(1, "hi"))])

    assert found() == [(name, 2, None)]
