"""The feed's rows: what is new is told once, in order, and an old session is one row."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import transaction
from django.test import Client
from django.utils import timezone

from contextviz.services.figures import derive
from contextviz.services.live import earlier_of, forget_old, tell
from contextviz.services.live.shown import quiet_event
from contextviz.store.models import LiveEventRecord, SessionRecord
from contextviz.store.queries.live import LiveFilter, live_after, live_bounds, live_newest
from contextviz.store.rows.session import key_of
from contextviz.store.texts import StoreTextPool
from contextviz.store.viewing import Viewer, viewing
from contextviz.store.writes import save_transcript
from tests.store.building import NOW, transcript

pytestmark = pytest.mark.django_db


def save(turns: int, key: str = "session-1") -> int:
    """Save a session as a digest does, and tell what is new."""
    pool = StoreTextPool(count=lambda text: len(text.split()), estimator="words")
    made = transcript(pool, turns=turns, key=key)
    values = derive(made, pool)
    pool.flush()
    with transaction.atomic():
        earlier = earlier_of(key_of(made.session))
        saved = save_transcript(made, values, now=NOW)
        tell(saved.session_id, made, earlier, now=NOW)
    return saved.session_id


def told() -> list[str]:
    return [row.kind for row in live_after(0, LiveFilter())]


def test_an_old_session_is_one_row_and_what_comes_after_is_told_once() -> None:
    save(3)
    assert told() == ["session"]
    save(3)
    assert told() == ["session"]
    save(5)
    assert told() == ["session", "message", "message", "call", "message", "message", "call"]
    save(5)
    assert len(told()) == 7


def test_rows_say_what_a_person_wants_to_know_with_secrets_masked() -> None:
    session_id = save(3)
    save(4)
    key = "sk-ant-api03-" + "A" * 80
    LiveEventRecord.objects.create(
        session_id=session_id, kind="error", seen_at=NOW, key="x", data={"data": {"message": f"refused {key}"}}
    )
    rows = [quiet_event(row) for row in live_after(0, LiveFilter())]
    call = next(row for row in rows if row["kind"] == "call")
    assert call["sentence"] == "model call: 38 tokens in (20 cached), 7 out"
    assert (call["call"], call["href"]) == (4, f"/sessions/{session_id}/?call=4")
    assert key not in str(rows)
    assert "masked" in rows[-1]["sentence"]


def test_filters_and_private_sessions() -> None:
    session_id, other = save(3), save(3, key="session-2")
    person = User.objects.create(username="p")
    SessionRecord.objects.filter(pk=other).update(is_private=True, owner_id=person.pk)
    assert [row.session_id for row in live_newest(LiveFilter())] == [other, session_id]
    assert [row.session_id for row in live_newest(LiveFilter(session_id=session_id))] == [session_id]
    assert live_newest(LiveFilter(kinds=("call",))) == []
    with viewing(Viewer(person.pk + 1, "operator")):
        assert [row.session_id for row in live_newest(LiveFilter())] == [session_id]
    with viewing(Viewer(person.pk, "operator")):
        assert len(live_newest(LiveFilter())) == 2


def test_what_is_old_goes() -> None:
    save(3)
    LiveEventRecord.objects.update(seen_at=timezone.now() - timedelta(days=8))
    save(4)
    LiveEventRecord.objects.filter(kind="call").update(seen_at=timezone.now())
    assert forget_old(now=timezone.now()) == 3
    assert told() == ["call"]


def test_a_poll_goes_on_where_it_was_and_says_when_it_cannot(client: Client) -> None:
    save(3)
    first = client.get("/live/feed").json()
    assert (first["events"], first["resync"]) == ([], False)
    save(4)
    more: Any = client.get(f"/live/feed?after={first['last']}").json()
    assert [row["kind"] for row in more["events"]] == ["message", "message", "call"]
    assert client.get(f"/live/feed?after={more['last']}").json()["events"] == []
    assert client.get(f"/live/feed?after={more['last'] + 50}").json()["resync"] is True
    assert client.get(f"/live/feed?after={first['last']}&kind=call").json()["events"][0]["kind"] == "call"
    assert live_bounds()[1] == more["last"]
