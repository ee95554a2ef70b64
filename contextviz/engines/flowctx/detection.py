"""What a tool result is, as flowctx takes it: json, diff, code, test, search, log, cli-output or text (section 3.3).

The tests are JavaScript's, written so that none takes more than linear time on text made to be slow: where a pattern
may run over line ends, only the line that decides is looked at.
"""

from __future__ import annotations

import re
from typing import Literal

from contextviz.events.javascript import LINE_ENDS, SPACE, S, parse, trim_start

ContentType = Literal["json", "diff", "code", "test", "search", "log", "cli-output", "text"]

BLANK = "[" + "".join(one for one in SPACE if one not in LINE_ENDS) + "]"  # white space within a line
NOT_SPACE = "[^" + SPACE + "]"
OTHER_ENDS = re.compile("[\r\u2028\u2029]")
_FLAGS = re.ASCII | re.MULTILINE
_EXTENSION = re.compile(r"\.(?:ts|tsx|js|jsx|py|go|rs|java|c|cc|cpp|h|hpp|rb|php|cs|kt|swift)\b", re.ASCII)
_WORDS = "import|export|from|def|class|func|function|public|private|const|let|var|package"
_CODE = re.compile(f"^{BLANK}*(?:(?:{_WORDS}) |#include)", _FLAGS)
_DIFF = re.compile("^(?:diff --git |@@ )", _FLAGS)
_LOG = re.compile(rf"^{BLANK}*(?:\d{{4}}-\d{{2}}-\d{{2}}|\[\d|INFO|WARN|ERROR|DEBUG)", _FLAGS)
_TEST = re.compile(
    rf"^FAILED |^ok{S}+{NOT_SPACE}+{S}+[\d.]+s|\d (?:passed|failed)|test result:|^--- FAIL", _FLAGS | re.IGNORECASE
)
_OUTCOME = re.compile("passed|failed|error", re.ASCII)
_ANY_OUTCOME = re.compile("passed|failed|error", re.ASCII | re.IGNORECASE)
_LOCATOR = re.compile(r"[^\n\r\u2028\u2029]+?:\d+[:-][^\n\r\u2028\u2029]", re.ASCII)
_FENCE = "```"


def flat(text: str) -> str:
    """`text` with all of JavaScript's line ends as a line feed: the same to `^`, `.` and `\\s`."""
    return OTHER_ENDS.sub("\n", text)


def detect(text: str, tool_name: str | None = None) -> ContentType:
    """The content type; the first rule that holds."""
    if trim_start(text)[:1] in ("{", "[") and is_json(text):
        return "json"
    lined = flat(text)
    if _DIFF.search(lined):
        return "diff"
    if _EXTENSION.search((tool_name or "").lower()):
        return "code"
    lines = text.split("\n")
    if not _is_fenced(text) and sum(1 for line in lines if _CODE.search(flat(line))) >= 2:
        return "code"
    if _TEST.search(lined) or any(has_bar(line, any_case=True) for line in lined.split("\n")):
        return "test"
    if len(lines) >= 5 and 2 * sum(map(is_locator, lines)) >= len(lines):
        return "search"
    if len(lines) >= 20 and _LOG.search(lined):
        return "log"
    return "cli-output" if len(lines) >= 8 else "text"


def is_json(text: str) -> bool:
    """Whether JSON.parse takes the whole text."""
    try:
        parse(text)
    except ValueError:
        return False
    return True


def is_diff(text: str) -> bool:
    """Whether a line begins as a diff's header does."""
    return _DIFF.search(flat(text)) is not None


def _is_fenced(text: str) -> bool:
    first = text.find(_FENCE)
    return first >= 0 and text.rfind(_FENCE) >= first + len(_FENCE)


def is_locator(line: str) -> bool:
    """Whether a line begins as a search hit: something, a colon, digits, `:` or `-`, one more character."""
    return _LOCATOR.match(line) is not None


def has_bar(line: str, *, any_case: bool = False, at_start: bool = False) -> bool:
    """Whether an outcome stands between two runs of at least three `=` on one line, the first `at_start` of it."""
    first = line.find("===")
    if first < 0 or (at_start and first > 0):
        return False
    word = (_ANY_OUTCOME if any_case else _OUTCOME).search(line, first + 3)
    return word is not None and line.rfind("===") >= word.end()
