"""The index on both databases: what is found, what is forgotten, and that no query is an error."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection, transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from contextviz.events.message import Block, Message
from contextviz.events.search import parse_query
from contextviz.services.cleaning import drop_unused_texts
from contextviz.store import search
from contextviz.store.models import TextPackRecord, TextRecord, TextUseRecord
from contextviz.store.search.index import Progress
from contextviz.store.texts import StoreTextPool
from contextviz.store.writes import save_transcript
from tests.store.building import NOW, at, derived, transcript

SAID = (
    "Never raise the timeout of src/lock_file.py",
    '{"name":"Bash","arguments":{"command":"cat a.txt\\nmigrate --all"}}',
    "東京都の天気は晴れです",
    "ÜBER the Straße",
    "x" * 3000 + " tail",
)


@pytest.fixture
def session_id(pool: StoreTextPool) -> int:
    made = transcript(pool, turns=4)
    for text in SAID:
        kind = "tool_call" if text.startswith("{") else "text"
        block = Block(kind, pool.put(text), tool_name="Bash" if kind == "tool_call" else None)  # type: ignore[arg-type]
        index = len(made.messages)
        made.messages.append(
            Message(index, f"x{index}", None, "assistant", "assistant", (block,), at(30), 99, "a.jsonl")
        )
    pool.flush()
    with transaction.atomic():
        saved = save_transcript(made, derived(made), now=NOW)
    index_all()
    return saved.session_id


def index_all() -> None:
    while search.index_packs().packs:
        pass


def found(typed: str, **chosen: Any) -> list[tuple[str, int | None]]:
    hits = search.search(parse_query(typed), search.SearchFilter(**chosen)).hits
    return [(hit.kind, hit.message_index) for hit in hits]


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        ("timeout", 8), ("TIMEOUT never", 8), ('"raise the timeout"', 8), ("src/lock_file.py", 8), ("time*", 8),
        ("migrate", 9), ('"a txt migrate"', 9), ("東京都", 10), ("京都の", 10), ("都", 10), ("す", 10),
        ("über straße", 11), ("tail", 12), ("nothing OR tail", 12), ("the -raise", 11),
    ],
)  # fmt: skip
def test_words_lead_to_their_message(session_id: int, typed: str, message: int) -> None:
    assert ("tool_call" if message == 9 else "message", message) in found(typed)


@pytest.mark.parametrize("typed", ["timeou", '"the raise"', "nlock", "京東", "timeout -never", "nmigrate", ""])
def test_what_is_not_there_is_not_found(session_id: int, typed: str) -> None:
    assert found(typed) == []


def test_hits_are_told_apart_by_kind_role_tool_window_and_time(session_id: int) -> None:
    assert found("number", role="user")[0] == ("message", 6)
    assert found("migrate", kinds=("tool_call",), tool="Bash") == [("tool_call", 9)]
    assert found("migrate", kinds=("message",)) == []
    assert found("said", kinds=("summary",)) == [("summary", None)]
    assert found("leaf", kinds=("node",)) == [("node", None)]
    assert found("row", kinds=("original",)) == [("original", None)] * 3
    assert found("helpful", kinds=("context",)) == [("context", None)]
    assert found("thread", kinds=("note",)) == [("note", None)]
    assert found("number", in_window=True) == [("message", 4)]
    assert ("message", 0) in found("number", in_window=False)
    assert found("timeout", since=at(29)) == [("message", 8)]
    assert found("timeout", since=at(31)) == found("timeout", until=at(30) - timedelta(minutes=1)) == []
    assert found("timeout", agent="main", format="test", session_id=session_id) == [("message", 8)]
    assert found("timeout", agent="other") == found("timeout", format="codex") == found("timeout", session_id=99) == []


def test_find_lists_every_message_of_a_session_in_order(session_id: int, pool: StoreTextPool) -> None:
    assert search.find_in_session(session_id, parse_query("number")) == (list(range(8)), False)
    assert search.find_in_session(session_id, parse_query("read")) == ([1, 3, 5, 7], False), "the same text four times"
    assert search.find_in_session(session_id, parse_query("number"), "helper") == ([], False)
    assert search.find_in_session(session_id, parse_query("")) == ([], False)


def test_a_text_is_indexed_once_and_a_second_run_finds_nothing_to_do(session_id: int) -> None:
    assert search.waiting() == Progress(0, 0)
    assert search.index_packs() == Progress(0, 0)


def test_nothing_of_a_dropped_text_stays_in_the_index(session_id: int) -> None:
    numbers = list(TextRecord.objects.values_list("pk", flat=True))
    gone = TextUseRecord.objects.filter(message_index__gte=8)
    kept = TextUseRecord.objects.exclude(message_index__gte=8).first()
    assert kept is not None
    gone.delete()

    drop_unused_texts(numbers)

    assert found("timeout") == found("京都") == found("tail") == []
    assert ("message", 6) in found("number")
    assert search.waiting().packs == 0, "what is left was moved to another pack and is still indexed"
    TextUseRecord.objects.all().delete()
    drop_unused_texts(numbers)
    assert words_in_index() == []


def words_in_index() -> list[str]:
    """Every word that the index still holds."""
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("SELECT word FROM ts_stat('SELECT words FROM store_textsearch')")
        else:
            cursor.execute("CREATE VIRTUAL TABLE temp.vocabulary USING fts5vocab(main, store_textsearch, row)")
            cursor.execute("SELECT term FROM temp.vocabulary")
        words = [row[0] for row in cursor.fetchall()]
        if connection.vendor == "sqlite":
            cursor.execute("DROP TABLE temp.vocabulary")
        return words


def test_texts_that_were_never_indexed_are_dropped_without_touching_it(pool: StoreTextPool, db: None) -> None:
    pool.put("only waiting")
    pool.flush()
    drop_unused_texts(TextRecord.objects.values_list("pk", flat=True))
    assert words_in_index() == []
    assert not TextPackRecord.objects.exists()


def test_an_emptied_index_is_filled_again(session_id: int) -> None:
    search.empty()
    assert found("timeout") == []
    assert search.waiting().packs == 1

    index_all()

    assert found("timeout") == [("message", 8)]


def test_a_grown_session_moves_texts_out_of_the_window(pool: StoreTextPool) -> None:
    made = transcript(pool, turns=2)
    pool.flush()
    with transaction.atomic():
        save_transcript(made, derived(made), now=NOW)
    index_all()
    grown = transcript(pool, turns=4)
    grown.context_at_end = ["summary c1", "q3"]
    pool.flush()
    with transaction.atomic():
        save_transcript(grown, derived(grown), now=NOW)
    index_all()

    assert found("number", in_window=True) == [("message", 6)]


def test_the_number_of_queries_does_not_follow_the_hits(session_id: int, django_assert_num_queries: Any) -> None:
    with django_assert_num_queries(2):
        assert len(found("number OR read OR row")) > 10
    with django_assert_num_queries(2):
        assert len(found("tail")) == 1


OPERATORS = (
    *"\" * - ( ) ^ : NEAR( NEAR/2 AND OR NOT & | ! <-> \\ ' 東 京都 lock a { } + body: :* -- /* ; é".split(),  # noqa: SIM905
    "\x00",
    "\ud800",
    "\u0301",
    "\U0002a6e0",
)
PIECES = st.sampled_from(OPERATORS)
ODD_QUERIES = st.lists(PIECES | st.text(max_size=5), max_size=12).map(" ".join) | st.lists(PIECES, max_size=20).map(
    "".join
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(typed=ODD_QUERIES)
def test_no_query_is_an_error(session_id: int, typed: str) -> None:
    query = parse_query(typed)

    search.search(query)
    search.find_in_session(session_id, query)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(min_size=1, max_size=60))
def test_any_text_goes_into_the_index_and_out_of_it(pool: StoreTextPool, text: str) -> None:
    pool = StoreTextPool(count=len, estimator="letters")
    pool.put(text)
    pool.flush()
    index_all()
    drop_unused_texts(list(TextRecord.objects.values_list("pk", flat=True)))
    assert words_in_index() == []


def test_within_a_session_nothing_is_hidden_by_what_others_said_later(
    session_id: int, pool: StoreTextPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("contextviz.store.search.match.MOST_TEXTS", 1)

    assert found("the", session_id=session_id) == [("message", 11), ("message", 8)]
    assert not search.search(parse_query("the"), search.SearchFilter(session_id=session_id)).is_cut
    assert len(found("the")) == 1 and search.search(parse_query("the")).is_cut
