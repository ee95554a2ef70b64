"""Everything that the pages can do, done by keyboard alone: no click, no pointer."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import expect

from contextviz.services.access import issue_token
from contextviz.store.queries import messages, sessions, summaries
from tests.e2e.walking import load_demo, wait_drawn
from tests.services.building import claude_lines

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.usefixtures("data_dir")]  # a browser takes seconds


@pytest.fixture
def complaints(signed_in_page: Any) -> list[str]:
    """What the browser's console and the page's errors said."""
    found: list[str] = []
    signed_in_page.on("console", lambda message: found.append(message.text) if message.type == "error" else None)
    signed_in_page.on("pageerror", lambda error: found.append(str(error)))
    return found


def focused(page: Any) -> str:
    """The id of what has the focus, else its text."""
    return str(page.evaluate("() => document.activeElement.id || document.activeElement.textContent.trim()"))


def tab_to(page: Any, text: str, *, most: int = 80, key: str = "Tab") -> None:
    """Press Tab (or Shift+Tab) until what has the focus is called `text`."""
    for _ in range(most):
        page.keyboard.press(key)
        named = page.evaluate(
            "() => { const it = document.activeElement;"
            " return [it.textContent, it.getAttribute('aria-label'), it.title,"
            " it.labels?.[0]?.textContent].filter(Boolean).join(' '); }"
        )
        if text in named:
            return
    raise AssertionError(f"{text!r} is not reached by Tab; the last one was {named[:200]!r}")


def palette(page: Any, words: str, first: str) -> None:
    """Go somewhere through the palette; `first` is what must be offered first."""
    page.keyboard.press("Control+k")
    page.wait_for_selector(".palette[open]")
    page.keyboard.type(words)
    page.wait_for_function(
        "(first) => document.querySelector('[role=option][aria-selected=true] .name')?.textContent.startsWith(first)",
        arg=first,
    )
    page.keyboard.press("Enter")
    page.wait_for_selector(".palette[open]", state="detached")


def test_a_person_signs_in_loads_the_demo_and_opens_a_session(page: Any, live_url: str, owner: Any) -> None:
    page.goto(f"{live_url}/sign-in/?token={issue_token(now=timezone.now())}")
    page.wait_for_selector("text=Drop transcripts here")

    tab_to(page, "Open the demo")
    page.keyboard.press("Enter")
    page.wait_for_selector("tr[data-row] >> nth=3")
    page.keyboard.press("/")
    page.keyboard.type("checkout")
    page.wait_for_selector("text=1 of 4 sessions")
    page.keyboard.press("Escape")
    page.keyboard.press("j")
    page.keyboard.press("Enter")

    page.wait_for_url(re.compile(r"/sessions/\d+/"))
    assert page.inner_text("h1") == "Fix the flaky checkout test"


def test_the_session_is_walked_row_by_row_and_call_by_call(
    signed_in_page: Any, live_url: str, complaints: list[str]
) -> None:
    page, row = signed_in_page, load_demo().talk
    page.goto(f"{live_url}{reverse('session', args=[row.id])}?after=-1")
    wait_drawn(page)

    page.keyboard.press("j")
    assert focused(page) == "m-0"
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    assert page.evaluate("() => document.activeElement.querySelector('details').open")
    for key, kind in (
        ("c", "compaction"),
        ("C", "compaction"),
        ("x", "error"),
        ("X", "error"),
        ("J", "user"),
        ("K", "user"),
    ):
        page.keyboard.press(key)
        # A row that is not loaded yet comes first.
        page.wait_for_function(
            "(kind) => (document.activeElement.dataset.kind ?? '').includes(kind)", arg=kind, timeout=10_000
        )
    page.keyboard.press("Escape")
    assert page.evaluate("() => document.activeElement === document.body")

    page.keyboard.press("g")
    tab_to(page, "Call shown", key="Shift+Tab")
    page.keyboard.press("Home")
    page.keyboard.press("Shift+ArrowRight")
    page.wait_for_function("() => /a=|b=/.test(location.search)")
    page.keyboard.press("ArrowLeft")
    at = int(re.search(r"b=(\d+)", page.url)[1])  # type: ignore[index]
    page.wait_for_function(
        "(call) => document.querySelector('#inspector-title').textContent.includes(`call ${call}`)", arg=at
    )
    assert complaints == []


def test_rows_that_are_not_loaded_are_reached_and_the_address_brings_them_back(
    signed_in_page: Any, live_url: str, complaints: list[str]
) -> None:
    page, row = signed_in_page, load_demo().talk
    page.goto(f"{live_url}{reverse('session', args=[row.id])}?after=-1")
    wait_drawn(page)
    loaded = page.locator("#rows > li").count()

    page.evaluate("() => [...document.querySelectorAll('#rows [data-row]')].at(-1).focus()")
    last = focused(page)
    page.keyboard.press("j")
    page.wait_for_function(
        "(last) => document.activeElement.id !== last && document.activeElement.matches('[data-row]')", arg=last
    )
    beyond = focused(page)
    assert page.locator("#rows > li").count() > loaded

    page.reload()
    assert page.evaluate("(id) => Boolean(document.getElementById(id))", beyond)
    expect(page).to_have_url(re.compile(f"#{beyond}$"))

    page.keyboard.press("G")
    page.wait_for_function("() => !document.querySelector('[data-more]')")
    page.keyboard.press("g")
    page.wait_for_function("() => document.activeElement.id === 'm-0'")
    page.keyboard.press("G")
    page.wait_for_function("() => document.activeElement.id !== 'm-0' && !document.querySelector('[data-more]')")
    ids = page.evaluate("() => [...document.querySelectorAll('#rows [data-row]')].map((row) => row.id)")
    assert len(ids) == len(set(ids))
    assert int(re.search(r"m-(\d+)", focused(page))[1]) > 190  # type: ignore[index]
    assert complaints == []


def test_a_row_gives_its_link_and_its_text(
    signed_in_page: Any, live_url: str, context: Any, complaints: list[str]
) -> None:
    page, row = signed_in_page, load_demo().talk
    context.grant_permissions(["clipboard-read", "clipboard-write"], origin=live_url)
    page.goto(f"{live_url}{reverse('session', args=[row.id])}?after=-1&a=3&b=9")
    wait_drawn(page)

    page.keyboard.press("g")
    tab_to(page, "Copy a link to this row", most=6)
    page.keyboard.press("Enter")
    page.wait_for_selector(".row-tools use[href$='#check']", state="attached")
    link = page.evaluate("() => navigator.clipboard.readText()")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_function("async () => (await navigator.clipboard.readText()).startsWith('The checkout test')")
    page.wait_for_selector(".row-tools use[href$='#check']", state="detached")

    assert link == f"{live_url}{reverse('session', args=[row.id])}?a=3&b=9&message=0#m-0"
    assert complaints == []


def test_context_compaction_budget_and_neighbours_are_a_key_away(
    signed_in_page: Any, live_url: str, complaints: list[str]
) -> None:
    page, demo = signed_in_page, load_demo()
    page.goto(live_url + reverse("session", args=[demo.talk.id]))
    wait_drawn(page)

    palette(page, "call 40", "Call 40")
    page.wait_for_selector("h1:has-text('Context at call 40')")
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    assert page.evaluate("() => document.activeElement.querySelector('details').open")
    palette(page, "c2", "Compaction 2")
    page.wait_for_url(f"**{reverse('compaction', args=[demo.talk.id, 2])}")
    page.keyboard.press("C")
    page.wait_for_url(f"**{reverse('compaction', args=[demo.talk.id, 1])}**")
    palette(page, "budget", "Budget")
    page.wait_for_url(f"**{reverse('budget', args=[demo.talk.id])}")
    page.keyboard.press("[")
    page.wait_for_url(re.compile(r"/sessions/\d+/(budget/)?$"))
    page.keyboard.press("]")
    page.wait_for_url(f"**/sessions/{demo.talk.id}/**")
    assert complaints == []


def test_a_summary_is_expanded_and_an_original_retrieved(
    signed_in_page: Any, live_url: str, complaints: list[str]
) -> None:
    page, demo = signed_in_page, load_demo()
    store = demo.rows["lossless-claw"]
    node = max(summaries.nodes(store.id), key=lambda one: one.depth or 0)
    page.goto(f"{live_url}{reverse('graph', args=[store.id])}?node={node.id}")
    wait_drawn(page)

    page.keyboard.press("e")
    page.wait_for_selector("#lens-place .lens")
    digest = messages.messages(demo.talk.id, limit=1).messages[0].blocks[0].text.sha256
    palette(page, digest[:12], digest[:24])
    page.wait_for_url("**/originals/**")
    page.keyboard.press("/")
    tab_to(page, "Retrieve the original", most=3)
    page.keyboard.press("Enter")

    page.wait_for_selector(".badge.verified")
    assert complaints == []


def test_a_file_is_uploaded_and_a_session_deleted(
    signed_in_page: Any, live_url: str, tmp_path: Path, complaints: list[str]
) -> None:
    page = signed_in_page
    (tmp_path / "one.jsonl").write_text(claude_lines(3))
    choosers: list[Any] = []
    # Listening from before the page is there: the driver takes a moment until it intercepts the dialog.
    page.on("filechooser", lambda chooser: choosers.append(chooser))  # the driver marks its listeners: no built-in
    page.goto(live_url + "/")
    for _ in range(20):
        page.keyboard.press("o")
        page.wait_for_timeout(250)
        if choosers:
            break
    choosers[0].set_files(tmp_path / "one.jsonl")
    page.wait_for_selector("text=alpha question 0")
    [row] = sessions.recent_sessions(5)
    page.goto(live_url + reverse("session_delete", args=[row.id]))
    tab_to(page, "I want to delete")
    page.keyboard.press("Space")
    tab_to(page, "Delete it", most=2)
    page.keyboard.press("Enter")

    page.wait_for_url(lambda url: "/delete/" not in url)
    assert sessions.session_count() == 0
    assert complaints == []


def test_theme_density_side_bar_keys_and_the_hint_bar(
    signed_in_page: Any, live_url: str, complaints: list[str]
) -> None:
    page, row = signed_in_page, load_demo().talk
    page.goto(live_url + reverse("session", args=[row.id]))
    wait_drawn(page)

    def root(name: str) -> Any:
        return page.evaluate(f"() => document.documentElement.dataset.{name} ?? ''")

    page.keyboard.press("t")
    first = root("theme")
    page.keyboard.press("t")
    assert {first, root("theme")} == {"light", "dark"}
    for density in ("roomy", "compact", ""):
        page.keyboard.press("l")
        assert root("density") == density
    page.keyboard.press("l")
    page.reload()
    assert root("density") == "roomy"
    page.keyboard.press("Control+b")
    assert "rail" in page.get_attribute("body", "class")
    page.keyboard.press("?")
    assert page.is_visible("#help")
    page.keyboard.press("Escape")
    assert not page.is_visible("#help")
    palette(page, "dark", "Switch between light and dark")
    assert root("theme") == first
    page.keyboard.press("Control+f")
    assert page.evaluate("() => document.activeElement.name") == "q"
    page.wait_for_function("() => document.querySelector('[data-keys]').innerText.includes('leave the field')")
    page.keyboard.press("Escape")
    expect(page.locator("[data-keys]")).to_have_text(re.compile("go to|all keys"))
    page.goto(live_url + reverse("settings"))
    page.wait_for_function("() => !document.querySelector('[data-keys]').innerText.includes('compaction')")
    assert complaints == []


def test_the_palette_works_without_a_script(browser: Any, live_url: str, owner: Any, client: Any) -> None:
    demo = load_demo()
    cookie = client.cookies[django_settings.SESSION_COOKIE_NAME]
    context = browser.new_context(java_script_enabled=False)
    context.add_cookies([{"name": cookie.key, "value": cookie.value, "url": live_url}])
    page = context.new_page()
    page.goto(live_url + reverse("session", args=[demo.talk.id]))

    page.fill(".goto input[name=q]", "call 12")
    page.keyboard.press("Enter")
    page.wait_for_selector("h1:has-text('Context at call 12')")
    page.fill(".goto input[name=q]", "index")
    page.keyboard.press("Enter")

    page.wait_for_selector("a:has-text('Shard the search index')")
    context.close()
