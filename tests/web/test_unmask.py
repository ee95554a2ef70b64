"""Masked values on request: who gets them, what is written down, and that they are nowhere before."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from contextviz.services.api_keys import SCOPES, create_key
from contextviz.services.retrieve import open_retrieve, retrieve_original
from contextviz.store.models import AuditRecord
from contextviz.store.queries import calls, messages
from contextviz.store.viewing import viewer_of, viewing
from contextviz.web.answers import MOST_LOOKED_AT
from tests.accounts.cast import Cast, session_of, the_cast, upload_as
from tests.hostile import addresses
from tests.services.building import NOW

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]
KEY = "ghp_0123456789abcdefghijABCDEFGHIJ"
PASSWORD = "tr0ub4dor-and-3"
BASIC = "dXNlcjpodW50ZXIyMg=="
SAID = f"use {KEY}\nDB_PASSWORD={PASSWORD}\nProxy-Authorization: Basic {BASIC}"
VALUES = (KEY, PASSWORD, BASIC)


@pytest.fixture
def cast() -> Cast:
    """Alice, Bob, Vera and Adam."""
    return the_cast()


def lines(session: str) -> str:
    """A session in which a prompt, a tool's arguments, its result and a summary hold the secrets."""
    usage = {"input_tokens": 5, "cache_read_input_tokens": 800, "cache_creation_input_tokens": 90, "output_tokens": 7}
    use = {"type": "tool_use", "id": "tu", "name": "Bash", "input": {"command": f"curl -H '{SAID}'"}}
    edit = {"type": "tool_use", "id": "te", "name": "Edit", "input": {"old_string": "a", "new_string": SAID}}
    results = [{"type": "tool_result", "tool_use_id": one, "content": SAID} for one in ("tu", "te")]
    answer = {"role": "assistant", "model": "a-model", "usage": usage}
    rows: list[dict[str, Any]] = [
        {"type": "user", "message": {"role": "user", "content": SAID}},
        {"type": "assistant", "message": {"id": "m1", "content": [use, edit], **answer}},
        {"type": "user", "message": {"role": "user", "content": results}},
        {"type": "system", "subtype": "compact_boundary", "compactMetadata": {"trigger": "auto", "preTokens": 900}},
        {"type": "user", "isCompactSummary": True, "message": {"role": "user", "content": f"Summary: {SAID}"}},
        {"type": "assistant", "message": {"id": "m2", "content": [{"type": "text", "text": SAID}], **answer}},
    ]
    for number, row in enumerate(rows):
        row |= {"sessionId": session, "uuid": f"u{number}", "isSidechain": False, "version": "2.0.1",
                "parentUuid": None if number in (0, 3) else f"u{number - 1}", "cwd": "/w",
                "timestamp": f"2026-02-01T09:00:{number:02d}Z"}  # fmt: skip
    return "".join(json.dumps(row) + "\n" for row in rows)


@pytest.fixture
def shared(cast: Cast) -> int:
    """Alice's session, for all."""
    return session_of(upload_as(cast.alice, ("talk.jsonl", lines("0b1c2d3e-0000-4000-8000-00000000000a"))))


@pytest.fixture
def private(cast: Cast) -> int:
    """Alice's session, for her alone."""
    return session_of(
        upload_as(cast.alice, ("own.jsonl", lines("0b1c2d3e-0000-4000-8000-00000000000b")), is_private=True)
    )


def asks(session_id: int) -> dict[str, str]:
    """Every address at which the session's values are asked for."""
    found = messages.get_message(session_id, 0).blocks[0].text.sha256
    return {
        "message 1": reverse("unmask_message", args=[session_id, 0]),
        "message 1, block 1": reverse("unmask_block", args=[session_id, 0, 0]),
        "context item 0": reverse("unmask_item", args=[session_id, 0]),
        "summary of compaction 1": reverse("unmask_compaction", args=[session_id, 1]),
        "original": reverse("unmask_original", args=[found]),
    }


