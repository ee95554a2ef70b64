"""Pages of a long session: as many queries as a short one's, and replies that stay small, for every address."""

from __future__ import annotations

from base64 import b64decode
from pathlib import Path
from typing import Any

import numpy
import orjson
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from bench.addresses import Address, Extent, every, figures, pages
from bench.generate import FORMATS, Format, Size, generate
from contextviz.services import ingest
from contextviz.store.models import SessionRecord
from tests.services.building import NOW

pytestmark = pytest.mark.django_db
SHORT, LONG = 300, 3_000
MOST_POINTS = 2_000


def stored(folder: Path, format: Format, calls: int) -> Extent:
    """A generated session of that many calls, brought in as an import job does."""
    made = generate(folder / str(calls), "compacted", Size(calls=calls), format=format, seed=calls, scale=0.1)
    ingest.digest(ingest.import_paths(made.files, now=NOW))
    row = SessionRecord.objects.get(call_count=calls)
    return Extent(row.pk, row.call_count, row.compaction_count, row.message_count - 1)


def asked(client: Any, address: Address) -> tuple[int, int]:
    """Queries and bytes of a request that is not the first."""
    headers = {"accept": address.accept}
    client.get(address.url, headers=headers)
    with CaptureQueriesContext(connection) as captured:
        response = client.get(address.url, headers=headers)
    assert response.status_code in (200, 302), address.url
    return len(captured), len(response.content)


def values(column: Any) -> list[Any]:
    """A column of a trace: plain, or packed as plotly packs numbers."""
    if isinstance(column, dict):
        return list(numpy.frombuffer(b64decode(column["bdata"]), column["dtype"]).tolist())
    return list(column or [])


@pytest.mark.slow  # reads two sessions of some megabytes
@pytest.mark.parametrize("format", FORMATS)
def test_queries_and_bytes_of_every_page_do_not_follow_the_length_of_a_session(
    client: Any, data_dir: Path, tmp_path: Path, format: Format
) -> None:
    short, long = (stored(tmp_path, format, calls) for calls in (SHORT, LONG))
    assert long.compactions > 3 * short.compactions > 0

    missed = []
    for at_first, at_last in zip(every(short), every(long), strict=True):
        few, _ = asked(client, at_first)
        many, size = asked(client, at_last)
        if many > few:
            missed.append(f"{at_last.name}: {few} queries of {SHORT} calls, {many} of {LONG}")
        if size > at_last.most_bytes:
            missed.append(f"{at_last.name}: {size} bytes, most {at_last.most_bytes}")

    assert missed == []


@pytest.mark.slow  # reads a session of some megabytes
def test_a_long_session_s_figures_are_reduced_and_keep_every_compaction(
    client: Any, data_dir: Path, tmp_path: Path
) -> None:
    long = stored(tmp_path, "openclaw", LONG)
    wanted = [address for address in figures(long) if address.url.endswith(".json")]

    drawn = {address.name: orjson.loads(client.get(address.url).content) for address in wanted}

    for name, figure in drawn.items():
        lengths = [len(values(trace.get("x") or trace.get("ids"))) for trace in figure["data"]]
        assert 0 < max(lengths) <= MOST_POINTS, name
    compactions = client.get(f"/api/v1/sessions/{long.session_id}/compactions?limit=100").json()["items"]
    after = {one["after_call"] for one in compactions if one["after_call"] is not None}
    calls = {x for trace in drawn["strip.json"]["data"] for x in values(trace.get("x"))}
    assert len(after) == long.compactions
    assert after <= calls


def test_the_addresses_are_those_of_all_the_pages_of_a_session(client: Any) -> None:
    names = {address.name for address in pages(Extent(1, 300, 4, 600))}

    assert {"Session", "Compactions", "Graph", "Budget", "Search", "Library", "the last compaction"} <= names
