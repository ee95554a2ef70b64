"""The review before an export, without any script."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.conf import settings
from django.test import AsyncClient, Client
from django.urls import reverse

from contextviz.services.delete import delete_session, open_delete
from contextviz.services.export import look_through
from contextviz.services.export.looking import look
from contextviz.services.export.sizes import text_bytes
from contextviz.services.jobs import retry
from contextviz.store.models import AuditRecord, EngineEventRecord, JobRecord, SessionRecord
from contextviz.web.views.sharing import export as views
from tests.services.building import NOW
from tests.services.export_building import KEY, PASSWORD, RANDOM, session

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]
SUSPECT = f"password:\n  {PASSWORD}\n"


@pytest.fixture(autouse=True)
def nothing_held() -> None:
    """Tests roll back, so a session's number comes again with another content; in life it does not."""
    views._reports.clear()


def page_of(client: Client, key: int) -> str:
    answer = client.get(reverse("export", args=[key]))
    assert answer.status_code == 200
    return answer.content.decode()


def post(client: Client, key: int, **fields: str) -> Any:
    return client.post(reverse("export", args=[key]), {"form": "json", **fields})


def test_the_session_page_leads_to_the_review(client: Client) -> None:
    key = session("hello")

    assert reverse("export", args=[key]) in client.get(reverse("session", args=[key])).content.decode()


def test_the_review_lists_what_is_masked_and_what_has_to_be_decided(client: Client) -> None:
    page = page_of(client, session("Please look.", f"use {KEY} here", SUSPECT))

    assert "api key in message 3, block 1 (text)" in page
    assert "split over lines" in page
    assert KEY not in page and PASSWORD not in page
    assert page.count(f'<span class="secret">api key, {len(KEY)} characters masked</span>') == 1
    assert "Download the copy" in page


def test_an_undecided_place_blocks_the_download_with_a_sentence_and_keeps_the_choices(client: Client) -> None:
    key = session("Please look.", SUSPECT)

    answer = post(client, key, form="html")

    assert answer.status_code == 422
    page = answer.content.decode()
    assert "1 place looks like a secret that cannot be masked with certainty" in page
    assert re.search(r'value="html" checked', page)


def test_decided_places_let_the_copy_through_as_an_attachment(client: Client) -> None:
    key = session("Please look.", f"use {KEY}", SUSPECT)

    answer = post(client, key, mask_all="yes")

    assert answer.status_code == 200
    assert answer["Content-Disposition"] == f'attachment; filename="session-{key}.json"'
    assert answer["X-Content-Type-Options"] == "nosniff"
    body = b"".join(answer.streaming_content)
    assert int(answer["Content-Length"]) == len(body)
    assert json.loads(body)["masking"]["masked"] == 2
    assert KEY.encode() not in body and PASSWORD.encode() not in body


@pytest.mark.parametrize("form", ["md", "html"])
def test_the_readable_forms_are_attachments_too(client: Client, form: str) -> None:
    key = session("hello there")

    answer = post(client, key, form=form)

    assert answer["Content-Disposition"].endswith(f'.{form}"')
    assert b"hello there" in b"".join(answer.streaming_content)


def test_keeping_a_value_needs_a_reason_and_is_written_down(client: Client) -> None:
    key = session("Please look.", f"the example is {KEY}")
    (place,) = look_through(key).places

    refused = post(client, key, **{f"decision.{place}": "keep"})
    answer = post(client, key, **{f"decision.{place}": "keep", f"reason.{place}": "an example"})

    assert refused.status_code == 422
    assert "say why" in refused.content.decode()
    assert KEY.encode() in b"".join(answer.streaming_content)
    assert AuditRecord.objects.get(kind="secret_unmasked").target == f"export of session {key}: 1 kept"


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> int:
    """A session that counts as large."""
    monkeypatch.setattr("contextviz.web.views.sharing.export.LOOKED_AT_ONCE", 0)
    return session("Please look.", f"the example is {RANDOM} of key {KEY}")


