"""The Library: what it lists, its address, imports under way, and where to begin."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import timedelta
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from contextviz.services.jobs import open_job
from contextviz.store.models import SessionRecord, SessionSeriesRecord, UploadBatchRecord, UploadRecord
from contextviz.store.queries import jobs, sessions
from contextviz.store.queries.sparklines import Sparkline
from contextviz.web.pages.library.query import LibraryQuery, parse
from contextviz.web.pages.library.sparkline import spark
from tests.services.building import NOW, claude_lines, upload
from tests.web.folded import chat

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]
Capture = Callable[..., AbstractContextManager[Any]]


def add_sessions(count: int, *, first: int = 1, turns: int = 2, word: str = "alpha") -> None:
    for number in range(first, first + count):
        session = f"0b1c2d3e-0000-4000-8000-{number:012d}"
        upload((f"{session}.jsonl", claude_lines(turns, session=session, word=word)))


def listed_again(times: int) -> None:
    """The only session's row and picture over again, all that the list asks for: reading so many takes long."""
    pictures = SessionSeriesRecord.objects.get()
    for number in range(times):
        row = SessionRecord.objects.earliest("pk")
        row.pk, row.key, row.source_id = None, f"{number:064d}", f"{number:08d}{row.source_id[8:]}"
        row.save()
        SessionSeriesRecord.objects.create(session=row, strips=pictures.strips, compositions=pictures.compositions)


def test_a_session_is_listed_with_its_numbers(client: Client) -> None:
    upload(("one.jsonl", claude_lines(3)))
    row = sessions.recent_sessions(1)[0]

    page = client.get("/").content.decode()

    assert f'href="/sessions/{row.id}/"' in page
    assert "alpha question 0" in page
    assert "claude jsonl" in page
    # 117 of 200,000 tokens would be an empty box.
    assert 'title="Window from 115 to 117 tokens, largest 117">at most 0.1\u00a0%</span>' in page


def test_a_title_is_text_and_never_markup(client: Client) -> None:
    upload(("one.jsonl", claude_lines(1, word="<script>alert(1)</script>")))

    page = client.get("/").content.decode()

    assert "<script>alert" not in page
    assert "&lt;script&gt;alert" in page


def test_queries_do_not_grow_with_the_rows(client: Client) -> None:
    add_sessions(2)
    with CaptureQueriesContext(connection) as few:
        client.get("/")
    add_sessions(8, first=10)

    with CaptureQueriesContext(connection) as many:
        client.get("/")

    assert len(many) <= len(few) <= 17, [query["sql"][:90] for query in many.captured_queries]


def test_sessions_without_a_time_stand_last_and_each_day_once(client: Client) -> None:
    upload(("one.jsonl", claude_lines(1)))
    listed_again(7)
    now = timezone.now()
    days: list[int | None] = [0, None, 1, 0, None, -3, 40, 1]
    names = {}
    for at, (row, day) in enumerate(zip(SessionRecord.objects.order_by("pk"), days, strict=True)):
        when = None if day is None else now - timedelta(days=day, seconds=at)
        SessionRecord.objects.filter(pk=row.pk).update(started_at=when, ended_at=when, sorted_at=when or now)
        names[row.pk] = day

    first, second = sessions.library(page=1, size=5).items, sessions.library(page=2, size=5).items
    assert [names[row.id] for row in first] == [-3, 0, 0, 1, 1]
    assert [names[row.id] for row in second] == [40, None, None]
    assert [names[row.id] for row in sessions.library(descending=False).items][-2:] == [None, None]
    assert [row.id for row in sessions.recent_sessions(8)] == [row.id for row in (*first, *second)]
    headings = re.findall(r'scope="rowgroup" colspan="7">([^<]+)<', client.get("/").content.decode())
    assert len(set(headings)) == len(headings) == 5
    assert (headings[:2], headings[-1]) == (["Later than now", "Today"], "No time reported")

    order = [row.id for row in (*first, *second)]
    walked = [order[0]]
    while (older := sessions.neighbour(walked[-1], newer=False)) is not None:
        walked.append(older.id)
    assert walked == order
    back = [sessions.neighbour(one, newer=True) for one in order]
    assert [one and one.id for one in back] == [None, *order[:-1]]


def test_search_filters_and_sorting_are_in_the_address(client: Client) -> None:
    add_sessions(1, word="checkout")
    add_sessions(1, first=2, word="search", turns=5)

    found = client.get("/?q=checkout").content.decode()
    assert "checkout question" in found
    assert "search question" not in found.split('id="results"')[1]
    assert "1 of 2 sessions" in found

    by_calls = client.get("/?sort=calls").content.decode().split('id="results"')[1]
    assert by_calls.index("search question") < by_calls.index("checkout question")
    assert 'aria-sort="descending"' in by_calls


