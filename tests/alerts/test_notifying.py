"""Notifications in a real browser: asked for by a click alone, each alert once, on any page, until switched off."""

from __future__ import annotations

from typing import Any

import pytest
from django.utils import timezone

from contextviz.store.models import AlertRecord
from tests.alerts.test_alerts import rule, save

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.usefixtures("data_dir")]  # a browser takes seconds
# What pages would show, and whether this one asked; a headless browser shows nothing itself. It is kept from page to
# page, as one that is being left may still show what is new.
STAND_IN = """
window.shown = JSON.parse(localStorage.getItem("shown") ?? "[]"); window.asked = 0;
window.Notification = class extends EventTarget {
  constructor(title, options) {
    super();
    window.shown.push([title, options.body]);
    localStorage.setItem("shown", JSON.stringify(window.shown));
  }
  static get permission() { return localStorage.getItem("granted") ?? "default"; }
  static async requestPermission() { window.asked += 1; localStorage.setItem("granted", "granted"); return "granted"; }
};
"""


def told(number: int) -> None:
    """One more alert."""
    old = AlertRecord.objects.order_by("pk").first()
    rule_id, session_id = (old.rule_id, old.session_id) if old else (rule("compaction"), save(3))
    AlertRecord.objects.create(
        rule_id=rule_id, session_id=session_id, key=str(number), at=timezone.now(), sentence=f"alert {number}"
    )


def test_new_alerts_are_shown_on_every_page_where_it_was_switched_on(signed_in_page: Any, live_url: str) -> None:
    page, said = signed_in_page, []
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("console", lambda line: said.append(line.text) if line.type == "error" else None)
    page.add_init_script(STAND_IN)
    told(1)
    page.goto(f"{live_url}/alerts/")
    button = page.locator("cv-notify button")
    button.wait_for()
    assert page.evaluate("[asked, shown.length]") == [0, 0]  # nothing is asked for without a click

    button.click()
    page.wait_for_selector("cv-notify button[aria-pressed=true]")
    told(2)
    page.goto(f"{live_url}/settings/")
    page.wait_for_function("() => shown.length")
    assert page.evaluate("[asked, shown]") == [0, [["r", "A title: alert 2"]]]  # not what was told before

    page.goto(f"{live_url}/alerts/")
    button.wait_for()
    button.click()
    page.wait_for_selector("cv-notify button[aria-pressed=false]")
    told(3)
    with page.expect_request("**/static/**"):
        page.goto(f"{live_url}/settings/")
    page.wait_for_load_state("networkidle")
    assert page.evaluate("[shown.length, localStorage.getItem('contextviz-alerts')]") == [1, None]  # no more of them
    assert said == []


def test_a_preview_stands_in_the_page_and_keeps_what_was_typed(signed_in_page: Any, live_url: str) -> None:
    page = signed_in_page
    page.goto(f"{live_url}/alerts/")
    page.check("[value=compactions_within]")
    page.fill("[name=compactions_within-count]", "7")
    assert page.locator("[name=fill_above-percent]").is_hidden()  # the numbers of one kind at a time
    page.click("text=Preview")
    page.wait_for_selector("#alert-preview h3")
    assert page.url == f"{live_url}/alerts/"
    assert page.input_value("[name=compactions_within-count]") == "7"
