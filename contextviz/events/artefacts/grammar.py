"""The shapes of what context engines write into messages (engines.md 2.4, 2.5, 3.2, 3.5, 3.6, 4.4, 4.5, 7.5).

Transcripts are hostile: every repetition is bounded, every pattern is tried at the text's beginning or at the
beginning of a line only, and what closes an element is looked for once, so the work follows the text's length.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from contextviz.events.artefacts.markers import Marker, find_markers

ArtefactKind = Literal[
    "openvole_summary", "openvole_shrunk", "flowctx_marker", "flowctx_summary", "flowctx_handoff",
    "flowctx_scratchpad", "cortext_memory", "cortext_bridge", "lcm_summary", "lcm_focus_brief", "lcm_file",
    "lcm_tool_output",
]  # fmt: skip
MAX_ELEMENTS = 200
MAX_SOURCES = 200
MAX_FENCES = 4000
MAX_EDGE = 4000  # of white space round a whole message
BRIDGE_CHARS = frozenset({162, 194})
MOST_BRIDGE_CHARS = 400
SHRUNK_FROM, SHRUNK_TO, TRIMMED_TO, CUT_MARK = 500, 150, 100, "..."

_BRIDGE = "[Earlier conversation was archived to Cortext durable memory."
_HEADS = ("[Context Summary ", "[LLM Summary ", _BRIDGE)
_SUMMARY_HEAD = re.compile(r"\[(?:Context|LLM) Summary — (?P<count>\d{1,9}) messages? compacted\][ \t\r]*(?:\n|$)")
_SHRUNK = re.compile(
    r"\[(?P<name>[^\s\[\]:][^\n\[\]:]{0,119}): (?P<state>success|error) \((?P<chars>\d{1,12}) chars\)\] "
)
_TRIMMED = re.compile(r"\[(?P<name>[^\s\[\]:][^\n\[\]:]{0,119}): ")
_LAYER = re.compile(
    r"""(?:\[flowctx(?:-dsh)?:\ summary\ layer\ depth=\d{1,3}\ covering\ turns\ \d{1,9}-\d{1,9}\.
        \ Retrieve\ via\ flowctx_retrieve\(node="(?P<node>d\d{1,3}-\d{1,9}-\d{1,9})"\)\.?\][ \t\r]*\n)?
        <flowctx-history-summary(?P<condensed>-condensed)?\ depth="(?P<depth>\d{1,3})"
        \ span="turns\ (?P<first>\d{1,9})-(?P<last>\d{1,9})"[^>\n]{0,200}>""",
    re.VERBOSE,
)
_SUMMARY_DEPTH = re.compile(r' depth="(\d{1,4})"')
_SUMMARY_COUNT = re.compile(r' descendant_count="(\d{1,9})"')
_SUMMARY_REF = re.compile(r'<summary_ref id="(sum_[0-9A-Za-z]{1,64})"')
_BRIEF_ID = re.compile(r' id="([^"\n]{1,80})"')
# Elements that stand on lines of their own, or are a whole message: opening tag, closing tag.
_ELEMENTS: tuple[tuple[ArtefactKind, re.Pattern[str], str], ...] = (
    ("cortext_memory", re.compile(r"^<cortext_memory>", re.MULTILINE), "</cortext_memory>"),
    ("flowctx_handoff", re.compile(r"^<flowctx-handoff-note>", re.MULTILINE), "</flowctx-handoff-note>"),
    (
        "flowctx_scratchpad",
        re.compile(r'^<working_memory chars_current="(?P<count>\d{1,9})"[^>\n]{0,200}>', re.MULTILINE),
        "</working_memory>",
    ),
    (
        "lcm_focus_brief",
        re.compile(r"^<focus_brief (?P<rest>[^>\n]{0,400})>", re.MULTILINE),
        "</focus_brief>",
    ),
)
_FENCE = re.compile(r"^ {0,3}(?P<mark>`{3,40}|~{3,40})(?P<rest>[^\n]{0,200})$", re.MULTILINE)
_AFTER_REFERENCE = re.compile(r"\s{1,40}Exploration Summary:")
_MARKER_KINDS: dict[str, ArtefactKind] = {
    "flowctx": "flowctx_marker",
    "lcm_file": "lcm_file",
    "lcm_tool_output": "lcm_tool_output",
}


@dataclass(frozen=True, slots=True)
class Artefact:
    """One thing that a context engine wrote into a text, at `start` to `end`.

    `is_whole`: the text holds nothing else. `is_fenced`: it stands in a code block. `fits`: what it says of itself
    was checked against the text and is so (a marker's kept characters, a bridge's length, a reference's summary).
    `handle` is a hash, file, summary, node or brief id; `label` a kind, file or tool name; `count` the messages that a
    summary stands for, or characters in use; `turns` the first and last it covers; `sources` the summaries it was
    made from. Sizes are the artefact's own claims.
    """

    kind: ArtefactKind
    start: int
    end: int
    is_whole: bool = False
    is_fenced: bool = False
    fits: bool = False
    handle: str | None = None
    label: str | None = None
    count: int | None = None
    depth: int | None = None
    turns: tuple[int, int] | None = None
    sources: tuple[str, ...] = ()
    original_chars: int | None = None
    kept_chars: int | None = None
    original_bytes: int | None = None


def may_hold(text: str) -> bool:
    """Whether looking closer can find anything in `text`: a few plain searches, since every text is asked."""
    head = text[:200].lstrip()
    if head.startswith("["):
        is_short = len(text) < 2 * SHRUNK_FROM
        if head.startswith(_HEADS) or (is_short and text.rstrip().endswith((CUT_MARK, CUT_MARK + "]"))):
            return True
    # Written out, since this is asked of every text of an import; one character is found ten times as fast as several.
    return ("[" in text and ("[flowctx" in text or "[LCM " in text)) or (
        "<" in text and "</" in text and _has_tag(text)
    )


def _has_tag(text: str) -> bool:
    return (
        "<flowctx-h" in text
        or "<cortext_memory>" in text
        or "<working_memory " in text
        or "<focus_brief " in text
        or '<summary id="sum_' in text
    )


def find_artefacts(text: str) -> tuple[Artefact, ...]:
    """Everything in `text` that has the shape of an engine's artefact, in order. Whether it counts is for `counts_in`.

    Constructs that are whole messages are looked for at the text's beginning only, the others as lines.
    """
    if not may_hold(text):
        return ()
    start, end = _edges(text)
    whole = _whole(text, start, end)
    if whole:
        return whole
    fences = _fences(text)
    found = [*_elements(text, start, end, fences), *_markers(text, start, end, fences)]
    return tuple(sorted(found, key=lambda one: one.start))


def standing_markers(text: str) -> list[Marker]:
    """The markers of `text` that lead to something: its lines outside of code blocks, where people quote them, and
    one whose kept characters prove it wherever it stands."""
    markers = find_markers(text)
    if not markers or not ("```" in text or "~~~" in text):
        return markers
    fences, (_, end) = _fences(text), _edges(text)
    alone = sum(one.kind == "flowctx" for one in markers) == 1
    return [
        one for one in markers
        if not _is_inside(one.start, fences) or (alone and one.kind == "flowctx" and _adds_up(text, one, end))
    ]  # fmt: skip


def _edges(text: str) -> tuple[int, int]:
    """Where the text begins and ends without the white space round it."""
    start, end = 0, len(text)
    while start < min(end, MAX_EDGE) and text[start].isspace():
        start += 1
    while end > max(start, len(text) - MAX_EDGE) and text[end - 1].isspace():
        end -= 1
    return start, end


def _whole(text: str, start: int, end: int) -> tuple[Artefact, ...]:
    """The constructs that are a whole message; a run of flowctx's or lossless-claw's summaries is several."""
    if text.startswith(_BRIDGE, start):
        return _bridge(text, start, end)
    if (head := _SUMMARY_HEAD.match(text, start)) is not None:
        return (Artefact("openvole_summary", start, end, True, fits=True, count=int(head["count"])),)
    if text.startswith(("[flowctx", "<flowctx-history"), start):
        return _run(text, start, end, _layer)
    if text.startswith('<summary id="sum_', start):
        return _run(text, start, end, _summary)
    if text.startswith("[", start) and end - start < 2 * SHRUNK_FROM:
        return _shrunk(text[start:end], start)
    return ()


def _bridge(text: str, start: int, end: int) -> tuple[Artefact, ...]:
    fits = end - start in BRIDGE_CHARS
    is_one = end - start <= MOST_BRIDGE_CHARS and text.find("\n", start, end) < 0
    closes = text.find("]", start, end) == end - 1
    return (Artefact("cortext_bridge", start, end, True, fits=fits),) if is_one and (fits or closes) else ()


def _run(text: str, start: int, end: int, one: Callable[[str, int, int], Artefact | None]) -> tuple[Artefact, ...]:
    """Elements that follow one another with nothing but white space between; nothing where the text holds more."""
    found: list[Artefact] = []
    while start < end:
        artefact = one(text, start, end) if len(found) < MAX_ELEMENTS else None
        if artefact is None:
            return ()
        found.append(artefact)
        start = artefact.end
        while start < end and text[start].isspace():
            start += 1
    return tuple(found)


def _layer(text: str, start: int, end: int) -> Artefact | None:
    opened = _LAYER.match(text, start, end)
    if opened is None:
        return None
    closing = f"</flowctx-history-summary{opened['condensed'] or ''}>"
    at = text.find(closing, opened.end(), end)
    first, last, depth = int(opened["first"]), int(opened["last"]), int(opened["depth"])
    if at < 0:
        return None
    handle = opened["node"] or f"d{depth}-{first}-{last}"
    return Artefact("flowctx_summary", start, at + len(closing), True, fits=handle == f"d{depth}-{first}-{last}",
                    handle=handle, depth=depth, turns=(first, last))  # fmt: skip


def _summary(text: str, start: int, end: int) -> Artefact | None:
    marker = next((one for one in find_markers(text[start : start + 800].partition("\n")[0])), None)
    at = text.find("</summary>", start, end)
    if marker is None or marker.kind != "lcm_summary" or at < 0:
        return None
    tag = text[start : start + marker.end]
    content = text.find("<content>", start, at)
    sources = _SUMMARY_REF.finditer(text, start, content if content >= 0 else at)
    depth, count = _SUMMARY_DEPTH.search(tag), _SUMMARY_COUNT.search(tag)
    return Artefact(
        "lcm_summary", start, at + len("</summary>"), True, fits=content >= 0, handle=marker.handle,
        label=marker.label, count=int(count[1]) if count else None, depth=int(depth[1]) if depth else None,
        sources=tuple(match[1] for _, match in zip(range(MAX_SOURCES), sources, strict=False)),
    )  # fmt: skip


def _shrunk(text: str, start: int) -> tuple[Artefact, ...]:
    """A tool result as OpenVole's compactor or its trimmer leaves it: the whole text, and of their lengths."""
    head = _SHRUNK.match(text)
    if head is not None:
        kept = len(text) - head.end() - len(CUT_MARK)
        fits = text.endswith(CUT_MARK) and 0 < utf16(text[head.end() :]) - len(CUT_MARK) <= SHRUNK_TO
        if not fits or int(head["chars"]) <= SHRUNK_FROM:
            return ()
        return (Artefact("openvole_shrunk", start, start + len(text), True, fits=True, label=head["name"],
                         original_chars=int(head["chars"]), kept_chars=kept),)  # fmt: skip
    trimmed = _TRIMMED.match(text)
    if trimmed is None or not text.endswith(CUT_MARK + "]"):
        return ()
    kept = utf16(text[trimmed.end() :]) - len(CUT_MARK) - 1
    fits = 0 < kept <= TRIMMED_TO
    return (Artefact("openvole_shrunk", start, start + len(text), True, label=trimmed["name"],
                     kept_chars=kept),) if fits else ()  # fmt: skip


def _elements(text: str, start: int, end: int, fences: list[tuple[int, int]]) -> Iterator[Artefact]:
    """Elements whose tags begin and end a line."""
    for kind, opening, closing in _ELEMENTS:
        after = 0
        for _, opened in zip(range(MAX_ELEMENTS), opening.finditer(text), strict=False):
            if opened.start() < after:
                continue
            at = text.find(closing, opened.end())
            if at < 0:
                break  # the rest of the text has no closing tag either
            after = at + len(closing)
            if not _ends_line(text, after):
                continue
            groups = opened.groupdict()
            named = _BRIEF_ID.search(" " + groups["rest"]) if groups.get("rest") else None
            yield Artefact(
                kind, opened.start(), after, opened.start() <= start and after >= end,
                _is_inside(opened.start(), fences), fits=_ends_line(text, opened.end()),
                handle=named[1] if named else None, count=int(groups["count"]) if groups.get("count") else None,
            )  # fmt: skip


def _ends_line(text: str, at: int) -> bool:
    return not text[at : at + 200].partition("\n")[0].strip()


def _markers(text: str, start: int, end: int, fences: list[tuple[int, int]]) -> Iterator[Artefact]:
    """Markers and references that stand as lines."""
    markers = find_markers(text)
    flowctx = [one for one in markers if one.kind == "flowctx"]
    for one in markers:
        kind = _MARKER_KINDS.get(one.kind)
        if kind is None:
            continue
        if one.kind == "flowctx":
            fits = len(flowctx) == 1 and _adds_up(text, one, end)
            is_whole = fits
        else:
            fits = _AFTER_REFERENCE.match(text, one.end) is not None
            is_whole = one.start == start and (fits or one.end == end)
        yield Artefact(
            kind, one.start, one.end, is_whole, _is_inside(one.start, fences), fits, None if one.is_cut else one.handle,
            f"{one.label}:{one.content_type}" if one.kind == "flowctx" and one.content_type else one.label,
            original_chars=one.original_chars, kept_chars=one.kept_chars, original_bytes=one.original_bytes,
        )  # fmt: skip


def _adds_up(text: str, marker: Marker, end: int) -> bool:
    """Whether the text beside a flowctx marker is as long as the marker says was kept (engines.md 3.2)."""
    before, after = text[: marker.start], text[marker.end :]
    if not before.endswith("\n\n"):
        return False
    head = utf16(before) - 2
    tail = utf16(after) - 2 if after.startswith("\n\n") else 0
    trailing = len(text) - end
    return marker.kept_chars is not None and head + max(tail - trailing, 0) <= marker.kept_chars <= head + max(tail, 0)


def _fences(text: str) -> list[tuple[int, int]]:
    """The code blocks of a Markdown text; one that is never closed ends with the text."""
    found: list[tuple[int, int]] = []
    opened: re.Match[str] | None = None
    for _, one in zip(range(MAX_FENCES), _FENCE.finditer(text), strict=False):
        if opened is None:
            opened = one
        elif one["mark"].startswith(opened["mark"]) and not one["rest"].strip():
            found.append((opened.start(), one.end()))
            opened = None
    if opened is not None:
        found.append((opened.start(), len(text)))
    return found


def _is_inside(at: int, spans: list[tuple[int, int]]) -> bool:
    place = bisect_right(spans, (at, at)) - 1
    near = spans[max(place, 0) : place + 2]
    return any(start <= at < end for start, end in near)


def utf16(text: str) -> int:
    """The length of `text` as JavaScript counts it: engines write such lengths (engines.md 0.1)."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2