def api(session_id: int) -> Iterator[str]:
    """Every address of the API that gives texts of the session."""
    base = f"/api/v1/sessions/{session_id}"
    yield from (f"{base}/messages?text=1", f"{base}/messages/0?text=1", f"{base}/compactions?text=1")
    yield from (f"{base}/compactions/1?text=1", f"{base}/compactions/1/items?text=1")
    yield from (f"{base}/calls/1/snapshot/items?text=1", "/api/v1/search?q=use", "/api/v1/jobs", "/api/v1/sessions")
    yield f"/api/v1/originals/{messages.get_message(session_id, 0).blocks[0].text.sha256}?text=1"


def holds(body: bytes | str) -> list[str]:
    text = body if isinstance(body, str) else body.decode(errors="replace")
    return [value for value in VALUES if value in text]


@pytest.mark.slow  # opens every page
@pytest.mark.parametrize("who", ["vera", "adam"])
def test_no_byte_of_a_page_a_figure_or_a_reply_holds_a_value(cast: Cast, shared: int, who: str) -> None:
    client = cast.clients()[who]
    with viewing(viewer_of(getattr(cast, who))):
        digest = messages.get_message(shared, 0).blocks[0].text.sha256
        assert retrieve_original(open_retrieve(digest, now=NOW))
        assert calls.compactions(shared)
        opened = [
            (url, body) for url, _, body in addresses(client) if "/download" not in url and "/artifacts" not in url
        ]
        opened += [(url, client.get(url).content.decode()) for url in api(shared)]

    assert len(opened) > 40
    assert {url: found for url, body in opened if (found := holds(body))} == {}
    assert not AuditRecord.objects.filter(kind="secret_unmasked").exclude(target__startswith="download of").exists()


def test_a_page_says_what_is_masked_and_offers_the_button_to_whoever_may(cast: Cast, shared: int) -> None:
    people = cast.clients()
    page = reverse("message", args=[shared, 0])

    own, seen = (people[who].get(page).content.decode() for who in ("alice", "vera"))

    assert f'<span class="secret">api key, {len(KEY)} characters masked</span>' in own
    assert f'action="{reverse("unmask_block", args=[shared, 0, 0])}"' in own
    assert "unmask/" not in seen and "An operator or an admin can show the masked values." in seen


@pytest.mark.parametrize("is_fragment", [True, False])
def test_whoever_may_gets_the_values_once_and_that_is_written_down(cast: Cast, shared: int, is_fragment: bool) -> None:
    bob = cast.clients()["bob"]
    headers = {"HX-Request": "true"} if is_fragment else {}
    for number, (what, url) in enumerate(asks(shared).items(), start=1):
        answer = bob.post(url, headers=headers)

        page = answer.content.decode()
        assert answer.status_code == 200 and holds(page) == list(VALUES), what
        assert answer["Cache-Control"] == "no-store"
        assert page.startswith("<!doctype") is not is_fragment
        rows = AuditRecord.objects.filter(kind="secret_unmasked")
        assert rows.count() == number
        row = rows.order_by("-id")[0]
        assert (row.name, row.address) == ("bob", "127.0.0.1")
        assert what in row.target and str(shared) in row.target
    assert "secret" not in page or 'class="secret"' not in page


def test_a_viewer_a_stranger_and_a_forgery_get_nothing(cast: Cast, shared: int, private: int) -> None:
    people = cast.clients()
    forged = Client(enforce_csrf_checks=True, headers={"host": "127.0.0.1"})
    forged.force_login(cast.alice)
    nobody = Client(headers={"host": "127.0.0.1"})
    with viewing(viewer_of(cast.alice)):
        own = {what: url for what, url in asks(private).items() if what != "original"}
    for url in asks(shared).values():
        assert people["vera"].post(url).status_code == 403
        assert people["alice"].get(url).status_code == 405
        assert forged.post(url).status_code == 403
        assert nobody.post(url)["Location"].startswith("/sign-in/")
    for url in own.values():
        assert people["bob"].post(url).status_code == 404
        assert holds(people["adam"].post(url).content) == list(VALUES)

    assert AuditRecord.objects.filter(kind="secret_unmasked").count() == len(own)  # Adam's


