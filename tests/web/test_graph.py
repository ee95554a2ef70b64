"""The summary graph: drawn without a script, expanded by job down to verbatim messages."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path
from urllib.parse import quote

import pytest
from django.test import Client

from contextviz.services import expand
from contextviz.store.queries import jobs, summaries
from contextviz.store.values import SessionRow
from contextviz.web.pages.graph import drawing, reading
from contextviz.web.pages.graph.reading import read_graph
from tests.services.building import claude_lines
from tests.sources.lossless_claw.building import Lcm
from tests.web.folded import HOSTILE, HTMX, SECRET, Capture, chat, imported, queries_of, read_folder, store_session

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]


@pytest.fixture
def folded(tmp_path: Path) -> SessionRow:
    """A store: 96 messages, 10 leaves, 2 summaries of depth 1, one of depth 2."""
    return store_session(tmp_path / "store")


def test_every_summary_is_a_link_in_the_drawing_and_a_row_of_the_table(client: Client, folded: SessionRow) -> None:
    page = client.get(f"/sessions/{folded.id}/graph/").content.decode()

    nodes = summaries.nodes(folded.id)
    assert len(nodes) == 13
    for node in nodes:
        assert page.count(f'href="?node={node.id}#node"') == 2
    assert page.count('class="lit"') == sum(node.in_context for node in nodes)
    assert "No finding" in page
    # The store knows its own part of the window alone.
    assert "<h2>The store's context now</h2>" in page and "<h2>Window now</h2>" not in page


def test_the_lit_band_is_the_window_in_order_without_a_gap(folded: SessionRow) -> None:
    found = read_graph(folded)
    assert found is not None

    band = drawing.draw(found, "").band

    tops = [box.top for box in band]
    assert tops[0] == drawing.TOP and tops[-1] > tops[0]
    for box, after in pairwise(band):
        assert after.left <= box.left + box.width + 0.2


@pytest.mark.parametrize(
    ("room", "text"),
    [(20, "01a22a14-7c11-f00d"), (16, "01a22a14-…f00d"), (9, "…c11-f00d"), (2, "…f00d")],
)
def test_in_little_room_a_node_is_named_by_the_end_of_its_id(room: int, text: str) -> None:
    assert drawing.short("01a22a14-7c11-f00d", room) == text


def test_a_node_shows_its_text_and_what_it_was_made_from(client: Client, folded: SessionRow) -> None:
    node = next(one for one in summaries.nodes(folded.id) if one.depth == 1)

    page = client.get(f"/sessions/{folded.id}/graph/?node={node.id}").content.decode()

    assert "Depth 1." in page
    assert "Expand to 32 messages" in page
    for source in node.made_from:
        assert f'href="?node={source}#node"' in page


def test_a_node_that_is_not_there_is_a_sentence(client: Client, folded: SessionRow) -> None:
    answer = client.get(f"/sessions/{folded.id}/graph/?node=sum_none")

    assert answer.status_code == 404
    assert "no summary of that id" in answer.content.decode()
    assert client.post(f"/sessions/{folded.id}/graph/sum_none/expand/").status_code == 404


def test_a_form_without_a_script_leads_to_the_messages(
    client: Client, folded: SessionRow, django_capture_on_commit_callbacks: Capture
) -> None:
    node = next(one for one in summaries.nodes(folded.id) if one.depth == 1)

    with django_capture_on_commit_callbacks(execute=True):
        answer = client.post(f"/sessions/{folded.id}/graph/{node.id}/expand/")
    page = client.get(answer.headers["Location"]).content.decode()

    assert answer.status_code == 302
    lens = page[page.index('id="lens"') :]
    assert re.findall(r"<code>(sum_\w+)</code></a> leaf", lens) == list(node.made_from)
    assert "30 of 32 verbatim messages" in lens
    everything = client.get(answer.headers["Location"] + "&all=1").content.decode()
    assert "32 of 32 verbatim messages" in everything


def test_htmx_polls_the_job_until_the_lens_is_there(
    client: Client, folded: SessionRow, django_capture_on_commit_callbacks: Capture
) -> None:
    node = summaries.nodes(folded.id)[0]

    with django_capture_on_commit_callbacks():
        answer = client.post(f"/sessions/{folded.id}/graph/{node.id}/expand/", headers=HTMX)
    waiting = answer.content.decode()
    job = jobs.jobs(kind="expand_summary").items[0]
    address = f"/sessions/{folded.id}/graph/?node={node.id}&job={job.id}"
    assert f'hx-get="{address.replace("&", "&amp;")}"' in waiting
    assert answer.headers["HX-Push-Url"] == address
    assert '<meta http-equiv="refresh"' in client.get(address).content.decode()

    expand.expand_summary(job.id)
    lens = client.get(address, headers=HTMX).content.decode()

    assert "hx-get" not in lens
    assert "8 of 8 verbatim messages" in lens


def test_a_job_of_another_summary_or_none_is_a_sentence(client: Client, folded: SessionRow) -> None:
    first, second = summaries.nodes(folded.id)[:2]
    client.post(f"/sessions/{folded.id}/graph/{first.id}/expand/")
    job = jobs.jobs(kind="expand_summary").items[0]

    for query in (f"node={second.id}&job={job.id}", f"node={first.id}&job=none"):
        assert client.get(f"/sessions/{folded.id}/graph/?{query}").status_code == 404


def test_a_get_never_starts_a_job(client: Client, folded: SessionRow) -> None:
    node = summaries.nodes(folded.id)[0]

    assert client.get(f"/sessions/{folded.id}/graph/{node.id}/expand/").status_code == 405
    assert not jobs.jobs(kind="expand_summary").items


def test_compactions_without_a_store_make_a_graph_too(
    client: Client, django_capture_on_commit_callbacks: Capture
) -> None:
    row = imported(chat(2, words=f"{HOSTILE}\n{SECRET} src/lost.py"))
    rolling = read_graph(row)
    assert rolling is not None and rolling.source == "rolling"
    node = rolling.graph.nodes[1]

    page = client.get(f"/sessions/{row.id}/graph/?node={quote(node.id)}").content.decode()
    assert "rebuilt from the session's own compactions" in page
    with django_capture_on_commit_callbacks(execute=True):
        answer = client.post(f"/sessions/{row.id}/graph/{node.id}/expand/")
    lens = client.get(answer.headers["Location"]).content.decode()

    assert "&lt;script&gt;alert" in lens and "<script>alert" not in lens
    assert SECRET not in re.sub(r"<code>[^<]*</code>", "", lens)
    assert f'href="/sessions/{row.id}/?message=0#m-0"' in lens


def test_a_session_with_nothing_folded_says_what_a_graph_would_need(client: Client) -> None:
    row = imported(claude_lines(2), "one.jsonl")

    page = client.get(f"/sessions/{row.id}/graph/").content.decode()

    assert "Nothing was folded" in page


def test_more_nodes_than_can_be_drawn_are_cut_with_a_note_and_all_listed(
    client: Client, folded: SessionRow, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drawing, "MOST_DRAWN", 5)

    page = client.get(f"/sessions/{folded.id}/graph/").content.decode()

    assert page.count('height="28" rx="2"') == 5
    assert page.count('class="lit"') == 3
    assert "8 more summaries are not drawn" in page
    assert page.count("<code>sum_") >= 13


def test_the_number_of_queries_does_not_follow_the_graph(client: Client) -> None:
    small, large = imported(chat(1, turns=2)), imported(chat(8, turns=12).replace("00000a", "00000b"))

    few = queries_of(lambda: client.get(f"/sessions/{small.id}/graph/"))
    many = queries_of(lambda: client.get(f"/sessions/{large.id}/graph/"))

    assert few == many


def test_the_real_store_is_drawn_with_its_one_finding(shared: Path, client: Client) -> None:
    row = read_folder(shared / "samples" / "oc-lossless1" / "lcm.db")

    page = client.get(f"/sessions/{row.id}/graph/").content.decode()

    assert page.count('height="28" rx="2"') == row.node_count == 38
    integrity = page[page.index("<h2>Integrity</h2>") :]
    assert integrity.count("<li>") - integrity[integrity.index("</ul>") :].count("<li>") == 1
    assert "rows 3 and 5 answer the same tool call" in integrity


def test_a_long_session_is_drawn_from_its_compactions_alone_and_says_so(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = imported(chat(3))
    exact = read_graph(row)
    monkeypatch.setattr(reading, "MOST_MESSAGES", 5)
    short = read_graph(row)
    assert exact is not None and short is not None

    page = client.get(f"/sessions/{row.id}/graph/?node={short.graph.nodes[0].id}").content.decode()

    assert "Not checked: this session is long" in page
    assert [node.id for node in short.graph.nodes] == [node.id for node in exact.graph.nodes]
    assert [round(node.x * row.message_count, 3) for node in short.graph.nodes] == [6, 14, 22]
    assert [node.covers for node in short.graph.nodes] == [6, 14, 22]
    assert [item.kind for item in short.graph.band] == ["summary", *["message"] * 4]


def test_a_message_that_only_calls_a_tool_is_named_by_its_call(
    client: Client, tmp_path: Path, django_capture_on_commit_callbacks: Capture
) -> None:
    lcm = Lcm(tmp_path / "lcm.db", is_old=True)
    lcm.conversation()
    for number, role, text in ((1, "user", "look"), (2, "assistant", ""), (3, "tool", "seen"), (4, "assistant", "")):
        lcm.message(number, role, text, f"2026-11-30 08:00:0{number}")
    lcm.add(
        "message_parts", part_id="p", message_id=2, part_type="tool", ordinal=0, tool_call_id="call_1",
        tool_name="bash", tool_input='{"command": "ls <src>"}', metadata="{}",
    )  # fmt: skip
    lcm.leaf("sum_a", [1, 2, 3, 4], "2026-11-30 08:01:00")
    lcm.context("sum_a")
    lcm.db.commit()
    row = read_folder(tmp_path)

    with django_capture_on_commit_callbacks(execute=True):
        answer = client.post(f"/sessions/{row.id}/graph/sum_a/expand/")
    page = client.get(answer.headers["Location"]).content.decode()

    lens = page[page.index('id="lens"') :]
    assert "<summary>bash ls &lt;src&gt;</summary>" in lens  # it was "No text"
    assert lens.count("No text") == 1  # the one that says and calls nothing
