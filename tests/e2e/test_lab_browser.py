"""The Lab in a real browser: runs made, one scrubber for all, keys, differences, a budget that is dragged."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from contextviz.services import replay
from contextviz.store.models import JobRecord
from contextviz.store.queries import runs
from tests.e2e.walking import load_demo, replays, wait_drawn

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.usefixtures("data_dir")]  # a browser takes seconds


@pytest.fixture
def complaints(signed_in_page: Any) -> list[str]:
    """What the page's console complained of."""
    found: list[str] = []
    signed_in_page.on("console", lambda message: found.append(message.text) if message.type == "error" else None)
    signed_in_page.on("pageerror", lambda error: found.append(str(error)))
    return found


def work() -> None:
    """Do what a worker would, where it is not done yet."""
    for job_id in JobRecord.objects.filter(kind="replay", state="queued").values_list("pk", flat=True):
        assert replay.execute_run(job_id)


def at_call(page: Any, number: int) -> None:
    """Until what stands under the play-head is that of a call."""
    page.wait_for_selector(f"#lab-at[data-call='{number}']")


def test_the_defaults_are_run_and_shown_when_they_are_done(
    signed_in_page: Any, live_url: str, complaints: list[str]
) -> None:
    page, row = signed_in_page, load_demo().talk
    page.goto(live_url + reverse("lab", args=[row.id]))

    with page.expect_navigation():
        page.click("text=Run the defaults")
    work()

    page.wait_for_selector(".lab-runs summary:has-text('Keep all')")  # by itself: the page asks
    wait_drawn(page)
    expect(page.locator(".lab-runs .chip.on")).to_have_count(4)
    expect(page.locator("text=waits for the worker")).to_have_count(0)
    assert complaints == []


def test_an_engine_is_chosen_with_its_settings_and_replayed(
    signed_in_page: Any, live_url: str, complaints: list[str]
) -> None:
    page, row = signed_in_page, load_demo().talk
    page.goto(live_url + reverse("lab", args=[row.id]))
    page.click("#new-run > summary")
    page.select_option("#lab-engine", "keep-tail@1")
    page.wait_for_selector("[name=s-keepTokens]")

    page.fill("[name=s-keepTokens]", "9000")
    with page.expect_navigation():
        page.click("#lab-settings button.primary")

    assert runs.runs_of(row.id)[0].settings["keepTokens"] == 9_000
    assert complaints == []


def test_one_scrubber_moves_every_run_by_pointer_and_keys(
    signed_in_page: Any, live_url: str, complaints: list[str]
) -> None:
    page, row = signed_in_page, load_demo().talk
    replays(row.id)
    page.set_viewport_size({"width": 1440, "height": 900})
    page.goto(f"{live_url}{reverse('lab', args=[row.id])}?call=5")
    wait_drawn(page)
    at_call(page, 5)

    page.keyboard.press("ArrowRight")
    at_call(page, 6)
    expect(page).to_have_url(re.compile("call=6"))
    page.keyboard.press("Shift+ArrowRight")  # wherever the focus is
    page.wait_for_function("() => Number(document.querySelector('#lab-at').dataset.call) > 7")
    expect(page).to_have_url(re.compile("runs=recorded"))  # so that a later run does not change what the address shows
    page.keyboard.press("Shift+ArrowLeft")
    page.wait_for_function("() => Number(document.querySelector('#lab-at').dataset.call) < 7")
    page.focus("cv-lab .track")
    page.keyboard.press("End")
    at_call(page, row.call_count)
    page.keyboard.press("Shift+ArrowLeft")
    page.wait_for_function(
        "(last) => Number(document.querySelector('#lab-at').dataset.call) < last", arg=row.call_count
    )
    page.wait_for_function(
        "() => /Keep the tail.*tokens/.test(document.querySelector('cv-lab .track').getAttribute('aria-valuetext'))"
    )

    box = page.locator("cv-lab .track").bounding_box()
    page.mouse.click(box["x"] + 2, box["y"] + 40)
    at_call(page, 1)
    page.reload()
    at_call(page, 1)  # the address is the state
    assert complaints == []


