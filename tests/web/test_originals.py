"""Originals: what a hash, its beginning or a marker names, proved; and the markers of a session."""

from __future__ import annotations

import hashlib

import pytest
import zstandard
from django.test import Client

from contextviz.services import retrieve
from contextviz.store.models import TextPackRecord
from contextviz.store.queries import jobs
from contextviz.store.values import SessionRow
from tests.services.building import claude_lines
from tests.web.folded import HANDLE, HOSTILE, HTMX, MARKER, ORIGINAL, SECRET, Capture, Chat, imported, queries_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]
SHA256 = hashlib.sha256(ORIGINAL.encode()).hexdigest()


@pytest.fixture
def marked() -> SessionRow:
    """A session with a marker, the original behind it, and a marker of something that is not held."""
    own = Chat("7c1d0000-0000-4000-8000-00000000000c")
    own.say("user", MARKER)
    own.say("assistant", "I look.", prompt=100)
    own.say("user", ORIGINAL)
    own.say("assistant", "Seen.", prompt=200)
    own.say("user", MARKER.replace(HANDLE, "0" * 24))
    own.say("user", f"{HOSTILE} {SECRET}")
    return imported(own.text())


def ask(client: Client, query: str, capture: Capture) -> tuple[int, str]:
    """Ask for something through the plain form; the status and the page of the result."""
    with capture(execute=True):
        answer = client.post("/originals/", {"q": query})
    assert answer.status_code == 302
    page = client.get(answer.headers["Location"])
    return page.status_code, page.content.decode()


@pytest.mark.parametrize("query", [SHA256, SHA256.upper(), HANDLE, SHA256[:6], MARKER, f"sha256:{SHA256}"])
def test_every_spelling_gives_the_verified_original(
    client: Client, marked: SessionRow, query: str, django_capture_on_commit_callbacks: Capture
) -> None:
    status, page = ask(client, query, django_capture_on_commit_callbacks)

    assert status == 200
    assert "verified" in page
    assert page.count(SHA256) >= 3
    assert "connection to shard-7 refused" in page
    assert f'href="/sessions/{marked.id}/?message=2#m-2"' in page


def test_a_download_is_the_exact_bytes_as_a_file_that_no_browser_runs(client: Client, marked: SessionRow) -> None:
    answer = client.get(f"/originals/{SHA256}/download")

    assert answer.content == ORIGINAL.encode()
    assert answer.headers["Content-Disposition"] == f'attachment; filename="{HANDLE}.txt"'
    assert answer.headers["Content-Type"] == "text/plain; charset=utf-8"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"


def test_an_unknown_hash_is_a_sentence_and_a_404(
    client: Client, marked: SessionRow, django_capture_on_commit_callbacks: Capture
) -> None:
    status, page = ask(client, "deadbeef" * 8, django_capture_on_commit_callbacks)

    assert status == 404
    assert "Nothing that was read here has this hash" in page
    assert client.get(f"/originals/{'deadbeef' * 8}/download").status_code == 404


def test_what_is_no_hash_is_a_sentence_and_a_404(client: Client, django_capture_on_commit_callbacks: Capture) -> None:
    status, page = ask(client, "hello there", django_capture_on_commit_callbacks)

    assert status == 404
    assert "There is no hash in that" in page


def test_an_empty_question_is_refused(client: Client) -> None:
    answer = client.post("/originals/", {"q": "  "})

    assert answer.status_code == 422
    assert "Paste a hash" in answer.content.decode()


def test_bytes_that_changed_are_called_a_mismatch(client: Client, django_capture_on_commit_callbacks: Capture) -> None:
    imported(claude_lines(1, word="steady"), "one.jsonl")
    text = "steady question 0"
    pack = TextPackRecord.objects.get()
    raw = zstandard.ZstdDecompressor().decompress(bytes(pack.data))
    pack.data = zstandard.ZstdCompressor().compress(raw.replace(b"steady question 0", b"forged question 0"))
    pack.save()

    status, page = ask(client, hashlib.sha256(text.encode()).hexdigest(), django_capture_on_commit_callbacks)

    assert status == 200
    assert "mismatch" in page and "this is not the original" in page
    assert hashlib.sha256(b"forged question 0").hexdigest() in page