def test_a_large_session_is_looked_through_by_a_job_that_the_page_follows(client: Client, large: int) -> None:
    url = reverse("export", args=[large])

    assert "Look through it first" in page_of(client, large)
    asked = client.post(reverse("export_look", args=[large]))
    [job] = JobRecord.objects.filter(kind="look_through")
    waiting = page_of(client, large)

    assert (asked.status_code, asked["Location"]) == (303, url)
    assert f'hx-get="{url}"' in waiting and "Download the copy" not in waiting
    client.post(reverse("export_look", args=[large]))
    assert JobRecord.objects.filter(kind="look_through").count() == 1  # the one that waits is followed

    assert look(job.pk)
    job.refresh_from_db()
    assert (job.state, job.progress, job.total) == ("done", text_bytes(large), text_bytes(large))
    assert job.outcome.startswith("Looked through") and "1 value is masked" in job.outcome
    assert KEY not in str(job.result)
    page = page_of(client, large)
    assert "Download the copy" in page and 'hx-get="' not in page.partition('id="review"')[2][:80]
    answer = post(client, large, mask_all="yes")
    assert KEY.encode() not in b"".join(answer.streaming_content)


@pytest.mark.parametrize(("count", "is_large"), [(views.RECORDS_AT_ONCE - 500, False), (views.RECORDS_AT_ONCE, True)])
def test_a_session_of_many_records_with_little_text_is_large_too(client: Client, count: int, is_large: bool) -> None:
    key = session("Please look.")
    EngineEventRecord.objects.bulk_create(
        EngineEventRecord(session_id=key, index=at, type="topic.switch", engine="flowctx", origin="log", data={"n": at})
        for at in range(count)
    )

    page = page_of(client, key)

    assert ("Look through it first" in page) is is_large
    assert ("Download the copy" in page) is not is_large
    assert not is_large or re.search(r"holds 5,0\d\d records with \d+\sB of text", page)


def test_a_large_session_is_never_copied_unlooked(client: Client, large: int) -> None:
    refused = post(client, large, mask_all="yes")

    assert refused.status_code == 422
    assert "was not looked through yet" in refused.content.decode()


def test_a_look_that_failed_says_why_and_can_be_asked_for_again(
    client: Client, large: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.post(reverse("export_look", args=[large]))
    job = JobRecord.objects.get(kind="look_through")
    with monkeypatch.context() as patched:
        patched.setattr("contextviz.services.export.looking.keep_report", raising)
        look(job.pk)

    page = page_of(client, large)
    assert "An error of contextviz" in page and "Look through it again" in page
    assert retry(job.pk) and look(job.pk)
    assert "Download the copy" in page_of(client, large)


def raising(*_: object, **__: object) -> None:
    raise OSError("the disk is full")


def test_what_was_kept_is_of_one_state_of_the_session_and_goes_with_it(client: Client, large: int) -> None:
    client.post(reverse("export_look", args=[large]))
    look(JobRecord.objects.get(kind="look_through").pk)
    [kept] = (Path(settings.DATA_DIR) / "looked-through").glob("*.json")
    assert kept.stat().st_mode & 0o077 == 0

    SessionRecord.objects.filter(pk=large).update(revision=9_999)
    assert "The session has changed since it was looked through" in page_of(client, large)
    delete_session(open_delete(large, now=NOW))
    assert not kept.exists()


def test_a_value_is_shown_on_request_alone_and_that_is_written_down(client: Client) -> None:
    key = session("Please look.", f"the example is {KEY}")
    (place,) = look_through(key).places

    answer = client.post(reverse("export_unmask", args=[key]), {"place": place}, headers={"HX-Request": "true"})

    assert KEY in answer.content.decode()
    assert answer["Cache-Control"] == "no-store"
    written = AuditRecord.objects.get(kind="secret_unmasked").target
    assert written == f"session {key}, api key in message 3, block 1 (text)"
    assert client.post(reverse("export_unmask", args=[key]), {"place": "no"}).status_code == 404


def test_an_unknown_form_and_an_unknown_session_are_refused(client: Client) -> None:
    assert post(client, session("hello"), form="pdf").status_code == 422
    assert client.get(reverse("export", args=[999_999])).status_code == 404


def test_nobody_exports_without_signing_in(anonymous_client: Client) -> None:
    assert anonymous_client.get(reverse("export", args=[1])).status_code == 302


def test_the_download_streams_under_the_asynchronous_server(owner: Any) -> None:
    key = session("hello there")
    client = AsyncClient(headers={"host": "127.0.0.1"})
    client.force_login(owner)

    async def download() -> bytes:
        answer = await client.post(reverse("export", args=[key]), {"form": "md"})
        assert answer.status_code == 200
        return b"".join([part async for part in answer.streaming_content])

    assert b"hello there" in async_to_sync(download)()
