"""flowctx's rules for the output of tests and other commands: chosen by the whole content, applied line by line
(section 3.4)."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from contextviz.engines.flowctx.detection import NOT_SPACE, OTHER_ENDS, has_bar, is_locator
from contextviz.events.javascript import S, length16, trim

LineTest = Callable[[str], object]
Window = tuple[int, int]

# Escape sequences as the port's pattern takes them: two characters (those of OSC too, whose text stays), or CSI.
_ANSI = re.compile("\x1b(?:[@-Z\\\\-_]|\\[[0-?]*[ -/]*[@-~])")
_ONE = re.ASCII | re.IGNORECASE
_OUTCOME_LINE = re.compile(
    rf"^(?:FAIL(?:ED)?\b|PASS(?:ED)?\b|\d+ (?:passed|failed)|test result:|Tests:{S}|=== RUN|--- FAIL"
    rf"|ok{S}+{NOT_SPACE}+{S}+[\d.]+s)",
    _ONE | re.MULTILINE,
)
_SKIP = re.compile(rf"platform [^\n\r\u2028\u2029]|rootdir: |plugins: |collecting |collected \d+ item|{S}*\Z", re.ASCII)
_KEEP_START = re.compile(rf"FAILED |ERROR |E{S}|>{S}|ok{S}", re.ASCII)
_KEEP_ANY = re.compile(
    r"AssertionError|Error:|panic:|(?:FAILED|ERROR|FAIL)\b|\d (?:passed|failed|error|skipped)|test result:|--- FAIL",
    re.ASCII,
)
_FAILED = re.compile(rf"(?:^|{S})(?:FAILED|FAIL)\b", _ONE)
_PASSED = re.compile(rf"(?:^|{S})(?:PASSED|PASS|ok)\b", _ONE)
_TROUBLE = re.compile("error|warning|binary file|permission denied|no such file", re.ASCII)
_MATCHES = re.compile(r"[0-9]+ match(?:es)?\Z")


@dataclass(frozen=True, slots=True)
class CliRule:
    """A rule: lines to drop, lines to keep alone, what is counted, and how many lines of head and tail stay where the
    command succeeded and where it failed."""

    id: str
    skip: LineTest | None
    keep: LineTest | None
    counters: tuple[tuple[str, LineTest], ...]
    succeeded: Window
    failed: Window


def _keeps_test_line(line: str) -> bool:
    if _KEEP_START.match(line) or _KEEP_ANY.search(line):
        return True
    if line.startswith("__") and line.endswith("__") and len(line) > 4 and OTHER_ENDS.search(line) is None:
        return True
    return any(has_bar(part) or _panicked(part) for part in OTHER_ENDS.split(line))


def _panicked(part: str) -> bool:
    start = part.find("thread '")
    return start >= 0 and part.find("' panicked", start + 8) >= 0


def _keeps_search_line(line: str) -> bool:
    return is_locator(line) or bool(_TROUBLE.search(line)) or bool(_MATCHES.match(line))


TESTS = CliRule(
    "content/test-results", _SKIP.match, _keeps_test_line, (("failed", _FAILED.search), ("passed", _PASSED.search)),
    (10, 12), (16, 18),
)  # fmt: skip
SEARCH = CliRule("content/search", None, _keeps_search_line, (("match", is_locator),), (14, 8), (16, 16))
FALLBACK = CliRule("generic/fallback", None, None, (), (40, 20), (60, 40))


def choose_cli_rule(text: str) -> CliRule:
    """The rule for an output: the first whose sign some line begins with."""
    lines = text.split("\n")
    if _OUTCOME_LINE.search(text):
        return TESTS
    if any(line.startswith("===") and has_bar(_first_part(line), any_case=True, at_start=True) for line in lines):
        return TESTS
    return SEARCH if any(map(is_locator, lines)) else FALLBACK


def _first_part(line: str) -> str:
    return OTHER_ENDS.split(line, maxsplit=1)[0]


def reduce_output(text: str, exit_code: int = 0) -> str | None:
    """Choose a rule and apply it; None where nothing is gained."""
    return apply_rule(choose_cli_rule(text), text, exit_code)


def apply_rule(rule: CliRule, text: str, exit_code: int = 0) -> str | None:
    """The lines that a rule leaves, counts in front; counts are of the lines before any is dropped by the rule."""
    lines = _without_doubles(_without_edges(_ANSI.sub("", text).split("\n")))
    counts = [(name, sum(1 for line in lines if test(line))) for name, test in rule.counters]
    if rule.skip is not None:
        lines = [line for line in lines if not rule.skip(line)]
    if rule.keep is not None:
        lines = [line for line in lines if rule.keep(line)] or lines
    head, tail = rule.failed if exit_code != 0 else rule.succeeded
    if len(lines) > head + tail:
        lines = [*lines[:head], f"... omitted {len(lines) - head - tail} lines ...", *lines[-tail:]]
    told = "; ".join(f"{name}: {number}" for name, number in counts if number)
    made = (f"{told}\n" if told else "") + "\n".join(lines)
    return None if made == text or length16(made) >= length16(text) else made


def _without_edges(lines: list[str]) -> list[str]:
    first, last = 0, len(lines)
    while first < last and not trim(lines[first]):
        first += 1
    while last > first and not trim(lines[last - 1]):
        last -= 1
    return lines[first:last]


def _without_doubles(lines: list[str]) -> list[str]:
    return [line for place, line in enumerate(lines) if place == 0 or line != lines[place - 1]]
