"""Conversation maps: lanes, switches, sub-agents, compactions, notes, and what is wrong with a map."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from django.test import Client

from contextviz.store.values import SessionRow
from tests.services.building import claude_lines
from tests.web.folded import HOSTILE, HTMX, imported, map_session, queries_of, read_folder

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]


@pytest.fixture
def mapped(tmp_path: Path) -> SessionRow:
    """The demo's map: four topics, seven switches, two sub-agents, two compactions."""
    return map_session(tmp_path / "workspace")


def write_map(folder: Path, *, events: list[dict[str, object]], names: dict[str, str]) -> Path:
    """A conversation map of our own."""
    memory = folder / "memory"
    memory.mkdir(parents=True)
    contexts = {slug: {"name": name, "status": "active"} for slug, name in names.items()}
    (memory / "conversation-map.json").write_text(json.dumps({"contexts": contexts, "events": events}))
    return folder


def switch(number: int, slug: str, summary: str, at: str | None = None) -> dict[str, object]:
    """A change of topic."""
    clock = at or f"2026-02-01T{9 + number // 60:02d}:{number % 60:02d}:00Z"
    return {
        "id": f"ctx-01-{number:03d}", "type": "context_switch", "context": slug, "timestamp": clock, "summary": summary
    }  # fmt: skip


def test_the_only_map_is_shown_at_once(client: Client, mapped: SessionRow) -> None:
    page = client.get("/topics/").content.decode()

    assert "Flaky checkout test" in page and "Release notes 4.12" in page
    assert f'data-src="/topics/{mapped.id}/figure.json"' in page
    assert "4 topics, 7 switches, 2 sub-agents, 2 compactions" in page


def test_a_topic_shows_its_notes_and_its_events(client: Client, mapped: SessionRow) -> None:
    page = client.get(f"/topics/{mapped.id}/?topic=price-import").content.decode()

    pane = page[page.index('id="topic"') :]
    assert "The feed changed its decimal separator." in pane
    assert "Compare two price feeds" in pane
    assert "STATUS.md</h2>" in pane and "THREAD" in pane
    assert ">Status</h" not in pane, "its own heading is that of the section"


def test_a_compaction_names_the_topics_that_were_active(client: Client, mapped: SessionRow) -> None:
    page = client.get(f"/topics/{mapped.id}/").content.decode()

    assert "Active: Flaky checkout test, Nightly price import, Release notes 4.12" in page


def test_the_table_twin_lists_every_event(client: Client, mapped: SessionRow) -> None:
    page = client.get(f"/topics/{mapped.id}/").content.decode()

    table = page[page.index("The map as a table") : page.index("</table>")]
    assert table.count('data-kind="context_switch"') == 7
    assert table.count('data-kind="agent_spawn"') == 2
    assert table.count('data-kind="compaction"') == 2
    assert "<noscript>" in page.split('class="lanes"')[1].split("</figure>")[0]


def test_the_figure_is_json_with_the_lanes(client: Client, mapped: SessionRow) -> None:
    answer = client.get(f"/topics/{mapped.id}/figure.json")

    figure = answer.json()
    assert answer.headers["Content-Type"] == "application/json"
    assert {trace["name"] for trace in figure["data"]} >= {"Topic", "Switch", "Sub-agent"}


def test_a_fragment_is_the_pane_alone(client: Client, mapped: SessionRow) -> None:
    answer = client.get(f"/topics/{mapped.id}/?topic=price-import", headers=HTMX)

    assert answer.content.decode().lstrip().startswith("<aside")


def test_several_maps_are_listed(client: Client, mapped: SessionRow, tmp_path: Path) -> None:
    write_map(tmp_path / "second", events=[switch(1, "a", "began")], names={"a": "Alpha"})
    other = read_folder(tmp_path / "second")

    page = client.get("/topics/").content.decode()

    assert f'href="/topics/{mapped.id}/"' in page
    assert f'href="/topics/{other.id}/"' in page


def test_findings_are_listed_and_hostile_names_stay_text(client: Client, tmp_path: Path) -> None:
    events = [switch(1, "a", HOSTILE), switch(2, "ghost", "undeclared"), switch(3, "a", "no time", at="soon")]
    write_map(tmp_path / "map", events=events, names={"a": f"Alpha {HOSTILE}"})
    row = read_folder(tmp_path / "map")

    page = client.get(f"/topics/{row.id}/").content.decode()
    figure = client.get(f"/topics/{row.id}/figure.json").content.decode()

    assert "names the topic ghost, which the map does not declare" in page
    assert "1 event without a time that can be read" in page
    assert "<script>alert" not in page and "&lt;script&gt;alert" in page
    assert "<script>" not in figure


def test_without_a_map_the_page_says_what_one_is(client: Client) -> None:
    row = imported(claude_lines(1), "one.jsonl")

    assert "No conversation map yet" in client.get("/topics/").content.decode()
    answer = client.get(f"/topics/{row.id}/")
    assert answer.status_code == 404
    assert "has no conversation map" in answer.content.decode()


def test_a_session_s_own_address_leads_to_its_map(client: Client, mapped: SessionRow) -> None:
    answer = client.get(f"/sessions/{mapped.id}/topics/")

    assert answer.status_code == 302
    assert answer.headers["Location"] == f"/topics/{mapped.id}/"


@pytest.mark.parametrize("path", ["/topics/77/", "/topics/77/figure.json", "/sessions/77/topics/"])
def test_a_map_that_is_not_there_is_a_404(client: Client, path: str) -> None:
    assert client.get(path).status_code == 404


def test_an_unknown_topic_is_a_sentence(client: Client, mapped: SessionRow) -> None:
    answer = client.get(f"/topics/{mapped.id}/?topic=nothing")

    assert answer.status_code == 404
    assert "no topic of that name" in answer.content.decode()


def test_the_number_of_queries_does_not_follow_the_map(client: Client, tmp_path: Path) -> None:
    names = {f"t{number}": f"Topic {number}" for number in range(30)}
    write_map(tmp_path / "one", events=[switch(1, "t0", "began")], names={"t0": "Topic 0"})
    small = read_folder(tmp_path / "one")
    events = [switch(number, f"t{number % 30}", "again") for number in range(200)]
    write_map(tmp_path / "two", events=events, names=names)
    large = read_folder(tmp_path / "two")

    few = queries_of(lambda: client.get(f"/topics/{small.id}/"))
    many = queries_of(lambda: client.get(f"/topics/{large.id}/"))

    assert many <= few


def test_the_agents_own_note_of_its_active_topic_is_on_the_page(client: Client, tmp_path: Path) -> None:
    folder = tmp_path / "with-state"
    (folder / "memory").mkdir(parents=True)
    document = {"version": 1, "contexts": {"kite": {"name": "Kite & co"}},
                "events": [{"id": "ctx-02-001", "type": "context_switch", "context": "kite", "summary": "began",
                            "timestamp": "2026-03-02T09:00:00Z"}]}  # fmt: skip
    (folder / "memory" / "conversation-map.json").write_text(json.dumps(document))
    (folder / "memory" / "session-state.md").write_text("Active context: kite\nLast updated: 2026-03-02 16:50\n")

    page = client.get(f"/topics/{read_folder(folder).id}/").content.decode()

    assert "(session-state.md): Kite &amp; co, written 2026-03-02 16:50" in page
