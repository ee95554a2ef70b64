"""The page of one call."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from contextviz.analysis.composition import CATEGORIES, Composition, shares_of
from contextviz.store.queries import sessions, snapshots
from contextviz.store.values import SnapshotRow, Window, WindowItem
from contextviz.web.pages.call.page import call_page
from contextviz.web.pages.session.inspector import Side, changes_between
from contextviz.web.pages.session.place import Place
from tests.analysis.building import Builder
from tests.services.building import upload
from tests.web.talking import Talk, stored
from tests.web.test_session import page, visible

pytestmark = pytest.mark.django_db


@pytest.fixture
def session_id(data_dir: Path) -> int:
    return stored()


def test_every_item_is_listed_in_order(client: Client, session_id: int) -> None:
    window = snapshots.window_of_call(session_id, 7)
    assert window is not None
    html = page(client, f"/sessions/{session_id}/calls/8/")

    listed = re.findall(r'class="call-item[^>]* id="i-(\d+)"', html)
    assert listed == [str(place + 1) for place in range(len(window.items))]
    assert "Summary: the lock is released early." in visible(html)
    assert "Rebuilt by the format" in visible(html)


def test_items_moved_kept_new_and_gone_make_both_windows(session_id: int) -> None:
    row = sessions.get_session(session_id)
    found = call_page(row, 6, Place(session_id, a=4), 0)
    assert found.changes is not None
    counts = {one.kind: one for one in found.changes.counts}
    parts = found.composition
    base = found.listing.baseline.tokens if found.listing.baseline else 0

    for side, other in (("a", "gone"), ("b", "new")):
        whole = sum(getattr(part, side) or 0 for part in parts.rows)
        items = sum(counts[kind].tokens for kind in ("kept", "moved", other))
        assert abs(items + (base or 0) - whole) <= len(found.listing.items)
    assert counts["gone"].items == len(found.changes.gone) + found.changes.more_gone


def test_the_prefix_is_compared_with_the_call_before(session_id: int) -> None:
    row = sessions.get_session(session_id)
    found = call_page(row, 3, Place(session_id), 0)

    assert found.prefix is not None and found.prefix.number == 2
    assert found.prefix.broke.startswith("Only appended")
    assert found.prefix.reported == 20_397
    boundary = [item for item in found.listing.items if item.boundary]
    assert len(boundary) == 1 and boundary[0].row.order == str(found.prefix.items + 1)
    assert call_page(row, 1, Place(session_id), 0).prefix is None


def test_links_lead_to_the_neighbours_and_across_the_compactions(client: Client, session_id: int) -> None:
    html = page(client, f"/sessions/{session_id}/calls/3/")

    assert f'href="/sessions/{session_id}/calls/2/" data-key="ArrowLeft"' in html
    assert f'href="/sessions/{session_id}/calls/4/" data-key="ArrowRight"' in html
    assert f'href="/sessions/{session_id}/calls/5/?a=4" data-key="c"' in html


def test_an_item_opens_whole_as_page_fragment_and_file(client: Client, session_id: int) -> None:
    whole = page(client, f"/sessions/{session_id}/items/0/")
    part = page(client, f"/sessions/{session_id}/items/0/", **{"HX-Request": "true"})

    assert "<html" in whole and "<html" not in part
    assert "Fix the lock" in part
    assert client.get(f"/sessions/{session_id}/items/0/download").content.startswith(b"Fix the lock")
    assert client.get(f"/sessions/{session_id}/items/9999/").status_code == 404


def test_a_window_of_many_items_comes_in_pages(client: Client, data_dir: Path) -> None:
    session_id = stored(turns=120)
    html = page(client, f"/sessions/{session_id}/calls/125/")
    found = re.search(r'href="(\?from=81)" rel="next"', html)

    assert found and len(html) < 150_000
    assert 'id="i-81"' in page(client, f"/sessions/{session_id}/calls/125/{found[1]}")


def test_the_queries_do_not_follow_the_size(client: Client, data_dir: Path) -> None:
    counts = []
    for turns in (20, 200):
        session_id = stored(turns=turns)
        client.get(f"/sessions/{session_id}/calls/15/")
        with CaptureQueriesContext(connection) as queries:
            page(client, f"/sessions/{session_id}/calls/15/?a=4")
        counts.append(len(queries))

    assert counts[0] == counts[1] <= 34


def test_a_call_that_is_not_there_is_said(client: Client, session_id: int) -> None:
    answer = client.get(f"/sessions/{session_id}/calls/99/")

    assert answer.status_code == 404 and "has no call 99" in answer.content.decode()


def test_a_session_without_usage_shows_unknown_and_not_zero(client: Client, data_dir: Path) -> None:
    one = Talk()
    one.user("Hello")
    session_id = int(upload(("quiet.jsonl", one.text)).result["sessions"][0])

    assert "No model call is recorded here" in visible(page(client, f"/sessions/{session_id}/"))


def _side(builder: Builder, tools: int | None, baseline: int | None) -> Side:
    """A window of one item of 300 tokens, before which `tools` tokens of definitions stand."""
    item = builder.item("user", "text", " ".join(map(str, range(300))))
    parts = [0 if name != "user" else 300 for name in CATEGORIES]
    tokens = tuple(tools if name == "tools" else part for name, part in zip(CATEGORIES, parts, strict=True))
    made = Composition(0, None, tokens, 320, 0, baseline_category="tools" if baseline else None)
    row = SnapshotRow(0, 0, "rules", None, None, 0, 1, 300, {}, None)
    window = Window(row, [WindowItem(0, 0, item, "user")])
    return Side(1, made, window, shares_of([item], made))


@pytest.mark.parametrize(("tools", "predicted"), [(0, 0), (None, None)])
def test_behind_tools_that_one_request_alone_has_a_cache_serves_nothing(
    tools: int | None, predicted: int | None
) -> None:
    builder = Builder()
    turn, summary = _side(builder, 40, 40), _side(builder, tools, None)
    same, other = changes_between(turn, turn), changes_between(turn, summary)
    assert same is not None and same.predicted_cache_tokens == 320  # 340, and never more than the prompt
    assert other is not None and (other.prefix_items, other.predicted_cache_tokens) == (1, predicted)
