"""The documents inside the product, and the renderer that they share with agents' notes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from django.test import Client
from django.urls import reverse

from contextviz.web.markdown import MOST_BYTES, document, note
from contextviz.web.pages.guide.docs import doc_titles


@pytest.mark.django_db
def test_every_document_is_a_page_and_its_links_lead_somewhere(client: Client, repository: Path) -> None:
    names = [name for name, _ in doc_titles()]
    assert len(names) == len(list((repository / "docs").rglob("*.md")))
    for name in names:
        answer = client.get(reverse("docs_page", args=[name]))
        page = answer.content.decode()
        assert answer.status_code == 200 and page.count("<h1") == 1, name
        for target in re.findall(r'href="/docs/([^"#]*)/(?:#[^"]*)?"', page):
            assert target in names, f"{name}: {target}"


@pytest.mark.django_db
@pytest.mark.parametrize("name", ["nothing", "../README", "../../etc/passwd", "cli.md", "%2e%2e/README"])
def test_only_documents_are_shown(client: Client, name: str) -> None:
    assert client.get(f"/docs/{name}/").status_code == 404


@pytest.mark.django_db
def test_the_docs_open_at_the_first_one(client: Client) -> None:
    assert client.get(reverse("docs")).headers["Location"] == reverse("docs_page", args=["cli"])


def test_a_note_of_an_agent_is_shown_and_does_nothing() -> None:
    html = note(
        "# Title\n### Deeper\n<script>alert(1)</script> <img src=x onerror=alert(1)> ![p](https://example.org/p.png)\n"
        "[a](javascript:alert(1)) [b](https://example.org/) [c](/settings/) [d](data:text/html,x)\n\n```\nx < 1\n```\n"
    )

    assert "<script" not in html and "<img" not in html and 'href="javascript' not in html
    assert re.findall(r'href="([^"]+)"', html) == ["https://example.org/p.png", "https://example.org/"]
    assert re.findall(r"<(h\d)", html) == ["h3", "h4"]
    assert "x &lt; 1" in html


def test_an_option_stands_whole_and_a_table_scrolls_by_key() -> None:
    html = document("Use `--port N`.\n\n| a |\n| - |\n| `--demo` |\n", lambda target: "")

    assert '<code class="nowrap">--port N</code>' in html and '<code class="nowrap">--demo</code>' in html
    assert html.count('<div class="table-wrap" tabindex="0"><table>') == html.count("</table></div>") == 1
    assert 'class="nowrap"' not in document("`x`", lambda target: "") + note("`--port N`")
    assert note('<div class="table-wrap">x</div>').count("<div") == 0


def test_a_note_is_bounded() -> None:
    assert len(note("word " * MOST_BYTES)) < 2 * MOST_BYTES
