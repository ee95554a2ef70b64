from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from contextviz.engines.flowctx import (
    Leaf,
    Node,
    Row,
    Scratchpad,
    Store,
    Timeline,
    Tree,
    TreeConfig,
    active,
    choose_cli_rule,
    clip_line,
    compact_json,
    cover_end,
    cp_weighted,
    detect,
    explore,
    hash_of,
    keep_tail,
    marker,
    minify_json,
    node_id,
    parse_marker,
    placeholder,
    plan,
    project,
    resolve_config,
    simulate,
    structured,
    truncate,
)
from contextviz.engines.flowctx.drain import Job
from contextviz.events.javascript import length16
from tests.engines.golden_files import loaded, name_unknown, part

CLOCK = 1_700_000_000_000  # of all goldens
KNOWN = {
    "tokens.json", "blocks.json", "structured_expected.json", "project_expected.json", "cli_rule_choice.json",
    "explorers.json", "json_lexical.json", "markers.json", "placeholder.json", "config_clamp.json",
    "summary_tree_sims.json", "flowctx.sqlite", "flowctx_sqlite_manifest.json",
}  # fmt: skip
PROJECTED = ("compressed", "strategy", "contentType", "hash", "text", "outTokens", "retrieveEqual")


@pytest.fixture
def folder(goldens: Path) -> Path:
    return part(goldens, "flowctx")


def blocks_of(folder: Path) -> dict[str, str]:
    found: dict[str, str] = loaded(folder / "blocks.json")
    return found


def differences(rows: Iterator[tuple[str, Any, Any]]) -> list[str]:
    return [f"{name}: {got!r:.300} is not {wanted!r:.300}" for name, got, wanted in rows if got != wanted]


def test_golden_files_are_all_known(folder: Path) -> None:
    name_unknown(folder, KNOWN)


def test_golden_tokens(folder: Path) -> None:
    def rows() -> Iterator[tuple[str, Any, Any]]:
        for entry in loaded(folder / "tokens.json"):
            for key, wanted in entry.items():
                if key == "tokens":
                    yield entry["text"], cp_weighted(entry["text"]), wanted
                elif key.startswith("trunc"):
                    yield f"{key} of {entry['text']}", truncate(entry["text"], int(key[5:])), wanted
                else:
                    assert key == "text", f"no check knows {key}"

    assert differences(rows()) == []


def test_golden_blocks_are_detected_and_hashed_the_same_each_time(folder: Path) -> None:
    for text in blocks_of(folder).values():
        assert structured(text) == structured(text)
        assert structured(text).content_type == detect(text)
        assert re.fullmatch("[0-9a-f]{24}", hash_of(text))


def test_golden_structured(folder: Path) -> None:
    blocks = blocks_of(folder)

    def rows() -> Iterator[tuple[str, Any, Any]]:
        for entry in loaded(folder / "structured_expected.json"):
            text, tool = blocks[entry["block"]], entry["toolName"]
            found = structured(text, tool, entry["exitCode"])
            kept = None if found.text is None else length16(found.text)
            yield (
                f"{entry['block']} by {tool}, {entry['exitCode']}",
                (length16(text), cp_weighted(text), detect(text, tool), found.content_type, found.text, kept),
                tuple(entry[key] for key in ("chars", "tokens", "detected", "contentType", "text", "keptChars")),
            )

    assert differences(rows()) == []


def test_golden_projections(folder: Path) -> None:
    blocks = blocks_of(folder)

    def rows() -> Iterator[tuple[str, Any, Any]]:
        for entry in loaded(folder / "project_expected.json"):
            block = blocks[entry["block"]]
            store = Store(lambda: CLOCK)
            made = project(
                block, store, threshold=entry["thresholdTokens"], ttl_seconds=entry["ttlSeconds"],
                kind=entry.get("kind", "block"), tool_name=entry.get("toolName"), exit_code=entry.get("exitCode") or 0,
            )  # fmt: skip
            back = None if made.hash is None else store.retrieve(made.hash) == block
            yield (
                f"{entry['block']} at {entry['thresholdTokens']}",
                (made.is_compressed, made.route, made.content_type, made.hash, made.text, made.tokens, back),
                tuple(entry[key] for key in PROJECTED),
            )
            if made.marker is not None:
                read = parse_marker(made.text)
                assert read is not None
                assert (read.hash, read.kept_chars, read.route) == (made.hash, made.kept_chars, made.route)

    assert differences(rows()) == []


