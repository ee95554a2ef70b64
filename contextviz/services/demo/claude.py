"""The demo's Claude Code session: a flaky test, three compactions, a sub-agent."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from contextviz.services.demo.story import CWD, MODULES, Story, iso, json_line
from contextviz.tokens.estimate import estimate

SESSION = "5d0c1f3e-7a42-4b1c-9a55-2f6f1f0e9d11"
MODEL = "claude-sonnet-4-5"
UNLOGGED = 18_218
SCALE = 1.08
LIMIT = 158_000
Json = dict[str, Any]

TASKS = [
    "The checkout test fails about one run in ten. Find out why and fix it. Never raise the timeout: if the lock is the problem, fix the lock.",
    "Run it ten times with the seed that failed before you call it fixed.",
    "Good. Now look at cart/reserve as well, I think it has the same pattern. Keep LOCK_TTL at 45 s.",
    "Add a regression test, then write down what changed in CHANGELOG.md.",
]
SUMMARIES = [
    "This session is being continued from a previous conversation that ran out of context. The conversation is summarized below:\n\n1. Goal: the checkout test fails about one run in ten; fix the lock, the timeout must not be raised.\n2. Found: `release_lock()` runs before the total is stored in src/checkout/session.py, so a second worker reads an old total.\n3. Changed: src/checkout/session.py releases after `store.flush()`.\n4. Next: run the suite ten times with the failing seed.",
    "This session is being continued from a previous conversation that ran out of context. The conversation is summarized below:\n\n1. Goal: fix the race between release and total; the same pattern is suspected in src/cart/reserve.py.\n2. Done: session.py fixed, ten runs were green.\n3. LOCK_TTL stays at 45 s.\n4. Next: read src/cart/reserve.py and src/cart/events.py.",
    "This session is being continued from a previous conversation that ran out of context. The conversation is summarized below:\n\n1. Both races are fixed (src/checkout/session.py, src/cart/reserve.py).\n2. A regression test is wanted, then a line in CHANGELOG.md.\n3. The suite passes with 3 workers.",
]


@dataclass(slots=True)
class Writer:
    """Writes the rows of one transcript file and keeps what a client would: parents, usage, the window's size."""

    story: Story
    agent: str | None = None
    rows: list[str] = field(default_factory=list)
    parent: str | None = None
    window: list[int] = field(default_factory=list)
    cached: int = 0

    def row(self, kind: str, body: Json, *, parent: object = ..., gap: tuple[int, int] = (1, 20)) -> str:
        """Add a chain row and return its uuid."""
        uuid = self.story.id()
        base: Json = {"parentUuid": self.parent if parent is ... else parent, "isSidechain": self.agent is not None}
        base |= {
            "userType": "external",
            "cwd": CWD,
            "sessionId": SESSION,
            "version": "2.1.300",
            "gitBranch": "fix/flaky-checkout",
        }
        if self.agent:
            base["agentId"] = self.agent
        self.rows.append(
            json_line({**base, "type": kind, **body, "uuid": uuid, "timestamp": iso(self.story.after(*gap))})
        )
        self.parent = uuid
        return uuid

    def user(self, text: str) -> None:
        """A prompt by the person."""
        self.window.append(estimate(text))
        self.row("user", {"message": {"role": "user", "content": text}}, gap=(30, 240))

    def call(self, blocks: list[Json], result: str | None = None, *, is_error: bool = False) -> None:
        """A model answer of several blocks (a row each, as the client writes them) and its tool's result."""
        message, request = f"msg_{self.story.short_id()}{self.story.short_id()}", f"req_{self.story.short_id()}"
        usage = self._usage(sum(estimate(str(block)) for block in blocks))
        tool = next((block["id"] for block in blocks if block["type"] == "tool_use"), None)
        for block in blocks:
            reason = "tool_use" if tool else "end_turn"
            body = {
                "id": message,
                "type": "message",
                "role": "assistant",
                "model": MODEL,
                "content": [block],
                "stop_reason": reason,
                "usage": usage,
            }
            self.row("assistant", {"message": body, "requestId": request}, gap=(1, 12))
            self.window.append(estimate(str(block.get("text") or block.get("thinking") or block.get("input"))))
        if tool and result is not None:
            content = [{"type": "tool_result", "tool_use_id": tool, "content": result, "is_error": is_error}]
            self.window.append(estimate(result))
            self.row("user", {"message": {"role": "user", "content": content}}, gap=(1, 45))

    def compact(self, summary: str, trigger: str) -> None:
        """A compaction: the boundary row and the summary that opens the new window."""
        before = self.prompt + 900
        self.window = [estimate(summary)]
        meta = {
            "trigger": trigger,
            "preTokens": before,
            "postTokens": self.prompt,
            "durationMs": self.story.after(1, 2).second * 700 + 9_000,
        }
        last = self.parent
        self.row(
            "system",
            {
                "subtype": "compact_boundary",
                "content": "Conversation compacted",
                "level": "info",
                "logicalParentUuid": last,
                "compactMetadata": meta,
            },
            parent=None,
        )
        self.row(
            "user",
            {
                "isCompactSummary": True,
                "isVisibleInTranscriptOnly": True,
                "message": {"role": "user", "content": summary},
            },
        )
        self.cached = UNLOGGED

    @property
    def prompt(self) -> int:
        """What the next call would be given, in reported tokens."""
        return UNLOGGED + round(sum(self.window) * SCALE)

    def _usage(self, output: int) -> Json:
        prompt = self.prompt
        read = min(self.cached, prompt - 3)
        self.cached = prompt
        write = prompt - read - 3
        return {
            "input_tokens": 3,
            "cache_creation_input_tokens": write,
            "cache_read_input_tokens": read,
            "output_tokens": output + 12,
        }


