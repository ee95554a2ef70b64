"""What a phone shows: words stand whole, signs stand beside their words, the first tab stands where the text begins."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.web.talking import stored

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

# Words of a table or a choice that are broken over lines, though each of them has room.
BROKEN = """() => [...document.querySelectorAll("main :is(td, th, .check)")].flatMap((cell) => {
  const found = [], texts = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
  for (let text; (text = texts.nextNode());) for (const word of text.data.matchAll(/[A-Za-z]{2,15}/g)) {
    const range = document.createRange();
    range.setStart(text, word.index);
    range.setEnd(text, word.index + word[0].length);
    const lines = new Set([...range.getClientRects()].filter((box) => box.width > 1).map((box) => Math.round(box.top)));
    if (lines.size > 1) found.push(word[0]);
  }
  return found;
})"""
APART = """() => [...document.querySelectorAll(".kind .check")].map((choice) => {
  const sign = choice.querySelector("input").getBoundingClientRect(), words = document.createRange();
  words.selectNodeContents(choice.querySelector("span"));
  const line = words.getClientRects()[0];
  return Math.abs(sign.top + sign.height / 2 - line.top - line.height / 2);
})"""
TAB = "() => document.querySelector('.tabs [aria-current]').getBoundingClientRect().left"


def test_words_signs_and_tabs_stand_whole(signed_in_page: Any, live_url: str, data_dir: Path) -> None:
    page = signed_in_page
    page.set_viewport_size({"width": 390, "height": 844})
    session_id = stored()

    for address in ("/settings/accounts/", "/settings/prices/", "/docs/api/", "/docs/cli/"):
        page.goto(live_url + address)
        assert page.locator("main table").count(), address
        assert page.evaluate(BROKEN) == [], address
    page.goto(f"{live_url}/alerts/")
    apart = page.evaluate(APART)
    assert len(apart) > 3 and max(apart) < 6
    page.goto(f"{live_url}/sessions/{session_id}/")
    assert page.evaluate(TAB) == 16
