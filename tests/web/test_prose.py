"""Messages as Markdown: what is read as such, what never is, and that nothing in it runs or gives a secret away."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.test import Client

from contextviz.web.markdown import has_marks
from contextviz.web.pages.session.place import parse
from contextviz.web.pages.session.prose import prose
from tests.services.building import upload
from tests.web.talking import SECRET, SESSION, Talk


@pytest.mark.parametrize("text", ["plain words, 3 > 2 (a).", "a - b: #4", "two\nlines"])
def test_what_is_no_markdown_is_only_escaped(text: str) -> None:
    assert not has_marks(text)
    assert prose(text) == text.replace(">", "&gt;")


def test_markdown_is_shown_as_what_it_says_and_a_line_that_ends_stays_one() -> None:
    html = prose("# Plan\n\nfirst\nthen **this**\n\n- `a.py`\n\n| a | b |\n|---|---|\n| 1 | 2 |")

    assert html.startswith('<div class="prose"><h4>Plan</h4>')
    assert "<p>first<br>\nthen <strong>this</strong></p>" in html
    assert "<li><code>a.py</code></li>" in html and "<td>2</td>" in html


def test_nothing_in_it_runs_and_links_only_lead_out() -> None:
    html = prose("<script>alert(1)</script> *x* [a](javascript:alert(1)) [b](https://e.example/) <img src=x onerror=y>")

    assert "<script" not in html and "<img" not in html and 'href="javascript' not in html
    assert 'href="https://e.example/"' in html and "nofollow" in html


@pytest.mark.parametrize("text", ["**key** {}", "```\ntoken = '{}'\n```", "[a {}](https://e.example/)", "`{}`"])
def test_a_secret_in_it_is_masked_wherever_it_stands(text: str) -> None:
    html = prose(text.format(SECRET))

    assert SECRET not in html and "masked</span>" in html


def test_a_text_cannot_name_a_secret_of_its_own() -> None:
    html = prose("*a* \ufdd00\ufdd1 b")

    assert "masked" not in html and "\ufdd0" not in html


@pytest.mark.django_db
def test_messages_can_be_seen_as_they_were_written_and_results_are_never_read_as_markdown(
    client: Client, data_dir: Path
) -> None:
    one = Talk()
    one.user("Fix it, **never** twice.")
    one.tool("Bash", {"command": "cat **a**"}, "**printed**")
    one.answer({"type": "text", "text": "- `done`"})
    address = f"/sessions/{upload((f'{SESSION}.jsonl', one.text)).result['sessions'][0]}/"
    shown, raw = (client.get(address + query).content.decode() for query in ("", "?raw=1"))

    assert "<strong>never</strong>" in shown and "<code>done</code>" in shown and f'href="{address}?raw=1"' in shown
    assert "<strong>" not in raw and "**never**" in raw and f'href="{address}"' in raw
    assert "**printed**" in shown and "**a**" in shown
    assert parse(1, {"raw": "1"}).url(before=3).endswith("?before=3&raw=1")
