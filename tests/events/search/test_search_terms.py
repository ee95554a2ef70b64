"""Words, queries and excerpts, without any index."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextviz.events.search import excerpt, parse_query, pattern_of, plain, search_terms
from contextviz.events.search.query import MOST_TERMS

SECRET = "sk-" + "live0123456789abcdefXYZ"


def words_of(text: str) -> list[list[tuple[str, ...]]]:
    return [[term.words for term in group] for group in parse_query(text).groups]


def test_words_are_letters_and_digits_in_small_letters() -> None:
    assert search_terms("The Lock_file: src/lock.py, 2nd ÜBER-try") == [
        "the", "lock", "file", "src", "lock", "py", "2nd", "über", "try",
    ]  # fmt: skip


def test_cjk_runs_are_overlapping_pairs_and_their_last_character() -> None:
    assert search_terms("abc東京都、ロック 한국어") == [
        "abc", "東京", "京都", "都", "ロッ", "ック", "ク", "한국", "국어", "어",
    ]  # fmt: skip


def test_escapes_of_json_are_what_they_stand_for() -> None:
    assert search_terms('{"name":"Bash","arguments":{"command":"cd C:\\\\new\\nls \\u00e9t\\u00e9"}}') == [
        "name", "bash", "arguments", "command", "cd", "c", "new", "ls", "été",
    ]  # fmt: skip
    assert plain("C:\\new stays, it is no JSON") == "C:\\new stays, it is no JSON"


def test_a_query_knows_phrases_exclusions_beginnings_and_choices() -> None:
    query = parse_query('lock "raise the timeout" -test migrat* mutex OR guard -"dry run"')

    assert [[(term.words, term.is_beginning) for term in group] for group in query.groups] == [
        [(("lock",), False)],
        [(("raise", "the", "timeout"), False)],
        [(("migrat",), True)],
        [(("mutex",), False), (("guard",), False)],
    ]
    assert [term.words for term in query.excluded] == [("test",), ("dry", "run")]
    assert query.notices == ()


def test_operators_of_databases_are_only_words() -> None:
    assert words_of("NEAR(a b) {x} body:y ^z & ! <-> 'q'") == [
        [("near", "a")], [("b",)], [("x",)], [("body", "y")], [("z",)], [("q",)],
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("typed", "words", "is_beginning"),
    [
        ("東京都", ("東京", "京都"), False),
        ("京", ("京",), True),
        ("abc東", ("abc", "東"), True),
        ("東京*", ("東京",), True),
    ],
)
def test_a_run_of_cjk_may_go_on_in_what_is_found(typed: str, words: tuple[str, ...], is_beginning: bool) -> None:
    term = parse_query(typed).terms[0]
    assert (term.words, term.is_beginning) == (words, is_beginning)


@pytest.mark.parametrize(
    ("typed", "sentence"),
    [
        ('"open', "quotation mark is not closed"),
        ("-only", "Add a word to look for"),
        ("*** word", "holds no letter or digit"),
        ("a*", "too short for a beginning"),
        ("x " * 10_000, "first 500 characters"),
        (" ".join(f"w{number}" for number in range(60)), f"first {MOST_TERMS} terms"),
    ],
)
def test_what_cannot_be_looked_for_is_told(typed: str, sentence: str) -> None:
    assert any(sentence in notice for notice in parse_query(typed).notices)


@given(st.text(max_size=300), st.text(max_size=300))
def test_any_query_is_understood_somehow_and_any_text_excerpted(typed: str, text: str) -> None:
    query = parse_query(typed)
    found = excerpt(text, pattern_of(query))

    assert all(re.fullmatch(r"[^\W_]+", word) for term in (*query.terms, *query.excluded) for word in term.words)
    assert all(word == word.lower() for term in query.terms for word in term.words)
    assert sum(len(part.text) for part in found.parts) <= len(text) + 300


@given(st.text(alphabet="東京都abc _-\n", min_size=1, max_size=40), st.integers(0, 39), st.integers(1, 12))
def test_any_piece_between_words_is_found_in_its_text(text: str, start: int, length: int) -> None:
    terms = search_terms(text)
    for term in parse_query(text[start : start + length].strip("*-").replace("_", " ")).terms:
        # A piece may cut an alphabetic word in half; only whole words are promised.
        if all(word in terms or term.is_beginning for word in term.words):
            assert any(one.startswith(term.words[-1]) for one in terms)


def test_an_excerpt_shows_the_first_hit_and_marks_all_that_it_shows() -> None:
    found = excerpt(
        "word " * 500 + "the release of the Lock, then a lock again " + "tail " * 500, pattern_of(parse_query("lock"))
    )

    assert [part.text for part in found.parts if part.is_hit] == ["Lock", "lock"]
    assert (found.is_cut_before, found.is_cut_after, found.has_hit) == (True, True, True)
    assert sum(len(part.text) for part in found.parts) <= 260


def test_a_phrase_is_marked_over_line_breaks_and_cjk_within_its_run() -> None:
    found = excerpt("never\nraise_the timeout. 大東京都庁", pattern_of(parse_query('"raise the" 東京都')))
    assert [part.text for part in found.parts if part.is_hit] == ["raise_the", "東京都"]


def test_a_secret_is_never_shown_even_when_it_was_looked_for() -> None:
    text = f"deploy --token {SECRET} now"
    for typed in ("deploy", SECRET, "live0123456789abcdefXYZ", "now"):
        found = excerpt(text, pattern_of(parse_query(typed)))
        assert "live0123" not in "".join(part.text for part in found.parts)
        assert any("masked" in part.text for part in found.parts)


def test_a_private_key_is_recognised_from_its_middle() -> None:
    body = "\n".join(["QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVo" * 2] * 200)
    text = f"-----BEGIN RSA PRIVATE KEY-----\n{body}\nneedle\n{body}\n-----END RSA PRIVATE KEY-----"
    found = excerpt(text[:14_000] + " needle " + text[14_000:], pattern_of(parse_query("needle")))
    assert "QUJD" not in "".join(part.text for part in found.parts)