def tool(story: Story, name: str, **arguments: str) -> Json:
    """A tool_use block."""
    return {"type": "tool_use", "id": f"toolu_{story.short_id()}{story.short_id()}", "name": name, "input": arguments}


def work(writer: Writer, step: int) -> None:
    """One call of ordinary work: reading, searching, running tests, editing."""
    story = writer.story
    module = MODULES[step % len(MODULES)]
    if step % 6 == 5:
        old, new = "self.lock.release()", "self.lock.release(after=self.store.flush)"
        edit = tool(story, "Edit", file_path=f"{CWD}/src/{module}.py", old_string=old, new_string=new)
        writer.call(
            [
                {"type": "text", "text": f"The lock in {module} is released too early; I move it behind the flush."},
                edit,
            ],
            f"The file {CWD}/src/{module}.py has been updated.",
        )
    elif step % 3 == 1:
        failures = 1 if step % 9 == 1 else 0
        thought = {
            "type": "thinking",
            "thinking": f"Seed {4700 + step} failed before; run with it again and watch the order of release and flush.",
            "signature": "c2ln",
        }
        run = tool(story, "Bash", command=f"pytest tests/checkout -x -p randomly --randomly-seed={4700 + step}")
        writer.call([thought, run], story.test_log(failures, 190 + step), is_error=bool(failures))
    elif step % 4 == 2:
        writer.call([tool(story, "Grep", pattern="release\\(", path="src")], story.search_hits(160))
    else:
        writer.call([tool(story, "Read", file_path=f"{CWD}/src/{module}.py")], story.source_file(module, 78))


def write_claude(folder: Path) -> None:
    """Write the session and its sub-agent's file below `folder`, as the client lays them out."""
    story = Story(20261124)
    writer = Writer(story)
    title = {"type": "ai-title", "sessionId": SESSION, "aiTitle": "Fix the flaky checkout test"}
    task = iter(TASKS)
    writer.user(next(task))
    step, compactions = 0, 0
    while step < 96:
        work(writer, step)
        step += 1
        if step == 20:
            _delegate(writer, folder)
        if writer.prompt > LIMIT and compactions < len(SUMMARIES):
            writer.compact(SUMMARIES[compactions], "auto" if compactions != 1 else "manual")
            compactions += 1
        elif step % 28 == 0:
            writer.call([{"type": "text", "text": "All green so far; ten runs with the failing seed passed."}])
            writer.user(next(task, "Carry on."))
    writer.call(
        [
            {
                "type": "text",
                "text": "Both races are fixed, a regression test covers them, and CHANGELOG.md says what changed.",
            }
        ]
    )
    path = folder / "projects" / "-work-shopfront" / f"{SESSION}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join([json_line(title), *writer.rows]), encoding="utf-8")


def _delegate(writer: Writer, folder: Path) -> None:
    agent = "a41c7be2"
    prompt = (
        "List every place in src/ that releases a lock before its store is flushed. Answer with file and line only."
    )
    helper = Writer(writer.story, agent)
    helper.user(prompt)
    helper.call([tool(helper.story, "Grep", pattern="release\\(", path="src")], helper.story.search_hits(80))
    helper.call(
        [tool(helper.story, "Read", file_path=f"{CWD}/src/cart/reserve.py")],
        helper.story.source_file("cart/reserve", 20),
    )
    answer = "src/checkout/session.py:118 and src/cart/reserve.py:64 release before the flush."
    helper.call([{"type": "text", "text": answer}])
    spawn = tool(
        writer.story, "Agent", description="Find early releases", prompt=prompt, subagent_type="general-purpose"
    )
    writer.call([spawn], answer)
    path = folder / "projects" / "-work-shopfront" / SESSION / "subagents" / f"agent-{agent}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(helper.rows), encoding="utf-8")
    about = json_line({"agentType": "general-purpose", "description": "Find early releases"})
    path.with_suffix(".meta.json").write_text(about, encoding="utf-8")
