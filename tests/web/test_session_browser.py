"""The session page in a real browser: keys, play-heads, texts in place, rows that come while one looks."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.test import Client
from playwright.sync_api import expect

from contextviz.store.models import SessionRecord
from tests.services.building import upload
from tests.web.talking import SESSION, stored, talk

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def complaints(signed_in_page: Any) -> list[str]:
    """What the browser's console and the page's errors said."""
    found: list[str] = []
    signed_in_page.on("console", lambda message: found.append(message.text) if message.type == "error" else None)
    signed_in_page.on("pageerror", lambda error: found.append(str(error)))
    return found


def test_a_moved_play_head_swaps_the_inspector_and_nothing_else(
    signed_in_page: Any, live_url: str, data_dir: Path, complaints: list[str]
) -> None:
    page = signed_in_page
    page.goto(f"{live_url}/sessions/{stored()}/")
    page.wait_for_selector("cv-strip:not([aria-busy])")
    page.evaluate("() => { document.querySelector('#rows').dataset.mine = 'kept'; }")

    page.focus("cv-strip .track")
    page.keyboard.press("ArrowLeft")
    page.wait_for_function("() => document.querySelector('#inspector-title').textContent.includes('call 7')")

    expect(page).to_have_url(re.compile("b=7"))
    assert page.evaluate("() => document.querySelector('#rows').dataset.mine") == "kept"
    expect(page.locator("#readout")).to_contain_text("7")
    page.keyboard.press("Shift+ArrowLeft")
    page.wait_for_function("() => document.querySelector('#inspector-title').textContent.includes('call 5')")
    assert complaints == []


def test_the_keys_offered_on_a_fresh_page_do_something(
    signed_in_page: Any, live_url: str, data_dir: Path, complaints: list[str]
) -> None:
    page = signed_in_page
    address = f"{live_url}/sessions/{stored()}/"

    def fresh(key: str) -> None:
        page.goto(address)
        page.wait_for_selector("cv-strip:not([aria-busy])")
        page.keyboard.press(key)

    def is_focused(selector: str) -> bool:
        return bool(page.evaluate("(selector) => document.activeElement.matches(selector)", selector))

    fresh("ArrowLeft")  # with the focus nowhere
    expect(page).to_have_url(re.compile("b=7"))
    expect(page.locator("#inspector-title")).to_contain_text("call 7")
    page.keyboard.press("j")
    assert is_focused("li:has(#call-7)")
    page.keyboard.press("Shift+ArrowLeft")  # on a row, which gives the focus up
    expect(page).to_have_url(re.compile("b=5"))
    page.keyboard.press("j")
    assert is_focused("li:has(#call-5)")

    page.keyboard.press("/")
    page.keyboard.type("lock")
    page.keyboard.press("ArrowLeft")  # in a field it is the cursor's
    assert "b=5" in page.url
    fresh("j")
    assert is_focused("[aria-current]")
    fresh("c")  # no compaction is further on: the last one
    assert is_focused("#c-1")
    assert complaints == []


def test_keys_walk_the_rows(signed_in_page: Any, live_url: str, data_dir: Path, complaints: list[str]) -> None:
    page = signed_in_page
    page.goto(f"{live_url}/sessions/{stored()}/?after=-1")

    def focused() -> str:
        return str(page.evaluate("() => document.activeElement.id"))

    page.keyboard.press("g")
    assert focused() == "m-0"
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    assert page.evaluate("() => document.activeElement.querySelector('details').open")
    page.keyboard.press("c")
    assert focused() == "c-1"
    page.keyboard.press("X")
    assert page.evaluate("() => document.activeElement.dataset.kind") == "error"
    assert complaints == []


def test_show_all_brings_the_text_into_its_place(
    signed_in_page: Any, live_url: str, data_dir: Path, complaints: list[str]
) -> None:
    page = signed_in_page
    page.goto(f"{live_url}/sessions/{stored()}/?after=-1")

    page.click("#m-1-1 >> text=Show all")
    page.wait_for_selector("#m-1-1 pre.raw")

    assert page.inner_text("#m-1-1 pre.raw").count("word") == 700
    assert complaints == []


def test_rows_come_while_one_looks_and_folds_stay_open(
    signed_in_page: Any, live_url: str, data_dir: Path, complaints: list[str]
) -> None:
    page = signed_in_page
    session_id = stored(turns=2)
    page.goto(f"{live_url}/sessions/{session_id}/")
    page.wait_for_selector("cv-strip:not([aria-busy])")
    page.evaluate("() => { document.querySelector('#m-11 details').open = true; }")
    page.wait_for_timeout(400)

    upload((f"{SESSION}.jsonl", talk(turns=6).text))
    page.wait_for_selector("#call-11", state="attached")
    page.wait_for_function("() => document.querySelector('#inspector-title').textContent.includes('call 11')")

    assert page.evaluate("() => document.querySelector('#m-11 details').open")
    expect(page.locator("#session-meta")).to_contain_text("11 calls")
    expect(page.locator("#rows > [aria-current]")).to_have_text([re.compile(r"^\s*11\b")], use_inner_text=True)
    total = SessionRecord.objects.get(pk=session_id).message_count
    expect(page.locator(".transcript-foot")).to_contain_text(f" shown, {total} in the session")
    ids = page.evaluate("() => [...document.querySelectorAll('#rows > li[id]')].map((row) => row.id)")
    assert len(ids) == len(set(ids))
    assert complaints == []


def test_the_page_reads_without_a_script(browser: Any, live_url: str, data_dir: Path, owner: Any) -> None:
    client = Client()
    client.force_login(owner)
    cookie = client.cookies[settings.SESSION_COOKIE_NAME]
    context = browser.new_context(java_script_enabled=False, viewport={"width": 390, "height": 844})
    context.add_cookies([{"name": cookie.key, "value": cookie.value, "url": live_url}])
    page = context.new_page()
    page.goto(f"{live_url}/sessions/{stored()}/")

    assert page.is_visible("text=All done.")
    # It opens at the call that the strip's numbers are of.
    expect(page.locator("li:has(#call-8)")).to_be_in_viewport()
    page.click("nav.bottom >> text=Context")
    assert page.is_visible("text=Items in order") and not page.is_visible("text=All done.")
    page.click("#inspector-title a")
    assert page.is_visible("h1:has-text('Context at call 8')")
    context.close()
