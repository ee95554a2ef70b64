"""What a client told of its window after a compaction stands for calls of which nothing is reported, on every page."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from contextviz.events.compaction import ToldSize, told_size
from contextviz.services import figures
from contextviz.store.queries import calls, sessions
from contextviz.store.queries.sparklines import sparklines
from contextviz.web.pages.library.sparkline import spark
from contextviz.web.pages.session.page import readout_of, strip_of
from contextviz.web.pages.session.place import Place
from tests.services.building import upload
from tests.sources.copilot_cli.building import SESSION, Log


@pytest.mark.parametrize(
    ("call", "known", "tokens"),
    [(1, 10, None), (2, 10, 500), (2, None, 500), (2, 600, None), (2, 500, None), (4, 10, None), (5, 10, 90)],
)
def test_the_last_compaction_s_size_counts_where_it_is_more_than_is_known(
    call: int, known: int | None, tokens: int | None
) -> None:
    told = [ToldSize(1, 2, 500), ToldSize(2, 4, None), ToldSize(3, 5, 90)]

    found = told_size(told, call, known)

    assert (found.tokens if found else None) == tokens


@pytest.mark.django_db
def test_the_library_s_picture_shows_the_sizes_of_the_session_s_page(data_dir: Path) -> None:
    log = Log()
    for word in ("one", "two", "three"):
        log.user(f"say {word}")
        log.answer(word)
        if word == "two":
            log.add("session.compaction_start", currentTokens=90_000, tokenLimit=128_000)
            log.add("session.compaction_complete", success=True, preCompactionTokens=90_000,
                    postCompactionTokens=31_000, summaryContent="the gist")  # fmt: skip
    upload((f"session-state/{SESSION}/events.jsonl", "".join(json.dumps(one) + "\n" for one in log.events)))
    (row,) = sessions.recent_sessions()
    table = figures.strip_of(row.id)
    made = calls.compactions(row.id)

    picture = sparklines([row])[row.id]
    heads = [readout_of(Place(row.id, b=call), table, made, None).b for call in table.calls]

    assert [head.tokens for head in heads if head] == list(picture.tokens)
    assert picture.tokens[-1] == 31_000 > (picture.tokens[0] or 0) > 0
    assert heads[-1] is not None and (heads[-1].basis, heads[-1].told_after) == ("derived", 1)
    line = spark(picture)
    assert line is not None and line.label.endswith(
        "to 31.0\N{NO-BREAK SPACE}k tokens, largest 31.0\N{NO-BREAK SPACE}k"
    )
    assert strip_of(Place(row.id), table).text.endswith("31.0\N{NO-BREAK SPACE}k tokens")
