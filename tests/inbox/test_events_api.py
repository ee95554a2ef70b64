"""Events that are posted: kept once, refused line by line, read like a file that grows."""

from __future__ import annotations

import gzip
import json
import re
import shutil
import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from contextviz.services.api_keys import create_key
from contextviz.services.delete import delete_session, open_delete
from contextviz.services.inbox import open_waiting
from contextviz.services.inbox.events import MOST_LINE_BYTES
from contextviz.services.ingest import digest
from contextviz.services.preferences import save_preferences
from contextviz.sources.context_events.envelope import REQUIRED
from contextviz.store.models import CallRecord, InboxRecord, InboxStreamRecord, JobRecord, SessionRecord
from tests.sources.context_events.talk import Json, event, talk
from tests.store.building import NOW

DOCS = Path(__file__).parents[2] / "docs"
NDJSON = "application/x-ndjson"


@pytest.fixture
def key(db: None) -> str:
    """A key that may send."""
    return create_key(User.objects.create(username="sender", is_staff=True).pk, label="k", scopes=["ingest"], now=NOW)[
        1
    ]


def body_of(events: list[Json]) -> bytes:
    return b"".join(json.dumps(one).encode() + b"\n" for one in events)


def post(key: str, body: bytes, session: str = "talk-1", content_type: str = NDJSON, **headers: str) -> Any:
    told = {"Authorization": f"Bearer {key}", **headers}
    return Client().post(f"/api/v1/sessions/{session}/events", body, content_type=content_type, headers=told)


def digest_all() -> None:
    for job_id in JobRecord.objects.filter(state="queued").order_by("created_at").values_list("pk", flat=True):
        digest(job_id)
    assert not JobRecord.objects.filter(state="failed").exists()


def test_a_talk_in_pieces_sent_twice_is_one_session(key: str) -> None:
    events = talk()
    for part in (events[:5], events[3:9], events[9:], events):
        assert post(key, body_of(part)).status_code == 200
        digest_all()
    session = SessionRecord.objects.get()
    assert (session.source_id, session.format, session.call_count, session.compaction_count) == (
        "talk-1",
        "events",
        2,
        1,
    )
    assert CallRecord.objects.filter(session=session).count() == 2
    told = post(key, body_of(events)).json()
    assert (told["new"], told["known"], told["refused"], told["session"]) == (0, 15, 0, session.pk)


def test_lines_are_refused_one_by_one_and_the_others_kept(key: str) -> None:
    lines = [*talk()[:2], {"type": "tea.made"}, {**talk()[2], "session": "another"}]
    told = post(key, body_of(lines) + b"not json\n\n" + body_of(talk()[3:4])).json()
    assert (told["new"], told["refused"]) == (3, 3)
    assert [one["line"] for one in told["rejected"]] == [3, 4, 5]
    assert "another" in told["rejected"][1]["sentence"]
    assert InboxRecord.objects.count() == 3


def test_a_number_beyond_64_bits_is_refused_and_what_follows_is_kept(key: str) -> None:
    big = event(80, "llm.call", {"purpose": "brain", "inputTokens": 2**64})
    told = post(key, body_of([talk()[0], big, talk()[1]])).json()
    assert (told["new"], told["refused"], told["rejected"][0]["line"]) == (2, 1, 2)


def test_what_was_kept_before_a_body_turns_out_to_be_cut_off_is_read(key: str) -> None:
    events = [event(n, "engine.error", {"message": "x" * 300}) for n in range(3000)]
    cut = gzip.compress(body_of(events))[:-30]
    assert post(key, cut, **{"Content-Encoding": "gzip"}).status_code == 400
    digest_all()
    assert SessionRecord.objects.get().source_id == "talk-1"
    assert post(key, body_of(talk())).json()["session"] is not None


def test_nobody_writes_into_a_session_that_was_made_private(key: str) -> None:
    post(key, body_of(talk()[:4]))
    digest_all()
    sender = User.objects.get()
    SessionRecord.objects.update(is_private=True, owner=sender)
    other = create_key(User.objects.create(username="other", is_staff=True).pk, label="o", scopes=["ingest"], now=NOW)[
        1
    ]
    told = post(other, body_of(talk()[2:6])).json()
    assert (told["new"], told["known"], told["session"]) == (4, 0, None)
    assert post(key, body_of(talk()[:5])).json()["known"] == 4
    digest_all()
    assert sorted(SessionRecord.objects.values_list("is_private", flat=True)) == [False, True]


def test_a_line_that_is_too_long_is_refused_and_what_follows_is_kept(key: str) -> None:
    long = event(90, "engine.error", {"message": "x" * (MOST_LINE_BYTES + 10)})
    told = post(key, body_of([long, talk()[0]])).json()
    assert (told["new"], told["refused"], told["rejected"][0]["line"]) == (1, 1, 1)


def test_a_clock_a_year_off_and_an_event_before_a_compaction_are_kept_and_said(key: str) -> None:
    post(key, body_of(talk()))
    digest_all()
    ahead = event(40, "engine.error", {"message": "clock"})
    ahead["ts"] = (timezone.now() + timedelta(days=365)).isoformat()
    late = event(41, "engine.error", {"message": "late"})
    late["ts"] = "2026-03-02T09:00:00Z"
    told = post(key, body_of([ahead, late])).json()
    assert told["new"] == 2
    assert "more than a day ahead" in told["remarks"][0]["sentence"]
    assert "older than a compaction" in told["remarks"][1]["sentence"]
    digest_all()
    session = SessionRecord.objects.get()
    assert session.ended_at is not None and session.ended_at < timezone.now()


