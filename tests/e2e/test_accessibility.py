"""Every page, in both themes, has nothing that the accessibility checker finds."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest
from django.urls import resolve, reverse

from contextviz.web.urls import urlpatterns
from tests.e2e.walking import AXE, Checker, addresses, load_demo, main_addresses, wait_drawn

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.usefixtures("data_dir")]  # a browser takes seconds


def test_the_checker_is_the_one_whose_hash_is_written_down() -> None:
    lines = [line.split() for line in (AXE.parent / "SHA256SUMS").read_text().splitlines()]

    assert {name: hashlib.sha256((AXE.parent / name).read_bytes()).hexdigest() for _, name in lines} == {
        name: digest for digest, name in lines
    }


# Addresses that answer with no page of their own: parts, data, files, changes, steps elsewhere.
NO_PAGES = {
    "alert_preview", "alert_switch", "alerts_new",
    "api_key_revoke", "artifact", "block_download", "budget_calls", "budget_compute", "budget_prefix", "budget_treemap",
    "demo", "docs", "export_look", "export_unmask", "graph_expand", "healthz", "import_home", "imports",
    "item_download", "job_cancel", "job_retry", "lab_defaults", "lab_delete", "lab_fill", "lab_form", "lab_graph",
    "lab_pareto", "lab_run", "lab_tried", "lab_waiting", "live_cards", "original_download", "session_find",
    "session_fresh",
    "session_inspector", "session_keep", "session_newer", "session_older", "session_privacy", "session_topics",
    "sign_out", "strip_figure", "styleguide_figure", "topic_figure", "unmask_block", "unmask_compaction", "unmask_item",
    "unmask_message", "unmask_original", "unmask_summary", "upload", "upload_dismiss",
}  # fmt: skip
ELSEWHERE = {"sign_in", "styleguide"}  # checked by tests of their own


COLOURS = ("color-contrast", "link-in-text-block")  # the rules that a change of the theme can break
STILL = "() => document.getAnimations().every((one) => !(one instanceof CSSTransition) || one.playState === 'finished')"


def checked(page: Any, live_url: str, pages: dict[str, str]) -> dict[str, list[str]]:
    """What is found on each page, in each theme, by the page's name and the theme.

    A page that comes in one theme is asked about everything; then it is turned to the other, where only the rules about
    colours can find something else. The next page comes in that other theme, from the server as well.
    """
    checker = Checker(page)
    found: dict[str, list[str]] = {}
    theme, other = "light", "dark"
    page.context.add_cookies([{"name": "contextviz_theme", "value": theme, "url": live_url}])
    for name, address in pages.items():
        page.goto(live_url + address)
        settled(page, theme, name)
        if findings := checker.findings():
            found[f"{name}, {theme}"] = findings
        turn(page)
        settled(page, other, name)
        if findings := checker.findings(only=COLOURS):
            found[f"{name}, {other}"] = findings
        theme, other = other, theme
    return found


def turn(page: Any) -> None:
    """To the other theme: with the page's key, and where an answer is so bare that it has none, as if elsewhere."""
    if page.query_selector("[data-theme-form]") is not None:
        page.evaluate("() => document.activeElement?.blur()")  # a field would take the key as text
        page.keyboard.press("t")
        return
    page.evaluate("""() => {
      const theme = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
      localStorage.setItem("contextviz-theme", theme);
      document.cookie = `contextviz_theme=${theme}; path=/; samesite=strict`;
    }""")
    page.reload()


def settled(page: Any, theme: str, name: str) -> None:
    """Until the page is drawn and its colours stand still; it has to be in the theme."""
    wait_drawn(page)
    page.wait_for_function(STILL)
    assert page.evaluate("() => document.documentElement.dataset.theme") == theme, name


def test_no_page_is_left_out_and_none_has_a_finding_in_either_theme(signed_in_page: Any, live_url: str) -> None:
    pages = addresses(load_demo())
    walked = {resolve(address.split("?")[0]).url_name for address in pages.values()}
    assert {one.name for one in urlpatterns} - NO_PAGES - ELSEWHERE - walked == set(), "no page is left out"
    signed_in_page.set_viewport_size({"width": 1440, "height": 900})

    assert checked(signed_in_page, live_url, pages) == {}


def test_no_page_has_a_finding_on_a_phone(signed_in_page: Any, live_url: str) -> None:
    pages = main_addresses(load_demo())
    signed_in_page.set_viewport_size({"width": 390, "height": 844})

    assert checked(signed_in_page, live_url, pages) == {}


def test_the_pages_before_there_is_anything_have_no_finding(signed_in_page: Any, live_url: str) -> None:
    names = ("library", "topics", "originals", "jobs", "search", "go")
    found = checked(signed_in_page, live_url, {name: reverse(name) for name in names})
    signed_in_page.context.clear_cookies()

    assert found == {}
    assert checked_sign_in(signed_in_page, live_url) == []


def checked_sign_in(page: Any, live_url: str) -> list[str]:
    page.goto(live_url + reverse("sign_in"))
    return Checker(page).findings()


def test_the_palette_and_the_keys_have_no_finding(signed_in_page: Any, live_url: str) -> None:
    demo = load_demo()
    page = signed_in_page
    page.goto(live_url + reverse("session", args=[demo.talk.id]))
    wait_drawn(page)
    checker = Checker(page)

    page.keyboard.press("Control+k")
    page.wait_for_selector("[role=option]")
    palette = checker.findings()
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    page.wait_for_selector("#help[open]")

    assert palette == []
    assert checker.findings() == []


def test_the_style_guide_shows_every_component_without_a_finding(
    signed_in_page: Any, live_url: str, settings: Any, tmp_path: Path
) -> None:
    settings.DEBUG = True
    page = signed_in_page
    page.set_viewport_size({"width": 1440, "height": 900})

    found = checked(page, live_url, {"styleguide": reverse("styleguide")})
    picture = page.screenshot(path=tmp_path / "styleguide.png", full_page=True)

    assert found == {}
    assert len(picture) > 20_000
    assert page.locator("dl.examples > div").count() > 70
