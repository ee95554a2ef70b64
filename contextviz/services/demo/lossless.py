"""The demo's summary store: a long triage folded into summaries of depth 0 to 2, as lossless-claw keeps it."""

from __future__ import annotations

import hashlib
import sqlite3
from datetime import timedelta
from pathlib import Path

from contextviz.services.demo.story import START, Story
from contextviz.tokens.estimate import estimate

SESSION = "triage-nightly-2026-11-24"
MESSAGES, PER_LEAF, FAN_IN, FRESH = 96, 8, 4, 16
SCHEMA = """
CREATE TABLE conversations (conversation_id INTEGER PRIMARY KEY, session_id TEXT, title TEXT, bootstrapped_at TEXT, created_at TEXT, updated_at TEXT);
CREATE TABLE messages (message_id INTEGER PRIMARY KEY, conversation_id INTEGER, seq INTEGER, role TEXT, content TEXT, token_count INTEGER, created_at TEXT);
CREATE TABLE message_parts (part_id TEXT PRIMARY KEY, message_id INTEGER, session_id TEXT, part_type TEXT, ordinal INTEGER, text_content TEXT, tool_call_id TEXT, tool_name TEXT, tool_input TEXT, tool_output TEXT, metadata TEXT);
CREATE TABLE summaries (summary_id TEXT PRIMARY KEY, conversation_id INTEGER, kind TEXT, depth INTEGER, content TEXT, token_count INTEGER, earliest_at TEXT, latest_at TEXT, descendant_count INTEGER, descendant_token_count INTEGER, source_message_token_count INTEGER, created_at TEXT, file_ids TEXT, model TEXT);
CREATE TABLE summary_messages (summary_id TEXT, message_id INTEGER, ordinal INTEGER);
CREATE TABLE summary_parents (summary_id TEXT, parent_summary_id TEXT, ordinal INTEGER);
CREATE TABLE context_items (conversation_id INTEGER, ordinal INTEGER, item_type TEXT, message_id INTEGER, summary_id TEXT, created_at TEXT);
"""


def write_lossless(folder: Path) -> None:
    """Write lcm.db below `folder`: 96 messages, 10 leaves, 2 condensed of depth 1, 1 of depth 2."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "lcm.db"
    path.unlink(missing_ok=True)
    story = Story(20261126)
    with sqlite3.connect(path) as connection:
        connection.executescript(SCHEMA)
        connection.execute(
            "INSERT INTO conversations VALUES (1, ?, 'Nightly triage: queue depth', NULL, ?, ?)",
            (SESSION, _at(0), _at(MESSAGES)),
        )
        for number in range(1, MESSAGES + 1):
            role, text = _message(story, number)
            connection.execute(
                "INSERT INTO messages VALUES (?, 1, ?, ?, ?, ?, ?)",
                (number, number - 1, role, text, estimate(text), _at(number)),
            )
        _fold(connection)
    connection.close()


def _message(story: Story, number: int) -> tuple[str, str]:
    if number % 8 == 1:
        return (
            "user",
            f"Queue {story.pick(['orders', 'mail', 'prices'])} is at {200 + number * 7} jobs. What holds it up?",
        )
    if number % 2:
        return "tool", story.server_log(18)
    return (
        "assistant",
        f"Worker {number % 5} holds {story.pick(['a lock', 'a slow query', 'the import'])} since {number % 60} s; I look at {story.short_id()} next.",
    )


def _fold(connection: sqlite3.Connection) -> None:
    folded = MESSAGES - FRESH
    leaves = [
        _summary(connection, 0, list(range(first, first + PER_LEAF)), []) for first in range(1, folded + 1, PER_LEAF)
    ]
    middle = [_summary(connection, 1, [], leaves[first : first + FAN_IN]) for first in (0, FAN_IN)]
    top = _summary(connection, 2, [], middle)
    order: list[tuple[str, int | None, str | None]] = [("summary", None, one) for one in (top, *leaves[2 * FAN_IN :])]
    order += [("message", number, None) for number in range(folded + 1, MESSAGES + 1)]
    rows = [(ordinal, kind, message, summary, _at(MESSAGES)) for ordinal, (kind, message, summary) in enumerate(order)]
    connection.executemany("INSERT INTO context_items VALUES (1, ?, ?, ?, ?, ?)", rows)


def _summary(connection: sqlite3.Connection, depth: int, messages: list[int], sources: list[str]) -> str:
    span = messages or [
        row[0]
        for source in sources
        for row in connection.execute("SELECT message_id FROM summary_messages WHERE summary_id = ?", (source,))
    ]
    what = f"Messages {span[0]} to {span[-1]}" if span else f"{len(sources)} summaries"
    text = f"{what}: the queues were held up by a slow query and by the nightly import; the worker's lock is freed after 45 s. Depth {depth}."
    summary = "sum_" + hashlib.sha256(f"{depth}{messages}{sources}".encode()).hexdigest()[:16]
    first, last = (span[0], span[-1]) if span else (1, MESSAGES - FRESH)
    kind = "condensed" if sources else "leaf"
    row = (
        summary,
        1,
        kind,
        depth,
        text,
        estimate(text),
        _at(first),
        _at(last),
        len(sources),
        0,
        0,
        _at(last + 1),
        "[]",
        "gpt-5-mini",
    )
    connection.execute("INSERT INTO summaries VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
    connection.executemany(
        "INSERT INTO summary_messages VALUES (?, ?, ?)",
        [(summary, message, ordinal) for ordinal, message in enumerate(messages)],
    )
    connection.executemany(
        "INSERT INTO summary_parents VALUES (?, ?, ?)",
        [(summary, source, ordinal) for ordinal, source in enumerate(sources)],
    )
    return summary


def _at(number: int) -> str:
    return f"{START + timedelta(seconds=number * 95):%Y-%m-%d %H:%M:%S}"
