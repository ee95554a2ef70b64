"""A private session is there for its owner and for admins; for everybody else it is not, wherever one looks."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from contextviz.services import digest
from contextviz.services.follow import Follower
from contextviz.services.ingest import import_paths
from contextviz.services.retrieve import open_retrieve, retrieve_original
from contextviz.store.models import JobRecord, SessionRecord, UploadBatchRecord
from contextviz.store.queries import jobs, sessions, texts, topics, uploads
from contextviz.store.values import NotFound
from contextviz.store.viewing import viewer_of, viewing
from tests.accounts.cast import Cast, client_of, session_of, upload_as
from tests.services.building import NOW, claude_lines

OTHER = "0b1c2d3e-0000-4000-8000-000000000002"
SECRET_WORD = "nightingale"


@pytest.fixture
def private(cast: Cast) -> int:
    """Alice's private session."""
    lines = claude_lines(2, word=SECRET_WORD)
    return session_of(upload_as(cast.alice, ("diary.jsonl", lines), is_private=True))


def sees(client: Client, session_id: int) -> bool:
    status = client.get(f"/sessions/{session_id}/").status_code
    assert status in (200, 404)
    return status == 200


def test_its_owner_and_admins_see_it_and_nobody_else(cast: Cast, private: int) -> None:
    assert {name: sees(client, private) for name, client in cast.clients().items()} == {
        "alice": True, "adam": True, "bob": False, "vera": False,
    }  # fmt: skip


def test_lists_counts_facets_and_the_side_bar_leave_it_out(cast: Cast, private: int) -> None:
    shared = session_of(upload_as(cast.bob, ("b.jsonl", claude_lines(1, session=OTHER))))

    with viewing(viewer_of(cast.bob)):
        assert [row.id for row in sessions.library().items] == [shared]
        assert [row.id for row in sessions.recent_sessions()] == [shared]
        assert sessions.session_count() == 1
        assert [facet.count for facet in sessions.facets()["format"]] == [1]
        assert sessions.find_sessions([private, shared])[0].id == shared
        assert sessions.revision(private) == 0
        assert topics.sessions_with_topics() == []
    page = client_of(cast.bob).get("/").content.decode()
    assert SECRET_WORD not in page
    assert SECRET_WORD in client_of(cast.alice).get("/").content.decode()


def test_its_texts_and_files_are_not_found_by_their_hashes(cast: Cast, private: int) -> None:
    sha256 = hashlib.sha256(f"{SECRET_WORD} question 0".encode()).digest()
    raw = hashlib.sha256(claude_lines(2, word=SECRET_WORD).encode()).hexdigest()

    for name, client in cast.clients().items():
        expected = 200 if name in ("alice", "adam") else 404
        assert client.get(f"/originals/{sha256.hex()}/download").status_code == expected, name
        assert client.get(f"/artifacts/{raw}/").status_code == expected, name
    with viewing(viewer_of(cast.bob)):
        assert texts.find_texts(sha256.hex()) == []
        assert texts.uses_of_text(sha256.hex()) == []
        with pytest.raises(NotFound):
            texts.original_bytes(sha256)


def test_a_text_that_a_shared_session_holds_too_is_found_there_alone(cast: Cast, private: int) -> None:
    shared = session_of(upload_as(cast.bob, ("b.jsonl", claude_lines(2, session=OTHER, word=SECRET_WORD))))
    sha256 = hashlib.sha256(f"{SECRET_WORD} question 0".encode()).hexdigest()

    with viewing(viewer_of(cast.bob)):
        [place] = texts.find_texts(sha256)
        assert place.session_count == 1
        assert [use.session_id for use in texts.uses_of_text(sha256)] == [shared]


def test_a_retrieval_looks_with_the_eyes_of_whoever_asks(cast: Cast, private: int) -> None:
    sha256 = hashlib.sha256(f"{SECRET_WORD} question 0".encode()).hexdigest()
    found = {}
    for name in ("alice", "bob"):
        with viewing(viewer_of(getattr(cast, name))):
            job = open_retrieve(sha256, now=NOW)
        retrieve_original(job)
        found[name] = jobs.get_job(job)

    assert found["alice"].result["originals"][0]["status"] == "verified"
    assert found["bob"].result["originals"][0]["status"] == "missing"
    with viewing(viewer_of(cast.bob)), pytest.raises(NotFound):
        jobs.get_job(found["alice"].id)
    with viewing(viewer_of(cast.vera)):
        assert jobs.jobs(kind="retrieve_original").items == []


def test_jobs_and_uploads_that_name_its_files_are_private_too(cast: Cast, private: int) -> None:
    job = JobRecord.objects.get()
    batch = UploadBatchRecord.objects.get()

    for name, client in cast.clients().items():
        expected = 200 if name in ("alice", "adam") else 404
        assert client.get(f"/jobs/{job.pk}/").status_code == expected, name
        assert ("diary.jsonl" in client.get("/jobs/").content.decode()) == (expected == 200), name
    with viewing(viewer_of(cast.bob)):
        assert jobs.uploads_of(batch.pk) == []
        with pytest.raises(NotFound):
            uploads.job_of_batch(batch.pk)


