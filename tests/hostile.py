"""One text in every place where a transcript can carry any: every format, every field, the files' names.

Markup must come out as text, a secret masked. The walk opens every address that the product has for it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

from django.test import Client
from django.urls import URLResolver, get_resolver, reverse

from contextviz.services import digest, ingest, replay
from contextviz.services.demo.lossless import write_lossless
from contextviz.services.expand import expand_summary, open_expand
from contextviz.services.retrieve import open_retrieve, retrieve_original
from contextviz.store.queries import messages, sessions, summaries
from contextviz.store.values import SessionRow
from tests.services.building import NOW
from tests.sources.lossless_claw.building import Lcm

DAY = "2026-02-01T09:00"
NOT_OPENED = re.compile(r"^/(live/|sign-|static/|docs/|styleguide)")


def write_hostile(folder: Path, text: str) -> None:
    """Files of four formats below `folder`, `text` in each of their fields and in their names."""
    name = re.sub(r"[/\n\x00]", "_", text)[:80]
    (folder / name).mkdir(parents=True)
    (folder / name / f"{name}.jsonl").write_text(_lines(_openclaw(text)))
    (folder / "claude").mkdir()
    (folder / "claude" / f"{name}.jsonl").write_text(_lines(_claude(text)))
    (folder / "memory").mkdir()
    (folder / "memory" / "conversation-map.json").write_text(json.dumps(_topics(text)))
    _store(folder / "lcm.db", text)


def _lines(rows: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def _openclaw(text: str) -> list[dict[str, Any]]:
    usage = {"input": 9000, "output": 10, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 9010}
    call = {"type": "toolCall", "id": f"t {text}", "name": text, "arguments": {"path": text, text: {text: [text]}}}
    said = {"provider": text, "model": text, "stopReason": text, "usage": usage, "errorMessage": text, "api": text}
    told = {"toolCallId": f"t {text}", "toolName": text, "isError": True, "details": {text: text}}
    thought, words = [{"type": "thinking", "thinking": text}, call], [{"type": "text", "text": f"# {text}\n- {text}"}]
    marked = f"`{text}`\n\n```html\n{text}\n```\n[x]({text}) | {text} |"
    twice = [{"type": "text", "text": f"{text}\n{text}"}]
    bodies: list[tuple[str, dict[str, Any]]] = [
        ("session_info", {"name": text}),
        ("model_change", {"provider": text, "modelId": text}),
        ("message", {"message": {"role": "user", "content": [{"type": "text", "text": text}]}}),
        ("message", {"message": {"role": "assistant", "content": thought, **said}}),
        ("message", {"message": {"role": "toolResult", "content": twice, **told}}),
        ("custom_message", {"customType": text, "content": text, "display": True, "details": {text: text}}),
        ("compaction", {"summary": f"{text} src/{text}", "firstKeptEntryId": "e2", "tokensBefore": 9000,
                        "details": {"readFiles": [text]}}),
        ("label", {"targetId": "e2", "label": text}),
        ("message", {"message": {"role": "user", "content": marked}}),
        ("message", {"message": {"role": "assistant", "content": words, **said}}),
        (text, {"data": text}),
    ]  # fmt: skip
    rows: list[dict[str, Any]] = [
        {"type": "session", "version": 3, "id": f"openclaw {text}", "timestamp": f"{DAY}:00Z", "cwd": f"/srv/{text}"}
    ]
    for number, (kind, body) in enumerate(bodies):
        parent = f"e{number - 1}" if number else None
        rows.append({"type": kind, "id": f"e{number}", "parentId": parent, "timestamp": f"{DAY}:{number:02d}Z", **body})
    return rows


def _claude(text: str) -> list[dict[str, Any]]:
    usage = {"input_tokens": 5, "cache_read_input_tokens": 800, "cache_creation_input_tokens": 90, "output_tokens": 7}
    use = {"type": "tool_use", "id": "tu", "name": text, "input": {"file_path": text, text: text}}
    result = {"type": "tool_result", "tool_use_id": "tu", "content": text, "is_error": True}
    answer = {"role": "assistant", "model": text, "usage": usage, "stop_reason": text}
    base = {"sessionId": f"claude {text}", "cwd": f"/w/{text}", "version": text, "gitBranch": text, "slug": text}
    rows = [
        {"type": "user", "message": {"role": "user", "content": text}},
        {"type": "assistant", "requestId": text, "message": {"id": "m1", "content": [use], **answer}},
        {"type": "user", "message": {"role": "user", "content": [result]}, "toolUseResult": {text: text}},
        {"type": "system", "subtype": "compact_boundary", "compactMetadata": {"trigger": text, "preTokens": 900}},
        {"type": "user", "isCompactSummary": True, "message": {"role": "user", "content": text}},
        {"type": "assistant", "message": {"id": "m2", "content": [{"type": "text", "text": text}], **answer}},
        {"type": "user", "isSidechain": True, "agentId": text, "message": {"role": "user", "content": text}},
        {"type": "assistant", "isSidechain": True, "agentId": text,
         "message": {"id": "m3", "content": [{"type": "text", "text": text}], **answer}},
    ]  # fmt: skip
    for number, row in enumerate(rows):
        start = number in (0, 3, 6)
        row |= {"isSidechain": False, **base, **row, "uuid": f"u{number}", "timestamp": f"{DAY}:{number:02d}Z"}
        row["parentUuid"] = None if start else f"u{number - 1}"
    titles: list[dict[str, Any]] = [
        {"type": "summary", "summary": text, "leafUuid": "u5"},
        {"type": "custom-title", "customTitle": text, "sessionId": f"claude {text}"},
        {"type": "ai-title", "aiTitle": text, "sessionId": f"claude {text}"},
    ]
    return [*rows, *titles]


def _topics(text: str) -> dict[str, Any]:
    topic = {"name": text, "color": f"#fff;{text}", "created": f"{DAY}:00Z", "lastActive": f"{DAY}:30Z", "status": text}
    events = [
        {"id": "ctx-01", "type": "context_switch", "context": text, "trigger": text, "timestamp": f"{DAY}:10Z",
         "summary": text},
        {"id": f"s {text}", "type": "agent_spawn", "parentId": "ctx-01", "model": text, "task": text, "result": text,
         "artifacts": [text], "timestamp": f"{DAY}:20Z"},
        {"id": "ctx-02", "type": "compaction", "timestamp": f"{DAY}:25Z", "activeContexts": [text]},
        {"id": "ctx-03", "type": "context_switch", "context": "other", "trigger": text, "timestamp": f"{DAY}:26Z"},
    ]  # fmt: skip
    return {"version": 1, "contexts": {text: topic, "other": topic | {"color": text}}, "events": events}


def _store(path: Path, text: str) -> None:
    lcm = Lcm(path)
    lcm.conversation(session=f"store {text}", title=text)
    for number in range(1, 7):
        role = ("user", "assistant", "tool")[number % 3]
        lcm.message(number, role, f"{text} {number}", f"2026-02-01 09:00:0{number}")
    lcm.leaf(f"sum_{text}", [1, 2, 3], "2026-02-01 09:01:00", model=text)
    lcm.leaf("sum_other", [4, 5], "2026-02-01 09:02:00")
    lcm.condensed(f"top {text}", [f"sum_{text}", "sum_other"], "2026-02-01 09:03:00")
    lcm.context(f"top {text}", 6)
    lcm.db.commit()
    lcm.db.close()


def import_hostile(folder: Path, text: str) -> list[SessionRow]:
    """Write the files, import the folder, run every kind of job on what came of it; the sessions."""
    write_hostile(folder, text)
    (folder / "demo").mkdir()
    write_lossless(folder / "demo")
    assert digest.digest(ingest.import_paths([folder], now=NOW))
    found = sessions.recent_sessions(50)
    for row in found:
        for node in summaries.nodes(row.id):
            assert expand_summary(open_expand(row.id, node.id, now=NOW))
        for one in messages.messages(row.id, limit=3).messages:
            retrieve_original(open_retrieve(one.blocks[0].text.sha256, now=NOW)) if one.blocks else None
        for engine in ("keep-all", "flowctx") if row.message_count else ():
            asked = replay.start_run(row.id, engine, {"leafChunkTokens": 1} if engine == "flowctx" else {}, now=NOW)
            assert asked.job_id is not None
            assert replay.execute_run(asked.job_id)
    return found


def addresses(client: Client, *, alike: int = 6, most: int = 400) -> Iterator[tuple[str, str, str]]:
    """Every address that has something to show, as (address, content type, body): those the product names for each
    session, and those that links, figures and fragments lead to, up to `alike` of one shape."""
    waiting = list(dict.fromkeys(["/", *_named(), f"{reverse('search')}?q=xss", f"{reverse('search')}?q=AKIA"]))
    seen, shapes = set(waiting), dict[str, int]()
    for url in waiting:  # grows while it is walked
        answer = client.get(url, follow=True)
        assert answer.status_code < 500, f"{url}: {answer.status_code}"
        if answer.status_code not in (200, 286) or getattr(answer, "is_async", False):
            continue
        kind = answer.headers["Content-Type"].partition(";")[0]
        body = b"".join(answer.streaming_content) if answer.streaming else answer.content
        yield url, kind, body.decode(errors="replace")
        if kind != "text/html":
            continue
        for link in re.findall(r'\b(?:href|src|hx-get|data-[a-z-]+)="(/[^"#]*)', body.decode()):
            target = unescape(link)
            shape = re.sub(r"=[^&]*|\d+|[0-9a-f-]{32,}|%[0-9A-F]{2}", "0", target)
            if target in seen or NOT_OPENED.match(target) or len(waiting) > most:
                continue
            seen.add(target)
            shapes[shape] = shapes.get(shape, 0) + 1
            if shapes[shape] <= alike:
                waiting.append(target)


def _named() -> Iterator[str]:
    """The addresses that need no argument or a session and at most one number, for each session."""
    for part in _patterns():
        takes = set(part.pattern.converters)
        if not part.name or takes - {"session_id", "number", "index", "position"}:
            continue
        for row in sessions.recent_sessions(50):
            for number in (1, 0) if takes - {"session_id"} else (1,):
                url = reverse(part.name, kwargs={name: row.id if name == "session_id" else number for name in takes})
                if not NOT_OPENED.match(url):
                    yield url


def _patterns() -> Iterator[Any]:
    waiting = [part for part in get_resolver().url_patterns if "api" not in str(part.pattern)]
    for part in waiting:  # grows while it is walked
        if isinstance(part, URLResolver):
            waiting.extend(part.url_patterns)
        else:
            yield part