def test_differences_boundaries_and_views_have_keys(signed_in_page: Any, live_url: str, complaints: list[str]) -> None:
    page, row = signed_in_page, load_demo().talk
    replays(row.id)
    page.goto(f"{live_url}{reverse('lab', args=[row.id])}?call=30")
    wait_drawn(page)
    page.keyboard.press("d")
    assert page.evaluate("() => document.activeElement.dataset.kind") == "difference"
    first = page.evaluate("() => document.activeElement.id")
    page.keyboard.press("d")
    page.keyboard.press("D")
    assert page.evaluate("() => document.activeElement.id") == first
    page.keyboard.press("Escape")

    page.keyboard.press("2")
    page.wait_for_selector(".lab-parts")
    page.keyboard.press("3")
    page.wait_for_selector(".lab-graphs")
    expect(page).to_have_url(re.compile("view=graphs"))
    page.keyboard.press("C")
    page.wait_for_function("() => Number(document.querySelector('#lab-at').dataset.call) < 30")
    page.keyboard.press("v")
    page.wait_for_selector(".lab-try")
    assert complaints == []


def test_a_budget_that_is_dragged_moves_the_cuts_on_the_chart(
    signed_in_page: Any, live_url: str, complaints: list[str]
) -> None:
    page, row = signed_in_page, load_demo().talk
    keys = replays(row.id)
    page.goto(f"{live_url}{reverse('lab', args=[row.id])}?runs=recorded,{keys[0]}&call=30&view=what-if")
    wait_drawn(page)
    page.wait_for_selector("#lab-tried[data-limit='60000']")
    before = page.get_attribute("#lab-tried", "data-tried")

    page.keyboard.press("v")
    for _ in range(12):
        page.keyboard.press("ArrowLeft")
    page.wait_for_function(
        "(before) => { const one = document.querySelector('#lab-tried');"
        " return one.dataset.limit !== '60000' && one.dataset.tried !== before; }",
        arg=before,
    )

    page.wait_for_selector("cv-lab .tried .limit", state="attached")
    # Answers to earlier steps of the drag may still arrive; what is drawn must end as what the last one says.
    page.wait_for_function(
        "() => { const marks = document.querySelectorAll('cv-lab .tried .cut-mark').length;"
        " return marks > 0 && marks === document.querySelector('#lab-tried').dataset.tried.split(',').length; }"
    )
    page.wait_for_selector("#lab-tried .lab-dropped li")
    assert len(runs.runs_of(row.id)) == 2  # nothing is kept

    with page.expect_navigation():
        page.click("text=Replay with these numbers")
    assert len(runs.runs_of(row.id)) == 3
    assert complaints == []


def test_without_a_script_runs_are_compared_and_tried(browser: Any, signed_in_page: Any, live_url: str) -> None:
    row = load_demo().talk
    replays(row.id)
    context = browser.new_context(java_script_enabled=False, storage_state=signed_in_page.context.storage_state())
    page = context.new_page()
    page.goto(f"{live_url}{reverse('lab', args=[row.id])}?call=30")

    assert page.locator(".lab-list tr.differs").count() > 0
    page.click(".call-links a >> nth=0")
    page.wait_for_selector("#lab-at[data-call='29']")
    page.click("text=What if")
    page.click(".lab-try button:has-text('Show')")
    page.wait_for_selector("#lab-tried >> text=cut")
    context.close()


def test_the_lab_fits_a_phone(signed_in_page: Any, live_url: str) -> None:
    page, row = signed_in_page, load_demo().talk
    replays(row.id)
    page.set_viewport_size({"width": 390, "height": 844})
    for view in ("lists", "composition", "graphs", "what-if"):
        page.goto(f"{live_url}{reverse('lab', args=[row.id])}?call=30&view={view}")
        wait_drawn(page)
        assert page.evaluate("() => document.querySelector('.main').scrollWidth") <= 390, view
