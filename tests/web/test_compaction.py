"""The pages of compactions: what was given before and after, what left, and which identifiers are in neither."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from contextviz.services.figures import composition_of
from contextviz.store.queries import calls
from contextviz.web.pages.compaction import boundary
from contextviz.web.pages.compaction.reading import read_boundary
from tests.services.building import claude_lines
from tests.web.folded import HOSTILE, HTMX, SECRET, chat, imported, queries_of, store_session

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]


@pytest.fixture
def late_ledger(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Every ledger is too large to be read at once."""
    monkeypatch.setattr(boundary, "AT_ONCE_BYTES", 0)
    return iter([None])


def test_the_list_says_of_each_compaction_what_it_did(client: Client) -> None:
    row = imported(chat(2))

    page = client.get(f"/sessions/{row.id}/compactions/").content.decode()

    assert f'href="/sessions/{row.id}/compactions/1/"' in page
    assert f'href="/sessions/{row.id}/compactions/2/"' in page
    assert "4,400 → 4,150 tok" in page
    assert "Goal: ship it. Keep src/kept.py in mind (0)." in page
    assert "8 → 4 items" in page or "7 → 4 items" in page


def test_a_list_fragment_holds_the_list_alone(client: Client) -> None:
    row = imported(chat(1))

    answer = client.get(f"/sessions/{row.id}/compactions/", headers=HTMX)

    assert answer.headers["Vary"].count("HX-Request") == 1
    assert "<html" not in answer.content.decode()
    assert 'id="c-1"' in answer.content.decode()


def test_a_session_that_never_compacted_says_so(client: Client) -> None:
    row = imported(claude_lines(2), "one.jsonl")

    page = client.get(f"/sessions/{row.id}/compactions/").content.decode()

    assert "No compaction in this session" in page


def test_one_boundary_shows_before_summary_after_and_what_adds_up(client: Client) -> None:
    row = imported(chat(1))

    answer = client.get(f"/sessions/{row.id}/compactions/1/")

    page = answer.content.decode()
    assert answer.status_code == 200
    assert "Goal: ship it. Keep src/kept.py in mind (0)." in page
    assert "folded" in page
    assert "Residual, signed" in page
    assert 'id="dropped-1"' in page
    opens = re.findall(r'class="before-row" data-row.*?<a href="([^"]+)" data-open>', page)
    assert len(opens) == page.count('class="before-row"') and all("?from=" in url for url in opens)
    assert client.get(opens[-1].partition("#")[0]).status_code == 200


def test_both_sides_add_up_to_their_headings_and_have_the_tokens_of_the_calls() -> None:
    row = imported(chat(2))

    found = calls.compactions(row.id)
    for compaction in found:
        page = boundary.boundary_page(row, found, compaction.number, boundary.BoundaryParams())
        made = composition_of(row.id, compaction.before_call or 0)
        by_category = dict.fromkeys(made.parts, 0)
        for one in page.before_rows:
            by_category[one.category] += one.tokens  # type: ignore[index]
        assert by_category == {name: part or 0 for name, part in made.parts.items()}
        assert page.before_rows[0].items is None  # what no record holds
        assert page.before_rest == made.residual
        assert sum(by_category.values()) + (page.before_rest or 0) == page.before.tokens
        after = sum(one.tokens or 0 for one in page.after_rows) + page.more_after_tokens
        assert after + (page.after_rest or 0) == page.after.tokens
        assert page.after_rest == composition_of(row.id, compaction.after_call or 0).residual


def test_before_minus_dropped_plus_new_plus_residual_is_after() -> None:
    row = imported(chat(2))

    for compaction in calls.compactions(row.id):
        found = read_boundary(row, compaction, ledger=False).view.accounting
        assert found is not None
        assert found.before - found.dropped + found.new + found.residual == found.after
        assert found.basis == "reported"


