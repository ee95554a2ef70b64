"""Who may open what: every address of the web application, for everybody. A new page is covered by itself.

An address with a session in it must be 404 for a stranger of a private session, and every change must be refused to a
viewer: both hold for pages that nobody has thought of yet.
"""

from __future__ import annotations

from collections.abc import Iterator
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver

from contextviz.store.models import ArtifactRecord, JobRecord, TextRecord
from contextviz.web.roles import ADMIN_CHANGES, ADMIN_PAGES, OWN, role_needed
from tests.accounts.cast import Cast, session_of, upload_as
from tests.services.building import claude_lines

pytestmark = pytest.mark.usefixtures("data_dir")
# Open to everybody before signing in, and what is answered the same whoever asks.
OPEN = {"sign_in", "sign_out", "healthz"}
# Exporters bring a key instead of a sign-in; tests/otlp have a cast of their own.
KEYED = {"otlp_logs", "otlp_metrics", "otlp_traces"}
METHODS = ("get", "post")


def addresses(patterns: list[URLPattern | URLResolver], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Every name of the web application with its route; the API has a cast of its own."""
    for one in patterns:
        route = prefix + str(one.pattern)
        if isinstance(one, URLResolver):
            if one.namespace is None:
                yield from addresses(one.url_patterns, route)
        elif one.name:
            yield one.name, route


ADDRESSES = sorted({one for one in addresses(get_resolver().url_patterns) if one[0] not in KEYED})
OF_A_SESSION = [(name, route) for name, route in ADDRESSES if "<int:session_id>" in route]


@pytest.fixture
def private(cast: Cast) -> int:
    """Alice's private session."""
    return session_of(upload_as(cast.alice, ("a.jsonl", claude_lines(2)), is_private=True))


@pytest.fixture
def shared(cast: Cast) -> int:
    """Alice's shared session."""
    lines = claude_lines(2, session="0b1c2d3e-0000-4000-8000-000000000002", word="beta")
    return session_of(upload_as(cast.alice, ("b.jsonl", lines)))


def filled(route: str, session_id: int) -> str:
    """The route with things that are there, where they are."""
    job = JobRecord.objects.order_by("created_at").first()
    text = TextRecord.objects.order_by("pk").first()
    artifact = ArtifactRecord.objects.order_by("pk").first()
    person = User.objects.order_by("pk").first()  # PostgreSQL goes on counting from test to test
    values = {
        "int:session_id": session_id, "int:number": 1, "int:index": 0, "int:block": 0, "int:position": 0,
        "path:node_id": "s1", "uuid:job_id": job.pk if job else uuid4(), "uuid:upload_id": uuid4(),
        "sha256:digest": bytes(text.digest).hex() if text else "0" * 64,
        "slug:sha256": artifact.sha256 if artifact else "0" * 64, "int:key_id": 1,
        "slug:run_id": "00000000", "int:place": 1,
        "int:user_id": person.pk if person else 1, "int:rule_id": 1, "path:name": "api",
    }  # fmt: skip
    path = route
    for key, value in values.items():
        path = path.replace(f"<{key}>", str(value))
    assert "<" not in path, f"say what stands for it: {path}"
    return f"/{path}"


def status(client: Client, method: str, path: str) -> int:
    found: int = getattr(client, method)(path).status_code  # a stream is not begun
    return found


def test_nobody_comes_in_without_a_sign_in(cast: Cast, private: int) -> None:
    nobody = Client(headers={"host": "127.0.0.1"})
    for name, route in ADDRESSES:
        for method in METHODS if name not in OPEN else ():
            answer = getattr(nobody, method)(filled(route, private))
            assert answer.status_code == 302, f"{method} {name}"
            assert answer.headers["Location"].startswith("/sign-in/")


def test_a_private_session_is_not_there_for_a_stranger(cast: Cast, private: int) -> None:
    stranger = cast.clients()["bob"]
    for name, route in OF_A_SESSION:
        # 405: the address does not take that method, whoever asks.
        found = {status(stranger, method, filled(route, private)) for method in METHODS}
        assert found in ({404}, {404, 405}), name


def test_its_owner_and_an_admin_are_never_refused(cast: Cast, private: int) -> None:
    people = cast.clients()
    for name, route in OF_A_SESSION:
        for who in ("alice", "adam"):
            # Some pages need more than this session has (a summary, a map).
            assert status(people[who], "get", filled(route, private)) in (200, 302, 404, 405, 422), f"{who} {name}"


def test_a_viewer_changes_nothing_but_what_is_the_viewers_own(cast: Cast, shared: int) -> None:
    viewer = cast.clients()["vera"]
    for name, route in ADDRESSES:
        if name not in OPEN | OWN:
            assert status(viewer, "post", filled(route, shared)) in (403, 405), name


def test_pages_and_changes_of_admins_are_refused_to_others(cast: Cast, shared: int) -> None:
    people = cast.clients()
    for name, route in ADDRESSES:
        path = filled(route, shared)
        if name in ADMIN_PAGES:
            assert {status(people[who], "get", path) for who in ("alice", "bob", "vera")} == {403}, name
            assert status(people["adam"], "get", path) == 200, name
        if name in ADMIN_PAGES | ADMIN_CHANGES:
            assert status(people["alice"], "post", path) == 403, name


def test_everybody_looks_at_what_is_shared(cast: Cast, shared: int) -> None:
    for who, client in cast.clients().items():
        for name, route in ADDRESSES:
            # The question before a deletion is for whoever may delete.
            if name not in ADMIN_PAGES | OPEN | {"session_delete"}:
                assert status(client, "get", filled(route, shared)) != 403, f"{who} {name}"


def test_roles_are_spelt_as_addresses_are() -> None:
    names = {name for name, _ in ADDRESSES}

    assert names >= OWN | ADMIN_PAGES | ADMIN_CHANGES
    assert role_needed("a page of tomorrow", "GET") == "viewer"
    assert role_needed("a page of tomorrow", "POST") == "operator"
