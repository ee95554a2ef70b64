"""A session with one of everything, and callers of every kind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import transaction
from django.test import Client

from contextviz.api import replies
from contextviz.api.resources import originals
from contextviz.services import replay
from contextviz.services.access import local_owner
from contextviz.services.api_keys import create_key
from contextviz.services.figures import derive
from contextviz.store.texts import StoreTextPool, TextReader
from contextviz.store.viewing import flags_of
from contextviz.store.writes import save_transcript
from tests.store.building import NOW, transcript

Save = Callable[..., int]


@pytest.fixture(autouse=True)
def no_opened_packs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Packs that another test's database held are not this one's, although they have the same numbers."""
    fresh = TextReader()
    for module in (replies, originals):
        monkeypatch.setattr(module, "READER", fresh)


@pytest.fixture
def save(db: None) -> Save:
    """Save a session of some turns and give its id."""

    def saved(turns: int = 3, key: str = "session-1") -> int:
        pool = StoreTextPool(count=lambda text: len(text.split()), estimator="words")
        made = transcript(pool, turns=turns, key=key)
        values = derive(made, pool)
        pool.flush()
        with transaction.atomic():
            return save_transcript(made, values, now=NOW).session_id

    return saved


@pytest.fixture
def replayed() -> Callable[[int], str]:
    """Replay a session with a window so small that each call drops something; the run's id."""

    def made(session_id: int) -> str:
        asked = replay.start_run(
            session_id, "keep-tail", measure=replay.Measure(window=30, system_tokens=0), now=NOW
        )  # fmt: skip
        if asked.is_new and asked.job_id is not None:
            replay.execute_run(asked.job_id)
        return str(asked.run_id)

    return made


@pytest.fixture
def owner(db: None) -> User:
    """An admin."""
    admin = local_owner()
    admin.is_staff = admin.is_superuser = True
    admin.save()
    return admin


@pytest.fixture
def person(db: None) -> Callable[[str, str], User]:
    """Make a person with a role."""
    return lambda name, role: User.objects.create_user(name, **flags_of(role))  # type: ignore[arg-type]


@pytest.fixture
def session_id(save: Save) -> int:
    """A session of 30 calls."""
    return save(30)


@pytest.fixture
def key(owner: Any) -> Callable[..., str]:
    """Make a key with some scopes."""

    def made(*scopes: str) -> str:
        return create_key(owner.pk, label=" and ".join(scopes), scopes=scopes, now=NOW)[1]

    return made


@pytest.fixture
def reader(key: Callable[..., str]) -> Client:
    """A caller with a key that may read."""
    return caller(key("read"))


@pytest.fixture
def operator(key: Callable[..., str]) -> Client:
    """A caller with a key that may do everything."""
    return caller(key("read", "ingest", "operate"))


def caller(key: str) -> Client:
    """A client that sends `key`."""
    return Client(headers={"host": "127.0.0.1", "authorization": f"Bearer {key}"})