def test_downloads_with_values_are_for_operators_and_written_down(cast: Cast, shared: int) -> None:
    people = cast.clients()
    digest = messages.get_message(shared, 0).blocks[0].text.sha256
    urls = {
        f"session {shared}, message 1, block 1": reverse("block_download", args=[shared, 0, 0]),
        f"session {shared}, context item 0": reverse("item_download", args=[shared, 0]),
        f"original {digest[:24]}": reverse("original_download", args=[digest]),
    }
    for what, url in urls.items():
        assert people["vera"].get(url).status_code == 403
        assert holds(people["bob"].get(url).content) == list(VALUES)
        assert AuditRecord.objects.filter(kind="secret_unmasked").latest("id").target == f"download of {what}"
    assert AuditRecord.objects.filter(kind="secret_unmasked").count() == len(urls)


def test_a_download_without_values_is_for_everybody_and_not_written_down(cast: Cast) -> None:
    plain = lines("0b1c2d3e-0000-4000-8000-00000000000c").replace(json.dumps(SAID)[1:-1], "hello")
    session_id = session_of(upload_as(cast.alice, ("plain.jsonl", plain)))

    answer = cast.clients()["vera"].get(reverse("block_download", args=[session_id, 0, 0]))

    assert (answer.status_code, answer.content) == (200, b"hello")
    assert not AuditRecord.objects.filter(kind="secret_unmasked").exists()


def test_a_text_too_large_to_look_through_counts_as_holding_values(cast: Cast) -> None:
    large = lines("0b1c2d3e-0000-4000-8000-00000000000d").replace(json.dumps(SAID)[1:-1], "x" * (MOST_LOOKED_AT + 1), 1)
    session_id = session_of(upload_as(cast.alice, ("large.jsonl", large)))

    assert cast.clients()["vera"].get(reverse("block_download", args=[session_id, 0, 0])).status_code == 403


def test_the_api_masks_unless_a_key_with_the_scope_asks(cast: Cast, shared: int) -> None:
    def client_with(*scopes: str) -> Client:
        _, key = create_key(cast.bob.pk, label=" ".join(scopes), scopes=scopes, now=NOW)
        return Client(headers={"authorization": f"Bearer {key}", "host": "127.0.0.1"})

    reader, full = client_with("read", "ingest", "operate"), client_with(*SCOPES)
    url = f"/api/v1/sessions/{shared}/messages/0?text=1"

    text = full.get(url).json()["blocks"][0]["text"]
    assert (text["masked"], holds(text["body"])) == (3, [])
    assert "[api key masked]" in text["body"]
    refused = reader.get(f"{url}&unmasked=1")
    assert refused.status_code == 403 and "scope unmask" in refused.json()["error"]["sentence"]
    assert not AuditRecord.objects.filter(kind="secret_unmasked").exists()

    text = full.get(f"{url}&unmasked=1").json()["blocks"][0]["text"]
    assert (text["masked"], text["body"]) == (0, SAID)
    row = AuditRecord.objects.get(kind="secret_unmasked")
    assert (row.name, row.target) == ("bob", f"session {shared}, message 1, by the API's key {' '.join(SCOPES)}")


def test_the_apis_raw_bytes_need_the_scope_where_they_hold_values(cast: Cast, shared: int) -> None:
    people = cast.clients()
    url = f"/api/v1/originals/{messages.get_message(shared, 0).blocks[0].text.sha256}/raw"

    assert people["vera"].get(f"{url}?unmasked=1").status_code == 403
    assert people["alice"].get(url).status_code == 403
    assert people["alice"].get(f"{url}?unmasked=1").content.decode() == SAID
    assert AuditRecord.objects.filter(kind="secret_unmasked").count() == 1
