"""Identifiers of a line or sentence: commands, error lines, quoted literals, directives, decisions, open items."""

from __future__ import annotations

import re
from collections.abc import Iterator

from contextviz.events.identifiers.kinds import COMMANDS, WEAK_COMMANDS
from contextviz.events.identifiers.words import Span, classify

MAX_LINE = 2000
MAX_SENTENCE = 300
_LINE = re.compile(r"[^\n\r]+")
_PROMPT = re.compile(r"\s{0,40}(?:[\w.@~/:-]{0,60}[$#%>] {1,4}|(?:[-*+]|\d{1,3}\.) {1,3})?")
_SETTING = re.compile(r"(?:[A-Z_][A-Z0-9_]{0,40}=\S{0,100} +){1,5}")
_FIRST = re.compile(r"(?P<word>[A-Za-z0-9_.+/~-]{1,100})(?: +(?P<rest>.{1,1000}))?")
_IN_JSON = re.compile(r'"(?:command|cmd)" ?: ?"((?:[^"\\\n]|\\[^\n]){2,1000})"')
_TICKS = re.compile(r"`([^`\n]{2,200})`")
_QUOTED = re.compile(r'(?<![\w\\])(?:"([^"\n\\]{4,160})"|“([^”\n]{4,160})”)(?! ?:)')
_ERROR_LINE = re.compile(
    r"\s{0,20}(?:E {2,6})?(?:(?:[A-Za-z_]\w{0,60}\.){0,6}[A-Z]\w{0,60}(?:Error|Exception)\b: .{3,400}"
    r"|(?:error|fatal|panic)(?:\[\w{1,10}\])?: .{3,400}|FAILED .{3,400}|ERROR[: ] ?.{3,400}|npm ERR! .{3,400})$"
)
_EXIT = re.compile(
    r"\b(?:exit(?:ed)?(?: with)?(?: code| status)?|errno|HTTP(?:/\d\.\d)?|status(?: code)?)[ :=]{1,3}\d{1,3}\b",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"[^.!?\n]+(?:(?:\.{2,4}(?= )|[.!?](?!\s|$))[^.!?\n]*)*")
_DIRECTIVE = re.compile(
    r"\b(?:never|always|must(?: not)?|do not|don['’]t|make sure|be sure|ensure that|under no circumstances"
    r"|no matter what|only ever|at all times)\b"
    r"|^(?:please )?(?:keep|avoid|prefer|remember|stop|use only|leave|run it|wait for) ",
    re.IGNORECASE,
)
_DECISION = re.compile(
    r"\b(?:(?:i|we|they)(?:['’]ve| have)? )?(?:decided|chose|chosen|opted|settled on|agreed (?:to|on|that)|going with"
    r"|went with|picked|ruled out|rejected)\b",
    re.IGNORECASE,
)
_OPEN = re.compile(
    r"(?:[-*+] )?\[ \] (?P<box>[^\n]{2,300})|\b(?:TODO|FIXME)\b(?:\([^)\n]{1,40}\))?[: ]{1,3}(?P<todo>[^\n]{2,300})"
)
# What must stand in a text, in small letters, before a pattern is tried on it: patterns that ignore case are slow. An i
# is left out or given both ways, since such a pattern takes a dotless one for it and folding does not.
_EXIT_STEMS = ("exi", "exı", "errno", "http", "status")
_OPEN_STEMS = ("[ ]", "TODO", "FIXME")
_DIRECTIVE_STEMS = (
    "ever", "always", "must", "do not", "don'", "don’", "make sure", "be sure", "ensure that", "under no c",
    "no matter what", "at all t", "keep ", "avo", "prefer ", "remember ", "stop ", "use only ", "leave ", "run ",
    "t for ",
)  # fmt: skip
_DECISION_STEMS = ("ded", "chose", "opted", "settled on", "agreed ", "ng w", "went w", "cked", "ruled out", "rejected")


def find_lines(text: str) -> Iterator[Span]:
    """Commands, error lines and open items, line by line. Of generic error lines only the first counts."""
    seen_error = False
    for match in _LINE.finditer(text):
        line = match[0][:MAX_LINE]
        if not seen_error and _ERROR_LINE.match(line):
            seen_error = True
            yield "error", match.start() + len(line) - len(line.lstrip()), match.start() + min(len(line.rstrip()), 240)
        yield from _commands(line, match.start())
    if _has(text.casefold(), _EXIT_STEMS):
        for match in _EXIT.finditer(text):
            yield "error", match.start(), match.end()
    if _has(text, _OPEN_STEMS):
        for match in _OPEN.finditer(text):
            group = match.lastgroup or "todo"
            yield "open_item", match.start(group), match.end(group)


def _has(text: str, stems: tuple[str, ...]) -> bool:
    return any(stem in text for stem in stems)


def _commands(line: str, offset: int) -> Iterator[Span]:
    found = _PROMPT.match(line)
    start = found.end() if found else 0
    end = len(line.rstrip())
    if is_command(line[start:end]):
        yield "command", offset + start, offset + end
    for sign, pattern in (('"c', _IN_JSON), ("`", _TICKS)):
        if sign not in line:
            continue
        for match in pattern.finditer(line):
            if (pattern is _IN_JSON and " " in match[1]) or is_command(match[1]):
                yield "command", offset + match.start(1), offset + match.end(1)


def is_command(text: str) -> bool:
    """Whether a text is a shell command: a known program with arguments (alone it is a mere name)."""
    setting = _SETTING.match(text)
    match = _FIRST.match(text, setting.end() if setting else 0)
    if match is None or match["rest"] is None:
        return False
    word, rest = match["word"], match["rest"]
    if word in WEAK_COMMANDS:
        return re.match(WEAK_COMMANDS[word], rest) is not None
    if word.startswith(("./", "/usr/")):
        return True
    name = word.rpartition("/")[2] if "bin/" in word else word
    return name in COMMANDS and not re.match(r"(?:is|was|are|has|does|will|can|should|and|or|to|the|a)\b", rest)


def find_quotes(text: str) -> Iterator[Span]:
    """Quoted literals that are not identifiers of another class; keys of JSON are not quotes."""
    for match in _QUOTED.finditer(text):
        group = match.lastindex or 1
        inside = match[group]
        if inside != inside.strip() or not any(char.isalnum() for char in inside) or classify(inside):
            continue
        if " " in inside or not inside.isalnum():
            yield "quote", match.start(group), match.end(group)
    for match in _TICKS.finditer(text):
        inside = match[1]
        if inside == inside.strip() and classify(inside) is None and not is_command(inside):
            yield "quote", match.start(1), match.end(1)


def find_sentences(text: str, *, directives: bool) -> Iterator[Span]:
    """Decisions, and where `directives` (the user's own words) what the user asked to hold."""
    for match in _SENTENCE.finditer(text):
        sentence = match[0]
        bare = sentence.strip(" \t\r\"'“”*_-")
        if not 8 <= len(bare) <= MAX_SENTENCE or " " not in bare:
            continue
        start = match.start() + sentence.index(bare)
        folded = bare.casefold()
        if directives and _has(folded, _DIRECTIVE_STEMS) and _DIRECTIVE.search(bare):
            yield "directive", start, start + len(bare)
        elif _has(folded, _DECISION_STEMS) and _DECISION.search(bare):
            yield "decision", start, start + len(bare)
