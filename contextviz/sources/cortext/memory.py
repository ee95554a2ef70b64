"""The plain tables of a Cortext memory (engines document, section 4.6).

The words of memories lie in a virtual table that needs the engine's own extension, and are not read; the plain tables
hold what was kept, when, how strong it is and how often it was recalled.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from typing import Any

from contextviz.events.engine_event import EngineEvent, Scalar
from contextviz.events.problem import ReadProblem
from contextviz.events.session import Session, Transcript
from contextviz.events.times import instant
from contextviz.sources.cortext.state import ENGINE
from contextviz.sources.sqlite import columns_of
from contextviz.sources.values import as_text

# What makes a SQLite file one of Cortext's.
SIGNATURE = {
    "memories": {"memory_id", "kind", "strength", "retrieved_count"},
    "signals": {"signal_id", "source_id"},
    "associations": {"source_memory_id", "target_memory_id"},
    "episodes": {"episode_id"},
}
TABLES = frozenset(
    {
        "memories", "signals", "associations", "episodes", "accumulators", "state", "memory_evictions",
        "memory_reconstructions", "soft_anchors",
    }
)  # fmt: skip
SCORES = ("score", "relevance", "mismatch", "surprise", "rarity", "drift", "contradiction", "utility", "salience",
          "valence", "arousal", "threshold_t")  # fmt: skip
MOST_EVENTS = 20_000


def is_memory(tables: Mapping[str, frozenset[str]] | None) -> bool:
    """Whether a store's tables are those of a Cortext memory."""
    return bool(tables) and all(columns <= (tables or {}).get(name, frozenset()) for name, columns in SIGNATURE.items())


def read_memory(connection: sqlite3.Connection, scope: str, file: str) -> Transcript:
    """One scope's memory: how much is in it, and when each signal was taken in, recalled or let go."""
    transcript = Transcript(Session(scope, ENGINE, title=f"Cortext memory of {scope}"), [file])
    session = transcript.session
    columns = {name: columns_of(connection, name) for name in TABLES}
    for name in sorted(TABLES):
        if columns[name]:
            session.counters[name] = _count(connection, name)
    kinds = "SELECT CAST(kind AS TEXT), count(*), sum(retrieved_count) FROM memories GROUP BY 1 ORDER BY 1"
    for kind, count, recalled in connection.execute(kinds):
        word = str(kind)[:40].lower()
        session.counters[f"memories_{word}"] = int(count)
        session.counters["recalled"] = session.counters.get("recalled", 0) + int(recalled or 0)
    for table, make in (("signals", _ingested), ("memory_reconstructions", _recalled), ("memory_evictions", _let_go)):
        _add_events(connection, table, columns[table], transcript, make)
    times = [event.at for event in transcript.engine_events if event.at is not None]
    session.started_at, session.ended_at = min(times, default=None), max(times, default=None)
    transcript.entries = sum(session.counters.get(name, 0) for name in TABLES)
    text = "the words of memories lie in a virtual table of the engine's own; counts, times and scores are read"
    transcript.problems.append(ReadProblem("not_readable_part", text, "info", file))
    return transcript


def _count(connection: sqlite3.Connection, table: str) -> int:
    return int(connection.execute(f'SELECT count(*) FROM "{table}"').fetchone()[0])


def _add_events(
    connection: sqlite3.Connection, table: str, columns: frozenset[str], transcript: Transcript, make: Any
) -> None:
    file = transcript.files[0]
    for number, row in enumerate(_rows(connection, table, columns)):
        if number == MOST_EVENTS:
            more = transcript.session.counters.get(table, 0) - number
            text = f"{more} more rows of {table} are counted and not listed one by one"
            transcript.problems.append(ReadProblem("more_findings", text, "info", file, value=more))
            return
        transcript.engine_events.append(make(row, file))


def _rows(connection: sqlite3.Connection, table: str, columns: frozenset[str]) -> Iterator[dict[str, Any]]:
    wanted = ("signal_id", "memory_id", "source_id", "timestamp", "created_at", "evicted_at", "modality", "trigger",
              "reason", "write_decision", *SCORES)  # fmt: skip
    here = [name for name in wanted if name in columns]
    if not here:
        return
    quoted = ", ".join(f'"{name}"' for name in here)
    for row in connection.execute(f'SELECT {quoted} FROM "{table}" ORDER BY rowid'):
        yield dict(row)


def _ingested(row: dict[str, Any], file: str) -> EngineEvent:
    data: dict[str, Scalar] = {"source": _word(row.get("source_id")), "modality": _word(row.get("modality"))}
    data["stored"] = None if row.get("write_decision") is None else bool(row["write_decision"])
    data["storeId"] = _number(row.get("memory_id"))
    data |= {name: value for name in SCORES if (value := _number(row.get(name))) is not None}
    return EngineEvent("message.ingested", ENGINE, _when(row), file, None, "disk", "exact", data)


def _recalled(row: dict[str, Any], file: str) -> EngineEvent:
    data: dict[str, Scalar] = {
        "tool": "recall", "key": f"memory {row.get('memory_id')}"[:80], "hit": True,
        "trigger": _word(row.get("trigger")),
    }  # fmt: skip
    return EngineEvent("retrieve", ENGINE, _when(row), file, None, "disk", "exact", data)


def _let_go(row: dict[str, Any], file: str) -> EngineEvent:
    data: dict[str, Scalar] = {
        "where": "maintain", "memory": _number(row.get("memory_id")), "reason": _word(row.get("reason"))
    }  # fmt: skip
    return EngineEvent("consolidation", ENGINE, _when(row), file, None, "disk", "exact", data)


def _when(row: dict[str, Any]) -> Any:
    return next((at for name in ("timestamp", "evicted_at", "created_at") if (at := instant(row.get(name)))), None)


def _word(value: object) -> str | None:
    text = as_text(value)
    return None if text is None else text[:200]


def _number(value: object) -> int | float | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 2**63 else None