def test_golden_cli_rules(folder: Path) -> None:
    blocks = blocks_of(folder)
    rows = (
        (entry["block"], choose_cli_rule(blocks[entry["block"]]).id, entry["rule"])
        for entry in loaded(folder / "cli_rule_choice.json")
    )

    assert differences(rows) == []


def test_golden_explorers(folder: Path) -> None:
    rows = (
        (entry["out"], explore(entry["content"], entry.get("mime"), entry.get("file")), entry["out"])
        for entry in loaded(folder / "explorers.json")
    )

    assert differences(rows) == []


def test_golden_json_lexical(folder: Path) -> None:
    def rows() -> Iterator[tuple[str, Any, Any]]:
        for entry in loaded(folder / "json_lexical.json"):
            if "min" in entry:
                yield entry["in"], minify_json(entry["in"]), entry["min"]
            else:
                name = next((key for key in entry if key.endswith("_in")), None)
                assert name is not None and {"max", "out"} <= entry.keys(), f"no check knows {sorted(entry)}"
                clip = compact_json if name == "whole_in" else clip_line
                yield name, clip(entry[name], entry["max"]), entry["out"]

    assert differences(rows()) == []


def test_golden_markers(folder: Path) -> None:
    for entry in loaded(folder / "markers.json"):
        given = entry["params"]
        line = marker(
            given["hash"], given["originalChars"], given["keptChars"], given["ttlSeconds"], given["kind"]
        )  # fmt: skip
        read = parse_marker(f"before\n\n{line}\n\nafter")

        assert line == entry["marker"]
        assert read is not None
        kind, _, content_type = given["kind"].partition(":")
        assert (read.kind, read.content_type) == (kind, content_type or None)
        assert (read.original_chars, read.kept_chars) == (given["originalChars"], given["keptChars"])
        assert read.hash == given["hash"]


def test_golden_placeholders(folder: Path) -> None:
    rows = (
        (entry["node"]["id"], placeholder(Node.of(entry["node"])), entry["text"])
        for entry in loaded(folder / "placeholder.json")
    )

    assert differences(rows) == []


def test_golden_configuration(folder: Path) -> None:
    rows = ((repr(one["in"]), resolve_config(one["in"]), one["out"]) for one in loaded(folder / "config_clamp.json"))

    assert differences(rows) == []


def _note_of(tokens: int) -> str:
    return "## TASK".ljust(4 * tokens, "x")