def test_htmx_polls_until_the_result_is_there(
    client: Client, marked: SessionRow, django_capture_on_commit_callbacks: Capture
) -> None:
    with django_capture_on_commit_callbacks():
        answer = client.post("/originals/", {"q": HANDLE}, headers=HTMX)
    job = jobs.jobs(kind="retrieve_original").items[0]
    address = f"/originals/?job={job.id}"
    assert f'hx-get="{address}"' in answer.content.decode()
    assert answer.headers["HX-Push-Url"] == address

    retrieve.retrieve_original(job.id)
    result = client.get(address, headers=HTMX).content.decode()

    assert result.lstrip().startswith("<section")
    assert "hx-get" not in result and "verified" in result
    # The list below it follows: it would say that nothing was retrieved yet.
    recent = result[result.index('<section id="recent"') :]
    assert 'hx-swap-oob="true"' in recent and "Verified" in recent and HANDLE in recent


def test_a_prefilled_address_shows_the_form_and_starts_nothing(client: Client) -> None:
    page = client.get("/originals/?q=%3Cscript%3Ealert(1)%3C/script%3E").content.decode()

    assert "&lt;script&gt;alert(1)" in page and "<script>alert(1)" not in page
    assert not jobs.jobs(kind="retrieve_original").items


def test_the_markers_of_a_session_say_which_of_them_dangle(client: Client, marked: SessionRow) -> None:
    page = client.get(f"/originals/?session={marked.id}").content.decode()

    assert f'href="/originals/?q={HANDLE}"' in page
    assert "2 handles" in page and "1 dangling" in page


def test_hostile_originals_stay_text_with_secrets_masked(
    client: Client, marked: SessionRow, django_capture_on_commit_callbacks: Capture
) -> None:
    digest = hashlib.sha256(f"{HOSTILE} {SECRET}".encode()).hexdigest()

    _, page = ask(client, digest, django_capture_on_commit_callbacks)

    assert "<script>alert" not in page and "&lt;script&gt;alert" in page
    assert 'class="secret"' in page


def test_a_long_original_is_cut_with_a_way_to_all_of_it(
    client: Client, django_capture_on_commit_callbacks: Capture
) -> None:
    text = "a long line of text\n" * 1_000
    imported(claude_lines(1, word=text), "one.jsonl")
    digest = hashlib.sha256(f"{text} question 0".encode()).hexdigest()

    _, page = ask(client, digest, django_capture_on_commit_callbacks)

    assert page.count("a long line of text") < 300
    assert "Show all" in page
    job = jobs.jobs(kind="retrieve_original").items[0]
    whole = client.get(f"/originals/?job={job.id}&all=1").content.decode()
    assert whole.count("a long line of text") >= 1_000


@pytest.mark.parametrize("query", ["job=none", "job=00000000-0000-0000-0000-000000000000", "session=77"])
def test_what_is_not_there_is_a_404(client: Client, query: str) -> None:
    assert client.get(f"/originals/?{query}").status_code == 404


def test_the_number_of_queries_does_not_follow_the_markers(client: Client) -> None:
    few, many = Chat("7c1d0000-0000-4000-8000-00000000000d"), Chat("7c1d0000-0000-4000-8000-00000000000e")
    few.say("user", MARKER)
    for number in range(30):
        many.say("user", MARKER.replace(HANDLE, f"{number:024x}"))
    small, large = imported(few.text()), imported(many.text())

    assert queries_of(lambda: client.get(f"/originals/?session={small.id}")) == queries_of(
        lambda: client.get(f"/originals/?session={large.id}")
    )