@pytest.mark.parametrize(("body", "content_type", "encoding", "status", "words"), [
    (b"", NDJSON, "", 415, "one event a line"),
    (b"\n\n", NDJSON, "", 422, "no line"),
    (b"{}", "text/html", "", 415, "content type"),
    (gzip.compress(b"x" * 99)[:-4], NDJSON, "gzip", 400, "ends too early"),
    (b"plain", NDJSON, "gzip", 400, "not gzip"),
    (gzip.compress(b"\n" * 600_000), NDJSON, "gzip", 413, "500,000 lines"),
    (gzip.compress(b"x" * (65 * 1024 * 1024)), NDJSON, "gzip", 413, "64 MiB"),
])  # fmt: skip
def test_a_body_that_cannot_be_taken(
    key: str, body: bytes, content_type: str, encoding: str, status: int, words: str
) -> None:
    told = post(key, body, content_type=content_type, **({"Content-Encoding": encoding} if encoding else {}))
    assert told.status_code == status
    assert words in told.json()["error"]["sentence"]


def test_fifty_megabytes_in_one_post_are_kept(key: str) -> None:
    text = "word " * 20_000
    events = [event(n, "message.ingested", {"msg": {"seq": n, "role": "user"}, "text": text}) for n in range(500)]
    told = post(key, gzip.compress(body_of(events), 1), **{"Content-Encoding": "gzip"})
    assert (told.status_code, told.json()["new"]) == (200, 500)


def test_a_key_that_may_not_send_is_refused_and_private_streams_do_not_meet(key: str) -> None:
    reader = create_key(User.objects.get().pk, label="r", scopes=["read"], now=NOW)[1]
    assert post(reader, body_of(talk())).status_code == 403
    other = User.objects.create(username="quiet", is_staff=True)
    save_preferences(other.pk, theme="system", time_zone="UTC", is_private=True)
    hidden = create_key(other.pk, label="q", scopes=["ingest"], now=NOW)[1]
    post(hidden, body_of(talk()))
    digest_all()
    told = post(key, body_of(talk()[:2])).json()
    assert (told["new"], told["session"]) == (2, None)
    assert InboxStreamRecord.objects.count() == 2


def test_a_deleted_session_takes_its_stream_along(key: str) -> None:
    post(key, body_of(talk()))
    digest_all()
    delete_session(open_delete(SessionRecord.objects.get().pk, now=NOW))
    assert not InboxStreamRecord.objects.exists()
    assert open_waiting(now=NOW) == []


def test_rows_that_no_digest_took_are_found_again(key: str) -> None:
    post(key, body_of(talk()))
    JobRecord.objects.all().delete()
    assert len(open_waiting(now=NOW)) == 1
    digest_all()
    assert SessionRecord.objects.get().call_count == 2
    assert open_waiting(now=NOW) == []


def test_the_schema_is_the_model() -> None:
    schema = json.loads((DOCS / "events.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["properties"]["type"]["enum"] == sorted(REQUIRED)
    told = {
        one["if"]["properties"]["type"]["const"]: one["then"]["properties"]["data"]["required"]
        for one in schema["allOf"]
    }
    assert told == {kind: list(names) for kind, names in REQUIRED.items() if names}
    check = jsonschema.Draft202012Validator(schema)
    for one in talk():
        check.validate(one)
    assert list(check.iter_errors({**talk()[3], "data": {}}))


def snippet(language: str) -> str:
    found = re.search(rf"```{language}\n(.*?)```", (DOCS / "events.md").read_text(), re.DOTALL)
    assert found is not None
    return found.group(1)


def test_the_examples_of_the_docs_can_be_sent_as_they_are_printed(key: str) -> None:
    printed = re.findall(r"^    (\{.*)$", (DOCS / "events.md").read_text().split("## The answer")[0], re.MULTILINE)

    answer = post(key, "\n".join(printed).encode()).json()

    assert (answer["new"], answer["refused"], answer["rejected"]) == (4, 0, [])
    digest_all()
    assert CallRecord.objects.get().prompt_tokens == 120


@pytest.mark.django_db(transaction=True)
def test_the_emitter_of_the_docs_in_python(live_server: Any, key: str, tmp_path: Path) -> None:
    script = tmp_path / "emitter.py"
    use = f'told = Emitter("from-python", "{live_server.url}").tell("tidy", "compaction.started", strategy="llm")\n'
    script.write_text(snippet("python") + use + "print(told['new'])\n")
    done = subprocess.run(
        [sys.executable, str(script)],
        env={"CONTEXTVIZ_KEY": key},
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("1\n", "")


@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif(shutil.which("node") is None, reason="Node.js is not here")
def test_the_emitter_of_the_docs_in_typescript(live_server: Any, key: str, tmp_path: Path) -> None:
    plain = snippet("typescript")
    # Node 20 runs no types: they are taken out by the few forms that the ten lines have.
    plain = re.sub(r"constructor\(private (\w+): string, private (\w+): string, private (\w+) = (\"[^\"]+\")\) \{\}",
                   r"constructor(\1, \2, \3 = \4) { this.\1 = \1; this.\2 = \2; this.\3 = \3; }", plain)  # fmt: skip
    plain = plain.replace("private seq", "seq").replace("data: Record<string, unknown>", "data")
    plain = plain.replace(": string", "").replace(": Promise<{ new: number; refused: number }>", "")
    script = tmp_path / "emitter.mjs"
    made = f'new Emitter("from-ts", "{key}", "{live_server.url}")'
    use = f'const told = await {made}.tell("tidy", "compaction.started", {{}});\nconsole.log(told.new);\n'
    script.write_text(plain.replace("export class", "class") + use)
    done = subprocess.run(["node", str(script)], capture_output=True, text=True, timeout=30, check=False)
    assert (done.stdout, done.stderr) == ("1\n", "")
