"""Secrets in odd places of one text, and over several."""

from __future__ import annotations

import time

import pytest

from contextviz.analysis.disclosure import Neighbours, find, left, without

KEY = "sk-" + "proj-" + "Ab3" * 12


@pytest.mark.parametrize(
    "text",
    [
        "session_key=agent:main:main, token count 120500, model claude-sonnet-4-5-20250929",
        "key: /home/a/project/config2.json and the key 3fa85f64-5717-4562-b3fc-2c963f66afa6\nThe token:\n- Read file",
        "the secret:\n2026-01-01 was a Thursday",
        "def f(token):\n    return token + 1  # password: required",
    ],
)
def test_everyday_words_block_nothing(text: str) -> None:
    assert find(text) == []


def test_a_suspicion_names_the_characters_of_the_text_itself() -> None:
    text = 'a {"body": "{\\"api\\\\u005fkey\\":\\"zz9plural99\\"}"} b'

    (one,) = find(text)

    assert text[one.start : one.end] == "zz9plural99"
    assert (one.certainty, one.reason) == ("suspected", "behind escapes")


def test_a_masked_text_has_nothing_left() -> None:
    command = "password = 'correct horse' curl -u bob:secret1 https://x.org/?key=abc123def"
    text = f"{KEY} {command}\n{KEY[:14]}\\\n  {KEY[14:]}"

    assert left(without(text, find(text))) == []


def test_a_block_that_ends_in_a_secret_does_not_make_the_next_ones_words_secret() -> None:
    texts = Neighbours()

    assert texts.add(f"use {KEY}", "1") == []
    assert texts.add("Understood. I will.", "2") == []


@pytest.mark.parametrize(
    "text",
    [" " * 100_000, "\\" * 100_000, '" + ' * 25_000, "key " * 25_000, "%20" * 30_000, "A" * 100_000,
     "-----BEGIN PRIVATE KEY-----\n" * 2_000, "://" * 30_000, ("A" * 64 + "\n") * 1_500],
    ids=lambda text: repr(text[:6]),
)  # fmt: skip
def test_hostile_texts_take_time_by_their_length(text: str) -> None:
    texts, started = Neighbours(), time.perf_counter()

    find(text)
    texts.add("-----BEGIN PRIVATE KEY-----\n", "1")
    texts.add(text, "2")

    assert time.perf_counter() - started < 5