def test_golden_summary_trees(folder: Path) -> None:
    for case in loaded(folder / "summary_tree_sims.json"):
        wanted = {node["id"]: node for node in case["finalNodes"]}

        def summarise(job: Job, name: str, wanted: dict[str, Any] = wanted) -> str | None:
            # The text of the stub is not told, only its size; a job whose node is not there was refused.
            return _note_of(wanted[name]["estTokens"]) if name in wanted else "no heading"

        for message in case["messages"]:
            assert -(-message["textLen"] // 4) == message["textTokens"]
        tree = Tree(_config(case["cfg"]), lambda: CLOCK)
        messages = [(message["role"], message["textTokens"]) for message in case["messages"]]
        steps = [
            {
                "messages": step.messages, "frozenStart": step.frozen_start,
                "jobs": [_job(done.job, done.id) for done in step.done],
                "active": step.active, "coverEnd": step.cover_end, "cursor": step.cursor,
            }
            for step in simulate(messages, tree, case["freshTailWindow"], summarise)
        ]  # fmt: skip
        nodes = [node.stored() for node in tree.nodes]
        for node, golden in zip(nodes, case["finalNodes"], strict=True):
            assert {key: node.get(key) for key in golden if key != "content"} == {
                key: value for key, value in golden.items() if key != "content"
            }

        assert steps == case["steps"], case["id"]


def _config(given: dict[str, Any]) -> TreeConfig:
    return TreeConfig(
        given["leafChunkTokens"], given["condenseFanout"], given["maxSummaryDepth"], given["summaryKeepRecentTurns"]
    )


def _job(job: Job, name: str) -> dict[str, Any]:
    if isinstance(job, Leaf):
        shape = {"startMsg": job.start, "endMsg": job.end, "startTurn": job.start_turn, "endTurn": job.end_turn}
        return {"leaf": shape, "id": name}
    children = [child.id for child in job.children]
    condense = {"depth": job.depth, "childIds": children, "startTurn": job.start_turn, "endTurn": job.end_turn}
    return {"condense": condense, "id": name}


def rows_of(path: Path) -> list[Row]:
    if not path.is_file():
        pytest.skip(f"{path.name} is not among these goldens")
    connection = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro&immutable=1", uri=True)
    try:
        query = "SELECT ns, key, value, expires_at_ms, updated_at_ms FROM flowctx_kv"
        return [Row(*row) for row in connection.execute(query)]
    finally:
        connection.close()


def test_golden_store_gives_back_what_it_holds(folder: Path) -> None:
    rows = rows_of(folder / "flowctx.sqlite")
    refs = [row for row in rows if row.ns == "refs"]
    newest = max(row.updated_at_ms for row in rows)
    store = Store.of_rows(rows, lambda: newest)

    assert refs
    for row in refs:
        assert store.retrieve(row.key) == row.value
        assert hash_of(row.value) == row.key
    later = Store.of_rows(rows, lambda: max(row.expires_at_ms or 0 for row in refs))
    assert [later.retrieve(row.key) for row in refs] == [None] * len(refs)
    for row in (row for row in rows if row.ns == "summary-nodes"):
        nodes = [Node.of(value) for value in json.loads(row.value)]
        assert [node.stored() for node in nodes] == json.loads(row.value)
        assert {child for node in nodes for child in node.children} <= {node.id for node in nodes}


def test_golden_store_manifest(folder: Path) -> None:
    manifest = loaded(folder / "flowctx_sqlite_manifest.json")
    rows = rows_of(folder / "flowctx.sqlite")
    blocks = blocks_of(folder) if (folder / "blocks.json").is_file() else {}
    store = Store.of_rows(rows, lambda: manifest["clockMs"])

    assert {entry["hash"] for entry in manifest["refs"]} == {row.key for row in rows if row.ns == "refs"}
    for entry in manifest["refs"]:
        text = store.retrieve(entry["hash"])
        assert text is not None
        for key, wanted in entry.items():
            if key == "block" and wanted in blocks:
                assert text == blocks[wanted]
            elif isinstance(wanted, int) and not isinstance(wanted, bool):
                assert wanted in _sizes(key, text, next(row for row in rows if row.key == entry["hash"])), key
    session = manifest["summarySession"]
    value = store.value("summary-nodes", session)
    assert value is not None
    shown = active([Node.of(one) for one in json.loads(value)])
    ids = [one["id"] if isinstance(one, dict) else one for one in manifest["active"]]
    assert [node.id for node in shown] == ids
    pad = manifest["scratchpad"]
    text = pad if isinstance(pad, str) else pad["text"]
    assert store.value("scratchpad", session) == text
    assert manifest["rendered"] in _renderings(manifest["rendered"], shown, text)


def _sizes(key: str, text: str, row: Row) -> set[int | None]:
    """What a number of this name can be of a text: units, tokens, bytes, or a time of its row."""
    name = key.lower()
    if "token" in name:
        return {cp_weighted(text)}
    if "byte" in name:
        return {len(text.encode())}
    return {row.expires_at_ms, row.updated_at_ms} if "at" in name or name.endswith("ms") else {length16(text)}


def _renderings(given: Any, nodes: list[Node], pad: str) -> list[Any]:
    """What may be rendered: the working memory at the limit that it names, or the placeholders."""
    shown = [placeholder(node) for node in nodes]
    limit = re.search(r'chars_limit="(\d+)"', given) if isinstance(given, str) else None
    memory = Scratchpad(int(limit[1]), pad).render() if limit is not None else None
    return [memory, shown, "\n".join(shown), "\n\n".join(shown)]


def facts_of(goldens: Path) -> list[dict[str, Any]]:
    facts = loaded(goldens / "upstream_expected_values.json")
    return [fact for fact in facts if fact["engine"] == "flowctx"]


def test_golden_upstream_facts(goldens: Path) -> None:
    unknown = []
    for fact in facts_of(goldens):
        check = CHECKS.get(fact["function"])
        if check is None:
            unknown.append(f"{fact['function']} of {fact['source']}")
        else:
            check(fact["input"], fact["expected"])
    if unknown:
        pytest.skip(f"facts without a check: {', '.join(unknown)}")


def _text(shorthand: str) -> str:
    repeated = re.fullmatch(r"(.)\*(\d+)", shorthand)
    return repeated[1] * int(repeated[2]) if repeated else shorthand


def _roles(shorthand: str) -> list[str]:
    repeated = re.fullmatch(r"\(([\w,]+)\)x(\d+)", shorthand)
    letters = repeated[1].split(",") * int(repeated[2]) if repeated else shorthand.split(",")
    return [{"u": "user", "a": "assistant", "t": "tool"}.get(letter, letter) for letter in letters]


def _timeline(given: dict[str, Any]) -> Timeline:
    return Timeline((role, 1) for role in _roles(given["roles"]))


def _checks_detection(given: Any, expected: Any) -> None:
    assert detect(_text(given["text"]), given.get("toolName")) == expected


def _checks_structured(given: Any, expected: Any) -> None:
    found = structured(_text(given["text"]), given.get("toolName"))
    if "text" in expected:
        assert found.text == expected["text"]
    if "contentType" in expected:
        assert found.content_type == expected["contentType"]


def _checks_projection(given: Any, expected: Any) -> None:
    store, text = Store(lambda: CLOCK), _text(given["text"])
    made = project(text, store, threshold=given["threshold"], ttl_seconds=given.get("ttlSeconds", 3600))
    assert made.is_compressed is expected["compressed"]
    if expected.get("retrieve") == "byte-exact":
        assert made.hash is not None
        assert store.retrieve(made.hash) == text


def _checks_keep_tail(given: Any, expected: Any) -> None:
    assert keep_tail(_timeline(given), given["frozenStart"], given["keepTurns"]) == expected


def _checks_snap(given: Any, expected: Any) -> None:
    assert _timeline(given).user_from(given["idx"], given["limit"]) == expected


def _checks_turns(given: Any, expected: Any) -> None:
    assert [_timeline(given).turns_before(end) for end in given["ends"]] == expected


def _node(name: str) -> Node:
    depth, start, end = (int(part) for part in name.lstrip("d").split("-"))
    assert node_id(depth, start, end) == name
    return Node(name, depth, start, end, 0, "## TASK", 2)


def _checks_plan(given: Any, expected: Any) -> None:
    nodes = [_node(name) for name in given.get("leaves", [])]
    config = TreeConfig(given.get("leafChunkTokens", 40_000), given.get("fanout", 6), given.get("maxSummaryDepth", 1))
    size = given.get("tokensEach", 1)
    timeline = Timeline((role, size) for role in (_roles(given["roles"]) if "roles" in given else []))
    made = plan(timeline, given.get("frozenStart", len(timeline)), nodes, given.get("cursor", 0), config)
    if "condense" in expected:
        condense = made.condense
        assert (condense is None) == (not expected["condense"])
        if condense is not None and isinstance(expected["condense"], dict):
            shape = _job(condense, "")["condense"]
            assert {key: shape.get(key) for key in expected["condense"]} == expected["condense"]
    if "leaf" in expected:
        assert (made.leaf is None) == (not expected["leaf"])


def _checks_tokens(given: Any, expected: Any) -> None:
    assert cp_weighted(_text(given if isinstance(given, str) else given["text"])) == expected


CHECKS = {
    "detectContentType": _checks_detection,
    "compressStructured": _checks_structured,
    "projectBlock": _checks_projection,
    "resolveKeepTailBoundary": _checks_keep_tail,
    "snapToUserEdge": _checks_snap,
    "countUserTurnsUpTo": _checks_turns,
    "planSummaryJobs": _checks_plan,
    "estimateTokens": _checks_tokens,
}


def test_golden_cover_end_is_where_the_next_turn_begins(folder: Path) -> None:
    for case in loaded(folder / "summary_tree_sims.json"):
        timeline = Timeline((message["role"], message["textTokens"]) for message in case["messages"])
        for step in case["steps"]:
            nodes = [_node(name) for name in step["active"]]
            assert cover_end(timeline, step["frozenStart"], nodes) == step["coverEnd"]
