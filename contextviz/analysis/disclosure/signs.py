"""Further signs of secrets, for a text that leaves the machine: here a page's masking by pattern is not enough."""

from __future__ import annotations

import base64
import binascii
import math
import re
from collections import Counter
from collections.abc import Iterator

from contextviz.events.masking.secrets import find_secrets

Span = tuple[int, int, str]  # first character, the one after the last, kind
MOST_ENCODED_CHARS = 65_536
MIN_ENTROPY = 3.2  # bits a character; random hex has 3.6 at 32 characters, words and paths less

# Each with the group `secret`, whether the value must look random, and small words of which one must be there.
_MORE: tuple[tuple[re.Pattern[str], str, bool, tuple[str, ...]], ...] = (
    (
        re.compile(
            r"""(?<![\w-])--?(?:password|passwd|pass|token|secret|api[_-]?key|access[_-]?key|auth[_-]?token)
            (?:["'],\s{0,4}["']|["']?[ \t=]{1,2}["']?)(?P<secret>[^\s"'\\<>|;&${(-][^\s"'\\<>|;&]{5,511})""",
            re.IGNORECASE | re.VERBOSE,
        ),
        "password",
        True,
        ("-pass", "-token", "-secret", "-api", "-access", "-auth"),
    ),
    (
        re.compile(
            r"""["'](?:name|key|env|variable)["']\s{0,4}:\s{0,4}["'][\w.-]{0,60}
            (?:key|token|secret|passw|pwd|credential)[\w.-]{0,60}["']\s{0,4},\s{0,16}
            ["']value["']\s{0,4}:\s{0,4}["'](?P<secret>[^"'\n]{4,512})["']""",
            re.IGNORECASE | re.VERBOSE,
        ),
        "password",
        False,
        ("value",),
    ),
    (
        re.compile(r"\s(?:-u|--user)[ \t=]{1,2}[\"']?[^\s:\"']{1,64}:(?P<secret>[^\s\"'$@/]{4,200})"),
        "password",
        False,
        ("-u", "--user"),
    ),
    (
        re.compile(r"\blogin[ \t]{1,4}\S{1,64}\s{1,8}password[ \t]{1,4}(?P<secret>\S{4,200})"),
        "password",
        False,
        ("login",),
    ),
    (re.compile(r"://(?P<secret>[A-Za-z0-9_~.-]{16,256})@[\w\[]"), "connection_string", True, ("://",)),
    (
        re.compile(
            r"""[?&\#;](?:api[_-]?key|key|sig|signature|code|auth|access[_-]?token|token|secret|password|pwd|pass
            |x-amz-signature|x-amz-credential|x-goog-signature)=(?P<secret>[^&\s"'<>\#\\]{6,2000})""",
            re.IGNORECASE | re.VERBOSE,
        ),
        "password",
        True,
        ("=",),
    ),
    (
        re.compile(
            r"""\b(?:set-)?cookie["']?[ \t]{0,2}:[ \t]{0,2}["']?(?P<secret>[^\r\n"'=]{1,64}=[^\r\n"']{8,4000})""",
            re.IGNORECASE,
        ),
        "cookie",
        True,
        ("cookie",),
    ),
    # The second half of a key whose first half stood elsewhere
    (
        re.compile(
            r"(?P<secret>(?:^|\n)(?:[A-Za-z0-9+/=]{16,120}\r?\n){1,200}-----END (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY)"
        ),
        "private_key",
        False,
        ("private key",),
    ),
)
_BESIDE_A_NAME = re.compile(
    r"""(?:key|token|secret|passw(?:or)?d|passphrase|credential|signature|cookie|authorization|salt)s?(?![a-z])
    (?:[\s"'`*\\:=>|,(\[]|\bis\b|\bwas\b|\bvalue\b){1,12}
    (?P<secret>[A-Za-z0-9+/_~.-]{20,2000}={0,2})""",
    re.IGNORECASE | re.VERBOSE,
)
_ENCODED = re.compile(r"(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{24,65536}={0,2}")
_UUID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}", re.IGNORECASE)
_FILE = re.compile(r"\.[a-z]{1,5}$|^\.{0,2}/|//|/[a-z]+/")
_PARTS = re.compile(r"[-_.~/=+]")


def certain(text: str) -> Iterator[Span]:
    """Values that are secrets wherever they stand: what pages mask, and further places (options, query strings)."""
    for found in find_secrets(text):
        yield found.start, found.end, found.kind
    small = text.lower()
    for pattern, kind, must_be_random, words in _MORE:
        if not any(word in small for word in words):
            continue
        for match in pattern.finditer(text):
            value = match["secret"]
            if not must_be_random or is_mixed(value):
                yield match.start("secret"), match.end("secret"), kind


def uncertain(text: str) -> Iterator[tuple[Span, str]]:
    """Values that may be secrets, each with the reason in words: long random ones beside a name, encoded ones."""
    for match in _BESIDE_A_NAME.finditer(text):
        if is_random(match["secret"]):
            yield (match.start("secret"), match.end("secret"), "password"), "a long random value beside a key's name"
    for match in _ENCODED.finditer(text):
        plain = _base64(match[0][:MOST_ENCODED_CHARS])
        if plain is None or not plain.isascii():
            continue
        found = next(certain(plain.decode("ascii")), None)
        if found is not None:
            yield (match.start(), match.end(), found[2]), "inside base64"


def is_mixed(value: str) -> bool:
    """Whether a value mixes letters and digits, or signs, as made-up ones do and words do not."""
    if len(value) < 6 or _FILE.search(value):
        return False
    return any(char.isdigit() for char in value) and any(char.isalpha() for char in value)


def is_random(value: str) -> bool:
    """Whether a long value looks drawn at random: no path, no name made of words and numbers, no UUID."""
    if _UUID.fullmatch(value) or _FILE.search(value):
        return False
    longest = max(_PARTS.split(value), key=len)
    if len(longest) < 12 or not is_mixed(longest):
        return False
    return entropy(value) >= MIN_ENTROPY


def entropy(value: str) -> float:
    """Shannon's entropy of the characters, in bits a character; 0 for nothing."""
    counts = Counter(value)
    return -sum(count / len(value) * math.log2(count / len(value)) for count in counts.values())


def _base64(value: str) -> bytes | None:
    body = value.rstrip("=")
    if len(body) % 4 == 1:
        return None
    try:
        return base64.b64decode(body + "=" * (-len(body) % 4), altchars=b"-_" if "-" in body or "_" in body else None)
    except (binascii.Error, ValueError):
        return None
