"""A session of our own with secrets planted in odd places, and the words that must not be in any copy."""

from __future__ import annotations

import base64
import json
from typing import Any

from contextviz.store.queries import sessions
from tests.services.building import upload

SESSION = "0b1c2d3e-0000-4000-8000-00000000e0e0"
KEY = "sk-" + "proj-" + "Ab3" * 12
HALVES = ("ghp_" + "a1B2" * 4, "c3D4" * 5)
PASSWORD = "hunter2" + "abc"
RANDOM = "Zx81kQp0vN4m" + "Tr7LsW2eYc5u"
ENCODED = base64.b64encode(b"db_password=" + b"s3cr3tpw1!").decode()
KEY_BODY = ["MIIEpAIBAAKC" + "Ab3dEf6hIj9k" * 4, "Lm2nOp5qRs8t" * 5]


def session(*questions: Any, title: str = "", has_answers: bool = True) -> int:
    """Upload a session that asks these (a text, or a list of texts as blocks), answered unless told; its id."""
    lines, parent = [], None
    if title:
        lines.append({"type": "summary", "summary": title, "leafUuid": "a0"})
    for turn, asked in enumerate(questions):
        content = asked if isinstance(asked, str) else [_block(one) for one in asked]
        base = {"sessionId": SESSION, "isSidechain": False, "cwd": "/w", "version": "2.1.0", "userType": "external"}
        at = {"timestamp": f"2026-02-01T09:{turn:02d}:00.000Z"}
        lines.append(
            {"type": "user", "uuid": f"q{turn}", "parentUuid": parent, "message": {"role": "user", "content": content}}
            | base | at
        )  # fmt: skip
        if not has_answers:
            parent = f"q{turn}"
            continue
        answer = {
            "id": f"msg_{turn}", "type": "message", "role": "assistant", "model": "claude-sonnet-4-5",
            "usage": {"input_tokens": 10, "output_tokens": 7}, "content": [{"type": "text", "text": "Understood."}],
        }  # fmt: skip
        lines.append({"type": "assistant", "uuid": f"a{turn}", "parentUuid": f"q{turn}", "message": answer} | base | at)
        parent = f"a{turn}"
    job = upload((f"{SESSION}.jsonl", "".join(json.dumps(line) + "\n" for line in lines)))
    assert job.state == "done", job.outcome
    return sessions.named(SESSION)[0].id


def _block(one: Any) -> dict[str, Any]:
    return {"type": "text", "text": one} if isinstance(one, str) else one
