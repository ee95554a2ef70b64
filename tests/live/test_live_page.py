"""The Live page without a browser: what its cards say, what its feed shows, who sees it, what it costs."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from contextviz.services.live import forget_old
from contextviz.store.models import InboxCountRecord, InboxStreamRecord, LiveEventRecord, SessionRecord
from contextviz.store.queries.live import growing, live_bounds
from contextviz.store.viewing import Viewer, viewing
from contextviz.web.pages.live.cards import RECENT, Card, cards, summary
from tests.live.growing import BEGAN, asked, checked, ended, said, tell, three_sessions, turn
from tests.live.test_feed import save

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]


def made(sort: str = "recent", **later: Any) -> list[Card]:
    """The cards as they are, or will be."""
    now = timezone.now() + timedelta(**later)
    found, _ = growing(now - RECENT)
    return cards(found, {}, sort=sort, now=now)


def text_of(answer: Any) -> str:
    """What a reader sees, with blanks made one."""
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", "", answer.content.decode())).replace("\u00a0", " ")


def test_a_session_runs_waits_falls_idle_and_fails_by_rules() -> None:
    tell("one", said(0, "user", "Is it there?"))
    assert [card.state for card in made()] == ["running"]
    tell("one", asked(9_000), said(1, "assistant", "It is."), first=1)
    assert [card.state for card in made()] == ["waiting"]
    assert [card.state for card in made(minutes=6)] == ["idle"]
    tell("one", ("engine.error", {"message": "the disk is full"}), first=3)
    [card] = made()
    assert (card.state, card.error.sentence if card.error else "") == ("error", "engine error: the disk is full")
    tell("one", said(2, "user", "Again"), first=4)
    assert [card.state for card in made()] == ["running"]


def test_a_compaction_is_timed_from_when_it_began_until_it_ended() -> None:
    began_at = timezone.now() - timedelta(seconds=80)
    tell("one", *turn(0, "hello", 90_000), checked(90_000, 96_000), BEGAN, at=began_at)
    [card] = made()
    assert card.state == "compacting" and card.begun is not None
    assert (80 <= card.begun.seconds < 140, card.begun.facts) == (True, "strategy llm")
    assert card.check is not None and card.check.sentence == "checked, not compacted: 90,000 of 96,000 tokens"

    tell("one", ended(90_000, 20_000), first=5)
    [card] = made()
    assert card.begun is None and card.ended is not None
    assert (card.ended.before, card.ended.after, card.ended.only_end) == (90_000, 20_000, False)
    assert card.check is None  # it was before the compaction
    assert card.state == "waiting"


def test_an_attempt_that_compacted_nothing_ends_the_timer_and_one_in_silence_is_not_under_way() -> None:
    tell("one", *turn(0, "hello", 9_000), BEGAN)
    [card] = made(minutes=7)
    assert card.state == "idle" and card.begun is not None and card.begun.is_stale
    tell("one", ("compaction.finished", {"tokensBefore": 9_000, "tokensAfter": 9_000, "compacted": False}), first=4)
    assert made()[0].begun is None


def test_a_clock_that_is_a_year_off_is_timed_by_ours() -> None:
    a_year_ago = timezone.now() - timedelta(days=365)
    tell("one", *turn(0, "hello", 9_000), at=a_year_ago)
    assert [card.calls for card in made()] == [1]
    tell("one", BEGAN, first=3, at=a_year_ago)
    [card] = made()
    assert card.begun is not None and card.begun.seconds < 60


def test_idle_ones_are_not_counted_as_growing_and_come_last() -> None:
    near = tell("near", *turn(0, "hello", 9_000), checked(95_000, 96_000))
    far = tell("far", *turn(0, "hello", 9_000), checked(1_000, 96_000))
    now = timezone.now()
    SessionRecord.objects.filter(pk=near).update(updated_at=now - timedelta(minutes=7), occupancy_tokens=95_000)
    LiveEventRecord.objects.filter(session_id=near).update(seen_at=now - timedelta(minutes=7))
    found = made("near")
    assert [(card.id, card.state) for card in found] == [(far, "waiting"), (near, "idle")]
    assert summary(found, 2) == "1 session growing, 1 idle"
    assert summary(found, 1_400) == "1 session growing, 1 idle · the newest 2 of 1,400 are shown"


def test_a_late_copy_of_an_old_session_is_idle_but_not_what_an_agent_posts() -> None:
    hours_ago = timezone.now() - timedelta(hours=5)
    tell("one", *turn(0, "hello", 9_000), at=hours_ago)
    tell("one", *turn(1, "on", 9_000), first=3, at=hours_ago)
    assert [card.state for card in made()] == ["waiting"]  # posted now: its clock may be wrong
    InboxStreamRecord.objects.update(posted_at=timezone.now() - timedelta(hours=1))
    assert [card.state for card in made()] == ["idle"]
    LiveEventRecord.objects.update(at=timezone.now() - timedelta(minutes=50))  # it goes on
    assert [card.state for card in made()] == ["waiting"]


def test_a_source_that_never_says_that_one_begins_is_said_to_report_only_the_end(client: Client) -> None:
    save(3)
    save(4)
    SessionRecord.objects.update(status="growing")
    page = text_of(client.get("/live/"))
    assert ("· this source reports only the end" in page) == (SessionRecord.objects.get().compaction_count > 0)
    assert SessionRecord.objects.get().compaction_count > 0


def test_an_old_session_that_is_brought_in_is_no_card_and_unknown_is_a_dash(client: Client) -> None:
    save(3)
    assert made() == []
    assert "No session is growing" in text_of(client.get("/live/"))
    tell("bare", said(0, "user", "nothing is known of my window"))
    page = text_of(client.get("/live/"))
    assert "— tok" in page and "window not reported" in page and "threshold not reported" in page
    assert "1 session growing" in page and "no call yet" in page


def test_cards_are_ordered_and_say_numbers_with_their_basis(client: Client) -> None:
    ids = three_sessions()
    assert [card.id for card in made("near")] == [ids["cart"], ids["triage"], ids["ops"]]
    assert [card.id for card in made("recent")] == [ids["ops"], ids["triage"], ids["cart"]]
    assert [card.title for card in made("title")] == sorted(card.title for card in made())
    answer = client.get("/live/")
    page = text_of(answer)
    assert "3 sessions growing · 1 compacting" in page and "1 failing" in page
    assert (
        "160.0 k of 200.0 k tok" in page
        and "Compaction 1: 130.0 k → 41.0 k tok by the client's count" in page.replace("&#x27;", "'")
    )
    assert "1 sub-agent, the newest: sub-agent log-reader: read the logs" in page
    assert answer.content.count(b'class="basis reported"') >= 5


def test_the_feed_is_chosen_by_kind_session_and_agent_and_pages_without_a_script(client: Client) -> None:
    ids = three_sessions()
    kinds = dict(re.findall(r'class="feed-row (\w+)" id="(ev-\d+)"', client.get("/live/?show=checks").content.decode()))
    assert set(kinds) == {"evaluation"}
    one = client.get(f"/live/?session={ids['ops']}&show=compactions").content.decode()
    assert re.findall(r'class="feed-row (\w+)"', one) == ["compaction", "compaction_started"]
    assert f"/live/stream?kind=compaction_started&amp;kind=compaction&amp;kind=summary&amp;session={ids['ops']}" in one
    assert "No event of this kind is kept" in client.get("/live/?agent=nobody").content.decode()

    numbers: list[int] = []
    for n in range(40):
        tell("many", *turn(n, "on and on", 9_000), first=3 * n)
    address = "/live/"
    while address:
        found = client.get(address).content.decode()
        numbers += [int(one) for one in re.findall(r'id="ev-(\d+)"', found)]
        older = re.search(r'href="(/live/\?before=\d+)" rel="next"', found)
        address = older[1] if older else ""
    assert numbers == sorted(LiveEventRecord.objects.values_list("pk", flat=True), reverse=True)
    assert 'data-src=""' in found  # what is older stands still


def test_a_session_that_is_found_stands_at_the_time_of_telling(client: Client) -> None:
    """Rows stand in the order of telling; a session's own time, a year ago, would look out of order between them."""
    tell("new", said(0, "user", "hello"))
    save(3)
    found = LiveEventRecord.objects.filter(kind="session").latest("pk")
    assert found.at is not None and found.at.date() != found.seen_at.date()

    page = client.get("/live/?show=other").content.decode()
    row = page.split(f'id="ev-{found.pk}"')[1].split("</li>")[0]
    assert f'<time datetime="{found.seen_at.isoformat()}" title="{found.at:%Y-%m-%d %H:%M:%S} UTC">' in row
    [sent] = [
        one for one in client.get(f"/live/feed?after={live_bounds()[0] - 1}").json()["events"] if one["id"] == found.pk
    ]
    assert (sent["shown_at"], sent["at"]) == (found.seen_at.isoformat(), found.at.isoformat())


