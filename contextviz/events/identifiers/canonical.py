"""Canonical forms: two spellings of one thing compare equal."""

from __future__ import annotations

import re
import unicodedata

from contextviz.events.identifiers.kinds import UNITS, IdentifierKind

TRAILING = ".,;:!?…"
_SPACES = re.compile(r"\s+")
_LINE_SUFFIX = re.compile(r"(?::\d{1,7}){1,2}$|#L\d{1,7}(?:-L?\d{1,7})?$")
_SLASHES = re.compile(r"/{2,}")
_SENTENCES: frozenset[IdentifierKind] = frozenset(("directive", "decision", "open_item"))
_NUMBER = re.compile(r"(?P<number>[-+]?\d[\d.,_]*)\s*(?P<unit>\S{0,12})$")


def canonical(kind: IdentifierKind, text: str, *, root: str | None = None) -> str:
    """The canonical form of an identifier: Unicode NFC, no trailing punctuation, and what its class ignores.

    Paths are relative to `root` (the session's folder) where they lie in it, without `./` and line numbers;
    hosts are lower case; numbers have no thousands separators and one spelling of each unit; sentences ignore
    case and spacing.
    """
    text = unicodedata.normalize("NFC", text).strip()
    if kind in _SENTENCES:
        return _SPACES.sub(" ", text).rstrip(TRAILING).casefold()
    if kind in ("command", "quote", "error"):
        return _SPACES.sub(" ", text).rstrip(TRAILING if kind != "command" else " ")
    text = text.rstrip(TRAILING)
    if kind == "path":
        return _path(text, root)
    if kind == "url":
        return _url(text)
    if kind == "hash":
        return text.lower() if _is_hex(text) else text
    if kind == "symbol":
        return text.removesuffix("()")
    if kind == "version":
        return re.sub(r"^[vV](?=\d)", "", text)
    return _number(text) if kind == "number" else text


def base_name(kind: IdentifierKind, form: str) -> str | None:
    """The last name of a canonical path or dotted symbol, by which a variant is still recognised; None for others."""
    if kind == "path" and "/" in form:
        return form.rstrip("/").rpartition("/")[2] or None
    if kind == "symbol":
        last = re.split(r"\.|::", form)[-1]
        return last if last != form and len(last) > 3 else None
    return None


def class_name(kind: IdentifierKind, form: str) -> str:
    """The class of a canonical form in words. Hashes and ids are one class (metrics.md section 1): what is not hex is
    no hash, but the id of a tool call or a ticket."""
    if kind == "hash":
        return "hash" if _is_hex(form) and "-" not in form else "id"
    return kind.replace("_", " ")


def _path(text: str, root: str | None) -> str:
    text = _SLASHES.sub("/", _LINE_SUFFIX.sub("", text).replace("\\", "/"))
    while text.startswith("./"):
        text = text[2:]
    base = root.replace("\\", "/").rstrip("/") if root else ""
    if base and text.startswith(base + "/"):
        text = text[len(base) + 1 :]
    return text.rstrip("/") or "/"


def _url(text: str) -> str:
    scheme, mark, rest = text.partition("://")
    host, slash, path = (rest if mark else scheme).partition("/")
    path = path.partition("#")[0].rstrip("/")
    head = scheme.lower() + mark if mark else ""
    return head + host.lower() + (slash + path if path else "")


def _is_hex(text: str) -> bool:
    return re.fullmatch(r"[0-9a-fA-F-]+", text) is not None


def _number(text: str) -> str:
    key, mark, value = text.rpartition("=") if "=" in text else text.rpartition(":")
    found = _NUMBER.match(value.strip())
    if found is None:
        return _SPACES.sub(" ", text)
    number = re.sub(r"(?<=\d)[,_](?=\d{3}(?!\d))", "", found["number"]).rstrip(".,")
    unit = UNITS.get(found["unit"].lower(), found["unit"])
    form = f"{number} {unit}" if unit else number
    return f"{key.strip()}={form}" if mark else form
