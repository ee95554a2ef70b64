"""Markers: what a context engine leaves in place of a text, with the handle that gets it back.

Markers are content and may be quoted, so one counts only where it is a line of its own (engines.md 8.3).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

MarkerKind = Literal["flowctx", "lcm_file", "lcm_tool_output", "lcm_summary"]
MAX_MARKERS = 2000
# Every repetition is bounded and every pattern starts at a line, so the work follows the text's length.
_FLOWCTX = re.compile(
    r"""^\[flowctx(?:-dsh)?:\ (?P<label>[^\]\n]{1,120}?)\ compressed\ (?P<original>\d{1,12})→(?P<kept>\d{1,12})\ chars\b
        [^\n]{0,200}?flowctx_retrieve\(hash="(?P<handle>[0-9a-fA-F]{4,64})(?P<cut>…|\.\.\.)?"\)
        (?:[^\n]{0,40}?~(?P<minutes>\d{1,9})m)?[^\n]{0,40}\][ \t\r]*$""",
    re.MULTILINE | re.VERBOSE,
)
_LCM = re.compile(
    r"""^\[LCM\ (?P<what>File|Tool\ Output):\ (?P<handle>file_[0-9A-Za-z]{1,64})\ \|\ (?P<rest>[^\n]{0,400}?)
        \ \|\ (?P<bytes>[\d,]{1,20})\ bytes\][ \t\r]*$""",
    re.MULTILINE | re.VERBOSE,
)
_LCM_SUMMARY = re.compile(
    r'^<summary id="(?P<handle>sum_[0-9A-Za-z]{1,64})" kind="(?P<label>leaf|condensed)"[^>\n]{0,400}>[ \t\r]*$',
    re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class Marker:
    """One marker. `handle` is flowctx's hash, or lossless-claw's file or summary id.

    `label` is flowctx's block kind, a file's name, a tool's name or a summary's kind; `content_type` what
    flowctx's structured reducer took the text for (None: head and tail were kept). Sizes are the marker's own
    claims; `is_cut` says that only the beginning of the handle is written. `start` and `end` are positions.
    """

    kind: MarkerKind
    handle: str
    original_chars: int | None
    kept_chars: int | None
    start: int
    end: int
    label: str | None = None
    content_type: str | None = None
    original_bytes: int | None = None
    expires_minutes: int | None = None
    is_cut: bool = False


def find_markers(text: str) -> list[Marker]:
    """The markers that stand as lines of `text`, in order; at most MAX_MARKERS of each kind (engines.md 3.2, 7.5)."""
    found: list[Marker] = []
    if "[flowctx" in text:
        found.extend(_bounded(_flowctx(match) for match in _FLOWCTX.finditer(text)))
    if "[LCM " in text:
        found.extend(_bounded(_lcm(match) for match in _LCM.finditer(text)))
    if '<summary id="sum_' in text:
        found.extend(_bounded(_summary(match) for match in _LCM_SUMMARY.finditer(text)))
    return sorted(found, key=lambda marker: marker.start)


def _bounded(markers: Iterator[Marker]) -> Iterator[Marker]:
    for _, marker in zip(range(MAX_MARKERS), markers, strict=False):
        yield marker


def _flowctx(match: re.Match[str]) -> Marker:
    label, _, content_type = match["label"].rpartition(":")
    if not label:
        label, content_type = content_type, ""
    return Marker(
        "flowctx",
        match["handle"].lower(),
        int(match["original"]),
        int(match["kept"]),
        match.start(),
        match.start() + len(match[0].rstrip()),
        label=label,
        content_type=content_type or None,
        expires_minutes=None if match["minutes"] is None else int(match["minutes"]),
        is_cut=match["cut"] is not None,
    )


def _lcm(match: re.Match[str]) -> Marker:
    is_file = match["what"] == "File"
    parts = match["rest"].split(" | ")
    label = parts[0] if is_file else parts[0].removeprefix("tool=")
    return Marker(
        "lcm_file" if is_file else "lcm_tool_output",
        match["handle"],
        None,
        None,
        match.start(),
        match.start() + len(match[0].rstrip()),
        label=label or None,
        content_type=parts[1] if is_file and len(parts) > 1 else None,
        original_bytes=int(match["bytes"].replace(",", "") or 0),
    )


def _summary(match: re.Match[str]) -> Marker:
    end = match.start() + len(match[0].rstrip())
    return Marker("lcm_summary", match["handle"], None, None, match.start(), end, label=match["label"])
