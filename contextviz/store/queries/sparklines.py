"""The window over the calls of many sessions at once, small enough for a row of a list."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any

import orjson
import zstandard

from contextviz.events.compaction import ToldSize, told_size
from contextviz.store.models import SessionSeriesRecord
from contextviz.store.values import SessionRow

# The whole series of a session is opened for its picture, about 30 µs for 100 calls; one list opens this many calls.
MOST_CALLS = 40_000
POINTS = 50
_MOST_BYTES = 1 << 28
_MOST_KEPT = 2000
Version = tuple[int, int, datetime]  # a session's id, its revision, and when it was last saved


@dataclass(frozen=True, slots=True)
class Sparkline:
    """At most 50 points over the main chain's calls. `tokens` are window tokens: reported, else the estimated sum, or
    what the client told after the compaction before where that is more; None where unknown. `marks` are places of
    compactions from 0 to 1; `window` in tokens, None where unknown."""

    tokens: tuple[int | None, ...]
    marks: tuple[float, ...]
    window: int | None


_kept: dict[Version, Sparkline] = {}  # this process's memory of pictures


def sparklines(rows: Iterable[SessionRow]) -> dict[int, Sparkline]:
    """Pictures for the sessions of one list, by session id. At most one query.

    Pictures are remembered until their session changes. A list whose sessions have more than 40,000 calls that were
    not drawn before gets the first ones' pictures now and the others' the next time.
    """
    found: dict[int, Sparkline] = {}
    wanted: dict[int, Version] = {}
    left = MOST_CALLS
    for row in rows:
        version = (row.id, row.revision, row.updated_at)
        known = _kept.get(version)
        if known is not None:
            found[row.id] = known
        elif row.call_count and (left == MOST_CALLS or row.call_count <= left):
            wanted[row.id] = version
            left -= row.call_count
    packed = SessionSeriesRecord.objects.filter(session_id__in=list(wanted)).values_list("session_id", "strips")
    for session_id, strips in packed:
        found[session_id] = _remember(wanted[session_id], _sparkline(bytes(strips)))
    return found


def _remember(key: Version, line: Sparkline) -> Sparkline:
    while len(_kept) >= _MOST_KEPT:
        _kept.pop(next(iter(_kept)), None)
    _kept[key] = line
    return line


def _sparkline(packed: bytes) -> Sparkline:
    table = orjson.loads(zstandard.ZstdDecompressor().decompress(packed, max_output_size=_MOST_BYTES)).get("") or {}
    calls = table.get("calls") or []
    columns = list((table.get("categories") or {}).values())
    reported = table.get("reported") or []
    compactions = table.get("compactions") or []
    told = [
        ToldSize(mark["number"], mark["after_call"], mark["tokens_after"])
        for mark in compactions if mark["after_call"] is not None and mark.get("on_active_path", True)
    ]  # fmt: skip
    tokens = tuple(
        reported[row] if reported[row] is not None else _unreported(columns, row, calls[row], told)
        for row in _chosen(len(calls))
    )
    windows = [value for value in table.get("window") or [] if value is not None]
    first, last = (calls[0], calls[-1]) if calls else (0, 0)
    places = [call for mark in compactions if (call := _place(mark)) is not None]
    span = max(last - first, 1)
    marks = tuple(sorted({round(min(max((call - first) / span, 0.0), 1.0), 3) for call in places}))
    return Sparkline(tokens, marks, max(windows, default=None))


@lru_cache(maxsize=256)
def _chosen(rows: int) -> tuple[int, ...]:
    if rows <= POINTS:
        return tuple(range(rows))
    return tuple(round(point * (rows - 1) / (POINTS - 1)) for point in range(POINTS))


def _unreported(columns: list[list[int | None]], row: int, call: int, told: list[ToldSize]) -> int | None:
    known = [value for column in columns if (value := column[row]) is not None]
    size = sum(known) if known else None
    more = told_size(told, call, size)
    return size if more is None else more.tokens


def _place(mark: Mapping[str, Any]) -> int | None:
    after, before = mark.get("after_call"), mark.get("before_call")
    if after is not None:
        return int(after)
    return None if before is None else int(before) + 1