@pytest.mark.parametrize(
    "query", ["sort=x&show=y&session=z&before=-1", "session=9" * 30, "agent=%00%01<b>", "show=other"]
)
def test_an_address_that_means_nothing_is_the_page_as_it_is(client: Client, query: str) -> None:
    tell("one", said(0, "user", "hello"))
    answer = client.get(f"/live/?{query}")
    assert answer.status_code == 200
    assert b"<b>" not in answer.content.split(b"cv-feed")[1].split(b'class="number"')[0]


def test_hostile_words_are_text_and_secrets_are_masked(client: Client) -> None:
    key = "sk-ant-api03-" + "A" * 80
    tell("bad", said(0, "user", f"<script>alert(1)</script> {key}"), asked(900), ("engine.error", {"message": key}))
    for address in ("/live/", "/live/cards/", "/live/feed?after=0"):
        answer = client.get(address)
        assert key not in answer.content.decode(), address
        assert answer["Content-Type"] == "application/json" or b"<script>alert" not in answer.content, address


def test_what_is_private_is_on_nobody_elses_page() -> None:
    mine = User.objects.create(username="mine", is_staff=True)
    tell("secret", *turn(0, "private words", 9_000), person_id=mine.pk, is_private=True)
    tell("open", *turn(0, "shared words", 9_000))
    for person, expected in ((mine.pk, 2), (mine.pk + 1, 1)):
        with viewing(Viewer(person, "operator")):
            found, total = growing(timezone.now() - RECENT)
            assert (len(found), total) == (expected, expected)


