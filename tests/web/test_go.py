"""The palette's answers: what words find, what they never cost, what they never show."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from contextviz.services.demo.loading import open_demo
from contextviz.services.ingest import digest
from contextviz.store.queries import jobs, messages, sessions, summaries
from contextviz.store.values import SessionRow
from contextviz.web.pages.guide.go import PAGES
from contextviz.web.templatetags.contextviz import PAGES as SIDE_BAR
from tests.services.building import NOW, claude_lines, upload

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]
Ask = Callable[..., list[dict[str, Any]]]


@pytest.fixture
def demo() -> dict[str, SessionRow]:
    assert digest(open_demo(now=NOW))
    return {row.format: row for row in sessions.recent_sessions(50)}


@pytest.fixture
def ask(client: Client) -> Ask:
    def asked(q: str, **query: object) -> list[dict[str, Any]]:
        answer = client.get(reverse("go"), {"q": q, **query}, headers={"accept": "application/json"})
        assert answer.status_code == 200
        return list(answer.json()["results"])

    return asked


def test_things_are_found_by_what_people_call_them(ask: Ask, demo: dict[str, SessionRow]) -> None:
    talk, store = demo["claude-code"], demo["lossless-claw"]
    text = messages.messages(talk.id, limit=1).messages[0].blocks[0].text
    node = summaries.nodes(store.id)[0]
    job = jobs.jobs().items[0]

    for q, session, url in (
        ("checkout", 0, reverse("session", args=[talk.id])),
        (talk.source_id, 0, reverse("session", args=[talk.id])),
        (f"session {talk.id}", 0, reverse("session", args=[talk.id])),
        ("call 12", talk.id, reverse("call", args=[talk.id, 12])),
        ("12", talk.id, reverse("call", args=[talk.id, 12])),
        ("c2", talk.id, reverse("compaction", args=[talk.id, 2])),
        ("message 5", talk.id, f"{reverse('session', args=[talk.id])}?message=4#m-4"),
        (text.sha256, 0, f"{reverse('originals')}?q={text.sha256}"),
        (text.sha256[:8], 0, f"{reverse('originals')}?q={text.sha256}"),
        (node.id, store.id, f"{reverse('graph', args=[store.id])}?node={node.id}"),
        (str(job.id), 0, reverse("job", args=[job.id])),
        ("settings", 0, reverse("settings")),
        ("budget", talk.id, reverse("budget", args=[talk.id])),
    ):
        assert ask(q, session=session)[0]["url"] == url, q
    assert any(one["action"] == "t" for one in ask("theme"))
    assert {one["kind"] for one in ask("glossary")} >= {"Docs", "Search"}
    assert len(ask("")) <= 40


def test_every_page_of_the_side_bar_is_found() -> None:
    assert {name for _, name, _ in SIDE_BAR} <= {name for _, _, name in PAGES}


def test_sessions_of_the_same_title_are_told_apart(ask: Ask) -> None:
    for number in (1, 2):
        upload((f"{number}.jsonl", claude_lines(3, session=f"0b1c2d3e-0000-4000-8000-00000000000{number}")))

    calls = [one for one in ask("call 3") if one["kind"] == "Call"]

    assert len({one["detail"] for one in calls}) == len(calls) == 2
    rows = {row.id for row in sessions.recent_sessions(9)}
    assert {one["detail"].split(" · ")[0] for one in calls} == {f"session {number}" for number in rows}
    found = [one["detail"] for one in ask("alpha") if one["kind"] == "Session"]
    assert len(set(found)) == len(found) == 2


def test_one_exact_hit_is_opened_and_several_are_listed(client: Client, demo: dict[str, SessionRow]) -> None:
    talk = demo["claude-code"]

    exact = client.get(reverse("go"), {"q": "call 12", "session": talk.id})
    several = client.get(reverse("go"), {"q": "the"})

    assert exact.status_code == 302 and exact.headers["Location"] == reverse("call", args=[talk.id, 12])
    assert several.status_code == 200 and 'class="go-list"' in several.content.decode()


@pytest.mark.parametrize("q", ['"', "\x00", "'; --", "*" * 10_000, "call 99999999999", "c0", "<script>", "%", "f" * 64])
def test_bad_words_find_nothing_and_break_nothing(client: Client, q: str) -> None:
    upload(("one.jsonl", claude_lines(2)))

    answer = client.get(reverse("go"), {"q": q, "session": "99999999999999999999"})

    assert answer.status_code == 200
    assert "<script>" not in answer.content.decode()


def test_the_queries_do_not_follow_the_number_of_sessions(client: Client) -> None:
    counts = set()
    for number in range(1, 14, 4):
        for each in range(number, number + 4):
            own = f"0b1c2d3e-0000-4000-8000-{each:012d}"
            upload((f"{own}.jsonl", claude_lines(2, session=own, word="checkout")))
        with CaptureQueriesContext(
            connection,
        ) as queries:
            client.get(reverse("go"), {"q": "checkout"}, headers={"accept": "application/json"})
        counts.add(len(queries))

    # Those without a time are asked for only where those with one are too few.
    assert max(counts) - min(counts) <= 1


def test_a_step_leads_to_the_neighbour_on_the_same_kind_of_page(client: Client, demo: dict[str, SessionRow]) -> None:
    order = [row.id for row in sessions.recent_sessions(50)]
    talk = demo["claude-code"].id
    at = order.index(talk)

    older = client.get(reverse("session_older", args=[talk]), {"page": "budget"})
    end = client.get(reverse("session_newer", args=[order[0]]), follow=True)

    assert older.headers["Location"] == reverse("budget", args=[order[at + 1]])
    assert "This is the newest session." in end.content.decode()
    assert client.get(reverse("session_older", args=[999_999])).status_code == 404
