from __future__ import annotations

import time
from random import Random

import pytest

from contextviz.events.masking import secrets
from contextviz.events.masking.secrets import find_secrets

KEY = "sk-" + "proj-" + "Ab3" * 12


@pytest.mark.parametrize(
    ("text", "kind", "secret"),
    [
        (f"use {KEY} here", "api_key", KEY),
        ("ghp_" + "a1B2" * 9, "api_key", "ghp_" + "a1B2" * 9),
        ("id AKIA" + "Q7" * 8 + ".", "aws_key", "AKIA" + "Q7" * 8),
        ("xoxb-" + "12345678901-abcDEF", "slack_token", "xoxb-12345678901-abcDEF"),
        ("Authorization: Bearer " + "q1w2" * 6, "bearer", "q1w2" * 6),
        (
            "t=eyJ" + "hb1" * 5 + "." + "eyJz" * 4 + "." + "s1g_" * 4,
            "jwt",
            "eyJhb1hb1hb1hb1hb1." + "eyJz" * 4 + "." + "s1g_" * 4,
        ),
        ("postgres://shop:hunter2@db.local:5432/shop", "connection_string", "hunter2"),
        ('password = "correct horse"', "password", "correct horse"),
        ('{"password": "tr0ub4dor"}', "password", "tr0ub4dor"),
        ('{\\"api_key\\": \\"zz-9-plural\\"}', "password", "zz-9-plural"),
        ("DB_PASSWORD=s3cr3t!x", "password", "s3cr3t!x"),
        ("Authorization: Basic dXNlcjpwYXNz", "authorization", "dXNlcjpwYXNz"),
        ("-H 'Proxy-Authorization: Basic dXNlcjpwYXNz'", "authorization", "dXNlcjpwYXNz"),
        ("proxy-authorization: Bearer s3cret-1", "authorization", "s3cret-1"),
        ("('Authorization', 'token abc123def')", "authorization", "abc123def"),
        ("sent BASIC dXNlcjpwYXNz", "authorization", "dXNlcjpwYXNz"),
        ('{\\"Authorization\\": \\"Basic dXNlcjpwYXNz\\"}', "password", "Basic dXNlcjpwYXNz"),
    ],
)
def test_a_secret_is_found_by_its_value_alone(text: str, kind: str, secret: str) -> None:
    found = [(one.kind, text[one.start : one.end]) for one in find_secrets(text)]
    assert found == [(kind, secret)]


def test_a_private_key_block_is_found_whole_even_with_headers_or_cut_short() -> None:
    whole = "-----BEGIN RSA PRIVATE KEY-----\nDEK-Info: AES-256-CBC,00\n\nMIIEow==\n-----END RSA PRIVATE KEY-----"
    (one,) = find_secrets(f"a\n{whole}\nb")
    assert (one.kind, one.start, one.end) == ("private_key", 2, 2 + len(whole))
    (cut,) = find_secrets("-----BEGIN PRIVATE KEY-----\nMIIEow")
    assert cut.end == len("-----BEGIN PRIVATE KEY-----\nMIIEow")


@pytest.mark.parametrize(
    "text",
    [
        "tokens: 120500 of 200000",
        "password: required",
        "token: refreshed",
        "password=os.environ['X']",
        "the secret: nobody knows",
        "api_key=********",
        "https://example.org/a:b@c",
        "Authorization: Basic $TOKEN",
        "Authorization: basic principles of it",
        "Basic configuration of a Basic authentication",
    ],
)
def test_words_about_secrets_are_not_secrets(text: str) -> None:
    assert find_secrets(text) == []


def test_overlapping_finds_are_one() -> None:
    assert len(find_secrets(f'token="{KEY}"')) == 1


@pytest.mark.parametrize(
    "piece", ["eyJ-", "-----BEGIN PRIVATE KEY-----\n", "sk-", 'token="', "a://b:", "Bearer x", "token=token=", "pwd: "]
)
def test_hostile_repetition_is_answered_in_time_that_follows_its_length(piece: str) -> None:
    text = piece * (200_000 // len(piece))
    started = time.perf_counter()
    find_secrets(text)
    assert time.perf_counter() - started < 2


def test_looking_back_from_each_sign_finds_what_trying_every_letter_finds() -> None:
    bits = ("paſſword", "PassWord", "api_key", "apı_key", "to", "ken", ":", "=", ":=", "=>", " ", "\t", '"', "'", "\\",
            "\n", "abc123xy", "none", "pwd", "secret")  # fmt: skip
    source = Random(7)
    texts = ["".join(source.choices(bits, k=source.randint(1, 12))) for _ in range(4_000)]

    assert sum(bool(secrets._ASSIGNED.search(text)) for text in texts) > 100
    for text in texts:
        wanted = [match.span() for match in secrets._ASSIGNED.finditer(text)]
        assert [match.span() for match in secrets._assignments(text)] == wanted, text
