"""Words and small parts of pages that were wrong once: the foot of a phone, keys, headings, previews."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from django.test import Client

from contextviz.cli.doctor import work
from contextviz.services.ingest import FoundHome
from contextviz.store.models import SessionRecord
from contextviz.web.pages.boundary_words import shared_beginning
from tests.web.talking import stored

FIXED = "Another model began this work and left notes. Build on what is there already:\n"


def foot(client: Client, address: str) -> list[tuple[str, bool]]:
    """The names at the foot of a phone, and which one is the page."""
    html = client.get(address).content.decode()
    bar = html[html.index('<nav class="bottom"') :]
    links = re.findall(r"<a ([^>]*)><svg.*?</svg>([^<]+)</a>", bar[: bar.index("</nav>")])
    return [(name, "aria-current" in attributes) for attributes, name in links]


@pytest.mark.django_db
def test_every_page_of_a_session_has_its_views_at_the_foot(client: Client, data_dir: Path) -> None:
    here = f"/sessions/{stored()}"
    names = ["Transcript", "Context", "Compactions"]

    for address, current in (
        ("/", "Transcript"), ("/calls/3/", "Context"), ("/compactions/", "Compactions"),
        ("/compactions/1/", "Compactions"), ("/budget/", ""), ("/graph/", ""), ("/lab/", ""), ("/messages/0/", ""),
    ):  # fmt: skip
        assert foot(client, here + address) == [(name, name == current) for name in names], address
    assert [name for name, _ in foot(client, "/")] == ["Library", "Live", "Search", "Topics"]


@pytest.mark.django_db
def test_views_that_a_session_does_not_have_are_not_at_its_foot(client: Client, data_dir: Path) -> None:
    session_id = stored()
    SessionRecord.objects.filter(pk=session_id).update(call_count=0, compaction_count=0)

    assert [name for name, _ in foot(client, f"/sessions/{session_id}/")] == ["Library", "Live", "Search", "Topics"]
    SessionRecord.objects.filter(pk=session_id).update(compaction_count=1)
    assert [name for name, _ in foot(client, f"/sessions/{session_id}/")] == ["Transcript", "Compactions"]


@pytest.mark.django_db
def test_no_key_of_a_call_page_does_two_things(client: Client, data_dir: Path) -> None:
    html = client.get(f"/sessions/{stored()}/calls/3/").content.decode()
    hints = html[html.index("data-keys") :]

    assert "<kbd>[</kbd>" not in hints[: hints.index("</ul>")], "the brackets lead to the sessions beside this one"
    assert "<kbd>&lt;</kbd> <kbd>&gt;</kbd> items" in hints


@pytest.mark.django_db
def test_a_heading_says_what_stands_below_it(client: Client, data_dir: Path) -> None:
    html = client.get(f"/sessions/{stored()}/").content.decode()

    assert "How long it stays</h3>" in html and "Who sees it" not in html, "there is nobody else"


@pytest.mark.django_db
def test_a_live_page_without_cards_says_nothing_of_the_events_beside_it(client: Client, data_dir: Path) -> None:
    stored()
    html = client.get("/live/").content.decode()

    assert "No session is growing" in html and "Nothing was told" not in html


def test_one_file_of_an_agents_home_is_one_file(monkeypatch: pytest.MonkeyPatch) -> None:
    homes = [FoundHome("pi", "/h/.pi", 1, False), FoundHome("codex", "/h/.codex", 2, True)]
    monkeypatch.setattr(work, "discover_homes", lambda: homes)

    assert [one.text for one in work.home_checks()] == ["/h/.pi: 1 file", "/h/.codex: 2 or more files"]


@pytest.mark.parametrize(
    ("summaries", "chars"),
    [
        ([FIXED + "Parser done.", FIXED + "Tests run."], len(FIXED)),
        ([FIXED + "Parser done.", FIXED + "Parser done."], 0),
        ([FIXED + "Parser done.", "Something else."], 0),
        (["Goal: a\n", "Goal: b\n"], 0),
        ([FIXED + "Only one."], 0),
        ([], 0),
    ],
)
def test_a_preview_leaves_out_what_all_summaries_begin_with(summaries: list[str], chars: int) -> None:
    assert shared_beginning(summaries) == chars