def test_nobody_elses_upload_changes_it_or_learns_of_it(cast: Cast, private: int) -> None:
    longer = claude_lines(5, word=SECRET_WORD)

    job = upload_as(cast.bob, ("diary.jsonl", longer))

    own = session_of(job)
    assert own != private
    assert sessions.get_session(private).call_count == 2
    assert sessions.get_session(own).call_count == 5
    assert job.outcome == "Read 1 file: 1 session (1 new)."
    with viewing(viewer_of(cast.alice)):
        assert {row.id for row in sessions.library().items} == {private, own}


def test_the_very_same_file_sent_by_another_is_a_session_of_its_own(cast: Cast, private: int) -> None:
    own = session_of(upload_as(cast.bob, ("diary.jsonl", claude_lines(2, word=SECRET_WORD))))

    assert own != private
    assert sees(client_of(cast.bob), own)


def test_a_private_upload_does_not_add_to_a_shared_session(cast: Cast) -> None:
    shared = session_of(upload_as(cast.bob, ("talk.jsonl", claude_lines(2))))

    private = session_of(upload_as(cast.alice, ("talk.jsonl", claude_lines(4)), is_private=True))
    again = session_of(upload_as(cast.alice, ("talk.jsonl", claude_lines(6)), is_private=True))

    assert private != shared
    assert again == private, "it grows like any other"
    assert sessions.get_session(shared).call_count == 2
    assert sessions.get_session(private).call_count == 6


def test_what_its_owner_sends_later_stays_private(cast: Cast, private: int) -> None:
    job = upload_as(cast.alice, ("diary.jsonl", claude_lines(4, word=SECRET_WORD)))

    assert session_of(job) == private
    assert sessions.get_session(private).is_private
    assert job.is_private, "the job names the file"


def test_a_private_session_whose_file_grows_is_followed_in_private(cast: Cast, tmp_path: Path) -> None:
    path = tmp_path / "grows.jsonl"
    path.write_text(claude_lines(1))
    with viewing(viewer_of(cast.alice)):
        first = import_paths([path], now=NOW, is_private=True)
    digest.digest(first)
    private = session_of(jobs.get_job(first))
    assert sessions.get_session(private).is_private
    path.write_text(claude_lines(3))
    opened: list[object] = []

    Follower().follow_once(sessions.get_session(private).updated_at, opened.append)

    [job] = JobRecord.objects.filter(state="queued")
    assert job.is_private
    assert job.person == cast.alice
    digest.digest(job.pk)
    assert sessions.get_session(private).call_count == 3
    assert sessions.session_count() == 1


def test_a_button_hides_and_shares_it_with_all_that_names_its_files(cast: Cast) -> None:
    shared = session_of(upload_as(cast.alice, ("plain.jsonl", claude_lines(1))))
    people = cast.clients()
    job = JobRecord.objects.get()

    assert people["alice"].post(f"/sessions/{shared}/privacy/", {"private": "yes"}).status_code == 303

    assert not sees(people["bob"], shared)
    assert people["bob"].get(f"/jobs/{job.pk}/").status_code == 404
    assert sees(people["alice"], shared)
    assert people["adam"].post(f"/sessions/{shared}/privacy/", {"private": "no"}).status_code == 303
    assert sees(people["bob"], shared)
    assert people["bob"].get(f"/jobs/{job.pk}/").status_code == 200


def test_only_its_owner_and_admins_decide_about_a_session(cast: Cast) -> None:
    shared = session_of(upload_as(cast.alice, ("plain.jsonl", claude_lines(1))))
    people = cast.clients()

    for address in ("privacy", "keep", "delete"):
        fields = {"private": "yes", "keep": "yes", "confirm": "yes"}
        assert people["bob"].post(f"/sessions/{shared}/{address}/", fields).status_code == 403, address
        assert people["vera"].post(f"/sessions/{shared}/{address}/", fields).status_code == 403, address
    assert SessionRecord.objects.get(pk=shared).status == "complete"
    page = people["bob"].get(f"/sessions/{shared}/").content.decode()
    assert "Make it private" not in page
    assert "Make it private" in people["alice"].get(f"/sessions/{shared}/").content.decode()


def test_the_upload_form_asks_and_the_settings_say_what_is_usual(cast: Cast) -> None:
    client = client_of(cast.alice)
    assert 'name="private"' in client.get("/").content.decode()

    client.post("/settings/", {"private_asked": "yes", "private": "yes"})

    assert 'value="yes" checked' in client.get("/").content.decode()


@pytest.mark.parametrize(
    ("usual", "fields", "is_private"),
    [
        (False, {}, False),
        (False, {"private": ["no", "yes"]}, True),
        (True, {}, True),
        (True, {"private": "no"}, False),
    ],
)
def test_an_upload_is_private_as_the_form_says_else_as_usual(
    cast: Cast, usual: bool, fields: dict[str, object], is_private: bool
) -> None:
    client = client_of(cast.alice)
    if usual:
        client.post("/settings/", {"private_asked": "yes", "private": "yes"})

    client.post("/upload/", {**fields, "files": SimpleUploadedFile("a.jsonl", claude_lines(1).encode())})

    batch = UploadBatchRecord.objects.get()
    assert batch.is_private == is_private
    assert batch.person == cast.alice
