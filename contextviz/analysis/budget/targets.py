"""What a tool use is about: its file or command, and whether it reads or may change something. A heuristic by names."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Any, Literal

from contextviz.analysis.budget.tables import TargetKind
from contextviz.analysis.transcript import call_arguments, tool_line
from contextviz.events.message import Block
from contextviz.events.session import Transcript
from contextviz.events.text import TextRef

Texts = Callable[[Iterable[TextRef]], Mapping[bytes, str]]
Effect = Literal["read", "write", "shell"]
MAX_CALL_BYTES = 1_000_000
MAX_TARGET = 200
MAX_TOOL = 120
TEXTS_AT_ONCE = 500
_FILE_FIELDS = ("file_path", "filePath", "notebook_path", "path", "filename", "file")
_COMMAND_FIELDS = ("command", "cmd", "script")
_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_WRITE = frozenset(
    ["write", "edit", "patch", "replace", "insert", "create", "delete", "remove", "rename", "move", "append", "update"]
)
_SHELL = frozenset(["bash", "shell", "exec", "command", "terminal", "run", "sh"])
_SEARCH = frozenset(["grep", "glob", "search", "find", "list", "ls", "rg"])
_PATCHED = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (.{1,500})$|^\+\+\+ b/(.{1,500})$", re.MULTILINE)
_HARMLESS = re.compile(r"\d?>&\d|&?\d?>\s*/dev/null|=>|->|>=")
_CHANGES = re.compile(
    r">|(?:^|[\s;&|(])(?:tee|mv|cp|rm|touch|truncate|patch|dd|install|ln)\s"
    r"|\bsed\s[^|;&]{0,200}-i|\bperl\s[^|;&]{0,200}-\w{0,8}i"
)
_CHANGES_ALL = re.compile(
    r"\bgit\s+(?:checkout|restore|reset|stash|pull|merge|rebase|apply|switch|cherry-pick|clean)\b"
)
_WITH_VERB = frozenset(
    ["git", "npm", "pnpm", "yarn", "cargo", "go", "docker", "kubectl", "pip", "uv", "make", "apt", "gh"]
)
_BEFORE = re.compile(
    r"^\s*(?:cd\s+[^;&|]+(?:&&|;)\s*|(?:sudo|time|env|nohup)\s+|[A-Za-z_]\w*=\S*\s+|timeout\s+\S+\s+)+"
)


@dataclass(frozen=True, slots=True)
class Target:
    """What a tool use is about.

    `changed` are files that it changes, `changed_names` names that a shell command may have changed; `changes_all`
    is a command that may have changed any file.
    """

    tool: str
    text: str
    kind: TargetKind
    effect: Effect
    changed: tuple[str, ...] = ()
    changed_names: frozenset[str] = frozenset()
    changes_all: bool = False


@dataclass(frozen=True, slots=True)
class ToolUse:
    """A tool call of the main chain with its result. `call` is the number of the model call that asked for it."""

    target: Target
    id: str | None
    call: int | None
    call_message: int
    call_ref: TextRef
    result_message: int | None
    result: Block | None

    @property
    def signature(self) -> tuple[str, bytes]:
        """The same for the same tool with the same arguments."""
        return (self.target.tool, self.call_ref.digest)


def tool_uses(transcript: Transcript, texts: Texts, agent: str | None = None) -> list[ToolUse]:
    """Every tool use of one agent, in order. Each distinct call is read once; calls too large are known by name."""
    pairs = [pair for pair in transcript.pairs if transcript.messages[pair.call_message].agent == agent]
    pairs.sort(key=lambda pair: (pair.call_message, pair.call_block))
    messages = transcript.messages
    blocks = [messages[pair.call_message].blocks[pair.call_block] for pair in pairs]
    targets = _targets(blocks, texts, transcript.session.cwd)
    found = []
    for pair, block in zip(pairs, blocks, strict=True):
        message = messages[pair.call_message]
        result = None
        if pair.result_message is not None and pair.result_block is not None:
            result = messages[pair.result_message].blocks[pair.result_block]
        target = targets[(block.tool_name or "", block.text.digest)]
        call = None if message.call_index is None else message.call_index + 1
        asked = (pair.call_message, block.text)
        found.append(ToolUse(target, block.tool_call_id, call, *asked, pair.result_message, result))
    return found


def _targets(blocks: list[Block], texts: Texts, cwd: str | None) -> dict[tuple[str, bytes], Target]:
    found: dict[tuple[str, bytes], Target] = {}
    known: dict[Target, Target] = {}  # many calls are about the same thing: one object for all of them
    wanted = {(block.tool_name or "", block.text.digest): block.text for block in blocks}
    waiting = iter(wanted.items())
    while part := list(islice(waiting, TEXTS_AT_ONCE)):
        held = texts([ref for _, ref in part if ref.size <= MAX_CALL_BYTES])
        for key, ref in part:
            name, arguments = call_arguments(held.get(ref.digest, ""))
            target = target_of((key[0] or name or "tool")[:MAX_TOOL], arguments, cwd)
            found[key] = known.setdefault(target, target)
    return found


def target_of(tool: str, arguments: Any, cwd: str | None = None) -> Target:
    """What a call of `tool` with `arguments` is about."""
    words = _words_of(tool)
    values = arguments if isinstance(arguments, dict) else {}
    command = _command(values, arguments if words & _SHELL else None)
    if command is not None and _named(values, _FILE_FIELDS) is None:
        return _shell(tool, command, cwd)
    effect: Effect = "write" if words & _WRITE else "read"
    # A search names a folder to look in, not a file it reads.
    path = None if words & _SEARCH else _named(values, _FILE_FIELDS)
    if path is not None:
        own = short_path(path, cwd)
        return Target(tool, own, "file", effect, (own,) if effect == "write" else ())
    patched = _patched(arguments, cwd) if effect == "write" else ()
    if patched:
        return Target(tool, patched[0], "file", effect, patched)
    text = tool_line(tool, arguments)[:MAX_TARGET] if arguments else ""
    return Target(tool, text, "other" if text else "none", effect)


@lru_cache(maxsize=1024)
def _words_of(tool: str) -> frozenset[str]:
    return frozenset(word.lower() for word in _WORDS.findall(tool[:MAX_TARGET]))


def _named(values: dict[str, Any], fields: tuple[str, ...]) -> str | None:
    for name in fields:
        value = values.get(name)
        if isinstance(value, str) and value.strip():
            return value
    return None


def _command(values: dict[str, Any], bare: Any) -> str | None:
    for name in _COMMAND_FIELDS:
        value = values.get(name)
        if isinstance(value, str) and value.strip():
            return value
        if isinstance(value, list) and value and all(isinstance(part, str) for part in value):
            # ["bash", "-lc", "the command"]
            return value[-1] if len(value) == 3 and value[1] in ("-c", "-lc") else " ".join(value)
    return bare if isinstance(bare, str) and bare.strip() else None


def _shell(tool: str, command: str, cwd: str | None) -> Target:
    patched = _patched(command, cwd) if "*** " in command or "+++ " in command else ()
    quiet = _HARMLESS.sub(" ", command[:20_000])
    names: frozenset[str] = frozenset()
    if _CHANGES.search(quiet):
        names = frozenset(posixpath.basename(word.strip("'\"();")) for word in quiet.split())
    effect: Effect = "write" if patched else "shell"
    changes_all = bool(_CHANGES_ALL.search(quiet))
    return Target(tool, command_name(command), "command", effect, patched, names, changes_all)


def _patched(arguments: Any, cwd: str | None) -> tuple[str, ...]:
    texts = arguments.values() if isinstance(arguments, dict) else [arguments]
    found = [
        short_path(first or second, cwd)
        for text in texts
        if isinstance(text, str)
        for first, second in _PATCHED.findall(text)
    ]
    return tuple(dict.fromkeys(found))


def command_name(command: str) -> str:
    """The program of a shell command, with its verb where it has one: "pytest", "git diff"."""
    words = _BEFORE.sub("", command.strip()[:2000]).split()
    if not words:
        return ""
    name = posixpath.basename(words[0].strip("'\"();")) or words[0]
    if name in ("python", "python3") and len(words) > 2 and words[1] == "-m":
        name = words[2]
    elif name in _WITH_VERB and len(words) > 1 and words[1][:1].isalpha():
        name = f"{name} {words[1]}"
    return name[:60]


def short_path(path: str, cwd: str | None) -> str:
    """A file's path below the session's folder, or as it is where it lies elsewhere."""
    flat = posixpath.normpath(path.strip().replace("\\", "/"))
    if cwd:
        root = posixpath.normpath(cwd.replace("\\", "/"))
        if flat.startswith(root.rstrip("/") + "/"):
            flat = flat[len(root.rstrip("/")) + 1 :]
    return flat if len(flat) <= MAX_TARGET else "…" + flat[1 - MAX_TARGET :]
