"""What is fuzzed: families of formats, each with the small sessions of our own tests as seeds."""

from __future__ import annotations

import gzip
import io
import tarfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import zstandard

from contextviz.sources.files import NamedPath, walk
from tests.sources.configuration import configs
from tests.sources.declared import agents, clients, others

Write = Callable[[Path], None]


@dataclass(frozen=True, slots=True)
class Seed:
    """A folder of files that belong together; one of them at a time is changed."""

    name: str
    files: tuple[NamedPath, ...]

    @property
    def is_small(self) -> bool:
        """Whether reading it is quick enough to do it again and again."""
        return sum(file.path.stat().st_size for file in self.files) < 256 * 1024


def _configured(folder: Path) -> None:
    agents.openclaw(folder)
    agents.codex(folder)
    for name, text in configs.FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def _archive(pack: Callable[[Path, list[NamedPath]], None]) -> Write:
    """A seed that is one archive of two agents' files."""

    def write(folder: Path) -> None:
        inside = folder.with_name(folder.name + ".inside")
        for one in (agents.openclaw, agents.codex):
            inside.mkdir(exist_ok=True)
            one(inside)
        pack(folder, list(walk(inside)))

    return write


def _zip(folder: Path, files: list[NamedPath]) -> None:
    with zipfile.ZipFile(folder / "all.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for file in files:
            archive.write(file.path, file.name)


def _tar_bytes(files: list[NamedPath]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for file in files:
            archive.add(file.path, file.name)
    return out.getvalue()


def _tar(folder: Path, files: list[NamedPath]) -> None:
    (folder / "all.tar").write_bytes(_tar_bytes(files))


def _tar_gz(folder: Path, files: list[NamedPath]) -> None:
    (folder / "all.tar.gz").write_bytes(gzip.compress(_tar_bytes(files), mtime=0))


def _tar_zst(folder: Path, files: list[NamedPath]) -> None:
    (folder / "all.tar.zst").write_bytes(zstandard.compress(_tar_bytes(files)))


def _gz(folder: Path, files: list[NamedPath]) -> None:
    (folder / "one.jsonl.gz").write_bytes(gzip.compress(files[-1].path.read_bytes(), mtime=0))


def _zst(folder: Path, files: list[NamedPath]) -> None:
    (folder / "one.jsonl.zst").write_bytes(zstandard.compress(files[-1].path.read_bytes()))


JSONL: dict[str, Write] = {
    "openclaw": agents.openclaw, "pi": agents.pi, "claude-code": agents.claude_code, "codex": agents.codex,
    "copilot-cli": clients.copilot_cli, "droid": clients.droid, "kiro": clients.kiro, "cursor": clients.cursor,
}  # fmt: skip
FAMILIES: dict[str, dict[str, Write]] = {
    "jsonl": JSONL,
    "growing": JSONL,
    "documents": {
        "conversation-map": agents.conversation_map, "cortext": agents.cortext, "gemini-cli": agents.gemini_cli,
        "openhands": others.openhands,
        "opencode": others.opencode, "atif": others.atif, "swe-agent": others.swe_agent, "otlp": others.otlp,
        "openai-chat": others.openai_chat, "anthropic-messages": others.anthropic_messages,
        "openai-responses": others.openai_responses, "gemini-api": others.gemini_api,
        "chat-array": others.chat_array, "sharegpt": others.sharegpt, "configuration": _configured,
        "kiro-saved": clients.kiro_saved, "copilot-cli-old": clients.copilot_cli_old, "entire": clients.entire,
        "chatgpt-export": others.chatgpt_export, "claude-ai-export": others.claude_ai_export,
    },
    "logs": {
        "openvole": agents.openvole, "engine-log": agents.engine_log, "events": agents.events,
        "flowctx-dump": agents.flowctx_dump,
    },
    "stores": {
        "openclaw-sqlite": agents.openclaw_sqlite, "lossless-claw": agents.lossless_claw, "flowctx": agents.flowctx,
    },
    "archives": {
        "zip": _archive(_zip), "tar": _archive(_tar), "tar-gz": _archive(_tar_gz), "tar-zst": _archive(_tar_zst),
        "gz": _archive(_gz), "zst": _archive(_zst),
    },
}  # fmt: skip


def seeds_of(family: str, folder: Path) -> list[Seed]:
    """The family's seeds, written below `folder`, in an order that does not change."""
    found = []
    for name, write in FAMILIES[family].items():
        place = folder / name
        place.mkdir(parents=True)
        write(place)
        found.append(Seed(name, tuple(walk(place))))
    return found
