"""The demo's OpenClaw session: a compressing engine's marker and the original behind it, two compactions."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from contextviz.services.demo.story import CWD, START, Story, iso, json_line
from contextviz.tokens.estimate import estimate

SESSION = "9b1d6a52-41f7-4c0e-8f5e-6f2d1a7c3e20"
MODEL = "gpt-5-mini"
WINDOW = 64_000
UNLOGGED = 9_400
Json = dict[str, Any]


@dataclass(slots=True)
class Writer:
    """Writes entries of a version 3 transcript, each the child of the one before."""

    story: Story
    rows: list[str] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    window: list[tuple[str, int]] = field(default_factory=list)
    cached: int = 0

    def entry(self, kind: str, body: Json) -> str:
        """Add an entry and return its id."""
        entry = self.story.short_id()
        at = self.story.after(2, 40)
        parent = self.ids[-1] if self.ids else None
        if "message" in body:
            body["message"]["timestamp"] = round(at.timestamp() * 1000)
        self.rows.append(json_line({"type": kind, "id": entry, "parentId": parent, "timestamp": iso(at), **body}))
        self.ids.append(entry)
        return entry

    def message(self, message: Json, text: str) -> None:
        """Add a message; `text` is what of it stays in the window."""
        self.window.append((self.entry("message", {"message": message}), estimate(text)))

    def user(self, text: str) -> None:
        """A prompt by the person."""
        self.message({"role": "user", "content": [{"type": "text", "text": text}]}, text)

    def assistant(self, content: list[Json]) -> None:
        """A model answer with the usage that its window implies."""
        prompt = self.prompt
        output = sum(estimate(str(block)) for block in content)
        usage = {
            "input": prompt - min(self.cached, prompt),
            "cacheRead": min(self.cached, prompt),
            "cacheWrite": 0,
            "output": output,
            "totalTokens": prompt + output,
        }
        self.cached = prompt
        reason = "toolUse" if content[-1]["type"] == "toolCall" else "stop"
        body = {
            "role": "assistant",
            "content": content,
            "api": "openai-responses",
            "provider": "openai",
            "model": MODEL,
            "usage": usage,
            "stopReason": reason,
            "responseId": f"resp_{self.story.short_id()}",
        }
        self.message(body, "".join(str(block.get("text") or block.get("arguments") or "") for block in content))

    def call(self, name: str, arguments: Json, result: str, *, says: str | None = None) -> None:
        """A tool call and its result."""
        call = f"call_{self.story.short_id()}"
        text: list[Json] = [{"type": "text", "text": says}] if says else []
        self.assistant([*text, {"type": "toolCall", "id": call, "name": name, "arguments": arguments}])
        self.message(
            {
                "role": "toolResult",
                "toolCallId": call,
                "toolName": name,
                "content": [{"type": "text", "text": result}],
                "isError": False,
            },
            result,
        )

    def compact(self, summary: str, keep: int) -> None:
        """A compaction that keeps the last `keep` messages."""
        before = self.prompt + 400
        kept = self.window[-keep:]
        entry = self.entry(
            "compaction",
            {
                "summary": summary,
                "firstKeptEntryId": kept[0][0],
                "tokensBefore": before,
                "details": {"readFiles": ["src/search/shards.py"], "modifiedFiles": ["src/search/router.py"]},
                "fromHook": False,
            },
        )
        self.window = [(entry, estimate(summary)), *kept]
        self.cached = UNLOGGED

    @property
    def prompt(self) -> int:
        """What the next call would be given, in reported tokens."""
        return UNLOGGED + round(sum(tokens for _, tokens in self.window) * 0.97)


def marker(original: str, kept: str) -> str:
    """What a compressing engine leaves of a long result: a part of it and the handle of the original."""
    handle = hashlib.sha256(original.encode()).hexdigest()[:24]
    notice = f'[flowctx-dsh: log compressed {len(original)}→{len(kept)} chars. Retrieve original via flowctx_retrieve(hash="{handle}"). Expires in 30 minutes.]'
    return f"{kept}\n{notice}"


def write_openclaw(folder: Path) -> None:
    """Write the session and its index below `folder`, as OpenClaw lays them out."""
    story = Story(20261125)
    writer = Writer(story)
    header = json_line({"type": "session", "version": 3, "id": SESSION, "timestamp": iso(START), "cwd": CWD})
    writer.entry("session_info", {"name": "Shard the search index"})
    writer.user(
        "Split the search index into eight shards. The router must keep one address: search.shopfront.test:7700."
    )
    for step in range(34):
        if step == 9:
            original = story.server_log(320)
            writer.call(
                "exec",
                {"command": "tail -n 320 logs/search.log"},
                marker(original, "\n".join(original.splitlines()[:12])),
            )
        elif step == 12:
            handle = hashlib.sha256(original.encode()).hexdigest()[:24]
            writer.call("flowctx_retrieve", {"hash": handle}, original, says="I need the lines around the failover.")
        elif step % 4 == 3:
            writer.call(
                "edit",
                {"path": "src/search/router.py", "old": "shards = 1", "new": "shards = 8"},
                "Edited src/search/router.py",
                says="One shard becomes eight; the address stays.",
            )
        else:
            path = f"src/search/{story.pick(['shards', 'router', 'ring', 'replica'])}.py"
            writer.call("read", {"path": path}, story.source_file(path[:-3], 30))
        if step in (15, 27):
            done = "eight shards are wired" if step == 15 else "the ring is rebalanced"
            writer.compact(
                f"## Goal\nSplit the search index into eight shards behind search.shopfront.test:7700.\n\n## Progress\n- {done}; src/search/router.py is edited\n\n## Next\n- run the failover test",
                keep=4,
            )
    writer.assistant([{"type": "text", "text": "The index runs on eight shards; the failover test is green."}])
    place = folder / "agents" / "main" / "sessions"
    place.mkdir(parents=True, exist_ok=True)
    (place / f"{SESSION}.jsonl").write_text("".join([header, *writer.rows]), encoding="utf-8")
    index = {
        "agent:main:main": {
            "sessionId": SESSION,
            "contextTokens": WINDOW,
            "compactionCount": 2,
            "model": MODEL,
            "totalTokens": writer.prompt,
        }
    }
    (place / "sessions.json").write_text(json_line(index), encoding="utf-8")