def test_an_identifier_in_neither_is_lost_and_its_later_use_is_a_link(client: Client) -> None:
    row = imported(chat(1, words="look at src/lost.py and src/gone.py"))

    page = client.get(f"/sessions/{row.id}/compactions/1/?state=lost&identifiers=1").content.decode()

    ledger = page[page.index('id="ledger"') :]
    assert '<span class="struck">src/gone.py</span>' in ledger
    assert '<span class="struck">src/kept.py</span>' not in ledger
    assert f'<a href="/sessions/{row.id}/calls/5/" data-open>5</a>' in ledger
    # Which call had it last is known too, although the calls beside the boundary alone are read at first.
    found = read_boundary(row, calls.compactions(row.id)[0], ledger=True).view.ledger
    assert found is not None and all(one.last_call is not None for one in found.rows)


def test_a_large_ledger_comes_by_itself_as_a_fragment_or_by_a_link(client: Client, late_ledger: None) -> None:
    row = imported(chat(1))
    url = f"/sessions/{row.id}/compactions/1/"

    page = client.get(url).content.decode()
    fragment = client.get(f"{url}?identifiers=1", headers=HTMX).content.decode()
    whole = client.get(f"{url}?identifiers=1").content.decode()

    assert f'href="{url}?identifiers=1#ledger"' in page
    assert "What left the window" not in page
    assert fragment.lstrip().startswith("<section") and "What left the window" in fragment
    assert "What left the window" in whole


def test_neighbouring_boundaries_are_one_key_away(client: Client) -> None:
    row = imported(chat(3))

    page = client.get(f"/sessions/{row.id}/compactions/2/").content.decode()

    assert f'href="/sessions/{row.id}/compactions/1/" rel="prev" data-key="C"' in page
    assert f'href="/sessions/{row.id}/compactions/3/" rel="next" data-key="c"' in page


def test_hostile_text_and_secrets_stay_text_and_stay_masked(client: Client) -> None:
    row = imported(chat(2, words=f"{HOSTILE}\n{SECRET} src/lost.py", summary=f"{HOSTILE} {SECRET}"))

    for url in ("", "1/?identifiers=1", "2/"):
        page = client.get(f"/sessions/{row.id}/compactions/{url}").content.decode()
        assert "<script>alert" not in page
        assert "&lt;script&gt;alert" in page
        # The one place outside a disclosure is what the copy button copies.
        shown = re.sub(r"<code>[^<]*</code>|data-text=\"[^\"]*\"", "", page)
        assert SECRET not in shown


@pytest.mark.parametrize("number", [0, 2, 99999])
def test_a_compaction_that_is_not_there_is_a_sentence(client: Client, number: int) -> None:
    row = imported(chat(1))

    answer = client.get(f"/sessions/{row.id}/compactions/{number}/")

    assert answer.status_code == 404
    assert f"has no compaction {number}" in answer.content.decode()


def test_a_session_that_is_not_there_is_a_sentence(client: Client) -> None:
    assert client.get("/sessions/77/compactions/").status_code == 404
    assert client.get("/sessions/77/compactions/1/").status_code == 404


@pytest.mark.parametrize("query", ["page=-1", "page=x", "page=99", "dropped=99", "state=%3Cscript%3E", "summary=all"])
def test_a_strange_query_falls_back(client: Client, query: str) -> None:
    row = imported(chat(1))

    assert client.get(f"/sessions/{row.id}/compactions/1/?{query}").status_code == 200
    assert client.get(f"/sessions/{row.id}/compactions/?{query}").status_code == 200


def test_the_number_of_queries_does_not_follow_the_session(client: Client) -> None:
    small, large = imported(chat(1, turns=2)), imported(chat(6, turns=12).replace("00000a", "00000b"))
    assert small.id != large.id

    for url in ("", "1/?identifiers=1"):
        few = queries_of(lambda url=url: client.get(f"/sessions/{small.id}/compactions/{url}"))  # type: ignore[misc]
        many = queries_of(lambda url=url: client.get(f"/sessions/{large.id}/compactions/{url}"))  # type: ignore[misc]
        assert abs(many - few) <= 1, url


