"""What context engines left in a session's messages, on every page that shows it."""

from __future__ import annotations

import re

import pytest
from django.test import Client

from contextviz.store.queries import engine_events, sessions, snapshots
from contextviz.store.values import SessionRow
from tests.events.test_artefacts import BRIDGE, CONDENSED, EXPLORED, FILE, HASH, LEAF, MEMORY, OUTPUT, marker
from tests.web.folded import HANDLE, HTMX, ORIGINAL, Chat, imported, queries_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]
HYBRID = BRIDGE + "x" * (162 - len(BRIDGE) - 1) + "]"
HELD = f"0123456789\n\n{marker(10, handle=HANDLE)}"
DANGLING = f"0123456789\n\n{marker(10)}"
QUOTED = f"The manual shows\n```\n{marker(9, handle='c' * 24)}\n```"


def kept(own: Chat, name: str) -> SessionRow:
    """Import a session and give it."""
    imported(own.text(), name)
    return next(row for row in sessions.recent_sessions(9) if row.source_id == own.rows[0]["id"])


def result(own: Chat, text: str) -> None:
    """A tool call with its result."""
    name = f"call{own.count}"
    own.say("assistant", "I look.", prompt=2_000)
    own.rows[-1]["message"]["content"] = [{"type": "toolCall", "id": name, "name": "read", "arguments": {"path": "a"}}]
    own.say("toolResult", text)
    own.rows[-1]["message"] |= {"toolCallId": name, "toolName": "read", "isError": False}


@pytest.fixture
def traced() -> SessionRow:
    """A session whose window holds an artefact of each kind, and one that held an original before it."""
    earlier = Chat("7c1d0000-0000-4000-8000-0000000000e1")
    earlier.say("user", "read the log")
    result(earlier, ORIGINAL)
    earlier.say("assistant", "Read.", prompt=900)
    kept(earlier, "earlier.jsonl")
    own = Chat("7c1d0000-0000-4000-8000-0000000000e2")
    own.say("user", "which port is it")
    own.say("user", LEAF)
    own.say("user", CONDENSED)
    own.say("user", HYBRID)
    result(own, HELD)
    result(own, DANGLING)
    result(own, OUTPUT + EXPLORED)
    own.say("user", f"please read\n{FILE}{EXPLORED}")
    own.say("user", QUOTED)
    own.say("assistant", "It is 8000.", prompt=4_000)
    return kept(own, "traced.jsonl")


def text_of(client: Client, url: str) -> str:
    answer = client.get(url)
    assert answer.status_code == 200
    return answer.content.decode()


def test_rows_of_the_transcript_say_what_they_are_and_lead_to_originals(client: Client, traced: SessionRow) -> None:
    page = text_of(client, f"/sessions/{traced.id}/")

    assert "Summary of depth 0 by lossless-claw" in page and "Summary of depth 1 by lossless-claw" in page
    assert "Bridge over what Cortext archived" in page
    assert "placeholder by flowctx: 1,699 characters compressed to 10" in page
    assert f'href="/originals/?q={HANDLE}"' in page and page.count("held here</span>") == 4
    for handle in (HASH, "file_ffff000011112222", "file_0a1b2c3d4e5f6a7b"):
        assert f'href="/originals/?q={handle}"' in page
    assert page.count("dangling: not held here") == 3
    assert "/originals/?q=" + "c" * 24 not in page


def test_the_page_of_a_message_has_the_same_links(client: Client, traced: SessionRow) -> None:
    page = text_of(client, f"/sessions/{traced.id}/messages/5/")
    assert "Placeholder by flowctx" in page and f'href="/originals/?q={HANDLE}"' in page
    assert "held here" in page


