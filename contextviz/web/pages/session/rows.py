"""Rows of the transcript: one a block, a tool call with its result in one line that opens."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

from django.urls import get_script_prefix, reverse
from django.utils.html import escape

from contextviz.analysis.transcript import call_arguments, one_line, result_line, tool_line
from contextviz.charts import words
from contextviz.events.masking import safe_cut
from contextviz.events.message import Block, Message
from contextviz.web.pages.session.diff import DiffLine, diff_of
from contextviz.web.pages.session.prose import prose
from contextviz.web.pages.session.shown import (
    NOTHING,
    Shown,
    beginning,
    both_ends,
    joined,
    line_count,
    quiet,
    shown,
)
from contextviz.web.pages.session.traces import LINK_BYTES, NO_TRACE, OriginalLink, trace_of
from contextviz.web.templatetags.masked import masked

BYTES_A_CHAR = 3  # of HTML: escapes and disclosures may not make a page many times its text
LONG_CALL = 50_000
FOLDED_CHARS = 400  # of what is seen only when it is opened; all of it is one click further
MOST_BLOCKS = 40
FOLDED = {"thinking": "Thinking", "injected": "Injected", "system": "System prompt", "tools": "Tool definitions",
          "summary": "Summary"}  # fmt: skip
CATEGORIES = {"thinking": "thinking", "injected": "memory", "system": "system", "tools": "tools",
              "summary": "summary", "tool_call": "call", "tool_result": "result"}  # fmt: skip
# Tools that start a sub-agent, as the agents that we read call them.
SPAWNS = frozenset({"Task", "Agent", "task", "spawn_agent", "sessions_spawn"})
# What stands for a message and a block in an address made once, and is in no session's number.
_MESSAGE, _BLOCK = "4000000000000001", "4000000000000002"
Place = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Result:
    """A tool's result where its call stands: the message and block it lies in."""

    message: Message
    place: Place
    block: Block


@dataclass(frozen=True, slots=True)
class Row:
    """One row of the transcript. `form` chooses its markup: text, fold, tool, image or note."""

    # The DOM id: m-<message> for a message's first row, else m-<message>-<block>
    id: str
    form: str
    # Which keys stop at the row, with blanks between: user (J), error (x), subagent (u), or nothing
    kind: str
    # The category of its swatch
    category: str
    # Who speaks, or the tool's name
    name: str
    # Whether it is off the path that led to the session's end
    is_past: bool
    # Estimated tokens of what the row shows, its result included; None where that cannot be said
    tokens: int | None
    # The text, bounded
    text: Shown = NOTHING
    # One line: a tool's telling argument, a fold's first words
    line: str = ""
    # What came of it: exit code, duration, lines and size, what the model saw of it
    facts: str = ""
    # A tool's result, bounded, and the id of the message it lies in
    output: Shown = NOTHING
    output_id: str = ""
    # Whether the result is an error
    is_error: bool = False
    # An edit's lines
    diff: tuple[DiffLine, ...] = ()
    # The originals that markers in its text, or in its result, name
    originals: tuple[OriginalLink, ...] = ()
    # The call's number in the gutter, once a call, with its address
    call: int | None = None
    call_url: str = ""

    @property
    def size(self) -> int:
        """About how many bytes of HTML its texts make."""
        inner = sum(len(line.html) + 12 for line in self.diff)
        links = LINK_BYTES * len(self.originals)
        texts = len(self.text.html) + len(self.output.html) + len(escape(self.line)) + len(escape(self.facts))
        return texts + inner + links