def chips(client: Client) -> dict[str, str]:
    """What the Library's first filter offers, by name, and where each leads."""
    offered = client.get("/").content.decode().split('id="filter-chips"')[1]
    sheet = offered.split('class="sheet">')[1].split("</div>")[0]
    found = re.findall(r'<a href="([^"]*)"[^>]*><span>([^<]*)</span>(?:<span class="ink-3">(\d+)</span>)?', sheet)
    return {f"{name} {count}".strip(): unescape(url) for url, name, count in found}


def test_what_the_column_calls_an_agent_can_be_filtered(client: Client) -> None:
    add_sessions(2)
    upload(("chat.jsonl", chat()))

    programs = {"Claude Code 2": "?program=Claude+Code", "OpenClaw 1": "?program=OpenClaw"}
    assert chips(client) == {"Any agent": "?", **programs}
    page = client.get("/?program=OpenClaw").content.decode()
    assert "1 of 3 sessions" in page and "Agent: OpenClaw" in page
    assert '<input type="hidden" name="program" value="OpenClaw">' in page  # the search keeps it
    assert "No session is like that" in client.get("/?program=Nobody").content.decode()


def test_agents_own_names_are_offered_where_there_are_several_and_old_addresses_hold(client: Client) -> None:
    add_sessions(3)
    first, second, third = SessionRecord.objects.order_by("pk")
    SessionRecord.objects.filter(pk__in=(first.pk, second.pk)).update(agent="main")

    assert not any(name.startswith("named") for name in chips(client))
    kept = client.get("/?agent=main").content.decode()
    assert "2 of 3 sessions" in kept and "Agent: named main" in kept
    SessionRecord.objects.filter(pk=third.pk).update(agent="night")
    assert chips(client)["named night 1"] == "?agent=night"


def test_a_fork_is_told_from_what_it_was_forked_from(client: Client) -> None:
    add_sessions(2)
    fork = SessionRecord.objects.latest("pk")
    SessionRecord.objects.filter(pk=fork.pk).update(forked_from="0b1c2d3e-0000-4000-8000-000000000001")

    page = client.get("/").content.decode()

    assert page.split('id="results"')[1].count("fork of another session") == 1
    assert page.split('class="recent"')[1].split("</section>")[0].count('aria-label="fork of another session"') == 1
    assert "fork of another session" in client.get(f"/sessions/{fork.pk}/").content.decode()


def test_nothing_found_is_said_and_leads_back(client: Client) -> None:
    add_sessions(1)

    page = client.get("/?q=zebra").content.decode()

    assert "No session is like that" in page
    assert "Show all 1" in page


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ("sort=colour", "Sessions cannot be sorted by “colour”"),
        ("days=3", "is not a period offered here"),
        ("days=-1", "is not a number for “days”"),
        ("since=yesterday", "is not a day like 2026-11-30"),
        ("until=9999-12-31", "is not a day like"),
        ("page=x", "is not a number for “page”"),
        ("q=" + "a" * 300, "cut to its first 200"),
    ],
)
def test_a_bad_value_falls_back_and_is_told(client: Client, query: str, sentence: str) -> None:
    add_sessions(1)

    answer = client.get(f"/?{query}")

    assert answer.status_code == 200
    assert sentence in answer.content.decode()


def test_an_address_holds_only_what_differs_and_reads_back() -> None:
    assert LibraryQuery().to_query() == "?"
    query = LibraryQuery(q="a b", compacted=True, days=14, sort="calls", reverse=True)

    assert query.to_query() == "?q=a+b&compacted=1&days=14&sort=calls&reverse=1"
    given = dict(pair.split("=") for pair in query.to_query()[1:].replace("+", " ").split("&"))
    assert parse(given) == query


def test_a_null_byte_in_the_search_harms_nothing(client: Client) -> None:
    add_sessions(1)

    assert client.get("/?q=%00&agent=%00&format=%00").status_code == 200


def test_htmx_gets_the_table_with_count_and_filters_beside_it(client: Client) -> None:
    add_sessions(1)

    answer = client.get("/?q=alpha", headers={"hx-request": "true"})

    page = answer.content.decode()
    assert page.lstrip().startswith('<section class="results" id="results"')
    assert page.count("hx-swap-oob") == 3
    assert "HX-Request" in answer.headers["Vary"]
    assert "<html" not in page


