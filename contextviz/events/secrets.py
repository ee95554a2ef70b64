"""Secrets in a text, so that pages mask them. Finds, never alters: the store keeps what was said."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

SecretKind = Literal[
    "private_key", "connection_string", "jwt", "bearer", "api_key", "aws_key", "slack_token", "password"
]
MAX_SECRETS = 1000
# Not after a letter or digit, but after an underscore, as in an id that a key became part of (so no \b).
# Bounded repetitions, and a fixed word before each: the work follows the text's length.
_PRIVATE_KEY = re.compile(
    r"-----BEGIN (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----"
    r"(?:[^-]|-(?!----)){0,20000}(?:-----END (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----)?"
)
_PATTERNS: tuple[tuple[SecretKind, re.Pattern[str], tuple[str, ...]], ...] = (
    ("private_key", _PRIVATE_KEY, ("PRIVATE KEY",)),
    (
        "connection_string",
        re.compile(r"\b[a-zA-Z][a-zA-Z0-9+.-]{1,30}://[^\s/:@'\"<>]{0,128}:(?P<secret>[^\s/@'\"<>]{1,256})@[\w.\[-]"),
        ("://",),
    ),
    (
        "jwt",
        re.compile(r"(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{8,2000}\.[A-Za-z0-9_-]{8,4000}\.[A-Za-z0-9_-]{8,2000}"),
        ("eyJ",),
    ),
    (
        "api_key",
        re.compile(
            r"(?<![A-Za-z0-9])(?:sk-(?:[a-z]{2,12}[0-9]{0,3}-){0,3}[A-Za-z0-9_-]{16,256}"
            r"|gh[pousr]_[A-Za-z0-9]{20,255}|github_pat_[A-Za-z0-9_]{22,255}|glpat-[A-Za-z0-9_-]{16,128}"
            r"|AIza[A-Za-z0-9_-]{35}|npm_[A-Za-z0-9]{30,64}|pypi-[A-Za-z0-9_-]{32,400}|hf_[A-Za-z0-9]{20,64}"
            r"|[rsp]k_(?:live|test)_[A-Za-z0-9]{16,128})"
        ),
        ("sk-", "gh", "glpat-", "AIza", "npm_", "pypi-", "hf_", "k_live_", "k_test_"),
    ),
    ("aws_key", re.compile(r"(?<![A-Za-z0-9])(?:AKIA|ASIA|AROA)[A-Z0-9]{16}(?![A-Za-z0-9])"), ("AKIA", "ASIA", "AROA")),
    ("slack_token", re.compile(r"\bxox[abeoprs]-[A-Za-z0-9-]{10,250}"), ("xox",)),
    (
        "bearer",
        re.compile(r"\b(?:[Bb]earer|BEARER)[ \t]{1,4}(?P<secret>[A-Za-z0-9._~+/=-]{16,4000})"),
        ("earer", "BEARER"),
    ),
)
_ASSIGNED = re.compile(
    r"""(?:password|passwd|passphrase|pwd|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|authorization)
        [\\]?["']?[ \t]{0,4}(?:=>|:=|=|:)[ \t]{0,4}
        (?:[\\]?"(?P<double>[^"\\\n]{4,512})|'(?P<single>[^'\n]{4,512})'
        |(?P<bare>[^\s"'\\<>{}()\[\],;&|$]{6,512}))""",
    re.IGNORECASE | re.VERBOSE,
)
# Values that only stand for one: a reference, a type, a state, something masked already.
_HARMLESS = re.compile(
    r"(?:none|null|true|false|undefined|string|str|bytes|required|optional|redacted|masked|hidden|changeme|example"
    r"|[*x•.…_-]+|os\.\S{0,80}|process\.\S{0,80}|self\.\S{0,80}|\d{1,7})[.,;:]?",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Secret:
    """Where a secret stands: characters `start` up to `end`, the value alone and not its key."""

    kind: SecretKind
    start: int
    end: int


def find_secrets(text: str) -> list[Secret]:
    """The secrets of `text` in order, none overlapping; at most MAX_SECRETS (more are merged into the last)."""
    found: list[Secret] = []
    for kind, pattern, words in _PATTERNS:
        if any(word in text for word in words):
            found.extend(_secret(kind, match) for match in pattern.finditer(text))
    found.extend(_assigned(text))
    return _apart(found, len(text))


def find_certain_secrets(text: str) -> list[Secret]:
    """Like `find_secrets`, but only what its own form gives away (a key's prefix, a PEM block, a password within an
    address), never a value for the word before it: for text that is not a transcript's alone."""
    found: list[Secret] = []
    for kind, pattern, words in _PATTERNS:
        if kind != "bearer" and any(word in text for word in words):
            found.extend(_secret(kind, match) for match in pattern.finditer(text))
    return _apart(found, len(text))


def _secret(kind: SecretKind, match: re.Match[str]) -> Secret:
    group = "secret" if "secret" in match.re.groupindex else 0
    return Secret(kind, match.start(group), match.end(group))


def _assigned(text: str) -> list[Secret]:
    found = []
    for match in _ASSIGNED.finditer(text):
        group = match.lastgroup or "bare"
        value = match[group]
        if _HARMLESS.fullmatch(value) or value.lower() in ("bearer", "basic"):
            continue
        if group == "bare" and not _looks_secret(value):
            continue
        found.append(Secret("password", match.start(group), match.end(group)))
    return found


def _looks_secret(value: str) -> bool:
    # Without quotes, "token: refreshed" is prose; a value worth masking mixes letters with digits or signs.
    return any(char.isdigit() for char in value) or not value.isalpha()


def _apart(found: list[Secret], length: int) -> list[Secret]:
    result: list[Secret] = []
    for secret in sorted(found, key=lambda one: (one.start, -one.end)):
        if result and secret.start < result[-1].end:
            if secret.end > result[-1].end:
                result[-1] = Secret(result[-1].kind, result[-1].start, secret.end)
            continue
        if len(result) == MAX_SECRETS:
            # A text of nothing but secrets is masked to its end rather than shown from here on.
            result[-1] = Secret(result[-1].kind, result[-1].start, length)
            break
        result.append(secret)
    return result
