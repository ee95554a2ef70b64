"""The API, search and event streams look with the eyes of whoever's key it is."""

from __future__ import annotations

import asyncio
import hashlib
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from contextviz.api.api import api
from contextviz.events.search import parse_query
from contextviz.live import stream
from contextviz.services import replay
from contextviz.services.accounts.privacy import set_private
from contextviz.services.api_keys import SCOPES, create_key
from contextviz.store import search
from contextviz.store.models import JobRecord, UploadBatchRecord
from contextviz.store.queries import sessions
from contextviz.store.viewing import viewer_of, viewing
from tests.accounts.cast import Cast, session_of, upload_as
from tests.services.building import NOW, claude_lines

WORD = "nightingale"


@pytest.fixture
def private(cast: Cast) -> int:
    """Alice's private session."""
    lines = claude_lines(2, word=WORD)
    return session_of(upload_as(cast.alice, ("diary.jsonl", lines), is_private=True))


def key_of(user: User, *scopes: str) -> Client:
    """A program with a key of the person that may do everything, or what is said."""
    _, key = create_key(user.pk, label="k", scopes=scopes or SCOPES, now=NOW)
    return Client(headers={"host": "127.0.0.1", "authorization": f"Bearer {key}"})


def test_every_operation_on_a_session_is_404_with_a_strangers_key(cast: Cast, private: int) -> None:
    stranger = key_of(cast.bob)
    with viewing(viewer_of(cast.alice)):
        run = replay.start_run(private, "keep-all", now=NOW)
    assert replay.execute_run(str(run.job_id))
    values = {
        "session_id": private, "number": 1, "index": 0, "node_id": "s1",
        "job_id": JobRecord.objects.get(kind="digest").pk,
        "run_id": run.run_id, "handle": "0" * 24,
        "upload_id": UploadBatchRecord.objects.get().pk,
        "sha256": hashlib.sha256(f"{WORD} question 0".encode()).hexdigest(),
    }  # fmt: skip
    tried = 0
    for path, methods in api.get_openapi_schema()["paths"].items():
        if any(f"{{{name}}}" in path for name in values):
            for method in methods:
                answer = stranger.generic(
                    method.upper(), path.format(**values), b'{"engine": "keep-all"}', "application/json"
                )
                assert answer.status_code == 404, f"{method} {path}: {answer.status_code}"
                assert WORD not in answer.content.decode()
                tried += 1
    assert tried > 10


def test_lists_leave_it_out_and_its_owner_has_it(cast: Cast, private: int) -> None:
    def listed(client: Client, path: str) -> list[Any]:
        found: list[Any] = client.get(f"/api/v1/{path}").json()["items"]
        return found

    sha256 = hashlib.sha256(f"{WORD} question 0".encode()).hexdigest()
    for path in ("sessions", "jobs", f"originals?q={sha256}"):
        assert listed(key_of(cast.bob), path) == [], path
        assert len(listed(key_of(cast.alice), path)) == 1, path


def test_a_key_may_no_more_than_its_person(cast: Cast) -> None:
    shared = session_of(upload_as(cast.alice, ("s.jsonl", claude_lines(1))))

    assert key_of(cast.vera).delete(f"/api/v1/sessions/{shared}").status_code == 403
    assert key_of(cast.bob).delete(f"/api/v1/sessions/{shared}").status_code == 403, "only Alice's or an admin's"
    assert key_of(cast.alice).delete(f"/api/v1/sessions/{shared}").status_code == 202


def test_words_of_a_private_session_are_not_found(cast: Cast, private: int) -> None:
    query = parse_query(WORD)
    found = {}
    for name in ("alice", "bob", "adam"):
        with viewing(viewer_of(getattr(cast, name))):
            found[name] = len(search.search(query).hits)

    assert found["bob"] == 0
    assert found["alice"] == found["adam"] > 0


@pytest.mark.django_db(transaction=True)
def test_a_stream_ends_for_whoever_may_not_see_the_session_any_more(cast: Cast) -> None:
    shared = session_of(upload_as(cast.alice, ("s.jsonl", claude_lines(1))))
    bob = viewer_of(cast.bob)

    def before() -> int:
        return asyncio.run(stream._revision(shared, bob))

    assert before() > 0
    with viewing(viewer_of(cast.alice)):
        set_private(sessions.get_session(shared), is_private=True)

    assert before() == 0
    assert asyncio.run(stream._revision(shared, viewer_of(cast.alice))) > 0
