"""The inspect report as a table that a person can read."""

from __future__ import annotations

from typing import Any, TextIO

from contextviz.sources.naming import format_name

DASH = "—"


def print_table(report: dict[str, Any], out: TextIO) -> None:
    """Print files, sessions, compactions, totals and problems as aligned text. Unknown is an em dash."""
    _print_sessions(report["sessions"], out)
    _print_beyond(report["sessions"], out)
    totals = report["totals"]
    out.write(
        f"\nTotal: {plural(totals['sessions'], 'session')}, {plural(totals['api_calls'], 'model call')}, "
        f"{number(totals['spend']['total'])} billed tokens (reported)\n"
    )
    aside = [one for one in report["files"] if not one["counted"]]
    if aside:
        out.write(f"\nNot counted ({len(aside)}):\n")
        out.writelines(f"  {safe(one['path'])}  {one['role']}: {safe(one['reason'] or DASH)}\n" for one in aside)
    problems = report["problems"] + [found for one in report["sessions"] for found in one["problems"]]
    if problems:
        out.write(f"\nProblems ({len(problems)}):\n")
        out.writelines(f"  {_problem_line(one)}\n" for one in problems)


def _print_sessions(sessions: list[dict[str, Any]], out: TextIO) -> None:
    # "messages" is what `import`, the pages and the API call so: tool results and what clients put in are among them.
    # The second are those that the format itself calls messages, of the main conversation (`messages` of --json).
    header = ["session", "format", "messages", "format's own", "calls", "compactions", "window use", "billed tokens",
              "read"]  # fmt: skip
    rows = [header] + [_session_row(one) for one in sessions]
    widths = [max(len(row[index]) for row in rows) for index in range(len(header))]
    for row in rows:
        pairs = list(zip(row, widths, strict=True))
        cells = [cell.ljust(width) for cell, width in pairs[:2]] + [cell.rjust(width) for cell, width in pairs[2:]]
        out.write("  ".join(cells).rstrip() + "\n")


def _print_beyond(sessions: list[dict[str, Any]], out: TextIO) -> None:
    """What clients' own totals have beyond the calls, a line a session; the table's billed tokens are the calls'."""
    found = [one for one in sessions if one["unlogged_spend"]]
    if found:
        out.write(f"\nNot by call, reported by the client's own total ({len(found)}):\n")
    for one in found:
        rest = one["unlogged_spend"]["total"] or 0
        whole = number((one["spend"]["total"] or 0) + rest)
        out.write(f"  {safe(one['id'])}  {number(rest)} tokens more; {whole} with the calls\n")


def _session_row(one: dict[str, Any]) -> list[str]:
    occupancy = one["occupancy"]
    used = DASH if occupancy["tokens"] is None else f"{number(occupancy['tokens'])} of {number(one['window'])}"
    coverage = one["lines"]["coverage"]
    return [
        safe(one["id"]) + ("" if one["generation"]["state"] == "active" else f" ({one['generation']['state']})"),
        format_name(one["format"]),
        number(one["held_messages"]),
        number(one["messages"]["total"]),
        number(one["api_calls"]),
        number(len(one["compactions"])),
        used,
        number(one["spend"]["total"]),
        DASH if coverage is None else f"{coverage:.2%}",
    ]


def _problem_line(one: dict[str, Any]) -> str:
    where = ":".join(str(part) for part in (one["file"], one["line"]) if part is not None)
    return f"{one['severity']}  {one['code']}  {safe(where or DASH)}  {safe(one['message'])}"


def number(value: int | None) -> str:
    """A count with thousands separators, or an em dash where unknown."""
    return DASH if value is None else f"{value:,}"


def plural(count: int, noun: str) -> str:
    """A count with its noun."""
    return f"{count:,} {noun}" + ("" if count == 1 else "s")


def safe(text: str) -> str:
    """Foreign text for a terminal: no control characters (escape sequences), at most 200 characters."""
    shown = "".join(char if char.isprintable() else "\ufffd" for char in text[:200])
    return shown + ("…" if len(text) > 200 else "")
