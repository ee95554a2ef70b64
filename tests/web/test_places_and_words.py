"""The session page of formats that write little: where compactions and call numbers stand, and what is said of gaps."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from django.test import Client

from contextviz.store.queries import sessions
from tests.services.building import upload
from tests.sources.copilot_cli.building import Log as CopilotLog
from tests.sources.cursor.building import line, query, tool
from tests.sources.kiro.building import Log, made, text
from tests.web.talking import Talk

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]


def lines(rows: list[Any]) -> str:
    return "".join(json.dumps(one) + "\n" for one in rows)


def page(client: Client, *files: tuple[str, str]) -> str:
    """The page of the session that the files are."""
    upload(*files)
    row = sessions.recent_sessions(1)[0]
    return client.get(f"/sessions/{row.id}/").content.decode()


def kiro(client: Client, log: Log) -> str:
    return page(client, (f"{log.id}.jsonl", lines(log.rows)), (f"{log.id}.json", json.dumps(log.sidecar())))


def row_of_call(html: str, number: int) -> str:
    """The id of the row that has a call's number."""
    found = re.search(rf'id="(m-[^"]+)"[^>]*><span class="call"><a id="call-{number}"', html)
    assert found is not None
    return found.group(1)


def test_a_compaction_stands_where_the_file_has_it(client: Client) -> None:
    html = kiro(client, made())

    assert html.index('id="m-3"') < html.index('id="c-1"') < html.index('id="m-4"')
    assert row_of_call(html, 1) == "m-4", "the only turn with usage, not the session's beginning"


def test_a_call_s_number_stands_at_its_own_prompt(client: Client) -> None:
    log = Log()
    for number in range(1, 4):
        log.prompt(f"u{number}", text(f"ask {number}"))
        log.answer(f"a{number}", text(f"say {number}"))
    log.turn("u3", "a3", given=120, output=6)

    assert row_of_call(kiro(client, log), 1) == "m-4"


def test_what_is_off_the_path_is_said_in_words(client: Client) -> None:
    html = kiro(client, made())
    past = re.findall(r'<li class="t-row past" id="(m-\d+)"', html)

    assert past == ["m-6"], "the prompt that was taken back"
    assert html.count("on another branch") == 1
    assert html.index('id="m-6"') < html.index("on another branch") < html.index('id="m-7"')


def test_a_format_without_results_is_not_waited_for(client: Client) -> None:
    html = page(client, ("c-1.jsonl", lines([query("a"), line("assistant", tool())])))

    assert "result not recorded" in html and "no result yet" not in html


def test_only_calls_at_the_end_still_wait(client: Client) -> None:
    talk = Talk()
    talk.user("go")
    talk.answer({"type": "tool_use", "id": "t1", "name": "Read", "input": {"file_path": "/a"}})
    talk.user("never mind, read the other one")
    talk.answer({"type": "text", "text": "I will."})
    talk.answer({"type": "tool_use", "id": "t2", "name": "Read", "input": {"file_path": "/b"}})
    html = page(client, ("one.jsonl", talk.text))

    assert (html.count("result not recorded"), html.count("no result yet")) == (1, 1)
    assert html.index("result not recorded") < html.index("no result yet")


def test_a_sub_agent_s_session_says_so_in_the_list_and_on_its_page(client: Client) -> None:
    outer, inner_rows = [query("a"), line("assistant", "b")], [query("x"), line("assistant", "y")]
    upload(("p/c-1/c-1.jsonl", lines(outer)), ("p/c-1/subagents/c-2.jsonl", lines(inner_rows)))
    inner = next(one for one in sessions.recent_sessions(9) if one.parent)
    words = "begun by another session"

    assert inner.source_id == "c-2"
    assert client.get("/").content.decode().split('id="results"')[1].count(words) == 1
    assert words in client.get(f"/sessions/{inner.id}/").content.decode()


def test_a_window_is_not_said_to_be_smaller_than_the_client_told(client: Client) -> None:
    log = CopilotLog()
    log.user("look")
    log.answer("seen")
    log.add("session.compaction_complete", success=True, trigger="manual", preCompactionTokens=9000,
            postCompactionTokens=3000, summaryContent="gist", tokenLimit=128_000)  # fmt: skip
    log.user("more")
    log.answer("done")
    html = page(client, ("events.jsonl", lines(log.events)))
    readout = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", html[html.index('class="readout"') :]))

    assert re.search(r"at least 3,000 of 128\.0.k tok", readout), readout[:200]
    first = client.get(f"/sessions/{sessions.recent_sessions(1)[0].id}/?b=1").content.decode()
    assert "at least" not in first, "before the compaction the client told nothing"


def test_a_smaller_number_of_the_client_changes_nothing(client: Client) -> None:
    log = CopilotLog()
    log.user("look")
    log.answer("seen")
    log.add("session.compaction_complete", success=True, postCompactionTokens=1, summaryContent="gist",
            tokenLimit=128_000)  # fmt: skip
    log.user("more")
    log.answer("done")

    assert "at least" not in page(client, ("events.jsonl", lines(log.events)))
