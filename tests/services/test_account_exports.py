"""An export of a chat app as it is uploaded: a zip whose conversations are sessions, and nothing else of it is kept."""

from __future__ import annotations

import io
import json
import zipfile
from typing import Any

import pytest
from django.test import Client

from contextviz.store import artifacts
from contextviz.store.models import ArtifactRecord, SessionRecord
from contextviz.store.queries import messages
from contextviz.store.texts import TextReader
from tests.services.building import upload
from tests.sources.account_exports.talks import START, branched, forked, simple

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]


def packed(conversations: Any) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("conversations.json", json.dumps(conversations))
        archive.writestr("user.json", json.dumps({"id": "user-1", "email": "x@example.org", "chatgpt_plus_user": True}))
        archive.writestr("chat.html", "<html><body>x@example.org</body></html>")
    return out.getvalue()


def test_an_uploaded_zip_gives_its_conversations_and_keeps_nothing_else() -> None:
    job = upload(("export.zip", packed([branched(), simple("c1")])))
    found = {one.source_id: one for one in SessionRecord.objects.all()}

    assert job.state == "done"
    assert found.keys() == {"talk-1", "c1"}
    assert (found["talk-1"].title, found["talk-1"].call_count, found["talk-1"].message_count) == ("About talk-1", 4, 11)
    assert (found["talk-1"].spend_total_tokens, found["talk-1"].window, found["talk-1"].occupancy_tokens) == (None,) * 3
    reasons = {one["path"]: one["reason"] for one in job.result["files"]}
    assert "the account, in ChatGPT's export" in reasons["export.zip/user.json"]
    with zipfile.ZipFile(artifacts.path_of(ArtifactRecord.objects.get().sha256)) as archive:
        assert not any(b"example.org" in archive.read(name) for name in archive.namelist())


@pytest.mark.parametrize("conversation", [branched(), forked()])
def test_its_pages_show_a_dash_where_tokens_are_unknown(client: Client, conversation: Any) -> None:
    upload(("export.zip", packed([conversation])))
    session = SessionRecord.objects.get()

    pages = [f"/sessions/{session.pk}/", f"/sessions/{session.pk}/calls/3/", f"/sessions/{session.pk}/budget/", "/",
             "/coverage/"]  # fmt: skip
    for address in pages:
        answer = client.get(address)
        assert answer.status_code == 200, address
    assert "—" in client.get(pages[1]).content.decode()
    assert session.format in client.get("/coverage/").content.decode()


def test_a_later_export_brings_a_conversation_up_to_date_and_an_earlier_one_takes_nothing_away() -> None:
    short = branched()
    for name in ("recap", "done2"):
        del short["mapping"][name]
    short["current_node"] = "out2"
    upload(("a.zip", packed([short, simple("c1")])))
    assert SessionRecord.objects.get(source_id="talk-1").message_count == 9
    upload(("b.zip", packed([branched(), simple("c1")])))
    assert SessionRecord.objects.get(source_id="talk-1").message_count == 11
    upload(("c.zip", packed([short, simple("c1"), simple("c2")])))

    assert SessionRecord.objects.count() == 3
    assert SessionRecord.objects.get(source_id="talk-1").message_count == 11


def answers() -> list[str]:
    """What the conversation says now."""
    found = messages.messages(SessionRecord.objects.get().pk).messages
    pool = TextReader(4)
    return [pool.get(block.text) for one in found for block in one.blocks]


@pytest.mark.parametrize("kind", ["ChatGPT", "claude.ai"])
def test_of_two_exports_with_as_many_messages_the_one_that_changed_last_counts(kind: str) -> None:
    def export(word: str, second: int | None) -> tuple[str, str]:
        if kind == "ChatGPT":
            found = simple("c1", "ask", word) | {"update_time": None if second is None else START + second}
        else:
            at = None if second is None else f"2026-03-01T10:00:{second:02}Z"
            said = [{"uuid": str(number), "sender": who, "text": text, "content": []}
                    for number, (who, text) in enumerate((("human", "ask"), ("assistant", word)))]  # fmt: skip
            found = {"uuid": "c1", "name": "n", "created_at": "2026-03-01T10:00:00Z", "updated_at": at,
                     "chat_messages": said}  # fmt: skip
        return f"{word}.json", json.dumps([found])

    upload(export("second", 20))
    assert upload(export("first", 10)).result["unchanged"] == 1
    assert answers() == ["ask", "second"]
    upload(export("undated", None))
    assert answers() == ["ask", "second"]
    upload(export("third", 30), export("between", 25))
    assert answers() == ["ask", "third"]
    upload(export("early", 5), export("last", 40))

    assert answers() == ["ask", "last"]
