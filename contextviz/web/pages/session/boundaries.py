"""Compactions at their place in the transcript."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from django.urls import reverse
from django.utils.safestring import SafeString

from contextviz.analysis.strip import StripTable
from contextviz.analysis.transcript import one_line
from contextviz.charts import words
from contextviz.events.compaction import Compaction
from contextviz.sources.registry import READERS
from contextviz.web.pages.boundary_words import producer_name, shared_beginning, window_sizes
from contextviz.web.pages.session.place import Place
from contextviz.web.pages.session.shown import beginning, joined, quiet
from contextviz.web.templatetags.masked import masked

SUMMARY_CHARS = 260
HEAD_BYTES = 16_000  # as much of a summary as its preview looks at
KINDS = {"summary": "", "trim": "trim", "clear": "trim", "microcompact": "trim", "reset": "trim"}


@dataclass(frozen=True, slots=True)
class CompactionRow:
    """One compaction as components/compaction_row.html draws it."""

    # DOM id
    id: str
    # Its number, as people read it
    number: int
    # Its own page
    url: str
    # "" for a summary, trim for what only dropped, failed
    kind: str
    # Window tokens before and after, as every page of the compaction says them
    before: int | None
    after: int | None
    # after − before, and its share of before, negative when it shrank
    delta: int | None
    share: float | None
    # Trigger, duration, engine, in one line
    facts: str
    # The first words of the summary, escaped and masked
    summary: SafeString
    # The session with A just before and B just after it; "" where the calls are not known
    ab_url: str
    # "calls 31 → 32"
    ab_text: str
    # Loss states are the compaction's own page's matter: they need the whole boundary
    losses: tuple[tuple[str, int], ...] = ()
    needed_later: int | None = None


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What rows are told besides themselves."""

    # The window in tokens, None where it is not known
    window: int | None
    # Reported prompts by call number
    reported: Mapping[int, int]
    # Whether the session's format writes what tools gave
    has_results: bool = True


def surroundings(table: StripTable, window: int | None, format: str) -> Surroundings:
    """The reported prompts beside the table's compactions, and what is known of the session's format."""
    sizes: dict[int, int] = {}
    for call in {call for mark in table.compactions for call in (mark.before_call, mark.after_call)}:
        at = bisect_left(table.calls, call) if call is not None else len(table.calls)
        size = table.reported[at] if at < len(table.calls) and table.calls[at] == call else None
        if call is not None and size is not None:
            sizes[call] = size
    declared = next((reader.declares[format] for reader in READERS if format in reader.declares), None)
    return Surroundings(window, sizes, declared is None or "tool_pairs" in declared.features)


def previews(compactions: Iterable[Compaction], texts: Mapping[bytes, bytes]) -> Mapping[bytes, bytes]:
    """The beginnings of these compactions' summaries by digest, as far as `texts` has them, without the words that
    all begin with: else the previews of one client look alike."""
    wanted = {one.summary.digest for one in compactions if one.summary is not None}
    heads = {
        digest: texts[digest][:HEAD_BYTES].decode("utf-8", errors="ignore") for digest in wanted if digest in texts
    }
    fixed = shared_beginning(heads.values())
    return {digest: (f"… {text[fixed:]}" if fixed else text).encode() for digest, text in heads.items()}


def compaction_row(one: Compaction, place: Place, around: Surroundings, texts: Mapping[bytes, bytes]) -> CompactionRow:
    """A compaction's row; `texts` holds the beginning of its summary (see `previews`)."""
    before, after = window_sizes(one, around.reported)
    delta = None if before is None or after is None else after - before
    a = None if one.before_call is None else one.before_call + 1
    b = None if one.after_call is None else one.after_call + 1
    between = a is not None and b is not None
    return CompactionRow(
        id=f"c-{one.number}",
        number=one.number,
        url=reverse("compaction", args=[place.session_id, one.number]),
        kind="failed" if one.problem and one.summary is None else KINDS[one.kind],
        before=before,
        after=after,
        delta=delta,
        share=delta / before if delta is not None and before else None,
        facts=_facts(one, before, around.window),
        summary=_summary(one, texts),
        ab_url=place.url(anchor=f"c-{one.number}", a=a, b=b, call=b, after=None, before=None, message=None)
        if between
        else "",
        ab_text=f"calls {a:,} → {b:,}" if a is not None and b is not None else "",
    )


def _facts(one: Compaction, before: int | None, window: int | None) -> str:
    trigger = one.trigger or "trigger not recorded"
    if window and before and one.trigger:
        trigger = f"{one.trigger} at {words.percent(before / window)}"
    kind = one.kind if one.kind != "summary" else ""
    lasted = words.duration(one.duration_seconds) if one.duration_seconds is not None else ""
    past = "" if one.on_active_path else "on a branch that was left"
    return joined([kind, trigger, lasted, f"by {producer_name(one)}" if one.producer else "", past, one.problem or ""])


def _summary(one: Compaction, texts: Mapping[bytes, bytes]) -> SafeString:
    if one.summary is None:
        return SafeString("")
    text = quiet(beginning(texts.get(one.summary.digest, b""), 4000))
    return masked(one_line(text, SUMMARY_CHARS))


def nearest(compactions: Sequence[Compaction], agent: str | None, a: int | None, b: int | None) -> int | None:
    """The number of the last compaction between two calls (from 1) of an agent's window, None without one."""
    if a is None or b is None or a >= b:
        return None
    found = None
    for one in compactions:
        if one.agent == agent and one.after_call is not None and a <= one.after_call and one.after_call + 1 <= b:
            found = one.number
    return found
