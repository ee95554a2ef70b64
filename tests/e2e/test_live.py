"""The Live page in a browser: no gap and no duplicate, held still, at the keyboard; and a session's page that grows."""

from __future__ import annotations

import contextlib
import json
import re
import socket
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import TimeoutError, expect

from contextviz.store.models import LiveEventRecord
from tests.e2e.walking import Checker
from tests.live.growing import BEGAN, ended, said, tell, three_sessions, turn

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.usefixtures("data_dir")]  # a browser takes seconds
AWAY_SECONDS = 10.0
IDS = "() => [...document.querySelectorAll('#feed > li')].map((row) => Number(row.id.slice(3)))"


class Wire:
    """What lies between the browser and the server, to be cut and mended."""

    def __init__(self, live_url: str) -> None:
        self._target = urlsplit(live_url).port
        self._open: list[socket.socket] = []
        self._listener: socket.socket | None = None
        self.port = 0
        self.mend()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def mend(self) -> None:
        """Take connections, on the same port as before."""
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", self.port))
        listener.listen(64)
        self.port = listener.getsockname()[1]
        self._listener = listener
        threading.Thread(target=self._accept, args=(listener,), daemon=True).start()

    def cut(self) -> None:
        """Let go of every connection, and take none."""
        for one in [self._listener, *self._open]:
            if one is not None:
                with contextlib.suppress(OSError):
                    one.shutdown(socket.SHUT_RDWR)
                one.close()
        self._open.clear()

    def _accept(self, listener: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = listener.accept()
                far = socket.create_connection(("127.0.0.1", self._target))
                self._open += [near, far]
                for pair in ((near, far), (far, near)):
                    threading.Thread(target=self._carry, args=pair, daemon=True).start()

    @staticmethod
    def _carry(source: socket.socket, target: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                target.sendall(data)
        with contextlib.suppress(OSError):
            target.shutdown(socket.SHUT_WR)


@pytest.fixture
def wire(live_url: str) -> Iterator[Wire]:
    found = Wire(live_url)
    yield found
    found.cut()


def kept() -> list[int]:
    """The numbers of every row that is kept, the newest first."""
    return list(LiveEventRecord.objects.order_by("-pk").values_list("pk", flat=True))


def wait_for_all(page: Any, seconds: float = 15.0) -> None:
    """Until the newest row is on the page."""
    newest = kept()[0]
    page.wait_for_selector(f"#ev-{newest}", state="attached", timeout=seconds * 1000)


def ids_are(page: Any, wanted: list[int]) -> None:
    """The feed comes to hold exactly these rows, in this order, within a moment."""
    try:
        page.wait_for_function(f"(wanted) => JSON.stringify(({IDS})()) === wanted", arg=dumps(wanted), timeout=5_000)
    except TimeoutError:
        assert page.evaluate(IDS) == wanted


def dumps(numbers: list[int]) -> str:
    """As JSON.stringify writes them."""
    return json.dumps(numbers, separators=(",", ":"))


def test_ten_seconds_without_a_connection_in_a_burst_leave_no_gap_and_no_duplicate(
    signed_in_page: Any, wire: Wire
) -> None:
    page = signed_in_page
    tell("burst", *turn(0, "begin", 9_000))
    page.goto(wire.url + reverse("live"))
    page.wait_for_selector("[data-live-state]:has-text('connected')")
    first = 3
    tell("burst", *turn(1, "before", 9_000), first=first)
    wait_for_all(page)

    seen = len(kept())
    wire.cut()
    ends = time.monotonic() + AWAY_SECONDS
    while time.monotonic() < ends:
        first += 3
        tell("burst", *turn(first, "while it is away", 9_000 + first), first=first)
        time.sleep(0.3)
    assert page.locator("#feed > li").count() == seen
    assert len(kept()) >= seen + 15
    page.wait_for_selector("[data-live-state]:has-text('does not answer')")
    wire.mend()
    for _ in range(4):  # the burst goes on while the browser comes back
        first += 3
        tell("burst", *turn(first, "after", 9_000 + first), first=first)

    page.wait_for_selector("[data-live-state]:has-text('connected')", timeout=20_000)
    wait_for_all(page)
    ids_are(page, kept())


def test_without_a_stream_it_asks_every_two_seconds(signed_in_page: Any, live_url: str) -> None:
    page = signed_in_page
    page.add_init_script("delete window.EventSource")
    tell("one", *turn(0, "begin", 9_000))
    page.goto(live_url + reverse("live"))
    page.wait_for_selector("[data-live-state]:has-text('asking every 2 seconds')")
    for place in range(1, 4):
        tell("one", *turn(place, "on", 9_000), first=3 * place)
        wait_for_all(page, 6.0)
    ids_are(page, kept())
    page.wait_for_selector(".card:has-text('call 4')")


def test_a_filtered_feed_shows_its_own_and_the_cards_follow_all(signed_in_page: Any, live_url: str) -> None:
    page = signed_in_page
    tell("one", *turn(0, "begin", 9_000))
    page.goto(f"{live_url}{reverse('live')}?show=compactions")
    page.wait_for_selector("[data-live-state]:has-text('connected')")
    tell("one", *turn(1, "on", 9_000), first=3)
    page.wait_for_selector(".card:has-text('call 2')")
    assert page.evaluate(IDS) == []

    tell("one", BEGAN, first=6)
    page.wait_for_selector("#feed > .compaction_started")
    page.wait_for_selector(".card.compacting cv-since")
    said_at_first = page.inner_text(".card .timer")
    page.wait_for_function("(old) => document.querySelector('.card .timer').textContent !== old", arg=said_at_first)
    tell("one", ended(90_000, 20_000), first=7)
    page.wait_for_selector(".card:has-text('90.0 k → 20.0 k tok')")
    page.wait_for_selector(".card.compacting", state="detached")
    expect(page.locator("#feed > li")).to_have_count(2)


def test_rows_of_another_day_have_its_date_as_the_server_writes_it(signed_in_page: Any, live_url: str) -> None:
    page, times = signed_in_page, "() => [...document.querySelectorAll('#feed time')].map((one) => one.textContent)"
    tell("one", said(0, "user", "begin"))
    page.goto(live_url + reverse("live"))
    page.wait_for_selector("[data-live-state]:has-text('connected')")
    for number, moment in enumerate((datetime(2021, 9, 3, 4, 5, 6, tzinfo=UTC), timezone.now() - timedelta(days=2))):
        tell("one", said(number + 1, "user", "from another day"), first=number + 1, at=moment)
    wait_for_all(page)
    by_the_script = page.evaluate(times)
    page.reload()
    assert by_the_script == page.evaluate(times)
    assert "3\u00a0Sep 2021 04:05:06" in by_the_script


def test_held_still_read_further_down_and_bounded_by_keyboard_alone(signed_in_page: Any, live_url: str) -> None:
    page = signed_in_page
    session_id = tell("one", *[event for n in range(30) for event in turn(n, "begin", 9_000)])
    page.set_viewport_size({"width": 1440, "height": 900})
    page.goto(live_url + reverse("live"))
    page.wait_for_selector("[data-live-state]:has-text('connected')")
    shown = page.evaluate(IDS)

    page.keyboard.press("p")
    assert page.get_attribute("[data-feed-pause]", "aria-pressed") == "true"
    tell("one", said(900, "user", "more"), said(901, "assistant", "more"), first=100)
    page.wait_for_selector("[data-feed-new]:has-text('2 new')")
    assert page.evaluate(IDS) == shown
    page.keyboard.press("f")
    wait_for_all(page)
    ids_are(page, kept()[: len(shown) + 2])
    expect(page.locator("[data-feed-new]")).to_be_hidden()

    page.evaluate("() => { document.querySelector('.feed-pane').scrollTop = 900; }")
    at = "() => document.elementFromPoint(1250, 500).closest('.feed-row').id"
    read = page.evaluate(at)
    tell("one", said(902, "user", "still more"), first=102)
    page.wait_for_selector("[data-feed-new]:has-text('1 new')")
    assert page.evaluate(at) == read
    page.keyboard.press("f")
    assert page.evaluate("() => document.querySelector('.feed-pane').scrollTop") == 0

    now = timezone.now()
    LiveEventRecord.objects.bulk_create(
        LiveEventRecord(session_id=session_id, kind="message", seen_at=now, at=now + timedelta(seconds=n), key=f"k{n}",
                        data={"role": "user", "tokens": n})
        for n in range(700)
    )  # fmt: skip
    wait_for_all(page)
    page.wait_for_function("() => document.querySelectorAll('#feed > li').length === 500")
    ids_are(page, kept()[:500])


def test_what_is_gone_brings_the_page_as_it_is_now(signed_in_page: Any, wire: Wire) -> None:
    page = signed_in_page
    tell("one", *turn(0, "begin", 9_000))
    page.goto(wire.url + reverse("live"))
    page.wait_for_selector("[data-live-state]:has-text('connected')")
    wire.cut()
    page.wait_for_selector("[data-live-state]:has-text('does not answer')")
    tell("one", *turn(1, "gone before anybody saw it", 9_000), first=3)
    LiveEventRecord.objects.filter(pk__lte=kept()[1]).delete()
    wire.mend()
    page.wait_for_selector("[data-live-state]:has-text('connected')", timeout=20_000)
    wait_for_all(page)
    page.wait_for_function("() => document.querySelectorAll('#feed > li').length === 1")
    tell("one", *turn(2, "and it goes on", 9_000), first=6)
    wait_for_all(page)
    ids_are(page, kept())


def test_cards_keep_the_focus_and_the_page_is_walked_by_keys(signed_in_page: Any, live_url: str) -> None:
    page = signed_in_page
    ids = three_sessions()
    page.goto(live_url + reverse("live"))
    page.wait_for_selector("[data-live-state]:has-text('connected')")
    page.keyboard.press("j")
    first = f"card-{ids['cart']}"
    assert page.evaluate("() => document.activeElement.id") == first
    tell("cart", ended(145_000, 30_000), first=20)
    page.wait_for_selector(f"#{first}:has-text('145.0 k → 30.0 k tok')")
    assert page.evaluate("() => document.activeElement.id") == first
    assert (
        page.evaluate("() => document.querySelector('#cards').firstElementChild.id") == first
    )  # it stays in its place
    page.keyboard.press("x")
    assert page.evaluate("() => document.activeElement.dataset.kind").endswith("error")
    page.keyboard.press("g")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/sessions/{ids['cart']}/")


def test_the_page_with_cards_has_no_finding_and_fits_a_phone(signed_in_page: Any, live_url: str) -> None:
    page = signed_in_page
    three_sessions()
    checker = Checker(page)
    for theme, width in (("light", 1440), ("dark", 1440), ("dark", 390)):
        page.context.add_cookies([{"name": "contextviz_theme", "value": theme, "url": live_url}])
        page.set_viewport_size({"width": width, "height": 900})
        page.goto(live_url + reverse("live"))
        page.wait_for_selector("[data-live-state]:has-text('connected')")
        assert checker.findings() == [], (theme, width)
        assert page.evaluate("() => document.documentElement.scrollWidth") <= width


def test_a_session_page_keeps_scroll_folds_focus_and_the_pinned_call_while_news_come(
    signed_in_page: Any, live_url: str
) -> None:
    page = signed_in_page
    folded = said(700, "tool", "a result\n" * 40)
    events = [event for n in range(40) for event in turn(n, f"question {n}", 9_000 + 200 * n)]
    session_id = tell("long", *events, folded)
    page.set_viewport_size({"width": 1440, "height": 900})
    page.goto(f"{live_url}{reverse('session', args=[session_id])}?after=-1&b=7")
    page.wait_for_selector("cv-strip:not([aria-busy])")
    page.evaluate("() => { document.querySelector('.transcript-pane').scrollTop = 600; }")
    details = page.locator("#rows details")
    opened = details.count()
    if opened:
        details.last.evaluate("(one) => { one.open = true; }")
    page.evaluate("() => document.querySelector('#m-20').focus({ preventScroll: true })")
    before = page.evaluate("() => document.querySelector('.transcript-pane').scrollTop")

    for place in range(3):
        number = 50 + place
        tell("long", *turn(number, f"question {number}", 20_000), first=200 + 3 * place)
    page.wait_for_function("() => document.querySelector('cv-strip').last >= 43")

    assert page.evaluate("() => document.querySelector('.transcript-pane').scrollTop") == before
    assert page.evaluate("() => document.activeElement.id") == "m-20"
    assert not opened or details.nth(opened - 1).evaluate("(one) => one.open")
    expect(page).to_have_url(re.compile("b=7"))
    expect(page.locator("#readout")).to_have_text(re.compile(r"^\s*B\s+call\s+7\s+of\s+43\b"), use_inner_text=True)
