"""Secrets in a text, so that pages mask them. Finds, never alters: the store keeps what was said."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

SecretKind = Literal[
    "private_key",
    "connection_string",
    "jwt",
    "bearer",
    "authorization",
    "api_key",
    "aws_key",
    "slack_token",
    "password",
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
        (
            "sk-",
            "ghp_",
            "gho_",
            "ghu_",
            "ghs_",
            "ghr_",
            "github_pat_",
            "glpat-",
            "AIza",
            "npm_",
            "pypi-",
            "hf_",
            "k_live_",
            "k_test_",
        ),
    ),
    ("aws_key", re.compile(r"(?<![A-Za-z0-9])(?:AKIA|ASIA|AROA)[A-Z0-9]{16}(?![A-Za-z0-9])"), ("AKIA", "ASIA", "AROA")),
    ("slack_token", re.compile(r"\bxox[abeoprs]-[A-Za-z0-9-]{10,250}"), ("xox",)),
    (
        "bearer",
        re.compile(r"\b(?:[Bb]earer|BEARER)[ \t]{1,4}(?P<secret>[A-Za-z0-9._~+/=-]{16,4000})"),
        ("earer", "BEARER"),
    ),
    # What a header gives for its scheme (a proxy's too), and a name with its password in base64 wherever it stands
    (
        "authorization",
        re.compile(
            r"""\b(?:proxy-)?authorization[\\]?["']?[ \t]{0,4}[:=,][ \t]{0,4}[\\]?["']?
            (?:basic|bearer|negotiate|ntlm|token|apikey)[ \t]{1,4}(?P<secret>[^\s"'\\<>{}$]{6,4000})""",
            re.IGNORECASE | re.VERBOSE,
        ),
        ("uthorization", "UTHORIZATION"),
    ),
    (
        "authorization",
        re.compile(r"\b(?:[Bb]asic|BASIC)[ \t]{1,4}(?P<secret>[A-Za-z0-9+/]{8,400}={0,2})"),
        ("asic ", "asic\t", "BASIC"),
    ),
)
_OF_A_HEADER = frozenset({"bearer", "authorization"})  # known by the word before it
_NAMES = r"(?:password|passwd|passphrase|pwd|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|authorization)"
_ASSIGNED = re.compile(
    _NAMES
    + r"""[\\]?["']?[ \t]{0,4}(?:=>|:=|=|:)[ \t]{0,4}
        (?:[\\]?"(?P<double>[^"\\\n]{4,512})|'(?P<single>[^'\n]{4,512})'
        |(?P<bare>[^\s"'\\<>{}()\[\],;&|$]{6,512}))""",
    re.IGNORECASE | re.VERBOSE,
)
# A name right before the sign that assigns to it. Looking from each sign back is eight times quicker than trying all
# names at every letter; `\Z` is where the search is told to end.
_NAMED = re.compile(_NAMES + r"""[\\]?["']?[ \t]{0,4}\Z""", re.IGNORECASE)
_NAMED_CHARS = 19
_SIGN = re.compile("[:=]")
_BEFORE_SIGN = frozenset("detnyDETNY\\\"' \t")  # how a name, a quote after it and the blanks after that may end
# In every name is one of these, however it is spelled (none has an i, which has a twin that folding leaves alone).
_STEMS = ("token", "key", "pass", "secret", "author", "pwd")
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
    found = _certain(text, with_headers=True)
    found.extend(_assigned(text))
    return _apart(found, len(text)) if found else found


def find_certain_secrets(text: str) -> list[Secret]:
    """Like `find_secrets`, but only what its own form gives away (a key's prefix, a PEM block, a password within an
    address), never a value for the word before it: for text that is not a transcript's alone."""
    return _apart(_certain(text, with_headers=False), len(text))


def _certain(text: str, *, with_headers: bool) -> list[Secret]:
    found: list[Secret] = []
    for kind, pattern, words in _PATTERNS:
        for word in words:
            if word in text:
                if with_headers or kind not in _OF_A_HEADER:
                    found.extend(_secret(kind, match) for match in pattern.finditer(text) if _is_one(kind, match))
                break
    return found


def _is_one(kind: SecretKind, match: re.Match[str]) -> bool:
    """Whether what stands after a scheme's word is a value: "basic principles" are none, in a header neither."""
    if kind != "authorization":
        return True
    value = match["secret"]
    if match[0][:5].lower() != "basic" and _looks_secret(value):
        return True
    body = value.rstrip("=")
    try:
        return b":" in base64.b64decode(body + "=" * (-len(body) % 4), validate=True)
    except (binascii.Error, ValueError):  # the latter where it is not ASCII
        return False


def _secret(kind: SecretKind, match: re.Match[str]) -> Secret:
    group = "secret" if "secret" in match.re.groupindex else 0
    return Secret(kind, match.start(group), match.end(group))


def _assigned(text: str) -> list[Secret]:
    found = []
    for match in _assignments(text):
        group = match.lastgroup or "bare"
        value = match[group]
        if _HARMLESS.fullmatch(value) or value.lower() in ("bearer", "basic"):
            continue
        if group == "bare" and not _looks_secret(value):
            continue
        found.append(Secret("password", match.start(group), match.end(group)))
    return found


def _assignments(text: str) -> Iterator[re.Match[str]]:
    """What `_ASSIGNED.finditer(text)` gives."""
    folded = text.casefold()
    if not any(stem in folded for stem in _STEMS):
        return
    done = 0
    for sign in _SIGN.finditer(text):
        at = sign.start()
        if at <= done or text[at - 1] not in _BEFORE_SIGN:
            continue
        name = _NAMED.search(text, max(done, at - _NAMED_CHARS), at)
        match = _ASSIGNED.match(text, name.start()) if name else None
        if match:
            done = match.end()
            yield match


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