def test_the_list_is_paged(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("contextviz.web.views.library.PAGE_SIZE", 2)
    add_sessions(3)

    first = client.get("/").content.decode()
    second = client.get("/?page=2").content.decode()

    assert 'rel="next"' in first
    assert "1 to 2 of 3" in first
    assert 'rel="prev"' in second
    assert "3 to 3 of 3" in second


def test_an_import_under_way_is_the_first_row_and_is_looked_at_again(client: Client) -> None:
    add_sessions(1)
    batch = UploadBatchRecord.objects.create(created_at=NOW)
    UploadRecord.objects.create(batch=batch, name="agents/big.jsonl", started_at=NOW)
    open_job("digest", now=NOW, params={"batch": str(batch.pk)})

    page = client.get("/").content.decode().split('id="results"')[1]

    assert page.index("agents/big.jsonl") < page.index("alpha question")
    assert 'hx-trigger="every 1s' in page
    rows = client.get("/imports/?seen=1-1", headers={"hx-request": "true"})
    assert rows.status_code == 200
    assert "HX-Trigger" not in rows.headers


def test_polling_stops_when_no_import_is_left_and_the_table_is_told(client: Client) -> None:
    add_sessions(2)

    rows = client.get("/imports/?seen=1-1", headers={"hx-request": "true"})

    assert rows.status_code == 286
    assert rows.headers["HX-Trigger"] == "cv:sessions"
    assert "every 1s" not in rows.content.decode()


def test_the_empty_page_is_loaded_anew_when_the_first_session_is_there(client: Client) -> None:
    add_sessions(1)

    assert client.get("/imports/?seen=0-1").headers["HX-Refresh"] == "true"


def test_an_upload_that_was_cut_off_is_told_until_it_is_dismissed(client: Client) -> None:
    add_sessions(1)
    batch = UploadBatchRecord.objects.create(created_at=NOW)
    sentence = "half.jsonl did not arrive completely, since the server was stopped. Send it again."
    half = UploadRecord.objects.create(
        batch=batch, name="half.jsonl", state="interrupted", sentence=sentence, started_at=NOW
    )

    assert sentence in client.get("/").content.decode()
    answer = client.post(f"/uploads/{half.pk}/dismiss/")

    assert answer.status_code == 303
    assert sentence not in client.get("/").content.decode()


def test_without_sessions_the_page_teaches_the_first_step(
    client: Client, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(Path, "home", lambda: tmp_path)

    page = client.get("/").content.decode()

    assert "no sessions yet" in page
    assert "Drop transcripts here" in page
    assert "Open the demo" in page
    assert "Nothing leaves this machine" in page
    assert "found here" not in page


def test_agents_homes_are_offered_and_imported(
    client: Client, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, django_capture_on_commit_callbacks: Capture
) -> None:
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    folder = tmp_path / ".claude" / "projects" / "shop"
    folder.mkdir(parents=True)
    (folder / "0b1c2d3e-0000-4000-8000-000000000001.jsonl").write_text(claude_lines(2))

    page = client.get("/").content.decode()
    assert "Claude Code, found here" in page
    assert "1 file" in page
    with django_capture_on_commit_callbacks(execute=True):
        answer = client.post("/imports/home/", {"home": str(tmp_path / ".claude")})

    assert answer.status_code == 303
    assert sessions.session_count() == 1


def test_no_other_folder_can_be_imported_from_the_page(client: Client, tmp_path: Path) -> None:
    (tmp_path / "one.jsonl").write_text(claude_lines(1))

    assert client.post("/imports/home/", {"home": str(tmp_path)}).status_code == 404
    assert jobs.jobs().total == 0


def test_the_demo_is_loaded_by_a_job(client: Client, django_capture_on_commit_callbacks: Capture) -> None:
    with django_capture_on_commit_callbacks(execute=True):
        answer = client.post("/imports/demo/")

    assert answer.status_code == 303
    assert answer.headers["Location"] == "/"
    assert sessions.session_count() >= 4


def test_a_session_of_unknown_window_shows_no_zero(client: Client) -> None:
    upload(("one.jsonl", claude_lines(1).replace("claude-sonnet", "house-model")))

    page = client.get("/").content.decode()

    assert "window not reported" in page


def test_a_full_page_stays_small(client: Client) -> None:
    add_sessions(1, turns=60)
    listed_again(49)

    page = client.get("/").content

    assert page.count("at most 0.1\u00a0%</span>".encode()) == 50
    assert len(page) < 150_000


def test_the_picture_keeps_what_is_unknown_open() -> None:
    drawn = spark(Sparkline((100, None, 300), (0.5,), 400))

    assert drawn is not None
    assert drawn.line.count("M") == 2, "a gap where the size is unknown, no zero"
    assert drawn.marks == [50.0]
    assert spark(Sparkline((None, None), (), None)) is None
    edges = spark(Sparkline((100, 300), (0.0, 1.0), 400))
    assert edges is not None
    assert edges.marks == [1.5, 98.5], "a compaction is no side of a box"
    low = spark(Sparkline((29, None, 86), (1.0,), 128_000))
    assert low is not None
    assert (low.line, low.instead.replace("\u00a0", " ")) == ("", "at most 0.1 %")
    assert spark(None) is None