@dataclass(frozen=True, slots=True)
class Maker:
    """Makes rows of messages. `texts` holds bytes by digest, `level` how many characters of each are shown; `is_raw`
    shows what was written without reading it as Markdown."""

    session_id: int
    texts: Mapping[bytes, bytes]
    level: int
    is_raw: bool = False
    # The first message whose calls may still get results; None where none can
    waits_from: int | None = None

    def rows(self, message: Message, results: Mapping[Place, Result], merged: frozenset[Place]) -> list[Row]:
        """The rows of one message; results that stand with their calls are left out."""
        found: list[Row] = []
        for at, block in enumerate(message.blocks[:MOST_BLOCKS]):
            if (message.index, at) not in merged:
                row_id = f"m-{message.index}" if not found else f"m-{message.index}-{at}"
                result = results.get((message.index, at))
                found.append(self._traced(self._row(message, at, block, row_id, result), message, block, result))
        left = len(message.blocks) - MOST_BLOCKS
        if left > 0:
            name, category = _speaker(message)
            whole = Shown(NOTHING.html, True, 0, 0, reverse("message", args=[self.session_id, message.index]))
            found.append(Row(f"m-{message.index}-more", "note", "", category, name, False, None, whole,
                             facts=f"{words.counted(left, 'more block')} in this message"))  # fmt: skip
        if not message.blocks:
            found.append(Row(f"m-{message.index}", "note", "", _speaker(message)[1], _speaker(message)[0], False, 0,
                             facts="no content was written"))  # fmt: skip
        return found

    def _row(self, message: Message, at: int, block: Block, row_id: str, result: Result | None) -> Row:
        makers: dict[str, Callable[[Message, int, Block, str], Row]] = {
            "text": self._text, "image": self._image, "tool_result": self._result,
        }  # fmt: skip
        if block.kind == "tool_call":
            return self._tool(message, at, block, row_id, result)
        return makers.get(block.kind, self._fold)(message, at, block, row_id)

    def _traced(self, row: Row, message: Message, block: Block, result: Result | None) -> Row:
        """The row with what a context engine left in its text, or in its result."""
        of, inner = (message, block) if result is None else (result.message, result.block)
        trace = trace_of(of, inner, self.texts.get(inner.text.digest, b""))
        if trace is NO_TRACE or not (trace.says or trace.originals):
            return row
        says = trace.says[:1].upper() + trace.says[1:]
        if row.form == "fold" and block.kind in ("summary", "injected", "system"):
            return replace(row, name=says or row.name, originals=trace.originals)
        return replace(row, facts=joined([trace.says, row.facts]), originals=trace.originals)

    def _shown(self, message: Message, at: int, block: Block, limit: int | None = None) -> Shown:
        data = self.texts.get(block.text.digest, b"")
        level = self.level if limit is None else limit
        return shown(
            beginning(data, level), chars=block.text.chars, limit=level, most_bytes=level * BYTES_A_CHAR,
            url=block_url(self.session_id, message.index, at),
            unmask=unmask_url(self.session_id, message.index, at),
            render=prose if self._is_prose(message, block) else masked,
        )  # fmt: skip

    def _is_prose(self, message: Message, block: Block) -> bool:
        # A client's own words to the model are in a fold, as they were sent; what a tool gave is nobody's Markdown.
        return not self.is_raw and block.kind == "text" and (message.role == "assistant" or message.is_human)

    def _text(self, message: Message, at: int, block: Block, row_id: str) -> Row:
        name, category = _speaker(message)
        kind = "user" if message.is_human else ""
        if message.role == "user" and not message.is_human and message.agent is None:
            return self._fold(message, at, block, row_id, name=name, category=category)
        text = self._shown(message, at, block)
        return Row(row_id, "text", kind, category, name, not message.on_active_path, block.text.estimated_tokens, text)

    def _fold(self, message: Message, at: int, block: Block, row_id: str, name: str = "", category: str = "") -> Row:
        text = self._shown(message, at, block, min(self.level, FOLDED_CHARS))
        first = one_line(quiet(beginning(self.texts.get(block.text.digest, b""), 200))[:400], 100)
        return Row(
            row_id, "fold", "", category or CATEGORIES.get(block.kind, "system"),
            name or FOLDED.get(block.kind, block.kind), not message.on_active_path, block.text.estimated_tokens, text,
            line=first, facts="" if block.text.chars else "no text was recorded",
        )  # fmt: skip

    def _image(self, message: Message, at: int, block: Block, row_id: str) -> Row:
        size = words.size(block.media_bytes) if block.media_bytes is not None else "size unknown"
        facts = joined([block.media_type or "type unknown", size, "not shown"])
        return Row(row_id, "note", "", _speaker(message)[1], "Image", not message.on_active_path, None, facts=facts)

    def _tool(self, message: Message, at: int, block: Block, row_id: str, result: Result | None) -> Row:
        data = self.texts.get(block.text.digest, b"").decode("utf-8", errors="ignore")
        name, arguments = call_arguments(data)
        tool = block.tool_name or name or "Tool"
        line = tool_line(tool, call_arguments(quiet(data))[1]) if len(data) < LONG_CALL else ""
        line = one_line(line or quiet(safe_cut(data, 400)), min(160, self.level))
        own = block.text.estimated_tokens
        may_come = self.waits_from is not None and message.index >= self.waits_from
        output, facts, is_error = NOTHING, "no result yet" if may_come else "result not recorded", False
        if result is not None:
            output = self._shown(result.message, result.place[1], result.block, min(self.level, FOLDED_CHARS))
            facts = joined([*self._facts(result), _lasted(message, result.message)])
            own += result.block.text.estimated_tokens
            is_error = result.block.is_error
        kinds = " ".join(kind for kind, is_it in (("error", is_error), ("subagent", tool in SPAWNS)) if is_it)
        diff, change = diff_of(arguments, most_lines=max(2, min(12, self.level // 100)))
        return Row(
            row_id, "tool", kinds, "call", tool, not message.on_active_path, own,
            self._shown(message, at, block, min(self.level, FOLDED_CHARS)), line=line,
            facts=joined([change, facts]), output=output, is_error=is_error, diff=diff,
            output_id=f"m-{result.message.index}" if result and result.place[1] == 0 else "",
        )  # fmt: skip

    def _result(self, message: Message, at: int, block: Block, row_id: str) -> Row:
        result = Result(message, (message.index, at), block)
        output = self._shown(message, at, block, min(self.level, FOLDED_CHARS))
        return Row(
            row_id, "tool", "error" if block.is_error else "", "error" if block.is_error else "result",
            f"Result of {block.tool_name}" if block.tool_name else "Tool result", not message.on_active_path,
            block.text.estimated_tokens, output=output, facts=joined(self._facts(result)), is_error=block.is_error,
        )  # fmt: skip

    def _facts(self, result: Result) -> list[str]:
        block = result.block
        data = self.texts.get(block.text.digest, b"")
        line = result_line(quiet(both_ends(data)))
        lines = line_count(data)
        parts = [f"exit {line.exit_code}" if line.exit_code is not None else ""]
        if block.is_error:
            parts.append(
                one_line(line.first, 70) if line.exit_code is not None else f"error: {one_line(line.first, 60)}"
            )
        if block.is_synthetic:
            parts.append("written by a repair, not by the tool")
        parts.append(words.counted(lines, "line") if lines > 1 else "")
        parts.append(words.size(block.text.size) if block.text.size else "empty")
        if block.full_chars is not None and block.full_chars > block.text.chars:
            parts.append(f"model saw {words.size(block.text.chars)} of {words.size(block.full_chars)}")
        return parts


def block_url(session_id: int, message: int, block: int) -> str:
    """Where the whole text of a block is."""
    return f"{_addresses(session_id, get_script_prefix())[0].replace(_MESSAGE, str(message))}?block={block}"


def unmask_url(session_id: int, message: int, block: int) -> str:
    """Where the masked values of a block are asked for."""
    address = _addresses(session_id, get_script_prefix())[1]
    return address.replace(_MESSAGE, str(message)).replace(_BLOCK, str(block))


@lru_cache(maxsize=64)  # a page has hundreds of blocks, and each address made from its name takes its time
def _addresses(session_id: int, prefix: str) -> tuple[str, str]:
    numbers = [session_id, int(_MESSAGE), int(_BLOCK)]
    return reverse("message", args=numbers[:2]), reverse("unmask_block", args=numbers)


def _speaker(message: Message) -> tuple[str, str]:
    if message.role == "user":
        if message.is_human:
            return "User", "user"
        return ("Task given" if message.agent is not None else "By the client"), "user"
    if message.role == "tool":
        return "Tool", "result"
    return ("Assistant", "assistant") if message.role == "assistant" else ("System", "system")


def _lasted(call: Message, result: Message) -> str:
    if call.at is None or result.at is None or result.at < call.at:
        return ""
    return words.duration((result.at - call.at).total_seconds())
