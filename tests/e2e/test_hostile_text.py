"""Transcripts are hostile text: markup in every field runs on no page, and nothing of it is lost.

The browser ignores the content policy here, so that what holds is the escaping itself.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from contextviz.services import digest, ingest
from contextviz.store.queries import sessions
from tests.e2e.walking import wait_drawn
from tests.hostile import addresses, import_hostile
from tests.services.building import NOW

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.usefixtures("data_dir")]  # a browser takes seconds
TEMPLATE = "{{7*7}} {% debug %} ${7*7}"
MARKUP = (
    '<script>window.__xss1=1</script><img src=x onerror="window.__xss2=1"><svg/onload=window.__xss3=1>'
    "</script></title></textarea></style><script>window.__xss4=1</script>"
    "\"' onmouseover='window.__xss5=1' x=\"<b id=xss6>b</b>[l](javascript:window.__xss7=1)"
    '<a href="javascript:window.__xss8=1">a</a><a href="data:text/html,1">d</a><!-- ' + TEMPLATE
)
CASE = "cases/reading/075-html-in-transcripts"
# What a page may not hold, whatever was read.
FOUND = """() => ({
  defined: Object.keys(window).filter((name) => name.startsWith('__xss')),
  elements: document.querySelectorAll('#xss6, [onerror], [onload], [onmouseover]').length,
  links: [...document.querySelectorAll('a, area, use, form, iframe, img, [href]')].flatMap((one) =>
    ['href', 'xlink:href', 'src', 'action'].map((name) => one.getAttribute(name) ?? ''))
    .filter((link) => /^[\\s\\u0000-\\u0020]*(javascript|data|vbscript):/i.test(link)),
  scripts: [...document.querySelectorAll('script:not([src])')].map((one) => one.textContent.slice(0, 80)),
})"""
CLEAN = {"defined": [], "elements": 0, "links": [], "scripts": []}


@pytest.fixture
def browser_context_args(browser_context_args: dict[str, Any]) -> dict[str, Any]:
    """Without the content policy, which would hide a fault."""
    return {**browser_context_args, "bypass_csp": True, "viewport": {"width": 1280, "height": 800}}


def visited(page: Any, live_url: str, client: Client) -> Iterator[tuple[str, str]]:
    """Every page that there is, opened in the browser, its charts hovered over; its address and its text."""
    for url, kind, body in addresses(client, alike=2, most=140):
        if kind == "application/json":
            json.loads(body)
        if kind != "text/html" or "<html" not in body:
            continue
        page.goto(live_url + url)
        wait_drawn(page)
        for chart in page.query_selector_all(".js-plotly-plot, cv-strip"):
            if box := chart.bounding_box():
                page.mouse.move(box["x"] + box["width"] / 8, box["y"] + box["height"] * 0.35)
                page.mouse.move(box["x"] + box["width"] * 7 / 8, box["y"] + box["height"] * 0.65, steps=6)
        assert page.evaluate(FOUND) == CLEAN, url
        yield url, page.evaluate("() => document.body.textContent")


def test_markup_in_every_field_runs_nowhere(signed_in_page: Any, live_url: str, client: Client, tmp_path: Path) -> None:
    asked: list[str] = []
    signed_in_page.on("request", lambda request: asked.append(request.url))
    signed_in_page.on("dialog", lambda dialog: pytest.fail(f"a dialog: {dialog.message}"))
    rows = import_hostile(tmp_path / "files", MARKUP)
    assert {row.format for row in rows} >= {"openclaw", "claude-code", "conversation-map", "lossless-claw"}

    pages = dict(visited(signed_in_page, live_url, client))

    assert len(pages) > 30
    assert [url for url in asked if not url.startswith((live_url, "data:", "blob:"))] == []
    for row in rows:
        if row.format in ("openclaw", "claude-code"):
            shown = pages[reverse("session", args=[row.id])]
            assert TEMPLATE in shown
            assert "<script>window.__xss1=1</script>" in shown


def test_a_page_that_follows_its_session_gets_no_markup_either(
    signed_in_page: Any, live_url: str, tmp_path: Path
) -> None:
    page = signed_in_page
    import_hostile(tmp_path / "files", MARKUP)
    row = next(row for row in sessions.recent_sessions(50) if row.format == "openclaw")
    page.goto(live_url + reverse("session", args=[row.id]))
    wait_drawn(page)
    file = next(path for path in (tmp_path / "files").rglob("*.jsonl") if "openclaw " in path.read_text()[:400])
    said = {"role": "user", "content": [{"type": "text", "text": f"it grew {MARKUP}"}]}
    entry = {"type": "message", "id": "g1", "parentId": "e10", "timestamp": "2026-02-01T09:01:00Z", "message": said}

    with file.open("a") as stream:
        stream.write(json.dumps(entry) + "\n")
    assert digest.digest(ingest.import_paths([tmp_path / "files"], now=NOW))

    page.get_by_text("it grew").first.wait_for(state="attached", timeout=15_000)
    assert page.evaluate(FOUND) == CLEAN


def test_the_case_of_the_agreements(signed_in_page: Any, live_url: str, client: Client, shared: Path) -> None:
    case = shared / CASE
    if not case.is_dir():
        pytest.skip(f"the case is not on this machine (looked for {case})")
    expected = json.loads((case / "expect.json").read_text())
    assert digest.digest(ingest.import_paths([case / "input"], now=NOW))
    row = sessions.recent_sessions(1)[0]
    assert row.compaction_count == expected["compactions"]
    assert row.message_count == expected["messages"]["total"]

    pages = dict(visited(signed_in_page, live_url, client))

    everything = "\n".join(pages.values())
    assert [text for text in expected["visible_as_text"] if text not in everything] == []
    assert reverse("compaction", args=[row.id, 1]) in pages
    source = sessions.sources(row.id)[0]
    raw = client.get(reverse("artifact", args=[source.sha256]))
    assert raw.status_code == 200
    assert raw.headers["Content-Disposition"].startswith("attachment")
    assert raw.headers["X-Content-Type-Options"] == "nosniff"