def test_queries_do_not_follow_the_number_of_sessions_and_cards_are_bounded(
    client: Client, django_assert_max_num_queries: Any
) -> None:
    three_sessions()
    client.get("/live/cards/")
    with django_assert_max_num_queries(18):
        client.get("/live/cards/")
    for n in range(12):
        tell(f"more-{n}", *turn(0, "hello", 9_000))
    with django_assert_max_num_queries(18):
        answer = client.get("/live/cards/")
    assert answer.content.count(b'class="card ') == 15
    found, total = growing(timezone.now() - RECENT, most=4)
    assert (len(found), total) == (4, 15)


def test_what_exporters_sent_and_is_not_kept_is_listed_for_admins(client: Client) -> None:
    assert "Everything that was posted is kept" in text_of(client.get("/settings/not-kept/"))
    now = timezone.now()
    rows = [InboxCountRecord(source="otlp", what=f"span <i>{n}</i>", count=n + 1, last_at=now) for n in range(230)]
    InboxCountRecord.objects.bulk_create(rows)
    answer = client.get("/settings/not-kept/")
    assert answer.content.count(b"<tr data-row") == 200
    assert "Rarer kinds are not listed" in text_of(answer) and b"<i>" not in answer.content
    assert answer.content.index(b"229") < answer.content.index(b"span &lt;i&gt;100")


def test_rows_go_by_age_and_the_page_is_told_to_begin_anew(client: Client) -> None:
    tell("one", *turn(0, "hello", 9_000))
    first = live_bounds()[0]
    tell("one", *turn(1, "on", 9_000), first=3)
    LiveEventRecord.objects.filter(pk__lte=first + 2).update(seen_at=timezone.now() - timedelta(days=8))
    assert forget_old(now=timezone.now()) == 3
    assert client.get(f"/live/feed?after={first}").json()["resync"] is True
