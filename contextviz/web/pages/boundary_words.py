"""What every page says alike of a compaction: its sizes and who made it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from contextviz.charts import words
from contextviz.events.compaction import Compaction

# Producers as their makers write them; others stand as the source names them.
PRODUCERS = {
    "openclaw": "OpenClaw", "codex": "Codex", "claude-code": "Claude Code", "cortext": "Cortext", "droid": "Droid",
    "copilot-cli": "Copilot CLI", "gemini-cli": "Gemini CLI", "kiro": "Kiro", "opencode": "OpenCode",
    "openhands": "OpenHands", "openvole": "OpenVole",
}  # fmt: skip
# A beginning that all summaries of a list share is left out of their previews from so many characters on.
SHARED_CHARS = 60


def window_sizes(one: Compaction, reported: Mapping[int, int | None]) -> tuple[int | None, int | None]:
    """Window tokens before and after, both reported; None where unknown.

    `reported` holds prompts by call number from 1. What the provider reported for the calls on both sides comes
    first, else the client's own numbers for both, else whatever is known of either side.
    """
    before = None if one.before_call is None else reported.get(one.before_call + 1)
    after = None if one.after_call is None else reported.get(one.after_call + 1)
    if before is not None and after is not None:
        return before, after
    if one.tokens_before is not None and one.tokens_after is not None:
        return one.tokens_before, one.tokens_after
    return before if before is not None else one.tokens_before, after if after is not None else one.tokens_after


def shared_beginning(summaries: Iterable[str]) -> int:
    """How many characters all of these begin with alike, up to the end of a line or sentence: a client's fixed words
    before the summary. 0 for less than SHARED_CHARS, and where there are not two different ones."""
    found = sorted(set(summaries))
    if len(found) < 2:
        return 0
    first, last = found[0], found[-1]  # what these two share all between them share too
    alike = next((at for at, char in enumerate(first) if last[at : at + 1] != char), len(first))
    end = max(first.rfind(mark, 0, alike) for mark in ("\n", ". ", ": ")) + 1
    return end if end >= SHARED_CHARS else 0


def producer_name(one: Compaction) -> str:
    """Who compacted, in the maker's spelling; "" where the source does not say."""
    return PRODUCERS.get(one.producer, one.producer) if one.producer else ""


def window_words(basis: str | None) -> str:
    """Where a context window is from that the source did not report, beside the number: "our table"; "" else."""
    return words.window_from(basis)
