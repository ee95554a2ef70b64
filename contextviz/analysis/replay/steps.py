"""A run's windows one after the other, as what each drops of the one before and what it adds."""

from __future__ import annotations

from collections.abc import Iterator

from contextviz.events.run import KEY_EVERY, WindowLog, edit_between

Step = tuple[list[int], list[int]]


def steps(log: WindowLog) -> Iterator[Step]:
    """For each window the items (positions) that went and that came; one that only moved is in both.

    The whole windows that the log keeps are compared with the one before, so they too cost only what changed.
    """
    window: list[int] = []
    for number, edit in enumerate(log.edits):
        if number % KEY_EVERY == 0:
            edit = edit_between(window, list(edit.tail))
        if edit.end > edit.start:
            gone = window[edit.keep : edit.start] + window[edit.end :]
            del window[edit.end :]
            window[edit.keep : edit.start] = edit.insert
        else:
            gone = window[edit.keep :]
            window[edit.keep :] = edit.insert
        window.extend(edit.tail)
        yield gone, [*edit.insert, *edit.tail]
