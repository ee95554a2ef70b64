"""An export as a document: how its conversations are told by their first keys, and how they are taken out of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from contextviz.sources.lines import BOM, clean
from contextviz.sources.plain.load import MAX_DOCUMENT_BYTES, NotReadable, first_elements, load
from contextviz.sources.source import Probe
from contextviz.sources.values import as_dict, as_list

Json = Mapping[str, Any]
# A conversation by some of its keys; of a value that is cut off only its first character is known.
Looks = Callable[[Json], bool]
HEAD_CHARS = 64 * 1024
_SPACE = " \t\r\n"
_DECODER = json.JSONDecoder(parse_constant=lambda _name: None)


@dataclass(frozen=True, slots=True)
class Cut:
    """A value whose end is not there: `first` is its first character."""

    first: str


@dataclass(slots=True)
class Export:
    """The conversations of one document, as far as it could be read. `broken_after` says after how many of them a
    document ends that is cut off; `passed` counts what is no conversation."""

    conversations: list[dict[str, Any]] = field(default_factory=list)
    surrogates: int = 0
    passed: int = 0
    broken_after: int | None = None


def is_opened(value: Any, kind: type) -> bool:
    """Whether a value is a list or a mapping (`kind`), though its end may be cut off."""
    return isinstance(value, kind) or (isinstance(value, Cut) and value.first == ("[" if kind is list else "{"))


def is_export(probe: Probe, looks: Looks) -> bool:
    """Whether a file is a conversation that `looks` knows, or a list of them, bare or under `conversations`."""
    if probe.tables is not None:
        return False
    if probe.document is not None:
        wrapped = as_list(probe.document.get("conversations"))
        return looks(probe.document) or bool(wrapped and looks(as_dict(wrapped[0])))
    head = probe.head.removeprefix(BOM).lstrip()
    if head.startswith(b"{"):
        # Within the limit a document is there as a whole; a longer one is told so by reading it.
        return probe.size > MAX_DOCUMENT_BYTES and looks(first_keys(head))
    if not head.startswith(b"["):
        return False
    return looks(first_keys(head)) or any(map(looks, first_elements(probe, 1)))


def first_keys(head: bytes) -> dict[str, Any]:
    """The keys of the first object in the beginning of a document, with their values; of the last one, which may be
    longer than what is there, a Cut."""
    text = head.decode("utf-8", errors="replace")[:HEAD_CHARS]
    found: dict[str, Any] = {}
    at = _after(text, 0, "[") if text.startswith("[") else 0
    if not text.startswith("{", at):
        return found
    while True:
        at = _after(text, at, "{,")
        try:
            key, at = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError):
            return found
        at = _after(text, at, ":")
        if not isinstance(key, str) or at >= len(text):
            return found
        try:
            found[key], at = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError):
            found[key] = Cut(text[at])
            return found


def _after(text: str, at: int, marks: str) -> int:
    """The place after blanks, one of `marks` and blanks again."""
    for one in (_SPACE, marks, _SPACE):
        while at < len(text) and text[at] in one:
            at += 1
            if one is marks:
                break
    return at


def open_export(probe: Probe, looks: Looks) -> Export:
    """The conversations of a file. Of one that is cut off those before the cut. Raises NotReadable."""
    try:
        value, surrogates = load(probe)
    except NotReadable:
        export = None if probe.size > MAX_DOCUMENT_BYTES else _before_the_cut(probe, looks)
        if export is None:
            raise
        return export
    if isinstance(value, dict) and not looks(value):
        value = value.get("conversations")
    many = value if isinstance(value, list) else [value]
    own = [one for one in many if isinstance(one, dict) and looks(one)]
    return Export(own, surrogates, len(many) - len(own))


def _before_the_cut(probe: Probe, looks: Looks) -> Export | None:
    """What is whole in a list that is cut off or damaged; None where nothing is."""
    try:
        text = probe.path.read_bytes().removeprefix(BOM).decode("utf-8", errors="replace").lstrip()
    except OSError:
        return None
    export = Export()
    at = _after(text, 0, "[") if text.startswith("[") else len(text)
    while text.startswith("{", at):
        try:
            value, at = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError):
            break
        value, surrogates = clean(value)
        export.surrogates += surrogates
        if looks(value):
            export.conversations.append(value)
        else:
            export.passed += 1
        at = _after(text, at, ",")
    export.broken_after = len(export.conversations) + export.passed
    return export if export.conversations else None
