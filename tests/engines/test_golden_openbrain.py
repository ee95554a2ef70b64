"""OpenBrain by our rule held against a folder of goldens: every entry of every known file, every other file named."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from contextviz.engines.openbrain import (
    Scored,
    Thought,
    body_of,
    merge,
    read_exchange,
    read_thoughts,
    recent_of,
)
from tests.engines.golden_files import check_keys, loaded, name_unknown, part

KNOWN = {"exchanges.json", "thoughts.json", "merge_expected.json"}
LISTS = ("thoughts", "results", "data", "items")
SCORES = ("score", "similarity", "relevance")


@pytest.fixture
def folder(goldens: Path) -> Path:
    return part(goldens, "openbrain")


def test_golden_openbrain_files_are_all_known(folder: Path) -> None:
    name_unknown(folder, KNOWN)


def check_thought(written: dict[str, Any], read: Thought) -> None:
    """A thought holds what was written, under whichever of its names."""
    for names, value in (
        (("id", "thought_id", "_id"), read.id),
        (("content", "text"), read.content),
        (("source",), read.source),
        (("created_at", "createdAt", "timestamp"), read.created_at),
    ):
        given = [written[name] for name in names if name in written]
        assert not given or str(given[0]) == value, (names, written)
    metadata = written.get("metadata") or {}
    own = {"sessionId": read.session, "turn": read.turn, "role": read.role, "type": read.type, **read.more}
    assert {key: own.get(key) for key in metadata} == metadata, written


def test_golden_openbrain_thoughts(folder: Path) -> None:
    written = loaded(folder / "thoughts.json")
    read = [one.thought for one in read_thoughts(written)]

    assert len(read) == len(written)
    for one, thought in zip(written, read, strict=True):
        check_thought(one, thought)
        assert body_of(thought)["metadata"] == one["metadata"]


def items_of(body: Any) -> list[Any]:
    if isinstance(body, list):
        return body
    return next((body[name] for name in LISTS if isinstance(body, dict) and isinstance(body.get(name), list)), [])


def expected_operation(method: str, path: str) -> str:
    last = path.rsplit("/", 1)[-1]
    known = {("POST", "thoughts"): "create", ("POST", "search"): "search", ("GET", "recent"): "recent",
             ("DELETE", "thoughts"): "delete-many"}  # fmt: skip
    return known.get((method, last), {"PATCH": "update", "DELETE": "delete"}.get(method, "unknown"))


def check_exchange(record: dict[str, Any]) -> None:
    request, response = record["request"], record["response"]
    read = read_exchange(record)
    body, query, answer = request.get("body") or {}, request.get("query") or {}, response.get("body")
    where = f"{request['method']} {request['path']} {response['status']}"
    check_keys(request, {"method", "path", "query", "headers", "body"}, where)
    check_keys(response, {"status", "body", "headers"}, where)
    assert (read.method, read.path, read.status) == (request["method"], request["path"], response["status"]), where
    assert read.operation == expected_operation(request["method"], request["path"]), where
    assert read.ok == (200 <= response["status"] < 300), where
    assert read.query == body.get("query"), where
    given = body.get("limit", query.get("limit"))
    assert read.limit == (None if given is None else int(given)), where
    assert (read.source, read.metadata_id) == (body.get("source", query.get("source")), query.get("metadata_id")), where
    told = answer if isinstance(answer, dict) else {}
    if not read.ok:
        assert (read.thoughts, read.error) == ((), told.get("error")), where
        return
    assert read.deleted == told.get("deleted"), where
    if read.operation in ("update", "delete"):
        assert read.id == request["path"].rsplit("/", 1)[-1], where
    elif read.operation == "create":
        assert read.id == next((str(told[name]) for name in ("id", "thought_id", "_id") if name in told), None), where
        check_thought({**body, **({"id": read.id} if read.id else {})}, read.thoughts[0].thought)
    elif read.operation in ("search", "recent"):
        check_found(items_of(answer), list(read.thoughts))


def check_found(items: list[Any], found: list[Scored]) -> None:
    assert len(found) == len(items)
    for item, one in zip(items, found, strict=True):
        inner = item.get("thought", item)
        check_thought(inner, one.thought)
        scores = [place[name] for place in (item, inner) for name in SCORES if name in place]
        distances = [place["distance"] for place in (item, inner) if "distance" in place]
        wanted = scores[0] if scores else 1 - distances[0] if distances else None
        assert one.score == (None if wanted is None else pytest.approx(wanted)), item


def test_golden_openbrain_exchanges(folder: Path) -> None:
    document = loaded(folder / "exchanges.json")

    check_keys(document, {"note", "exchanges"}, "exchanges.json")
    assert document["exchanges"]
    for record in document["exchanges"]:
        check_keys(record, {"request", "response", "note", "label"}, "an exchange")
        check_exchange(record)


def own_session(folder: Path, thoughts: list[Thought]) -> str:
    """The session that the cases are of: that of the message a request stores, else the one with the most thoughts."""
    path = folder / "exchanges.json"
    records = json.loads(path.read_text(encoding="utf-8"))["exchanges"] if path.is_file() else []
    posted = [
        (record["request"].get("body") or {}).get("metadata", {}).get("sessionId") for record in records
        if record["request"]["method"] == "POST"
    ]  # fmt: skip
    counted = Counter(one.session for one in thoughts)
    return next((name for name in posted if name in counted), counted.most_common(1)[0][0])


def test_golden_openbrain_merges(folder: Path) -> None:
    document = loaded(folder / "merge_expected.json")
    thoughts = [one.thought for one in read_thoughts(loaded(folder / "thoughts.json"))]
    by_id = {one.id: one for one in thoughts}
    session = own_session(folder, thoughts)

    check_keys(document, {"note", "tokenEstimate", "cases"}, "merge_expected.json")
    assert document["tokenEstimate"] == "ceil(len/4)"
    assert document["cases"]
    for case in document["cases"]:
        check_keys(
            case, {"recentN", "search", "maxTokens", "filterSession", "usedTokens", "out", "sessionId"}, str(case)
        )
        own = case.get("sessionId", session) if case["filterSession"] else None
        recent = recent_of(thoughts, case["recentN"], session=own)
        found = [Scored(by_id[name], score) for name, score in case["search"]]
        made = merge(recent, found, case["maxTokens"])
        shown = [
            {"id": kept.thought.id, "segment": kept.segment, **({} if kept.score is None else {"score": kept.score})}
            for kept in made.kept
        ]
        assert (shown, made.tokens) == (case["out"], case["usedTokens"]), case


def test_golden_openbrain_upstream_facts(goldens: Path) -> None:
    path = goldens / "upstream_expected_values.json"
    if not path.is_file():
        pytest.skip("upstream_expected_values.json is not in this part of the set")
    named = [one for one in json.loads(path.read_text(encoding="utf-8")) if one["engine"] == "openbrain"]

    assert not named, f"facts of a project without public code, which are not checked: {named}"
