"""The demo fills every page: none of them is empty, none fails, each works without JavaScript."""

from __future__ import annotations

import re
from html import unescape

import pytest
from django.test import Client
from django.urls import reverse

from contextviz.services.demo.loading import open_demo
from contextviz.services.expand import expand_summary, open_expand
from contextviz.services.ingest import digest
from contextviz.services.retrieve import open_retrieve, retrieve_original
from contextviz.store.queries import jobs, messages, sessions, summaries
from contextviz.store.texts import TextReader
from contextviz.store.values import SessionRow
from tests.services.building import NOW

EMPTY = re.compile(r'class="(?:empty-state|empty|drop-zone)"')

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]


@pytest.fixture
def demo() -> dict[str, SessionRow]:
    """The demo's sessions by format."""
    assert digest(open_demo(now=NOW))
    return {row.format: row for row in sessions.recent_sessions(50)}


def words_of(page: str) -> str:
    """The page's text in one line."""
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", page)).split())


def filled(client: Client, url: str) -> str:
    """The page at an address, which must have something to show."""
    answer = client.get(url)
    assert answer.status_code == 200, f"{url}: {answer.status_code}"
    page = answer.content.decode()
    assert not EMPTY.search(page), f"{url} shows an empty state"
    assert page.count("<h1") == 1, f"{url} has {page.count('<h1')} headings of level 1"
    assert "<script>" not in page, f"{url} has an inline script"
    return page


def test_every_page_of_an_agents_session_is_filled(client: Client, demo: dict[str, SessionRow]) -> None:
    for name in ("claude-code", "openclaw"):
        row = demo[name]
        filled(client, reverse("session", args=[row.id]))
        for number in (1, row.call_count // 2, row.call_count):
            filled(client, reverse("call", args=[row.id, number]))
        filled(client, reverse("compactions", args=[row.id]))
        for number in range(1, row.compaction_count + 1):
            filled(client, reverse("compaction", args=[row.id, number]))
        filled(client, reverse("graph", args=[row.id]))


def test_a_compaction_has_the_same_sizes_on_every_page(client: Client, demo: dict[str, SessionRow]) -> None:
    sizes = re.compile(r"([0-9.,]+(?: k)?|—) → ([0-9.,]+(?: k)?|—) tok")
    for name in ("claude-code", "openclaw"):
        row = demo[name]
        listed = sizes.findall(words_of(filled(client, reverse("compactions", args=[row.id]))))
        assert len(listed) == row.compaction_count

        beside = words_of(filled(client, reverse("session", args=[row.id])).split('data-pane="compactions"')[1])
        assert sizes.findall(beside) == listed
        for number, pair in enumerate(listed, start=1):
            page = words_of(filled(client, reverse("compaction", args=[row.id, number])))
            assert sizes.findall(page)[0] == pair


def test_a_sub_agents_calls_are_counted_in_its_own_window(client: Client, demo: dict[str, SessionRow]) -> None:
    row = demo["claude-code"]
    page = filled(client, reverse("session", args=[row.id]))
    link = re.search(r'href="([^"]*agent=[^"]+)"', page)
    assert link

    sub = words_of(client.get(unescape(link[1])).content.decode())

    assert "3 of 3 in this sub-agent" in sub and "23 of 23" not in sub


def test_a_session_without_messages_leads_to_its_topics(client: Client, demo: dict[str, SessionRow]) -> None:
    row = demo["conversation-map"]

    page = client.get(reverse("session", args=[row.id])).content.decode()

    assert f'href="{reverse("topic_map", args=[row.id])}">Open the topics</a>' in page
    assert "0 of 0" not in page and "call, on the strip</li>" not in page


def test_the_summary_graph_is_filled_and_a_node_expands(client: Client, demo: dict[str, SessionRow]) -> None:
    row = demo["lossless-claw"]
    filled(client, reverse("session", args=[row.id]))
    filled(client, reverse("graph", args=[row.id]))
    deepest = max(summaries.nodes(row.id), key=lambda node: node.depth or 0)
    job_id = open_expand(row.id, deepest.id, now=NOW)
    assert expand_summary(job_id)

    job = filled(client, reverse("job", args=[job_id]))

    filled(client, result_of(job))


def test_originals_are_found_and_verified(client: Client, demo: dict[str, SessionRow]) -> None:
    filled(client, reverse("originals"))
    found = messages.messages(demo["openclaw"].id, limit=500).messages
    asked = next(block for one in found for block in one.blocks if block.tool_name == "flowctx_retrieve")
    handle = re.search(r"[0-9a-f]{24}", TextReader().get(asked.text))
    assert handle
    job_id = open_retrieve(handle[0], now=NOW)
    assert retrieve_original(job_id)

    job = filled(client, reverse("job", args=[job_id]))

    assert 'class="badge verified"' in filled(client, result_of(job))


def test_the_topic_map_is_filled(client: Client, demo: dict[str, SessionRow]) -> None:
    filled(client, reverse("topics"))
    filled(client, reverse("topic_map", args=[demo["conversation-map"].id]))


def test_the_pages_around_them_are_filled(client: Client, demo: dict[str, SessionRow]) -> None:
    library = filled(client, reverse("library"))
    assert all((row.title or row.source_id) in unescape(library) for row in demo.values())
    filled(client, reverse("jobs"))
    filled(client, reverse("job", args=[jobs.jobs().items[0].id]))
    filled(client, reverse("settings"))
    for row in demo.values():
        filled(client, reverse("session_delete", args=[row.id]))


@pytest.mark.slow  # opens some sixty pages: a link that leads nowhere is found nowhere else
def test_every_link_leads_somewhere(client: Client, demo: dict[str, SessionRow]) -> None:
    found_on, waiting, shapes = {"/": ""}, ["/"], {"/"}
    for url in waiting:  # grows while it is walked
        answer = client.get(url, follow=True)
        assert answer.status_code == 200, f"{url} (on {found_on[url]}): {answer.status_code}"
        if not answer.headers["Content-Type"].startswith("text/html"):
            continue
        for link in re.findall(r'<a [^>]*?href="(/[^"]*)"', answer.content.decode()):
            target = unescape(link).split("#")[0]
            # One address of each shape: not every call of every session.
            shape = re.sub(r"=[^&]*|\d+|[0-9a-f-]{32,}", "0", target)
            if shape not in shapes and len(waiting) < 60:
                shapes.add(shape)
                found_on[target] = url
                waiting.append(target)


def result_of(page: str) -> str:
    """Where the job's page sends people for the result."""
    found = re.search(r'<a class="btn primary" href="([^"]+)"', page)
    assert found, "the job shows no result"
    return unescape(found.group(1))
