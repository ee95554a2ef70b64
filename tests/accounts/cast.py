"""The people of a story: who brought what, and who looks. Each call makes them anew in the test's database."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import User
from django.test import Client

from contextviz.services import digest, ingest
from contextviz.services.access import local_owner
from contextviz.store.queries import jobs
from contextviz.store.values import JobRow
from contextviz.store.viewing import flags_of, viewer_of, viewing
from tests.services.building import NOW, chunked

PASSWORD = "a long enough one 7"


def person(name: str, role: str) -> User:
    """An account with the role and PASSWORD."""
    return User.objects.create_user(name, password=PASSWORD, **flags_of(role))  # type: ignore[arg-type]


def client_of(user: User) -> Client:
    """A browser in which the person is signed in."""
    client = Client(headers={"host": "127.0.0.1"})
    client.force_login(user)
    return client


@dataclass(frozen=True)
class Cast:
    """Alice brings things, Bob is her colleague, Vera may only look, Adam runs the place."""

    alice: User
    bob: User
    vera: User
    adam: User

    def clients(self) -> dict[str, Client]:
        """Everybody's browser by name."""
        return {name: client_of(getattr(self, name)) for name in ("alice", "bob", "vera", "adam")}


def the_cast() -> Cast:
    """Everybody."""
    return Cast(person("alice", "operator"), person("bob", "operator"), person("vera", "viewer"), local_owner())


def upload_as(user: User | None, *files: tuple[str, bytes | str], is_private: bool = False) -> JobRow:
    """Upload files as one batch of a person and read them; the job as it ended."""
    with viewing(viewer_of(user)) if user else viewing(lambda: viewer_of(local_owner())):
        batch = ingest.open_batch(now=NOW, is_private=is_private)
        for name, content in files:
            data = content.encode() if isinstance(content, str) else content
            ingest.receive(chunked(data), name, batch_id=batch, now=NOW)
        job_id = ingest.finish_batch(batch, now=NOW)
    assert job_id is not None
    assert digest.digest(job_id)
    return jobs.get_job(job_id)


def session_of(job: JobRow) -> int:
    """The one session that came of a job."""
    [found] = job.result["sessions"]
    return int(found)


Answer = Any
