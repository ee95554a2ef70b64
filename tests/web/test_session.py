"""The session page: transcript, inspector, strip, texts; through Django's client."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from contextviz.services import figures
from contextviz.store.models import SessionRecord
from contextviz.store.queries import sessions
from contextviz.web.pages.session.inspector import inspector, settled
from contextviz.web.pages.session.place import Place, parse
from contextviz.web.pages.session.shown import shown
from contextviz.web.shell import IDLE, state_of
from tests.services.building import upload
from tests.web.talking import SECRET, Talk, stored

pytestmark = pytest.mark.django_db


@pytest.fixture
def session_id(data_dir: Path) -> int:
    return stored()


def page(client: Client, address: str, **headers: str) -> str:
    answer = client.get(address, headers=headers)
    assert answer.status_code == 200, answer.content.decode()[:400]
    return answer.content.decode()


def visible(html: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", html))


def test_every_kind_of_row_is_shown(client: Client, session_id: int) -> None:
    html = page(client, f"/sessions/{session_id}/")
    words = visible(html)

    assert "Fix the lock, never raise the timeout." in words
    assert "Thinking" in words and "The lock is released early." in words
    assert "exit 1" in words and "FAILED test_total" in words
    assert "+1 −1" in words and "<ins>" in html and "<del>" in html
    assert "image/png" in words and "not shown" in words
    assert 'id="c-1"' in html and "calls 4 → 5" in words
    assert "Read /w/src/file_2.py 20 lines" in words


def test_a_call_has_its_number_once_and_a_result_stands_with_its_call(client: Client, session_id: int) -> None:
    html = page(client, f"/sessions/{session_id}/")
    numbers = re.findall(r'id="call-(\d+)"', html)
    ids = re.findall(r' id="(m-[^"]+)"', html)

    assert numbers == [str(number) for number in range(1, 9)]
    assert len(ids) == len(set(ids))
    assert ">Tool result<" not in html


def test_hostile_text_is_escaped_and_secrets_are_masked(client: Client, session_id: int) -> None:
    for address in ("", "messages/0/", "calls/3/"):
        html = page(client, f"/sessions/{session_id}/{address}")
        assert "<script>alert" not in html and "<img src=x" not in html
    html = page(client, f"/sessions/{session_id}/")

    assert SECRET not in re.sub(r'<details class="secret">.*?</details>', "", html, flags=re.DOTALL)
    assert "characters masked" in html


def test_a_cut_text_says_so_and_leads_to_all_of_it(client: Client, session_id: int) -> None:
    html = page(client, f"/sessions/{session_id}/")
    found = re.search(r'2,000 of 3,526 characters · <a class="link" href="([^"]+)"', html)
    assert found

    whole = page(client, found[1])
    part = page(client, found[1], **{"HX-Request": "true"})

    assert whole.count("word ") >= 700 and "<html" in whole
    assert part.count("word ") >= 700 and "<html" not in part


def test_a_text_downloads_as_it_is(client: Client, session_id: int) -> None:
    answer = client.get(f"/sessions/{session_id}/messages/0/blocks/0/download")

    assert answer["Content-Disposition"].startswith("attachment")
    assert answer.content.decode().startswith("Fix the lock")


def test_the_parts_and_the_residual_are_the_reported_total(session_id: int) -> None:
    table = figures.strip_of(session_id)
    shown_inspector = inspector(Place(session_id, a=4, b=6), table)
    composition = shown_inspector.composition
    assert composition is not None
    for side, residual, total in (
        ("a", composition.residual_a, composition.total_a),
        ("b", composition.residual_b, composition.total_b),
    ):
        assert sum(getattr(row, side) or 0 for row in composition.rows) + (residual or 0) == total
    assert len(composition.rows) == 11


def test_the_items_of_a_window_add_up_to_its_parts(session_id: int) -> None:
    table = figures.strip_of(session_id)
    for call in table.calls:
        found = inspector(Place(session_id, b=call), table)
        assert found.composition is not None and not found.hidden
        for row in found.composition.rows:
            items = [item.tokens for item in found.head if item.category == row.key]
            assert sum(item or 0 for item in items) == (row.b or 0), (call, row.key)


def test_play_heads_stand_on_calls_of_the_window(session_id: int) -> None:
    table = figures.strip_of(session_id)

    assert settled(Place(session_id), table)[:2] == (None, 8)
    a, b, notices = settled(Place(session_id, a=3, b=99), table)
    assert (a, b) == (3, 8) and "no call 99" in notices[0]


def test_the_difference_shows_what_is_new_and_what_is_gone(client: Client, session_id: int) -> None:
    html = page(client, f"/sessions/{session_id}/inspector/?a=4&b=5")

    assert "Gone since A" in visible(html)
    assert 'class="item new' in html and 'class="item gone' in html
    assert 'id="readout"' in html and "<html" not in html
    assert "across compaction 1" in visible(html)


def test_the_transcript_jumps_to_calls_and_messages(client: Client, data_dir: Path) -> None:
    session_id = stored(turns=200)
    html = page(client, f"/sessions/{session_id}/?call=100")
    assert 'id="call-100"' in html and 'id="call-20"' not in html
    html = page(client, f"/sessions/{session_id}/?message=40")
    assert ' id="m-40"' in html or 'id="m-41"' in html

    last = page(client, f"/sessions/{session_id}/")
    earlier = re.search(r'href="([^"]+)" rel="prev"', last)
    assert 'id="call-205"' in last and earlier
    before = page(client, earlier[1].replace("&amp;", "&"))
    ids = set(re.findall(r' id="(m-[^"]+)"', last)) & set(re.findall(r' id="(m-[^"]+)"', before))
    assert ids == set()


@pytest.mark.parametrize(
    ("query", "opens"), [("", True), ("?pane=context", True), ("?call=2", False), ("?b=3", False), ("?after=-1", False)]
)
def test_without_a_script_the_transcript_opens_where_the_strip_stands(
    client: Client, session_id: int, query: str, opens: bool
) -> None:
    assert ("transcript-pane at-end" in page(client, f"/sessions/{session_id}/{query}")) == opens


def test_paging_shows_every_message_once(client: Client, data_dir: Path) -> None:
    session_id = stored(turns=150)
    seen: list[str] = []
    address = f"/sessions/{session_id}/?after=-1"
    while address:
        html = page(client, address)
        seen += re.findall(r' id="(m-\d+)"', html)
        found = re.search(r'href="([^"]+)" rel="next"', html)
        address = found[1].replace("&amp;", "&") if found else ""

    assert len(seen) == len(set(seen))
    assert set(seen) == {f"m-{index}" for index in range(sessions.get_session(session_id).message_count)}


def test_the_page_stays_small_and_its_queries_few_whatever_the_size(client: Client, data_dir: Path) -> None:
    counts, sizes = [], []
    for turns in (60, 400):
        session_id = stored(turns=turns)
        client.get(f"/sessions/{session_id}/")
        with CaptureQueriesContext(connection) as queries:
            html = page(client, f"/sessions/{session_id}/?a=5&b=40")
        counts.append(len(queries))
        sizes.append(len(html))

    assert counts[0] == counts[1] <= 37
    assert max(sizes) < 150_000


def test_even_hostile_messages_keep_the_page_small(client: Client, data_dir: Path) -> None:
    one = Talk()
    for number in range(120):
        one.user("&<>\"'" * 800 + f" {number}")
        one.answer(*[{"type": "text", "text": "token=a1b2c3d4 " * 300} for _ in range(3)])
        one.tool("Edit", {"file_path": "&" * 300, "old_string": "<\n" * 300, "new_string": ">\n" * 300}, "'" * 5000)
    one.answer(*[{"type": "text", "text": f"block {number}"} for number in range(500)])
    session_id = int(upload(("hostile.jsonl", one.text)).result["sessions"][0])

    html = page(client, f"/sessions/{session_id}/")

    assert len(html) < 150_000
    assert "more blocks in this message" in visible(page(client, f"/sessions/{session_id}/"))


def test_the_strip_is_served_as_a_figure(client: Client, session_id: int) -> None:
    figure = json.loads(page(client, f"/sessions/{session_id}/figures/strip.json"))

    assert figure["layout"]["meta"]["last"] == 8
    assert figure["layout"]["meta"]["compactions"] == [[5, 1]]


def test_what_is_wrong_in_the_address_is_said_and_harms_nothing(client: Client, session_id: int) -> None:
    words = visible(page(client, f"/sessions/{session_id}/?b=x&after=-9&pane=nope"))

    assert "b=x is no number that this page knows" in words
    assert "There is no pane called" in words
    for address in ("/sessions/999/", f"/sessions/{session_id}/?call=999", f"/sessions/{session_id}/messages/999/",
                    f"/sessions/{session_id}/?agent=nobody"):  # fmt: skip
        answer = client.get(address)
        assert (
            answer.status_code == 404 and "Session" in answer.content.decode()
        ) or "There is no" in answer.content.decode()


def test_new_rows_come_as_a_fragment(client: Client, data_dir: Path) -> None:
    session_id = stored(turns=2)
    before = figures.strip_of(session_id).calls[-1]
    assert stored(turns=5) == session_id
    html = page(client, f"/sessions/{session_id}/fresh/?after=11&follow=1")

    assert "<html" not in html
    assert f'data-calls="{before + 3}"' in html
    assert "Context at call 10" in visible(html)
    assert "All done." in html
    assert f'id="session-meta">Claude Code · {before + 3} calls' in html, "the head counts with the strip"
    tabs = visible(html.split('<nav id="session-tabs"')[1].split("</nav>")[0])
    assert f"Compactions {sessions.get_session(session_id).compaction_count}" in " ".join(tabs.split())
    pinned = visible(page(client, f"/sessions/{session_id}/fresh/?after=11&b=2"))
    assert "Context at call 2" in pinned, "of a call that is held, too, an estimate may come to something else by now"


def test_a_session_runs_while_it_changes_and_its_own_time_is_new(client: Client, session_id: int) -> None:
    row = sessions.get_session(session_id)
    assert row.ended_at is not None

    assert state_of(row, row.updated_at) == "idle", "a copy of an old session"
    fresh = replace(row, updated_at=row.ended_at + timedelta(seconds=2))
    assert state_of(fresh, fresh.updated_at + IDLE) == "idle"
    assert state_of(fresh, fresh.updated_at + timedelta(minutes=1)) == "running"
    half = replace(row, status="growing")
    assert [state_of(half, row.updated_at + after) for after in (timedelta(), 2 * IDLE)] == ["running", "idle"]
    assert state_of(replace(fresh, started_at=None, ended_at=None), fresh.updated_at) == "idle"

    now = timezone.now()
    SessionRecord.objects.filter(pk=session_id).update(ended_at=now, updated_at=now)
    html = page(client, f"/sessions/{session_id}/")
    assert 'id="session-name" data-state="running"' in html and "· growing</li>" in html


def test_problems_are_listed_with_their_places(client: Client, data_dir: Path) -> None:
    broken = stored_with_a_broken_line()
    words = visible(page(client, f"/sessions/{broken}/"))

    assert "line 2" in words and "malformed" in words
    assert "What could not be read as it stands" in visible(page(client, f"/sessions/{broken}/problems/"))


def stored_with_a_broken_line() -> int:
    one = Talk()
    one.user("Hello")
    one.rows.append("{broken\n")
    one.answer({"type": "text", "text": "Hi"})
    return int(upload(("broken.jsonl", one.text)).result["sessions"][0])


def test_no_page_needs_a_script(client: Client, session_id: int) -> None:
    for address in ("", "?pane=context", "calls/5/?a=4", "messages/1/", "problems/"):
        html = page(client, f"/sessions/{session_id}/{address}")
        assert not re.search(r"<script(?![^>]*\ssrc=)", html)
        assert not re.search(r"\son[a-z]+=", re.sub(r">[^<]*<", "><", html))
        for link in re.findall(r"<[^>]+hx-get=[^>]+>", html):
            assert "href=" in link


@pytest.mark.parametrize("pane", ["transcript", "context", "compactions"])
def test_the_pane_of_a_narrow_screen_is_in_the_address(client: Client, session_id: int, pane: str) -> None:
    assert f'data-show="{pane}"' in page(client, f"/sessions/{session_id}/?pane={pane}")


def test_sign_in_is_needed(anonymous_client: Client, session_id: int) -> None:
    for address in ("", "inspector/", "fresh/", "figures/strip.json", "messages/0/", "calls/1/", "problems/",
                    "messages/0/blocks/0/download"):  # fmt: skip
        assert anonymous_client.get(f"/sessions/{session_id}/{address}").status_code == 302
    assert anonymous_client.get(f"/live/sessions/{session_id}/").status_code == 302


def test_a_place_keeps_what_differs_from_the_defaults() -> None:
    place = parse(7, {"b": "12", "pane": "context", "agent": ""})

    assert place.query == {"b": 12, "pane": "context"}
    assert place.at_call(3) == "/sessions/7/?b=12&call=3#call-3"
    assert place.at_message(0) == "/sessions/7/?b=12&message=0#m-0"


def test_half_a_secret_is_never_shown() -> None:
    text = "x" * 90 + " " + SECRET

    for limit in range(92, 110):
        found = shown(text, chars=len(text), limit=limit, most_bytes=10_000)
        assert "sk-" not in found.html and found.is_cut
