"""The search page and find within a session."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from django.test import Client
from playwright.sync_api import expect

from contextviz.store import search as store_search
from contextviz.store.models import SessionRecord
from tests.services.building import claude_lines, upload
from tests.web.folded import chat, store_session
from tests.web.talking import HOSTILE, SECRET, SESSION, stored, talk

ODD = [
    '"', '"""', "*", "-", "NEAR(a b)", "a AND", "OR", "NOT", "body:x", "^a", "(", ")", "a\x00b", "'; DROP TABLE x",
    "\\", "%", "_", "<->", "!a & b", "京", "x" * 10_000, '"' * 10_000, "\U0001f600", "-a -b", "+a", "{}", ":*",
]  # fmt: skip


def hits(client: Client, query: str) -> str:
    answer = client.get(f"/search/?{query}")
    assert answer.status_code == 200
    return answer.content.decode()


def test_the_empty_page_teaches_what_can_be_looked_for(client: Client) -> None:
    page = hits(client, "")
    assert "What can be looked for" in page and "migrat*" in page


def test_a_hit_leads_to_its_message_its_call_and_its_session(client: Client, data_dir: Path) -> None:
    session = stored()
    page = hits(client, "q=released+early")

    assert f'href="/sessions/{session}/compactions/1/"' in page
    assert f'href="/sessions/{session}/?message=1&amp;find=released+early#m-1"' in page
    assert f'href="/sessions/{session}/calls/1/"' in page
    assert "<mark>released</mark> <mark>early</mark>" in page
    assert "out of the window" in page


def test_nodes_of_a_store_lead_into_its_graph(client: Client, data_dir: Path, tmp_path: Path) -> None:
    session = store_session(tmp_path).id
    page = hits(client, "kind=summary&q=" + quote("summary OR turns OR lock OR fix OR the OR covers"))

    assert f'href="/sessions/{session}/graph/?node=' in page


def test_hostile_text_is_escaped_and_secrets_are_masked(client: Client, data_dir: Path) -> None:
    stored()
    page = hits(client, "q=" + quote(HOSTILE))
    assert "<script>alert" not in page and "<img src=x" not in page

    page = hits(client, "q=deploy") + hits(client, f"q={SECRET}").replace(f'value="{SECRET}"', "")
    snippets = "".join(re.findall(r'<p class="snippet".*?</p>', page))
    assert "masked" in snippets and "live0123" not in snippets


@pytest.mark.parametrize("typed", ODD)
def test_no_query_is_an_error_anywhere(client: Client, data_dir: Path, typed: str) -> None:
    session = stored(1)
    assert client.get("/search/", {"q": typed}).status_code == 200
    assert client.get(f"/sessions/{session}/find/", {"q": typed}).status_code == 302
    assert (
        client.get(f"/sessions/{session}/find/", {"q": typed}, headers={"accept": "application/json"}).status_code
        == 200
    )


def test_odd_parameters_are_left_out_and_told(client: Client, data_dir: Path) -> None:
    stored(1)
    page = hits(client, "q=lock&kind=odd&window=odd&days=3&since=odd&page=99&session=odd&until=9999-99-99")
    for sentence in ("no kind known here", "no window known here", "not a period", "not a day", "not a number"):
        assert sentence in page
    assert "<mark>" in page


def test_filters_are_offered_with_counts_and_taken_from_the_address(client: Client, data_dir: Path) -> None:
    stored()
    upload(("b.jsonl", claude_lines(4, word="lock")))
    page = hits(client, "q=lock")
    assert "Kind: any" in page and "Role: any" in page and "kind=tool_call" in page

    page = hits(client, "q=lock&kind=tool_call")
    assert "Kind: Tool calls" in page and page.count('class="hit"') == 1
    page = hits(client, "q=lock&window=out")
    assert "Window: Out of the window" in page and page.count('class="hit"') > 1
    assert hits(client, "q=lock&role=user").count('class="hit"') == 6
    upload(("chat.jsonl", chat(words="lock")))
    page = hits(client, "q=lock")
    assert "Agent: any" in page and "program=OpenClaw" in page
    page = hits(client, "q=lock&program=OpenClaw")
    assert "Agent: OpenClaw" in page and "· OpenClaw" in page and "· Claude Code" not in page


def test_nothing_found_says_so_and_what_to_do(client: Client, data_dir: Path) -> None:
    stored(1)
    assert "Nothing holds these words" in hits(client, "q=unheard")
    page = hits(client, "q=lock&kind=original")
    assert "With the filters chosen above" in page and 'href="?q=lock"' in page