def test_a_page_without_markers_asks_no_more_of_the_database(client: Client, traced: SessionRow) -> None:
    own = Chat("7c1d0000-0000-4000-8000-0000000000e3")
    own.say("user", "hello")
    own.say("assistant", "hi", prompt=100)
    plain = kept(own, "plain.jsonl")
    for row in (plain, traced):
        client.get(f"/sessions/{row.id}/")
    few = queries_of(lambda: client.get(f"/sessions/{plain.id}/"))
    many = queries_of(lambda: client.get(f"/sessions/{traced.id}/"))
    # One for the handles, and what tool results need of their calls.
    assert many <= few + 3


def test_the_window_counts_artefacts_in_their_own_categories_and_adds_up(client: Client, traced: SessionRow) -> None:
    last = traced.call_count - 1
    window = snapshots.window_of_call(traced.id, last)
    assert window is not None
    kinds = [(one.category, one.item.kind, one.item.state) for one in window.items]
    assert kinds.count(("summary", "summary", "summary")) == 2
    assert kinds.count(("memory", "injected", "injected")) >= 1
    assert kinds.count(("stub", "tool_result", "stub")) == 3
    page = text_of(client, f"/sessions/{traced.id}/calls/{traced.call_count}/")
    assert "bridge over what Cortext archived" in page
    assert "placeholder by lossless-claw: a result of 98,304 bytes" in page


def test_the_compactions_page_lists_them_as_events_and_as_no_compaction(client: Client, traced: SessionRow) -> None:
    assert traced.compaction_count == 0
    assert engine_events.counts_by_type(traced.id) == {
        "block.compressed": 4, "summary.created": 2, "window.moved": 1,
    }  # fmt: skip
    page = text_of(client, f"/sessions/{traced.id}/compactions/")
    assert 'class="c-row' not in page
    assert "summary made 2" in page and "text compressed 4" in page and "window moved 1" in page
    assert f'href="/sessions/{traced.id}/?message=5#m-5">message 6</a>' in page
    assert f'href="/originals/?q={HANDLE}">its original</a>' in page


def test_the_graph_has_the_summaries_of_messages_with_what_they_say_they_were_made_from(
    client: Client, traced: SessionRow
) -> None:
    page = text_of(client, f"/sessions/{traced.id}/graph/")
    assert "2 nodes, recognised in the session's messages" in page
    opened = text_of(client, f"/sessions/{traced.id}/graph/?node=sum_cc33")
    assert "a and b" in opened and "sum_aa11" in opened
    # sum_bb22 is named as a source too, and nothing here is it.
    assert "?node=sum_bb22" not in opened


def test_a_long_sessions_graph_has_them_where_their_messages_are(
    client: Client, traced: SessionRow, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("contextviz.web.pages.graph.reading.MOST_MESSAGES", 1)
    page = text_of(client, f"/sessions/{traced.id}/graph/?node=sum_aa11")
    assert "2 nodes" in page and "the port is 8000" in page


def test_originals_list_the_handles_of_a_session_and_which_of_them_dangle(client: Client, traced: SessionRow) -> None:
    page = text_of(client, f"/originals/?session={traced.id}")
    assert "6 handles" in page and "3 dangling" in page
    assert f'href="/originals/?q={HANDLE}"' in page and 'href="/originals/?q=file_0a1b2c3d4e5f6a7b"' in page
    assert "c" * 24 not in page


def people_of(page: str) -> list[str]:
    """The rows of what people said."""
    return re.findall(r'id="(m-\d+)" data-row data-kind="user"', page)


def test_recalled_memory_that_nobody_wrote_is_no_turn_of_a_person(client: Client, traced: SessionRow) -> None:
    page = text_of(client, f"/sessions/{traced.id}/")
    assert people_of(page) == ["m-0", "m-10", "m-11"]
    # What a person pastes stays theirs, whatever it looks like.
    own = Chat("7c1d0000-0000-4000-8000-0000000000e4")
    own.say("user", MEMORY)
    own.say("assistant", "hi", prompt=100)
    quoted = kept(own, "quoted.jsonl")
    assert people_of(text_of(client, f"/sessions/{quoted.id}/")) == ["m-0"]
    assert client.get(f"/sessions/{quoted.id}/graph/", headers=HTMX).status_code == 200