def test_a_store_without_calls_says_that_windows_are_not_known(client: Client, tmp_path: Path) -> None:
    row = store_session(tmp_path / "store")

    page: Any = client.get(f"/sessions/{row.id}/compactions/1/").content.decode()

    assert "what left cannot be told" in page
    assert "Without both windows" in page


def test_an_encrypted_summary_is_said_to_be_unreadable() -> None:
    row = imported(chat(1))
    sealed = replace(calls.compactions(row.id)[0], summary=None, summary_note="its text is encrypted")

    page = boundary.boundary_page(row, [sealed], 1, boundary.BoundaryParams())

    assert page.summary.text is None
    assert page.summary.note.startswith("Encrypted: not readable")


def engine_log(lines: int, *, words: str = "", session: str = "0b1c2d3e-0000-4000-8000-0000000000aa") -> str:
    """lossless-claw's log: evaluations that did not fire, and one assembly."""
    said = [f"[lcm] compact: decision session={session} currentTokens={9000 + n} tokenBudget=20000 shouldCompact=false"
            f" note={words or 'none'}" for n in range(lines)]  # fmt: skip
    said.append(f"[lcm] assemble: done session={session} tokenBudget=20000 estimatedTokens=1300")
    row = {"level": "info", "plugin": "lossless-claw"}
    return "".join(
        json.dumps(row | {"time": f"2026-03-01T10:{n // 60:02d}:{n % 60:02d}.000Z", "message": text}) + "\n"
        for n, text in enumerate(said)
    )


def test_what_the_engine_wrote_down_stands_below_the_compactions(client: Client) -> None:
    row = imported(engine_log(2), "lossless-claw.log")

    page = client.get(f"/sessions/{row.id}/compactions/").content.decode()

    assert "What the engine wrote down" in page and "3 events" in page
    assert page.count("did not fire") == 2 and "compaction considered 2" in page
    assert '<span class="ink-3">current</span> 9,001' in page and "lossless-claw.log, line 2" in page
    alone = client.get(f"/sessions/{row.id}/compactions/?event=context.assembled").content.decode()
    assert "did not fire" not in alone and '<span class="ink-3">total</span> 1,300' in alone


def test_engine_events_come_in_pages_and_a_strange_type_is_all(client: Client) -> None:
    row = imported(engine_log(60), "lossless-claw.log")

    first = client.get(f"/sessions/{row.id}/compactions/?event=nonsense").content.decode()
    last = client.get(f"/sessions/{row.id}/compactions/?event=compaction.evaluated&events=2").content.decode()

    assert "61 events, 1 to 50 shown" in first and 'href="?events=2#decisions"' in first
    assert "60 events, 51 to 60 shown" in last and 'href="?event=compaction.evaluated#decisions"' in last


def test_an_engines_words_are_escaped_and_masked(client: Client) -> None:
    row = imported(engine_log(1, words=f'"<b>{SECRET}"'), "lossless-claw.log")

    page = client.get(f"/sessions/{row.id}/compactions/").content.decode()

    assert "<b>" + SECRET not in page and SECRET not in page and "&lt;b&gt;" in page


def test_the_number_of_queries_does_not_follow_the_events(client: Client) -> None:
    small = imported(engine_log(3), "small.log")
    large = imported(engine_log(300, session="0b1c2d3e-0000-4000-8000-0000000000bb"), "large.log")

    few = queries_of(lambda: client.get(f"/sessions/{small.id}/compactions/"))
    many = queries_of(lambda: client.get(f"/sessions/{large.id}/compactions/"))

    assert few == many


def test_a_session_without_an_engine_has_no_such_list(client: Client) -> None:
    row = imported(chat(1))

    assert "What the engine wrote down" not in client.get(f"/sessions/{row.id}/compactions/").content.decode()