def test_pages_of_hits_and_a_ceiling(client: Client, data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    upload(("b.jsonl", claude_lines(30, word="zebra")))
    page = hits(client, "q=zebra")
    assert "60 places" in page and "1 to 25 of 60" in page and 'rel="next"' in page
    assert hits(client, "q=zebra&page=3").count('class="hit"') == 10

    monkeypatch.setattr("contextviz.store.search.match.MOST_HITS", 40)
    page = hits(client, "q=zebra&page=2")
    assert "40+ places" in page and "26 to 40 of 40+" in page and "There are more than" in page


def test_what_is_not_indexed_yet_is_told(client: Client, data_dir: Path) -> None:
    stored(1)
    store_search.empty()
    assert "still being indexed" in hits(client, "q=lock")


def test_a_fragment_brings_hits_count_and_filters(client: Client, data_dir: Path) -> None:
    stored(1)
    answer = client.get("/search/?q=lock", headers={"hx-request": "true"})
    page = answer.content.decode()
    assert page.lstrip().startswith('<section class="results"') and 'hx-swap-oob="true"' in page
    assert "HX-Request" in answer["Vary"]


def test_the_number_of_queries_does_not_follow_the_hits(
    client: Client, data_dir: Path, django_assert_max_num_queries: Any
) -> None:
    upload(("b.jsonl", claude_lines(30, word="zebra")))
    client.get("/search/")
    with django_assert_max_num_queries(14) as few:
        hits(client, "q=zebra+7")
    with django_assert_max_num_queries(14) as many:
        hits(client, "q=zebra")
    assert len(few) == len(many)


def test_the_library_offers_the_search_of_all_texts(client: Client, data_dir: Path) -> None:
    stored(1)
    assert 'href="/search/?q=lock%20%22x"' in client.get('/?q=lock "x').content.decode()


def test_find_goes_to_the_next_hit_wherever_it_is(client: Client, data_dir: Path) -> None:
    session = stored(150)
    base = f"/sessions/{session}/find/?q=file_140"
    answer = client.get(base)
    message = int(re.findall(r"message=(\d+)", answer["Location"])[0])
    page = client.get(answer["Location"].partition("#")[0]).content.decode()
    assert f'id="m-{message}"' in page and 'value="file_140"' in page

    found = client.get(f"{base}&from={message}&step=previous", headers={"accept": "application/json"}).json()
    assert found["messages"] == [message] and (found["number"], found["text"]) == (1, "1 of 1")


def test_find_walks_all_hits_in_both_directions_and_round_the_ends(client: Client, data_dir: Path) -> None:
    session = stored(5)

    def go(here: int | str, step: str) -> int:
        url = f"/sessions/{session}/find/?q=lock&from={here}&step={step}"
        found = client.get(url, headers={"accept": "application/json"}).json()
        assert found["messages"] == [0, 1, 4, 8]
        return int(found["messages"][found["number"] - 1])

    assert [go("", "next"), go(0, "next"), go(5, "next"), go(8, "next")] == [0, 1, 8, 0]
    assert [go("", "previous"), go(8, "previous"), go(0, "previous")] == [8, 4, 8]


def test_find_says_when_there_is_nothing(client: Client, data_dir: Path) -> None:
    session = stored(1)
    answer = client.get(f"/sessions/{session}/find/?q=unheard", headers={"accept": "application/json"}).json()
    assert (answer["messages"], answer["number"], answer["text"]) == ([], 0, "not in this window")
    assert client.get("/sessions/999/find/?q=x").status_code == 404


def test_a_deleted_session_is_not_found(client: Client, data_dir: Path) -> None:
    stored(1)
    SessionRecord.objects.update(status="deleting")
    assert "Nothing holds these words" in hits(client, "q=lock")


@pytest.mark.browser
def test_find_moves_with_n_over_pages_that_are_not_loaded(signed_in_page: Any, live_url: str, data_dir: Path) -> None:
    one = talk(150)
    one.user("needle at the end")
    text = one.text.replace('"line 3\\n', '"needle 3\\n', 1)
    session = int(upload((f"{SESSION}.jsonl", text)).result["sessions"][0])
    page = signed_in_page
    page.goto(f"{live_url}/sessions/{session}/")
    page.keyboard.press("/")
    page.keyboard.type("needle")
    page.keyboard.press("Enter")
    page.wait_for_url("**find=needle**")
    expect(page.locator("[data-find-state]")).to_have_text("1 of 2")
    page.locator("body").click(position={"x": 700, "y": 5})
    page.keyboard.press("n")
    expect(page.locator("[data-find-state]")).to_have_text("2 of 2")
    expect(page.locator(".t-row:target, .t-row.selected").first).to_contain_text("needle at the end")
    assert page.evaluate("document.getElementById('main').scrollTop") == 0
